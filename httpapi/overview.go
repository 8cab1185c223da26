package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
)

// Bounds of what operators are shown.
const (
	soonest    = 15      // locks about to expire
	mostDue    = 1000    // due locks that are counted
	mostOfKind = 100_000 // bookings of one status that are counted
	latest     = 10      // runs that failed
	// surveyTime bounds a survey, which reads all locks and bookings.
	surveyTime = 30 * time.Second
)

type standingBody struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	Status         string `json:"status"`
	TotalSeats     int64  `json:"totalSeats"`
	AvailableSeats int64  `json:"availableSeats"`
	LockedSeats    int64  `json:"lockedSeats" doc:"Seats of its ACTIVE locks."`
	SoldSeats      int64  `json:"soldSeats" doc:"Seats that are taken and not locked."`
	Oversold       int64  `json:"oversold" doc:"Seats taken beyond the total by outside hands."`
	ActiveLocks    int64  `json:"activeLocks"`
}

func shapeStanding(s seats.Standing) standingBody {
	return standingBody{s.ID.String(), s.Name, string(s.Status), s.TotalSeats, s.AvailableSeats, s.Locked, s.Sold(), s.Oversold, s.Locks}
}

type overviewQuery struct {
	FilterQuery
	PageSize int    `query:"pageSize" minimum:"1" maximum:"100" default:"20" doc:"Events at most."`
	Behind   string `query:"behind" pattern:"^[0-9a-fA-F]{24}$" doc:"Go on behind this event; newest first."`
}

type overviewBody struct {
	Time     string         `json:"time" format:"date-time" doc:"The database's clock, by which locks expire."`
	Events   []standingBody `json:"events" nullable:"false" doc:"Newest first."`
	More     bool           `json:"more" doc:"Whether there are events behind the last one."`
	Expiring []lockBody     `json:"expiring" nullable:"false" doc:"ACTIVE locks, the one that is due first first."`
	DueLocks int64          `json:"dueLocks" doc:"Locks whose time has passed and that no sweep has met yet; 1000 means as many or more."`
}

type statusCount struct {
	Status string `json:"status" enum:"INITIATED,PAYMENT_PENDING,CONFIRMED,EXPIRED,CANCELLED"`
	Count  int64  `json:"count"`
	More   bool   `json:"more" doc:"There are more; counting ended."`
}

type lineBody struct {
	At         string            `json:"at" format:"date-time"`
	Level      string            `json:"level" enum:"WARN,ERROR"`
	Message    string            `json:"message"`
	Attributes map[string]string `json:"attributes"`
}

func shapeLine(l telemetry.Line) lineBody {
	return lineBody{stamp(l.At), l.Level, l.Message, l.Attributes}
}

type healthBody struct {
	Status     string            `json:"status" enum:"ok,degraded,unavailable"`
	Checks     map[string]string `json:"checks" doc:"As /readyz tells them."`
	Bookings   []statusCount     `json:"bookings" nullable:"false"`
	FailedRuns []runBody         `json:"failedRuns" nullable:"false" doc:"The latest, of all jobs."`
	Log        []lineBody        `json:"log" nullable:"false" doc:"The last warnings and errors of the process that answers, newest first."`
}

type findingBody struct {
	Kind  string `json:"kind" enum:"ordinary,mendable,people" doc:"Who has to do with it: the jobs, a recovery pass, or people."`
	What  string `json:"what"`
	Count int64  `json:"count"`
	Says  string `json:"says,omitempty"`
	Would string `json:"would" doc:"What a pass does with it, or people have to."`
}

func shapeFinding(f recovery.Finding) findingBody {
	return findingBody{string(f.Kind), f.What, f.Count, f.Says, f.Would}
}

type surveyBody struct {
	EventsMeasured int64         `json:"eventsMeasured"`
	Findings       []findingBody `json:"findings" nullable:"false"`
}

func (a *api) overviewRoutes() {
	tags := []string{"Operators"}
	route(a, huma.Operation{
		OperationID: "get-overview", Method: http.MethodGet, Path: "/api/admin/overview", Tags: tags, Summary: "How the sale goes",
		Description: "Events with the seats that are available, locked and sold, and the locks about to expire.",
	}, config.ScopeAdmin, a.overview)
	route(a, huma.Operation{
		OperationID: "get-health", Method: http.MethodGet, Path: "/api/admin/health", Tags: tags, Summary: "What wants looking at",
		Description: "Readiness, bookings by status, runs that failed, and this process's last warnings.",
	}, config.ScopeAdmin, a.health)
	route(a, huma.Operation{
		OperationID: "get-survey", Method: http.MethodGet, Path: "/api/admin/survey", Tags: tags, Summary: "Prove the counters",
		Description: "Looks at everything that a recovery pass looks at and changes nothing. It reads all locks and bookings; " +
			"where that takes over 30 s, use seatctl doctor.",
		Metadata: map[string]any{timeLimit: surveyTime},
	}, config.ScopeAdmin, func(ctx context.Context, _ *struct{}) (*found[surveyBody], error) {
		if err := a.surveying.take(ctx); err != nil {
			return nil, err
		}
		defer a.surveying.giveBack()
		s, err := a.Survey(ctx)
		return &found[surveyBody]{surveyBody{s.EventsMeasured, shapeAll(s.Findings(), shapeFinding)}}, err
	})
}

// turn is had by one at a time: however many consoles are open, what they ask for
// costs the sale one reader.
type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.New(mongodb.CodeUnavailable, "Others look at the sale; ask again.").By(ctx.Err())
	}
}

func (t turn) giveBack() { <-t }

func (a *api) overview(ctx context.Context, in *overviewQuery) (*found[overviewBody], error) {
	if err := a.looking.take(ctx); err != nil {
		return nil, err
	}
	defer a.looking.giveBack()
	events, err := a.Seats.Standings(ctx, parseID(in.Behind), in.PageSize+1)
	if err != nil {
		return nil, err
	}
	more := len(events) > in.PageSize
	if more {
		events = events[:in.PageSize]
	}
	locks, now, err := a.Seats.Expiring(ctx, soonest)
	if err != nil {
		return nil, err
	}
	due, err := a.Seats.CountDue(ctx, mostDue)
	return &found[overviewBody]{overviewBody{stamp(now), shapeAll(events, shapeStanding), more, shapeAll(locks, shapeLock), due}}, err
}

func (a *api) health(ctx context.Context, _ *struct{}) (*found[healthBody], error) {
	ready := a.Ready(ctx)
	counts, err := a.Bookings.CountByStatus(ctx, mostOfKind)
	if err != nil {
		return nil, err
	}
	failed, err := a.Jobs.Failures(ctx, latest)
	return &found[healthBody]{healthBody{ready.word(), ready.Checks, shapeAll(booking.Statuses, func(s booking.Status) statusCount {
		return statusCount{string(s), counts[s], counts[s] == mostOfKind}
	}), shapeAll(failed, shapeRun), shapeAll(a.Lines(), shapeLine)}}, err
}
