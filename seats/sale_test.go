package seats_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

// databaseNow is the database's clock.
func databaseNow(w *testenv.Env) time.Time {
	w.T.Helper()
	now, err := w.DB.Now(w.Ctx())
	if err != nil {
		w.T.Fatal(err)
	}
	return now
}

// Two processes with many clients open and close a sale at the same instant, by the database's clock: no lock is made before the start or
// from the end on, and the clients are told when it opens. An event with numbered seats and one without sell so.
func TestSale_OpensAndClosesInAllProcesses(t *testing.T) {
	t.Parallel()
	for name, seated := range map[string]bool{"without a seating plan": false, "seated": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event, wish := w.Event(100_000), holdfast.Wish{}
			if seated {
				event, wish = w.SeatedEvent(standingPlan(100_000)), holdfast.Wish{Section: "pit"}
			}
			starts := databaseNow(w).Add(500 * time.Millisecond)
			ends := starts.Add(500 * time.Millisecond)
			if _, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{SaleStartsAt: &starts, SaleEndsAt: &ends}); err != nil {
				t.Fatal(err)
			}
			var clients sync.WaitGroup
			for p, process := range []*testenv.Env{w, testenv.Open(t, w.URI, w.DB.Name())} {
				for c := range 20 {
					clients.Go(func() {
						client := saleClient{seats: process.Seats, event: event, wish: wish, key: fmt.Sprint(p, "-", c), opensAt: starts}
						if err := client.run(t); err != nil {
							t.Error(err)
						}
					})
				}
			}
			clients.Wait()
			locks := findAll(w, "seatlocks", bson.D{{Key: "eventId", Value: event}})
			if len(locks) == 0 {
				t.Error("nothing was sold")
			}
			for _, lock := range locks {
				if at := lock.Lookup("createdAt").Time(); at.Before(starts.Truncate(time.Millisecond)) || !at.Before(ends) {
					t.Errorf("a lock was made at %v, the sale is from %v to %v", at, starts, ends)
				}
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

func standingPlan(capacity int64) holdfast.SeatingPlan {
	return holdfast.SeatingPlan{
		Name: "Field", Categories: []holdfast.Category{{Key: "standing", Name: "Standing"}},
		Sections: []holdfast.Section{{Key: "pit", Name: "Pit", Category: "standing", Capacity: capacity}},
	}
}

// saleClient asks for seats until the sale has ended.
type saleClient struct {
	seats   *seats.Service
	event   holdfast.ID
	wish    holdfast.Wish
	key     string
	opensAt time.Time
}

func (c saleClient) run(t *testing.T) error {
	user, granted := mongodb.NewID(), 0
	for n := 0; ; n++ {
		_, _, err := c.seats.AcquireLock(t.Context(), holdfast.LockRequest{
			EventID: c.event, UserID: user, Seats: 1, Wish: c.wish, Key: fmt.Sprint(c.key, "-", n),
		})
		closed, isClosed := holdfast.DetailsOf[holdfast.SaleNotOpen](err)
		switch {
		case err == nil:
			granted++
		case isClosed && granted > 0:
			return errors.New("the sale is not open any more")
		case isClosed && (!closed.OpensAt.Equal(c.opensAt.Truncate(time.Millisecond)) || closed.After <= 0):
			return fmt.Errorf("the refusal says %+v", closed)
		case isClosed, holdfast.HasCode(err, holdfast.CodeUnavailable):
		case holdfast.HasCode(err, holdfast.CodeEventNotOnSale):
			return nil
		default:
			return fmt.Errorf("after %d locks: %w", granted, err)
		}
	}
}

// The end of the sale is checked at the write: a process that decided before the end, on what it remembers, locks nothing after it.
func TestSale_EndsForADecisionOnWhatIsRemembered(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	ends := databaseNow(w).Add(time.Second).Truncate(time.Millisecond)
	if _, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{SaleEndsAt: &ends}); err != nil {
		t.Fatal(err)
	}
	w.Acquire(event, 1, testenv.Soon()) // the event is remembered
	testenv.WaitFor(t, func() bool { return !databaseNow(w).Before(ends) })
	for range 2 {
		_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1})
		wantCode(t, err, holdfast.CodeEventNotOnSale)
	}
	if available, _ := w.Available(event); available != 9 {
		t.Errorf("%d seats are available, want 9", available)
	}
}

// A process that remembers the times of a sale sells nothing by them once another process has changed them.
func TestSale_FollowsAChangeOfItsTimes(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	event := w.Event(10)
	request := func() error {
		_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1})
		return err
	}
	now, none := databaseNow(w), time.Time{}
	before, after := now.Add(-time.Hour), now.Add(time.Hour)
	for _, step := range []struct {
		starts, ends *time.Time
		want         holdfast.Code
	}{
		{nil, nil, ""},
		{&after, nil, holdfast.CodeSaleNotOpen},
		{&before, &after, ""},
		{nil, &now, holdfast.CodeEventNotOnSale},
		{&none, &none, ""},
		{nil, &before, holdfast.CodeEventNotOnSale},
	} {
		if _, err := other.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{SaleStartsAt: step.starts, SaleEndsAt: step.ends}); err != nil {
			t.Fatal(err)
		}
		if err := request(); holdfast.CodeOf(err) != step.want {
			t.Errorf("from %v to %v: %v, want %q", step.starts, step.ends, err, step.want)
		}
	}
}

// A document of other software whose end is not later than its start never sells.
func TestSale_WithoutATimeNeverSells(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	now := databaseNow(w)
	for name, times := range map[string][2]time.Time{
		"both have passed": {now.Add(-time.Hour), now.Add(-2 * time.Hour)}, "the end has passed": {now.Add(time.Hour), now.Add(-time.Hour)},
		"both are ahead": {now.Add(2 * time.Hour), now.Add(time.Hour)}, "they are the same": {now.Add(-time.Hour), now.Add(-time.Hour)},
	} {
		event := w.Event(10)
		w.Set("events", event, bson.D{{Key: "saleStartsAt", Value: times[0]}, {Key: "saleEndsAt", Value: times[1]}})
		_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1})
		if !holdfast.HasCode(err, holdfast.CodeEventNotOnSale) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The times of a sale refuse neither a repeat nor what a customer does with seats that are locked.
func TestSale_RefusesNothingElse(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	request := holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 2, Key: "k"}
	lock, _, err := w.Seats.AcquireLock(w.Ctx(), request)
	if err != nil {
		t.Fatal(err)
	}
	past := databaseNow(w).Add(-time.Hour)
	if _, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{SaleEndsAt: &past}); err != nil {
		t.Fatal(err)
	}
	if again, replayed, err := w.Seats.AcquireLock(w.Ctx(), request); err != nil || !replayed || again.ID != lock.ID {
		t.Errorf("a repeat: %+v, %v, %v", again, replayed, err)
	}
	_, err = w.Seats.ChangeSeats(w.Ctx(), lock.ID, 3, holdfast.Wish{})
	wantCode(t, err, holdfast.CodeEventNotOnSale)
	if _, err := w.Seats.ChangeSeats(w.Ctx(), lock.ID, 1, holdfast.Wish{}); err != nil {
		t.Error("fewer seats:", err)
	}
	if _, err := w.Seats.ExtendLock(w.Ctx(), lock.ID, testenv.Soon()); err != nil {
		t.Error("extend:", err)
	}
	booking := w.Book(lock, testenv.Soon())
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), booking.ID, holdfast.Charge{Reference: "paid"}); err != nil {
		t.Error("confirm:", err)
	}
}

func TestSale_TimesAreKept(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	starts := time.Date(2030, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("", 3600))
	ends := starts.Add(time.Hour)
	e, err := w.Seats.CreateEvent(w.Ctx(), holdfast.NewEvent{Name: "Show", TotalSeats: 10, SaleStartsAt: starts, SaleEndsAt: ends})
	if err != nil {
		t.Fatal(err)
	}
	read, err := w.Seats.GetEvent(w.Ctx(), e.ID)
	if err != nil || !read.SaleStartsAt.Equal(starts.Truncate(time.Millisecond)) || !read.SaleEndsAt.Equal(ends.Truncate(time.Millisecond)) {
		t.Errorf("%v: stored from %v to %v", err, read.SaleStartsAt, read.SaleEndsAt)
	}
	wrong, almost := starts.Add(-time.Hour), starts.Truncate(time.Millisecond).Add(1)
	for name, c := range map[string]holdfast.EventChange{
		"body.saleEndsAt": {SaleEndsAt: &wrong}, "body.saleStartsAt": {SaleStartsAt: &ends}, "the same millisecond": {SaleEndsAt: &almost},
		"both": {SaleStartsAt: &starts, SaleEndsAt: &starts}, "a far year": {SaleEndsAt: new(time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC))},
	} {
		_, err := w.Seats.UpdateEvent(w.Ctx(), e.ID, c)
		invalid, _ := holdfast.DetailsOf[holdfast.Invalid](err)
		if len(invalid) != 1 || name[:4] == "body" && invalid[0].Where != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, err := w.Seats.GetEvent(w.Ctx(), e.ID); err != nil || !after.UpdatedAt.Equal(read.UpdatedAt) {
		t.Errorf("%v: a refused change was written: %+v", err, after)
	}
	never := holdfast.NewEvent{Name: "Show", TotalSeats: 1, SaleStartsAt: ends, SaleEndsAt: starts}
	if _, err := w.Seats.CreateEvent(w.Ctx(), never); err == nil {
		t.Error("an event was created whose sale ends before it starts")
	}
	var none time.Time
	removed, err := w.Seats.UpdateEvent(w.Ctx(), e.ID, holdfast.EventChange{SaleStartsAt: &none, SaleEndsAt: &none})
	if err != nil || !removed.SaleStartsAt.IsZero() || !removed.SaleEndsAt.IsZero() {
		t.Errorf("%v: after the removal it is %+v", err, removed)
	}
	for _, doc := range findAll(w, "events", bson.D{{Key: "_id", Value: e.ID}}) {
		for _, field := range []string{"saleStartsAt", "saleEndsAt"} {
			if _, err := doc.LookupErr(field); err == nil {
				t.Errorf("%s is still stored: %v", field, doc)
			}
		}
	}
}

func findAll(w *testenv.Env, collection string, filter bson.D) (docs []bson.Raw) {
	w.T.Helper()
	cursor, err := w.DB.Collection(collection).Find(w.Ctx(), filter)
	if err == nil {
		err = cursor.All(w.Ctx(), &docs)
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return docs
}
