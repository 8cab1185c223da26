package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

// house is a hall with two rows of six seats, of which the first two of row 1 are accessible, and standing.
func house() client.SeatingPlan {
	rows := []client.Row{{Key: "1", Seats: []*client.Seat{
		{ID: "w1", Accessible: true}, {ID: "w2", Accessible: true}, nil, {ID: "A-1-1"}, {ID: "A-1-2"}, {ID: "A-1-3"}, {ID: "A-1-4"},
	}}, {Key: "2", Label: "Second", Count: 6, Category: "cheap"}}
	return client.SeatingPlan{
		Name: "House", Categories: []client.Category{{Key: "dear", Name: "Dear"}, {Key: "cheap", Name: "Cheap"}},
		Sections: []client.Section{
			{Key: "A", Name: "Stalls", Category: "dear", Rows: rows}, {Key: "pit", Name: "Pit", Category: "cheap", Capacity: 20},
		},
	}
}

// createHouse creates an event with a seating plan, and a user.
func (s *shop) createHouse(t *testing.T, rules ...string) (client.Event, client.User) {
	t.Helper()
	plan, err := s.CreateSeatingPlan(t.Context(), house(), "")
	if err != nil {
		t.Fatal(err)
	}
	n := client.NewEvent{Name: "E", SeatingPlanID: plan.ID, EventDate: time.Date(2027, 6, 15, 19, 0, 0, 0, time.UTC)}
	if len(rules) > 0 {
		n.OrphanRule, n.AccessiblePolicy = rules[0], rules[1]
	}
	event, err := s.CreateEvent(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	user, err := s.CreateUser(t.Context(), "Ada", "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return event, user
}

func TestClient_LocksSeatsInEveryForm(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, user := s.createHouse(t)
	if event.TotalSeats != 32 || event.SeatingPlanID == "" || event.OrphanRule != client.OrphansAllowed ||
		event.AccessiblePolicy != client.AccessibleReserved {
		t.Errorf("the event: %+v", event)
	}
	acquire := func(r client.LockRequest) (client.Lock, error) {
		r.EventID, r.UserID = event.ID, user.ID
		return s.AcquireLock(ctx, r)
	}
	named, err := acquire(client.LockRequest{SeatIDs: []string{"A-2-2", "A-1-1"}})
	second := client.Place{SeatID: "A-2-2", Section: "A", Row: "Second", Label: "2", Category: "cheap"}
	if err != nil || named.Seats != 2 || !slices.Equal(named.SeatIDs(), []string{"A-1-1", "A-2-2"}) ||
		named.Places[1] != second || named.Section() != "" {
		t.Fatalf("named: %+v %v", named, err)
	}
	wheel, err := acquire(client.LockRequest{SeatIDs: []string{"w1"}, AccessibleSeats: 1})
	if err != nil || wheel.Seats != 1 {
		t.Errorf("accessible: %+v %v", wheel, err)
	}
	if _, err := acquire(client.LockRequest{SeatIDs: []string{"w2"}}); !client.Is(err, client.ValidationFailed) {
		t.Errorf("accessible, but not asked for: %v", err)
	}
	best := client.BestAvailable{Seats: 3, Categories: []string{"cheap", "dear"}, Section: "A", Adjacent: client.AdjacentRequired}
	picked, err := acquire(client.LockRequest{BestAvailable: &best})
	if err != nil || picked.Seats != 3 || picked.Places[0].Category != "cheap" || len(picked.SeatIDs()) != 3 {
		t.Errorf("best available: %+v %v", picked, err)
	}
	for name, want := range map[string]client.BestAvailable{
		"w2":    {Seats: 1, AccessibleSeats: 1},
		"A-1-2": {Seats: 1, Categories: []string{"dear"}},
	} {
		if l, err := acquire(client.LockRequest{BestAvailable: &want}); err != nil || !slices.Equal(l.SeatIDs(), []string{name}) {
			t.Errorf("%+v: %+v %v", want, l, err)
		}
	}
	standing, err := acquire(client.LockRequest{Section: "pit", Seats: 5})
	if err != nil || standing.Seats != 5 || standing.Section() != "pit" || standing.SeatIDs() != nil {
		t.Errorf("general admission: %+v %v", standing, err)
	}
	for name, r := range map[string]client.LockRequest{
		"none": {}, "empty": {SeatIDs: []string{}}, "a number alone": {Seats: 2}, "a section alone": {Section: "pit"},
		"two forms": {SeatIDs: []string{"A-2-1"}, Seats: 1}, "two other forms": {BestAvailable: &best, Section: "pit"},
	} {
		if l, err := acquire(r); !client.Is(err, client.ValidationFailed) {
			t.Errorf("%s: %+v %v", name, l, err)
		}
	}
	booking, err := s.CreateBooking(ctx, client.BookingRequest{LockID: named.ID, EventID: event.ID, UserID: user.ID})
	if err != nil || !reflect.DeepEqual(booking.Places, named.Places) || !slices.Equal(booking.SeatIDs(), named.SeatIDs()) {
		t.Errorf("its booking: %+v %v", booking, err)
	}
	b, err := s.CreateBooking(ctx, client.BookingRequest{LockID: standing.ID, EventID: event.ID, UserID: user.ID})
	if err != nil || b.Section() != "pit" || b.SeatIDs() != nil {
		t.Errorf("the booking of general admission: %+v %v", b, err)
	}
}

func TestClient_CountsSeatsByState(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	event, user := s.createHouse(t)
	if _, err := s.AcquireLock(t.Context(), client.LockRequest{EventID: event.ID, UserID: user.ID, Section: "pit", Seats: 5}); err != nil {
		t.Fatal(err)
	}
	r, err := s.GetEventReport(t.Context(), event.ID)
	held := client.SectionCounts{Key: "pit", Category: "cheap", Total: 20, SeatCounts: client.SeatCounts{Available: 15, Held: 5}}
	if err != nil || r.EventID != event.ID || r.TotalSeats != 32 || r.Available != 27 || r.Sections[1] != held || r.Categories[1].Held != 5 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := s.GetEventReport(t.Context(), user.ID); !client.Is(err, client.EventNotFound) {
		t.Errorf("another ID: %v", err)
	}
}

func TestClient_RefusalsNameTheSeats(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, user := s.createHouse(t, client.OrphansRefused, client.AccessibleOpen)
	if _, err := s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, SeatIDs: []string{"w1", "w2"}}); err != nil {
		t.Errorf("an accessible seat like any other: %v", err)
	}
	for _, row := range []struct {
		name string
		wish client.LockRequest
		want client.Error
	}{
		{"taken", client.LockRequest{SeatIDs: []string{"A-1-1", "w1"}}, client.Error{
			Code: client.SeatsUnavailable, Requested: 2, Available: 1, Unavailable: []string{"w1"},
		}},
		{"single", client.LockRequest{SeatIDs: []string{"A-2-2"}}, client.Error{Code: client.SeatOrphaned, Orphans: []string{"A-2-1"}}},
		{"apart", client.LockRequest{BestAvailable: &client.BestAvailable{Seats: 7, Adjacent: client.AdjacentRequired}}, client.Error{
			Code: client.SeatsNotAdjacent, Longest: 6,
		}},
		{"full", client.LockRequest{Section: "pit", Seats: 21}, client.Error{Code: client.SeatsUnavailable, Requested: 21, Available: 20}},
	} {
		row.wish.EventID, row.wish.UserID = event.ID, user.ID
		_, err := s.AcquireLock(ctx, row.wish)
		var got *client.Error
		if !errors.As(err, &got) {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		told := client.Error{
			Code: got.Code, Requested: got.Requested, Available: got.Available, Unavailable: got.Unavailable,
			Orphans: got.Orphans, Longest: got.Longest,
		}
		if row.want.Code == client.SeatsNotAdjacent { // its other details do not matter here
			told.Requested, told.Available = 0, 0
		}
		if !reflect.DeepEqual(told, row.want) {
			t.Errorf("%s: %+v, want %+v", row.name, told, row.want)
		}
	}
	changed, err := s.UpdateEvent(ctx, event.ID, client.EventChange{
		OrphanRule: new(client.OrphansAllowed), AccessiblePolicy: new(client.AccessibleReserved),
	})
	if err != nil || changed.OrphanRule != client.OrphansAllowed || changed.AccessiblePolicy != client.AccessibleReserved {
		t.Errorf("other rules: %+v %v", changed, err)
	}
}

func TestClient_ChangesAndBlocksSeats(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, user := s.createHouse(t)
	lock, err := s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, SeatIDs: []string{"A-1-1"}})
	if err != nil {
		t.Fatal(err)
	}
	moved, err := s.ChangeSeats(ctx, lock.ID, client.Wish{SeatIDs: []string{"A-1-1", "A-1-2"}})
	if err != nil || moved.ID != lock.ID || moved.Seats != 2 || !moved.ExpiresAt.Equal(lock.ExpiresAt) {
		t.Errorf("changed: %+v %v", moved, err)
	}
	if moved, err = s.ChangeSeats(ctx, lock.ID, client.Wish{Section: "pit", Seats: 3}); err != nil || moved.Section() != "pit" {
		t.Errorf("changed: %+v %v", moved, err)
	}
	if blocked, err := s.BlockSeats(ctx, event.ID, []string{"A-1-1", "A-2-1", "A-2-2"}); err != nil || blocked != 3 {
		t.Errorf("blocked %d, %v", blocked, err)
	}
	if e, err := s.GetEvent(ctx, event.ID); err != nil || e.BlockedSeats != 3 || e.AvailableSeats != 26 {
		t.Errorf("blocked: %+v %v", e, err)
	}
	_, err = s.ChangeSeats(ctx, lock.ID, client.Wish{SeatIDs: []string{"A-1-1"}})
	if !client.Is(err, client.SeatsUnavailable) {
		t.Errorf("a blocked seat: %v", err)
	}
	if blocked, err := s.UnblockSeats(ctx, event.ID, []string{"A-2-1", "A-1-3"}); err != nil || blocked != 2 {
		t.Errorf("still blocked: %d, %v", blocked, err)
	}
	moved, err = s.ChangeSeats(ctx, lock.ID, client.Wish{BestAvailable: &client.BestAvailable{Seats: 2, Categories: []string{"dear"}}})
	if err != nil || len(moved.SeatIDs()) != 2 {
		t.Fatalf("best available: %+v %v", moved, err)
	}
	if _, err := s.BlockSeats(ctx, event.ID, moved.SeatIDs()); !client.Is(err, client.SeatsUnavailable) {
		t.Errorf("a locked seat: %v", err)
	}
	if _, err := s.BlockSeats(ctx, event.ID, nil); !client.Is(err, client.ValidationFailed) {
		t.Errorf("no seat: %v", err)
	}
	if _, err := s.CreateBooking(ctx, client.BookingRequest{LockID: lock.ID, EventID: event.ID, UserID: user.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ChangeSeats(ctx, lock.ID, client.Wish{SeatIDs: []string{"A-1-4"}}); !client.Is(err, client.LockHasBooking) {
		t.Errorf("with a booking: %v", err)
	}
	for id, want := range map[string]client.SeatHolder{
		"A-1-1": {ID: "A-1-1", Section: "A", Row: "1", Label: "4", Category: "dear", State: client.SeatBlocked},
		"A-2-6": {ID: "A-2-6", Section: "A", Row: "Second", Label: "6", Category: "cheap", State: client.SeatAvailable},
	} {
		if got, err := s.GetSeat(ctx, event.ID, id); err != nil || got != want {
			t.Errorf("%+v %v, want %+v", got, err, want)
		}
	}
	if got, err := s.GetSeat(ctx, event.ID, moved.SeatIDs()[0]); err != nil || got.State != client.SeatLocked || got.LockID != lock.ID ||
		got.BookingID == "" {
		t.Errorf("a locked seat: %+v %v", got, err)
	}
	if _, err := s.GetSeat(ctx, event.ID, "none"); !client.Is(err, client.SeatNotFound) {
		t.Errorf("no seat: %v", err)
	}
}

// statusCounter counts the answers with a status.
type statusCounter struct {
	http.ResponseWriter
	status int
	count  *atomic.Int64
}

func (c statusCounter) WriteHeader(status int) {
	if status == c.status {
		c.count.Add(1)
	}
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (c statusCounter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// The map agrees with the plan seat by seat, and is short while nothing changes.
func TestClient_ReadsTheMapOfSeats(t *testing.T) {
	t.Parallel()
	var answers atomic.Int64 // with status 304
	s := openShop(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		api.ServeHTTP(statusCounter{w, http.StatusNotModified, &answers}, r)
	})
	ctx := t.Context()
	event, user := s.createHouse(t)
	plan, err := s.GetSeatingPlan(ctx, event.SeatingPlanID)
	if err != nil {
		t.Fatal(err)
	}
	taken := func(m client.SeatMap) (ids []string) {
		t.Helper()
		for _, section := range plan.Sections {
			seats, found := m.Section(section.Key)
			if !found {
				continue
			}
			for n, seat := range section.AllSeats() {
				if seats.Taken(n) {
					ids = append(ids, seat.ID)
				}
			}
		}
		return ids
	}
	m, err := s.GetSeatMap(ctx, event.ID)
	if err != nil || taken(m) != nil || m.EventID != event.ID || len(m.Sections) != 2 || m.Categories[1].Available != 26 {
		t.Fatalf("empty: %+v %v", m, err)
	}
	if again, changed, err := s.RefreshSeatMap(ctx, m); err != nil || changed || !reflect.DeepEqual(again, m) || answers.Load() != 1 {
		t.Errorf("not changed: %+v %t %v, %d answers 304", again, changed, err, answers.Load())
	}
	ids := []string{"w2", "A-1-4", "A-2-6"}
	for _, r := range []client.LockRequest{{SeatIDs: ids, AccessibleSeats: 1}, {Section: "pit", Seats: 4}} {
		r.EventID, r.UserID = event.ID, user.ID
		if _, err := s.AcquireLock(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	fresh, changed, err := s.RefreshSeatMap(ctx, m)
	pit, _ := fresh.Section("pit")
	if err != nil || !changed || fresh.Rev <= m.Rev || !slices.Equal(taken(fresh), ids) || pit.Available != 16 || pit.Bitmap != nil ||
		fresh.Categories[0] != (client.CategorySeats{Key: "dear", Total: 6, Available: 4}) {
		t.Errorf("changed: %+v %t %v, taken %q", fresh, changed, err, taken(fresh))
	}
	if !fresh.Sections[0].Taken(-1) || !fresh.Sections[0].Taken(12) || !pit.Taken(0) || fresh.Sections[0].Taken(10) {
		t.Error("a seat that is not there is available")
	}
	some, err := s.GetSeatMap(ctx, event.ID, "pit")
	if err != nil || len(some.Sections) != 1 || some.Sections[0].Key != "pit" {
		t.Errorf("one section: %+v %v", some, err)
	}
	if again, changed, err := s.RefreshSeatMap(ctx, some); err != nil || changed || !reflect.DeepEqual(again, some) {
		t.Errorf("one section again: %+v %t %v", again, changed, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if kept, changed, err := s.RefreshSeatMap(cancelled, some); err == nil || changed || !reflect.DeepEqual(kept, some) {
		t.Errorf("after an error: %+v %t %v", kept, changed, err)
	}
	if _, err := s.GetSeatMap(ctx, event.ID, "none"); !client.Is(err, client.ValidationFailed) {
		t.Errorf("no such section: %v", err)
	}
}

// A change and a block whose answers are lost are sent again.
func TestClient_RepeatsChangesOfSeats(t *testing.T) {
	t.Parallel()
	var lost atomic.Int64 // answers that are lost from now on
	s := openShop(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		if lost.Add(-1) >= 0 {
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
	})
	ctx := t.Context()
	event, user := s.createHouse(t)
	lock, err := s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, SeatIDs: []string{"A-1-1"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, wish := range []client.Wish{
		{SeatIDs: []string{"A-2-1", "A-2-2"}}, {BestAvailable: &client.BestAvailable{Seats: 2}}, {Section: "pit", Seats: 2},
	} {
		lost.Store(2)
		if l, err := s.ChangeSeats(ctx, lock.ID, wish); err != nil || l.Seats != 2 {
			t.Errorf("%+v: %+v %v", wish, l, err)
		}
	}
	lost.Store(2)
	if blocked, err := s.BlockSeats(ctx, event.ID, []string{"A-1-1"}); err != nil || blocked != 1 {
		t.Errorf("blocked %d, %v", blocked, err)
	}
	if e, err := s.GetEvent(ctx, event.ID); err != nil || e.AvailableSeats != event.TotalSeats-3 {
		t.Errorf("%+v %v", e, err)
	}
}

// A capacity changes during the sale, and so does the plan; what is taken stays.
func TestClient_ChangesCapacitiesAndThePlan(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, user := s.createHouse(t)
	if _, err := s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, SeatIDs: []string{"A-1-1"}}); err != nil {
		t.Fatal(err)
	}
	changed, err := s.UpdateEvent(ctx, event.ID, client.EventChange{Sections: []client.SectionCapacity{{Key: "pit", Capacity: 30}}})
	want := []client.SectionCapacity{{Key: "pit", Capacity: 30}}
	if err != nil || changed.TotalSeats != 42 || changed.AvailableSeats != 41 || !slices.Equal(changed.Sections, want) {
		t.Errorf("with more places to stand: %+v, %v", changed, err)
	}
	larger := house()
	larger.Sections[0].Rows[1].Count = 10
	plan, err := s.CreateSeatingPlan(ctx, larger, "")
	if err != nil {
		t.Fatal(err)
	}
	changed, err = s.UpdateEvent(ctx, event.ID, client.EventChange{SeatingPlanID: &plan.ID})
	if err != nil || changed.TotalSeats != 46 || changed.AvailableSeats != 45 || changed.SeatingPlanID != plan.ID {
		t.Errorf("in the larger hall: %+v, %v", changed, err)
	}
	smaller := house()
	smaller.Sections[0].Rows = smaller.Sections[0].Rows[1:]
	if plan, err = s.CreateSeatingPlan(ctx, smaller, ""); err != nil {
		t.Fatal(err)
	}
	_, err = s.UpdateEvent(ctx, event.ID, client.EventChange{SeatingPlanID: &plan.ID})
	refused := (*client.Error)(nil)
	if !errors.As(err, &refused) || refused.Code != client.CapacityBelowTaken || refused.Taken != 1 || refused.MissingSeats != 1 ||
		!slices.Equal(refused.Missing, []string{"A-1-1"}) {
		t.Errorf("in the smaller hall: %+v", err)
	}
}
