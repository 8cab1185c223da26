package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/recovery"
)

// Limits of the operators' routes.
const (
	maxExpiringLocks = 15
	maxDueCount      = 1000
	maxStatusCount   = 100_000
	maxFailedRuns    = 10
	// surveyTimeout bounds a survey, which reads all locks and bookings, and a report, which reads all locks of an event.
	surveyTimeout = 30 * time.Second
)

type eventSummaryBody struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	Status         string `json:"status"`
	EventDate      string `json:"eventDate,omitempty" format:"date-time"`
	SaleStartsAt   string `json:"saleStartsAt,omitempty" format:"date-time"`
	SaleEndsAt     string `json:"saleEndsAt,omitempty" format:"date-time"`
	TotalSeats     int64  `json:"totalSeats"`
	AvailableSeats int64  `json:"availableSeats"`
	LockedSeats    int64  `json:"lockedSeats" doc:"Seats in ACTIVE locks."`
	SoldSeats      int64  `json:"soldSeats" doc:"Seats that are taken and not locked."`
	Oversold       int64  `json:"oversold" doc:"Seats taken beyond the total, or a section's, by other software."`
	ActiveLocks    int64  `json:"activeLocks"`

	Reference     string `json:"reference,omitempty" doc:"The shop's own name."`
	SeatingPlanID string `json:"seatingPlanId,omitempty" doc:"The seating plan, if the event has one."`
	BlockedSeats  int64  `json:"blockedSeats" doc:"Seats that the venue has taken out of sale."`
	Waiting       *int64 `json:"waiting,omitempty" doc:"WAITING entries, if the waiting list was ever open."`

	CancelRunID string `json:"cancelRunId,omitempty" doc:"The run of the job event-cancel that cancels the bookings. Lists do not have it."`
	// What the run can't end, if its last pass left something.
	CancelLeft    int    `json:"cancelLeft,omitempty" doc:"The locks and bookings that the run can't end. It tries again every 15 s."`
	CancelProblem string `json:"cancelProblem,omitempty" doc:"What prevents it."`
}

func newEventSummaryBody(s store.EventSummary) eventSummaryBody {
	return eventSummaryBody{
		ID:             s.ID.String(),
		Name:           s.Name,
		Status:         string(s.Status),
		EventDate:      formatTime(s.EventDate),
		SaleStartsAt:   formatTime(s.SaleStartsAt),
		SaleEndsAt:     formatTime(s.SaleEndsAt),
		TotalSeats:     s.TotalSeats,
		AvailableSeats: s.AvailableSeats,
		LockedSeats:    s.Locked,
		SoldSeats:      s.Sold(),
		Oversold:       s.Oversold,
		ActiveLocks:    s.Locks,
		Reference:      s.Reference,
		SeatingPlanID:  formatID(s.Seating.PlanID),
		BlockedSeats:   s.Seating.BlockedSeats,
		Waiting:        waitingIn(s.Event),
	}
}

type overviewQuery struct {
	FilterQuery
	PageSize int    `query:"pageSize" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of events."`
	Behind   string `query:"behind" pattern:"^[0-9a-fA-F]{24}$" doc:"Return the events that are older than this one."`
	Name     string `query:"name" maxLength:"200" doc:"A part of the name, in any case. A filter searches 5,000 events at a time."`
	Status   string `query:"status" enum:"ON_SALE,CLOSED,CANCELLED"`
}

type overviewBody struct {
	Time     string             `json:"time" format:"date-time" doc:"The time of the database's clock, which decides when locks expire."`
	Events   []eventSummaryBody `json:"events" nullable:"false" doc:"Newest first."`
	More     bool               `json:"more" doc:"Whether older events follow that match or were not searched."`
	Last     string             `json:"last,omitempty" doc:"If more follow, the position at which they do: behind of the next request."`
	Expiring []lockBody         `json:"expiring" nullable:"false" doc:"ACTIVE locks, soonest expiry first."`
	DueLocks int64              `json:"dueLocks" doc:"Locks that are past their expiry and not swept yet. 1000 means 1000 or more."`
}

type statusCount struct {
	Status string `json:"status" enum:"INITIATED,PAYMENT_PENDING,CONFIRMED,EXPIRED,CANCELLED"`
	Count  int64  `json:"count"`
	More   bool   `json:"more" doc:"Whether there are more than count."`
}

type logLineBody struct {
	At         string            `json:"at" format:"date-time"`
	Level      string            `json:"level" enum:"WARN,ERROR"`
	Message    string            `json:"message"`
	Attributes map[string]string `json:"attributes"`
}

func newLogLineBody(l telemetry.Line) logLineBody {
	return logLineBody{At: formatTime(l.At), Level: l.Level, Message: l.Message, Attributes: l.Attributes}
}

type healthBody struct {
	Status     string            `json:"status" enum:"ok,degraded,unavailable"`
	Checks     map[string]string `json:"checks" doc:"The checks of /readyz."`
	Bookings   []statusCount     `json:"bookings" nullable:"false"`
	FailedRuns []runBody         `json:"failedRuns" nullable:"false" doc:"The latest failed runs of all jobs."`
	Log        []logLineBody     `json:"log" nullable:"false" doc:"The latest warnings and errors of the process that answers, newest first."`
}

type findingBody struct {
	Kind  string `json:"kind" enum:"ordinary,mendable,people" doc:"Who resolves it: the jobs, a recovery pass, or an operator."`
	What  string `json:"what"`
	Count int64  `json:"count"`
	Says  string `json:"says,omitempty" doc:"An example of the finding."`
	Would string `json:"would" doc:"What a recovery pass does, or what an operator must do."`
}

func newFindingBody(f recovery.Finding) findingBody {
	return findingBody{Kind: string(f.Kind), What: f.What, Count: f.Count, Says: f.Detail, Would: f.Action}
}

type surveyBody struct {
	EventsMeasured int64         `json:"eventsMeasured"`
	Findings       []findingBody `json:"findings" nullable:"false"`
}

func (a *api) registerOverviewRoutes() {
	tags := []string{"Operators"}
	route(a, huma.Operation{
		OperationID: "get-overview", Method: http.MethodGet, Path: "/api/admin/overview", Tags: tags, Summary: "Get the state of the sale",
		Description: "Events with their available, locked, sold and blocked seats, and the locks that expire next.",
	}, config.ScopeAdmin, a.overview)
	route(a, huma.Operation{
		OperationID: "get-health", Method: http.MethodGet, Path: "/api/admin/health", Tags: tags, Summary: "Get the state of the service",
		Description: "Readiness, bookings by status, failed runs, and the latest warnings of this process.",
	}, config.ScopeAdmin, a.health)
	route(a, huma.Operation{
		OperationID: "get-survey", Method: http.MethodGet, Path: "/api/admin/survey", Tags: tags, Summary: "Check the data",
		Description: "Compares the counters with the locks, as a recovery pass does, and changes nothing. " +
			"It reads all locks and bookings. If that takes longer than 30 s, use seatctl doctor.",
		Metadata: map[string]any{metadataTimeout: surveyTimeout},
	}, config.ScopeAdmin, a.survey)
}

// semaphore limits concurrent work. The number of open consoles then does not
// change the load on the database.
type semaphore chan struct{}

// acquire waits for a slot until ctx ends, and then returns a CodeUnavailable
// error that names the busy route.
func (s semaphore) acquire(ctx context.Context, name string) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return holdfast.Refuse(holdfast.CodeUnavailable, "%s is busy; retry in a second.", name).By(ctx.Err())
	}
}

func (s semaphore) release() { <-s }

func (a *api) overview(ctx context.Context, in *overviewQuery) (*found[overviewBody], error) {
	if err := holdfast.CheckText("query.name", in.Name, holdfast.MaxNameLength); err != nil {
		return nil, err
	}
	if err := a.overviewSemaphore.acquire(ctx, "Overview"); err != nil {
		return nil, err
	}
	defer a.overviewSemaphore.release()
	filter := store.EventFilter{Name: in.Name, Status: holdfast.EventStatus(in.Status)}
	events, last, err := a.Overview.EventSummaries(ctx, filter, parseID(in.Behind), in.PageSize+1)
	if err != nil {
		return nil, err
	}
	if len(events) > in.PageSize {
		events = events[:in.PageSize]
		last = events[in.PageSize-1].ID
	}
	locks, now, err := a.Overview.Expiring(ctx, maxExpiringLocks)
	if err != nil {
		return nil, err
	}
	due, err := a.Overview.CountDueLocks(ctx, maxDueCount)
	return &found[overviewBody]{Body: overviewBody{
		Time:     formatTime(now),
		Events:   newBodies(events, newEventSummaryBody),
		More:     !last.IsZero(),
		Last:     formatID(last),
		Expiring: newBodies(locks, a.lockBodyIn(ctx)),
		DueLocks: due,
	}}, err
}

func (a *api) health(ctx context.Context, _ *struct{}) (*found[healthBody], error) {
	ready := a.Ready(ctx)
	counts, err := a.countBookings(ctx)
	if err != nil {
		return nil, err
	}
	failed, err := a.Jobs.Failures(ctx, maxFailedRuns)
	return &found[healthBody]{Body: healthBody{
		Status:     ready.status(),
		Checks:     ready.Checks,
		Bookings:   counts,
		FailedRuns: newBodies(failed, newRunBody),
		Log:        newBodies(a.Lines(), newLogLineBody),
	}}, err
}

// countBookings counts the bookings of each status.
func (a *api) countBookings(ctx context.Context) ([]statusCount, error) {
	counts := make([]statusCount, 0, len(holdfast.BookingStatuses()))
	for _, status := range holdfast.BookingStatuses() {
		n, err := a.Overview.CountBookings(ctx, status, maxStatusCount)
		if err != nil {
			return nil, err
		}
		counts = append(counts, statusCount{Status: string(status), Count: n, More: n == maxStatusCount})
	}
	return counts, nil
}

func (a *api) survey(ctx context.Context, _ *struct{}) (*found[surveyBody], error) {
	if err := a.surveySemaphore.acquire(ctx, "Survey"); err != nil {
		return nil, err
	}
	defer a.surveySemaphore.release()
	plan, err := a.Plan(ctx)
	return &found[surveyBody]{Body: surveyBody{EventsMeasured: plan.EventsMeasured, Findings: newBodies(plan.Findings(), newFindingBody)}}, err
}
