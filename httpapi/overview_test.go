package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/recovery"
)

type overview struct {
	Time   time.Time
	Events []struct {
		ID, Name, EventDate                                           string
		AvailableSeats, LockedSeats, SoldSeats, ActiveLocks, Oversold int64
	}
	More     bool
	Last     string
	Expiring []struct{ ID string }
	DueLocks int64
}

func (s *site) overview(query string) (o overview) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.want(s.call("GET", "/api/admin/overview"+query, nil), 200, "").raw), &o); err != nil {
		s.t.Fatal(err)
	}
	return o
}

// acquire acquires a lock for a new user.
func (s *site) acquire(event holdfast.ID, n int64, until holdfast.Until) holdfast.Lock {
	s.t.Helper()
	user, err := holdfast.ParseID(s.user())
	if err != nil {
		s.t.Fatal(err)
	}
	lock, _, err := s.w.Seats.AcquireLock(s.t.Context(), holdfast.LockRequest{EventID: event, UserID: user, Seats: n, Until: until})
	if err != nil {
		s.t.Fatal(err)
	}
	return lock
}

// Locks that expire soon are listed soonest expiry first.
func TestOverview_CountsAvailableLockedAndSoldSeats(t *testing.T) {
	t.Parallel()
	s := open(t)
	older, newer := s.w.Event(10), s.w.Event(100)
	late := s.acquire(newer, 3, testenv.Soon())
	early := s.acquire(newer, 4, holdfast.Until{For: time.Minute})
	sold := s.acquire(newer, 5, testenv.Soon())
	b := s.w.Book(sold, testenv.Soon())
	if _, err := s.w.Bookings.ConfirmBooking(t.Context(), b.ID, holdfast.Charge{}); err != nil {
		t.Fatal(err)
	}
	overdue := s.acquire(older, 1, testenv.Past())
	s.w.Insert("seatlocks", bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: newer}, {Key: "seats", Value: "x"}, {Key: "status", Value: "ACTIVE"},
	})

	o := s.overview("")
	if len(o.Events) != 2 || o.More || o.Events[0].ID != newer.String() || o.Events[1].ID != older.String() {
		t.Fatalf("events %+v", o.Events)
	}
	if e := o.Events[0]; e.AvailableSeats != 88 || e.LockedSeats != 7 || e.SoldSeats != 5 || e.ActiveLocks != 3 {
		t.Errorf("the newer event: %+v", e)
	}
	if e := o.Events[1]; e.AvailableSeats != 9 || e.LockedSeats != 1 || e.SoldSeats != 0 {
		t.Errorf("the older event: %+v", e)
	}
	var order []string
	for _, l := range o.Expiring {
		order = append(order, l.ID)
	}
	if want := overdue.ID.String() + early.ID.String() + late.ID.String(); strings.Join(order, "") != want || o.DueLocks != 1 {
		t.Errorf("expiring locks %v, %d due", order, o.DueLocks)
	}
	if since := time.Since(o.Time); since.Abs() > time.Minute {
		t.Errorf("time differs by %v", since)
	}
}

// Performances of one play look alike: a filter finds them, page by page, and their dates tell them apart.
func TestOverview_FiltersByNameAndStatus(t *testing.T) {
	t.Parallel()
	s := open(t)
	var hamlets []string
	for i, name := range []string{"Hamlet", "Ödipus (1+1)", "HAMLET, matinee", "Hamlet", "Macbeth"} {
		e := fields{"name": name, "totalSeats": 1, "eventDate": fmt.Sprintf("2030-06-%02dT20:00:00Z", i+1)}
		if id := s.want(s.call("POST", "/api/events", e), 201, "").text("id"); i == 0 || i == 2 || i == 3 {
			hamlets = append(hamlets, id)
		}
	}
	s.want(s.call("PATCH", "/api/events/"+hamlets[1], fields{"status": "CLOSED"}), 200, "")
	first := s.overview("?name=amlet&pageSize=2")
	if len(first.Events) != 2 || !first.More || first.Events[0].ID != hamlets[2] || first.Events[0].EventDate != "2030-06-04T20:00:00.000Z" {
		t.Errorf("first page: %+v", first)
	}
	second := s.overview("?name=amlet&pageSize=2&behind=" + hamlets[1])
	if len(second.Events) != 1 || second.More || second.Events[0].ID != hamlets[0] {
		t.Errorf("second page: %+v", second)
	}
	for query, want := range map[string]int{
		"name=hamlet&status=CLOSED": 1, "status=ON_SALE": 4, "status=CANCELLED": 0, "name=.": 0, "name=x": 0,
		"name=" + url.QueryEscape("ödipus (1+"): 1,
	} {
		if o := s.overview("?" + query); len(o.Events) != want || o.More {
			t.Errorf("%s: %+v", query, o)
		}
	}
}

// A filter finds an old event, too: a page without a match names the position at which the search goes on.
func TestOverview_FiltersOldEventsPageByPage(t *testing.T) {
	t.Parallel()
	s := open(t)
	hamlet := fields{"name": "Hamlet", "totalSeats": 1, "eventDate": "2030-06-15T20:00:00Z"}
	wanted := s.want(s.call("POST", "/api/events", hamlet), 201, "").text("id")
	newer := make([]any, store.MaxEventsSearched)
	for i := range newer {
		newer[i] = bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "name", Value: "Macbeth"}, {Key: "status", Value: "ON_SALE"},
			{Key: "totalSeats", Value: 1}, {Key: "availableSeats", Value: 1}}
	}
	if _, err := s.w.DB.Collection("events").InsertMany(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	first := s.overview("?name=hamlet")
	if len(first.Events) != 0 || !first.More || len(first.Last) != 24 {
		t.Fatalf("first page: %+v", first)
	}
	second := s.overview("?name=hamlet&behind=" + first.Last)
	if len(second.Events) != 1 || second.Events[0].ID != wanted || second.More || second.Last != "" {
		t.Errorf("second page: %+v", second)
	}
	if found := s.overview("?status=ON_SALE&pageSize=2"); len(found.Events) != 2 || found.Last != found.Events[1].ID {
		t.Errorf("a page that is full: %+v", found)
	}
}

func TestOverview_PagesFromTheNewestEvent(t *testing.T) {
	t.Parallel()
	s := open(t)
	var events []holdfast.ID
	for range 5 {
		events = append(events, s.w.Event(1))
	}
	first := s.overview("?pageSize=3")
	if len(first.Events) != 3 || !first.More || first.Events[0].ID != events[4].String() {
		t.Fatalf("first page %+v", first)
	}
	second := s.overview("?pageSize=3&behind=" + first.Events[2].ID)
	if len(second.Events) != 2 || second.More || second.Events[1].ID != events[0].String() {
		t.Errorf("second page %+v", second)
	}
	for _, query := range []string{"behind=$ne", "behind=", "pageSize=101", "name=", "name=%00", "status=", "status=SOLD"} {
		t.Run(query, func(t *testing.T) {
			s := s.in(t)
			s.want(s.call("GET", "/api/admin/overview?"+query, nil), 422, "VALIDATION_FAILED")
		})
	}
}

// The OpenAPI document describes each field of the operators' routes.
func TestOverview_MatchesTheOpenAPIDocument(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.acquire(s.w.Event(10), 1, testenv.Soon())
	s.want(s.call("POST", "/api/admin/jobs/recovery/run", nil), 200, "")
	slog.New(s.recent).Warn("Lease lost")
	var document struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(s.call("GET", "/openapi.json", nil).raw), &document); err != nil {
		t.Fatal(err)
	}
	overview := s.call("GET", "/api/admin/overview", nil).body
	health := s.call("GET", "/api/admin/health", nil).body
	survey := s.call("GET", "/api/admin/survey", nil).body
	first := func(of map[string]any, list string) map[string]any { return of[list].([]any)[0].(map[string]any) }
	for name, body := range map[string]map[string]any{
		"Overview":     overview,
		"EventSummary": first(overview, "events"),
		"Lock":         first(overview, "expiring"),
		"Health":       health,
		"StatusCount":  first(health, "bookings"),
		"Run":          first(health, "failedRuns"),
		"LogLine":      first(health, "log"),
		"Survey":       survey,
		"Finding":      first(survey, "findings"),
	} {
		t.Run(name, func(t *testing.T) {
			for field := range body {
				if _, described := document.Components.Schemas[name].Properties[field]; !described {
					t.Errorf("the document does not describe %s", field)
				}
			}
		})
	}
}

func TestHealth_ShowsBookingsFailedRunsAndTheLog(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.w.Event(10)
	s.w.Book(s.acquire(event, 1, testenv.Soon()), testenv.Soon())
	s.w.Book(s.acquire(event, 1, testenv.Soon()), holdfast.Until{})
	s.want(s.call("POST", "/api/admin/jobs/recovery/run", nil), 200, "")
	log := slog.New(s.recent).With(slog.String("job", "recovery"))
	log.Info("routine")
	log.Warn("Lease lost", slog.String("error", strings.Repeat("x", 1000)))
	a := s.want(s.call("GET", "/api/admin/health", nil), 200, "")
	for _, part := range []string{
		`"status":"ok"`, `"checks":{"mongo":"ok"}`,
		`{"status":"INITIATED","count":1,"more":false}`,
		`{"status":"PAYMENT_PENDING","count":1,"more":false}`,
		`{"status":"CONFIRMED","count":0,"more":false}`,
		`"failedRuns":[{"id":"recovery-`, `"reason":"broken"`,
		`"level":"WARN","message":"Lease lost","attributes":{"error":"` + strings.Repeat("x", 400) + `","job":"recovery"}`,
	} {
		if !strings.Contains(a.raw, part) {
			t.Errorf("%s is not in %s", part, a.raw)
		}
	}
	if strings.Contains(a.raw, "routine") {
		t.Errorf("an info line is shown: %s", a.raw)
	}
	for range 100 {
		log.Error("repeated")
	}
	if lines := s.recent.Lines(); len(lines) != 50 || lines[49].Message != "repeated" {
		t.Errorf("%d lines are kept", len(lines))
	}
}

// A survey finds a counter that other software changed, and does not repair it.
func TestSurvey_FindsDriftAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	intact, drifted := s.w.Event(10), s.w.Event(10)
	s.acquire(intact, 1, testenv.Soon())
	s.acquire(drifted, 2, testenv.Soon())
	s.w.Set("events", drifted, bson.D{{Key: "availableSeats", Value: 5}})
	for range 2 {
		a := s.want(s.call("GET", "/api/admin/survey", nil), 200, "")
		finding := `{"kind":"mendable","what":"counters that don't agree with their locks","count":1,` +
			`"says":"event ` + drifted.String() + `: 5 should be 8","would":"correct them"}`
		if !strings.Contains(a.raw, finding) || a.text("eventsMeasured") != "2" {
			t.Errorf("the survey: %s", a.raw)
		}
	}
}

// The console shows the sale while a survey of a large database runs.
func TestSurvey_DoesNotBlockTheOverview(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	s := openWith(t, func(services *httpapi.Services, _ *core.Settings) {
		services.Plan = func(context.Context) (recovery.Plan, error) {
			close(begun)
			<-end
			return recovery.Plan{}, nil
		}
	})
	surveyed := make(chan answer, 1)
	go func() { surveyed <- s.call("GET", "/api/admin/survey", nil) }()
	<-begun
	s.overview("")
	close(end)
	s.want(<-surveyed, 200, "")
}

// An operator sees which events have numbered seats, and how many of these are out of sale. They are not sold.
func TestOverview_ShowsBlockedSeats(t *testing.T) {
	t.Parallel()
	s := open(t)
	unseated, seated := s.event(10), s.seatedEvent(nil)
	s.want(s.lockSeats(seated, s.user(), fields{"seatIds": []string{"A-1-1"}}), 201, "")
	s.want(s.call("POST", "/api/events/"+seated+"/seats/block", fields{"seatIds": []string{"A-2-1", "A-2-2"}}), 200, "")
	plan := s.want(s.call("GET", "/api/events/"+seated, nil), 200, "").text("seatingPlanId")
	a := s.want(s.call("GET", "/api/admin/overview", nil), 200, "")
	var body struct {
		Events []struct {
			ID                                     string
			SeatingPlanID                          *string
			SoldSeats, LockedSeats, AvailableSeats int64
			BlockedSeats                           *int64
		}
	}
	if err := json.Unmarshal([]byte(a.raw), &body); err != nil || len(body.Events) != 2 {
		t.Fatalf("%v: %s", err, a.raw)
	}
	e, other := body.Events[0], body.Events[1]
	if e.ID != seated || *e.SeatingPlanID != plan || *e.BlockedSeats != 2 || e.SoldSeats != 0 || e.LockedSeats != 1 || e.AvailableSeats != 19 {
		t.Errorf("seated: %s", a.raw)
	}
	if other.ID != unseated || other.SeatingPlanID != nil || *other.BlockedSeats != 0 {
		t.Errorf("unseated: %s", a.raw)
	}
}
