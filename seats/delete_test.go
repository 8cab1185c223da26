package seats_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	monitor "go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// numberedPlan has a row of three seats.
var numberedPlan = holdfast.SeatingPlan{
	Name: "Hall", Categories: []holdfast.Category{{Key: "all", Name: "All"}},
	Sections: []holdfast.Section{{Key: "A", Name: "A", Category: "all", Rows: []holdfast.Row{{Key: "1", Count: 3}}}},
}

// An event that has or had a lock, a block or a booking can't be deleted, and stays as it is.
func TestDelete_RefusesAnEventWithLocks(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	withLock := func(fields ...bson.E) func(holdfast.ID) {
		return func(event holdfast.ID) {
			lock := w.Acquire(event, 1, testenv.Soon())
			if len(fields) > 0 {
				w.Set("seatlocks", lock.ID, fields)
			}
		}
	}
	booked := func(field string) func(holdfast.ID) {
		return func(event holdfast.ID) {
			w.Insert("bookings", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: field, Value: event},
				{Key: "seatLockId", Value: mongodb.NewID()}, {Key: "status", Value: "CANCELLED"}})
		}
	}
	for name, arrange := range map[string]func(holdfast.ID){
		"ACTIVE": withLock(), "due": func(event holdfast.ID) { w.Acquire(event, 1, testenv.Past()) },
		"CONSUMED": withLock(bson.E{Key: "status", Value: "CONSUMED"}), "EXPIRED": withLock(bson.E{Key: "status", Value: "EXPIRED"}),
		"RELEASED": withLock(bson.E{Key: "status", Value: "RELEASED"}), "corrupt": func(event holdfast.ID) {
			w.Insert("seatlocks", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "seats", Value: "?"}})
		},
		"a booking": booked("eventId"), "a booking of the original schema": booked("event"),
	} {
		event := w.Event(5)
		arrange(event)
		before, err := w.Seats.GetEvent(w.Ctx(), event)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Seats.DeleteEvent(w.Ctx(), event); !holdfast.HasCode(err, holdfast.CodeEventHasLocks) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := w.Seats.GetEvent(w.Ctx(), event); err != nil || after.UpdatedAt != before.UpdatedAt {
			t.Errorf("%s: after the refusal it is %+v %v, was %+v", name, after, err, before)
		}
	}
	seated := w.SeatedEvent(numberedPlan)
	if _, err := w.Seats.BlockSeats(w.Ctx(), seated, []string{"A-1-2"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Seats.DeleteEvent(w.Ctx(), seated); !holdfast.HasCode(err, holdfast.CodeEventHasLocks) {
		t.Errorf("a block: %v", err)
	}
	if _, err := w.Seats.UnblockSeats(w.Ctx(), seated, []string{"A-1-2"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Seats.DeleteEvent(w.Ctx(), seated); err != nil {
		t.Errorf("the block was lifted: %v", err)
	}
}

// An event without any of them is removed with its request to be cancelled, and published once. To every process it is not there any more,
// whatever they remember.
func TestDelete_RemovesTheEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	for name, event := range map[string]holdfast.ID{
		"unseated": w.Event(5), "seated": w.SeatedEvent(numberedPlan), "with a wrong counter": w.Event(5),
	} {
		wish := holdfast.Wish{}
		if name == "seated" {
			wish.SeatIDs = []string{"A-1-1"}
		}
		request := holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1, Wish: wish}
		for _, process := range []*testenv.Env{w, other} { // both remember the event
			lock, _, err := process.Seats.AcquireLock(w.Ctx(), request)
			if err == nil {
				_, err = process.Seats.ReleaseLock(w.Ctx(), lock.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.DB.Collection("seatlocks").DeleteMany(w.Ctx(), bson.D{{Key: "eventId", Value: event}}); err != nil { // as retention does
			t.Fatal(err)
		}
		if name == "with a wrong counter" {
			w.ChangeUnchecked("events", event, bson.D{{Key: "$set", Value: bson.D{{Key: "availableSeats", Value: 9}}}})
		}
		if _, err := w.Store.AskCancellation(w.Ctx(), event, "event-cancel-1"); err != nil {
			t.Fatal(err)
		}
		if err := w.Seats.DeleteEvent(w.Ctx(), event); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, process := range []*testenv.Env{w, other} {
			_, err := process.Seats.GetEvent(w.Ctx(), event)
			_, _, acquireErr := process.Seats.AcquireLock(w.Ctx(), request)
			_, updateErr := process.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{MaxSeatsPerUser: new(int64(1))})
			_, _, mapErr := process.Seats.SeatsAt(w.Ctx(), event)
			for what, err := range map[string]error{
				"get": err, "acquire": acquireErr, "update": updateErr, "map": mapErr, "delete again": process.Seats.DeleteEvent(w.Ctx(), event),
			} {
				if !holdfast.HasCode(err, holdfast.CodeEventNotFound) {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
		}
		if wish, found, err := w.Store.CancellationOfEvent(w.Ctx(), event); err != nil || found {
			t.Errorf("%s: %+v %v", name, wish, err)
		}
		told := toldOf(w, event)
		if last := told[len(told)-1]; last.Type != holdfast.ChangeEventDeleted || last.Event.ID != event || last.Event.TotalSeats == 0 {
			t.Errorf("%s: told %+v", name, last)
		}
		slices.Reverse(told)
		for i, c := range told[1:] {
			if c.Type == holdfast.ChangeEventDeleted || c.Event != nil && c.Revision >= told[0].Revision {
				t.Errorf("%s: change %d before the deletion is %s of revision %d", name, i, c.Type, c.Revision)
			}
		}
	}
	if report := w.Recover(); report.Corrections+report.Reported+report.Errors > 0 {
		t.Errorf("recovery found %+v", report)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// toldOf lists the changes of an event, oldest first.
func toldOf(w *testenv.Env, event holdfast.ID) []holdfast.Change {
	w.T.Helper()
	testenv.WaitFor(w.T, func() bool {
		n, err := w.Changes.Number(w.Ctx())
		return err == nil && n == 0
	})
	told, _, err := w.Changes.List(w.Ctx(), nil, changes.Filter{EventID: event}, 100)
	if err != nil || len(told) == 0 {
		w.T.Fatal(told, err)
	}
	return told
}

// Two processes delete an event while their customers lock its seats. Either one of them deletes it, and no customer gets a seat; or
// a customer has a seat, and the event stays.
func TestDelete_OrALockAndNeverBoth(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	processes := []*testenv.Env{w, testenv.Open(t, w.URI, w.DB.Name())}
	for round := range 30 {
		event, wish := w.Event(100), holdfast.Wish{}
		if round%3 == 0 {
			event, wish = w.SeatedEvent(standingPlan(100)), holdfast.Wish{Section: "pit"}
		}
		var deleted, locked atomic.Int32
		var all sync.WaitGroup
		begin := make(chan struct{})
		for _, process := range processes {
			all.Go(func() {
				<-begin
				for range round % 3 { // the customers come first, sometimes
					_, _ = process.Seats.GetEvent(w.Ctx(), event)
				}
				switch err := process.Seats.DeleteEvent(w.Ctx(), event); {
				case err == nil:
					deleted.Add(1)
				case !holdfast.HasCode(err, holdfast.CodeEventHasLocks) && !holdfast.HasCode(err, holdfast.CodeEventNotFound):
					t.Error(err)
				}
			})
			for range 3 {
				all.Go(func() {
					<-begin
					_, _, err := process.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1, Wish: wish})
					switch {
					case err == nil:
						locked.Add(1)
					case !holdfast.HasCode(err, holdfast.CodeEventNotFound):
						t.Error(err)
					}
				})
			}
		}
		close(begin)
		all.Wait()
		stored, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), bson.D{{Key: "eventId", Value: event}})
		_, getErr := w.Seats.GetEvent(w.Ctx(), event)
		isDeleted := deleted.Load() == 1 && holdfast.IsNotFound(getErr) && locked.Load() == 0
		isSold := deleted.Load() == 0 && getErr == nil && locked.Load() > 0
		if err != nil || stored != int64(locked.Load()) || !isDeleted && !isSold {
			t.Errorf("%d deletions, %d locks, %d of them stored; the event: %v", deleted.Load(), locked.Load(), stored, getErr)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A deletion and a lock meet before either of them has committed: the first one counts, and the second one is refused.
func TestDelete_MeetsALock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	remove := func(process *testenv.Env, event holdfast.ID) error { return process.Seats.DeleteEvent(w.Ctx(), event) }
	acquire := func(process *testenv.Env, event holdfast.ID) error {
		_, _, err := process.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1})
		return err
	}
	for _, c := range []struct {
		name          string
		first, second func(*testenv.Env, holdfast.ID) error
		refusal       holdfast.Code
	}{
		{"a deletion, then a lock", remove, acquire, holdfast.CodeEventNotFound},
		{"a lock, then a deletion", acquire, remove, holdfast.CodeEventHasLocks},
	} {
		t.Run(c.name, func(t *testing.T) {
			event := w.Event(5)
			var isSecond atomic.Bool
			commits, commit, conflict := make(chan struct{}), make(chan struct{}), make(chan struct{})
			reached, met := sync.OnceFunc(func() { close(commits) }), sync.OnceFunc(func() { close(conflict) })
			watch := func(m *monitor.CommandMonitor) *testenv.Env {
				return testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) { o.Monitor = m })
			}
			holder := watch(&monitor.CommandMonitor{Started: func(_ context.Context, e *monitor.CommandStartedEvent) {
				if e.CommandName == "commitTransaction" {
					reached()
					<-commit
				}
			}})
			other := watch(&monitor.CommandMonitor{Failed: func(context.Context, *monitor.CommandFailedEvent) {
				if isSecond.Load() {
					met()
				}
			}})
			results := [2]chan error{make(chan error, 1), make(chan error, 1)}
			go func() { results[0] <- c.first(holder, event) }()
			<-commits
			isSecond.Store(true)
			go func() { results[1] <- c.second(other, event) }()
			<-conflict
			close(commit)
			if err := <-results[0]; err != nil {
				t.Errorf("the first: %v", err)
			}
			if err := <-results[1]; !holdfast.HasCode(err, c.refusal) {
				t.Errorf("the second: %v", err)
			}
		})
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// The reply to the commit is lost: the event is deleted and published once.
func TestDelete_WithALostReply(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test")
	for name, failure := range map[string]bson.D{"not sent": notSentOn, "applied": appliedNotAnswered} {
		event := w.Event(5)
		w.FailCommands("commitTransaction", bson.D{{Key: "times", Value: 2}}, failure)
		if err := w.Seats.DeleteEvent(w.Ctx(), event); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.Seats.DeleteEvent(w.Ctx(), event); !holdfast.HasCode(err, holdfast.CodeEventNotFound) {
			t.Errorf("%s, again: %v", name, err)
		}
		told := toldOf(w, event)
		if len(told) != 2 || told[1].Type != holdfast.ChangeEventDeleted || told[1].At.Before(told[0].At.Add(-time.Minute)) {
			t.Errorf("%s: told %+v", name, told)
		}
	}
}
