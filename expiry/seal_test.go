package expiry_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// sealAge is shorter than the time since an event that is over.
const sealAge = time.Hour

// seal runs the job of a process that has just started.
func seal(t *testing.T, w *testenv.Env) expiry.Report {
	t.Helper()
	report, err := (&expiry.Sealer{Store: w.Store}).Run(w.Ctx(), sealAge, slog.New(w.Log))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// isOver makes the event's date one that is past.
func isOver(w *testenv.Env, id holdfast.ID) holdfast.ID {
	w.T.Helper()
	w.Set("events", id, bson.D{{Key: "eventDate", Value: time.Now().Add(-2 * sealAge)}})
	return id
}

func sell(w *testenv.Env, id holdfast.ID, seats int64) holdfast.Booking {
	w.T.Helper()
	b := w.Book(w.Acquire(id, seats, testenv.Soon()), testenv.Soon())
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{}); err != nil {
		w.T.Fatal(err)
	}
	return b
}

// settled is an event of 10 seats that is over, with 2 seats sold and a lock that expired.
func settled(w *testenv.Env) (id holdfast.ID, sale holdfast.Booking) {
	w.T.Helper()
	id = isOver(w, w.Event(10))
	w.Acquire(id, 1, testenv.Past())
	sale = sell(w, id, 2)
	w.SweepLocks()
	return id, sale
}

// sealOf is the stored seal of an event; nil if it has none.
func sealOf(w *testenv.Env, id holdfast.ID) bson.M {
	w.T.Helper()
	var doc struct {
		Internal struct {
			Sealed bson.M `bson:"sealed"`
		} `bson:"internal"`
	}
	if err := w.DB.Collection("events").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}).Decode(&doc); err != nil {
		w.T.Fatal(err)
	}
	return doc.Internal.Sealed
}

// An event is sealed with its final counts once it is over and nothing of it is open.
func TestSeal_EventsThatAreOver(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	over, _ := settled(w)
	empty := isOver(w, w.Event(5))
	future := w.Event(10)
	recent := w.Event(10)
	w.Set("events", recent, bson.D{{Key: "eventDate", Value: time.Now().Add(-sealAge / 2)}})
	undated := w.Event(10)
	w.Set("events", undated, bson.D{{Key: "eventDate", Value: bson.A{time.Now().Add(-2 * sealAge)}}})
	locked := isOver(w, w.Event(10))
	w.Acquire(locked, 1, testenv.Soon())
	booked, _ := settled(w)
	foreign, _ := settled(w) // other software's bookings that are open
	for _, b := range []bson.D{{{Key: "eventId", Value: booked}, {Key: "status", Value: "INITIATED"}},
		{{Key: "event", Value: foreign}, {Key: "status", Value: "PAYMENT_PENDING"}}} {
		w.Insert("bookings", append(b, bson.E{Key: "seatLockId", Value: ids.New()}))
	}
	if report := seal(t, w); report != (expiry.Report{Found: 5, Applied: 2, Skipped: 3}) {
		t.Errorf("got %+v, want 2 of 5 sealed", report)
	}
	got := sealOf(w, over)
	if got["totalSeats"] != int64(10) || got["availableSeats"] != int64(8) || got["at"] == nil || got["rev"] == nil {
		t.Errorf("the seal is %v", got)
	}
	if sealOf(w, empty) == nil {
		t.Error("an event without locks is not sealed")
	}
	for name, id := range map[string]holdfast.ID{
		"future": future, "recent": recent, "undated": undated, "locked": locked, "booked": booked, "foreign": foreign,
	} {
		if got := sealOf(w, id); got != nil {
			t.Errorf("%s is sealed: %v", name, got)
		}
	}
	if broken, err := w.Store.BrokenSeals(w.Ctx()); err != nil || len(broken) > 0 {
		t.Errorf("changed since: %v, %v", broken, err)
	}
	if again := seal(t, w); again.Applied != 0 || again.Found != 3 {
		t.Errorf("again: %+v", again)
	}
	if len(w.Log.Lines("INFO [RETENTION JOB] Sealed 2 events that are over")) != 1 {
		t.Error("not logged")
	}
}

// While processes of the former version may write, which would leave a seal, no event is sealed.
func TestSeal_NotBesideTheFormerVersion(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	id := isOver(w, w.Event(10))
	if report := seal(t, w); report != (expiry.Report{}) || sealOf(w, id) != nil {
		t.Errorf("%+v; the seal is %v", report, sealOf(w, id))
	}
}

// An event with a contradiction is not sealed. That is reported once, and examined again only
// after the event has changed; the other events are sealed.
func TestSeal_LeavesContradictions(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var broken []holdfast.ID
	add := func(change func(id holdfast.ID, sale holdfast.Booking)) {
		id, sale := settled(w)
		change(id, sale)
		broken = append(broken, id)
	}
	lock := func(id holdfast.ID, fields ...bson.E) {
		w.Insert("seatlocks", append(bson.D{{Key: "eventId", Value: id}, {Key: "status", Value: "CONSUMED"},
			{Key: "expiresAt", Value: time.Now()}}, fields...))
	}
	add(func(id holdfast.ID, _ holdfast.Booking) {
		w.Set("events", id, bson.D{{Key: "availableSeats", Value: 7}})
	})
	add(func(id holdfast.ID, _ holdfast.Booking) {
		w.Set("events", id, bson.D{{Key: "availableSeats", Value: 0}, {Key: "oversold", Value: 1}, {Key: "totalSeats", Value: 1}})
	})
	add(func(id holdfast.ID, _ holdfast.Booking) {
		w.Set("events", id, bson.D{{Key: "internal.rev", Value: "3-abc"}})
	})
	add(func(_ holdfast.ID, sale holdfast.Booking) {
		w.Set("bookings", sale.ID, bson.D{{Key: "status", Value: "CANCELLED"}})
	})
	add(func(_ holdfast.ID, sale holdfast.Booking) {
		w.Insert("bookings", bson.D{{Key: "seatLockId", Value: sale.LockID}, {Key: "status", Value: "CONFIRMED"}})
	})
	add(func(id holdfast.ID, _ holdfast.Booking) {
		w.Insert("bookings", bson.D{{Key: "event", Value: id}, {Key: "seatLockId", Value: ids.New()}, {Key: "status", Value: "CONFIRMED"}})
	})
	add(func(id holdfast.ID, _ holdfast.Booking) { lock(id, bson.E{Key: "seats", Value: "many"}) })
	add(func(id holdfast.ID, _ holdfast.Booking) {
		lock(id, bson.E{Key: "_id", Value: "x"}, bson.E{Key: "seats", Value: 1})
	})
	good, _ := settled(w)

	sealer := &expiry.Sealer{Store: w.Store}
	for round, want := range []int{1, 0} {
		report, err := sealer.Run(w.Ctx(), sealAge, slog.New(w.Log))
		if err != nil || report.Applied != want || report.Skipped != len(broken) || report.Errors != 0 {
			t.Errorf("round %d: %+v, %v", round, report, err)
		}
	}
	for i, id := range broken {
		if got := sealOf(w, id); got != nil {
			t.Errorf("event %d is sealed: %v", i, got)
		}
	}
	if sealOf(w, good) == nil {
		t.Error("the good event is not sealed")
	}
	if lines := w.Log.Lines("WARN Set aside: an event that is over can't be sealed"); len(lines) != len(broken) {
		t.Errorf("%d of %d reported: %v", len(lines), len(broken), lines)
	}
	w.Set("events", broken[0], bson.D{{Key: "availableSeats", Value: 8}}) // repaired
	if report, err := sealer.Run(w.Ctx(), sealAge, slog.New(w.Log)); err != nil || report.Applied != 1 {
		t.Errorf("repaired: %+v, %v", report, err)
	}
}

// Whatever writes a sealed event removes the seal in its transaction, and is refused nothing.
func TestSeal_IsRemovedByEveryChange(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	name := "New name"
	for what, change := range map[string]func(id holdfast.ID, sale holdfast.Booking){
		"lock": func(id holdfast.ID, _ holdfast.Booking) { w.Acquire(id, 1, testenv.Soon()) },
		"cancel": func(_ holdfast.ID, sale holdfast.Booking) {
			_, err := w.Bookings.CancelBooking(w.Ctx(), sale.ID)
			must(err)
		},
		"patch": func(id holdfast.ID, _ holdfast.Booking) {
			_, err := w.Seats.UpdateEvent(w.Ctx(), id, holdfast.EventChange{Name: &name})
			must(err)
		},
		"hold": func(id holdfast.ID, _ holdfast.Booking) {
			must(mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error { return w.Store.Hold(ctx, id) }))
		},
		"repair": func(id holdfast.ID, _ holdfast.Booking) {
			w.Set("events", id, bson.D{{Key: "availableSeats", Value: 3}})
			_, err := w.Pipeline.Repair(w.Ctx(), id, "run")
			must(err)
		},
	} {
		id, sale := settled(w)
		if seal(t, w); sealOf(w, id) == nil {
			t.Fatal("not sealed")
		}
		change(id, sale)
		if got := sealOf(w, id); got != nil {
			t.Errorf("%s: the seal is %v", what, got)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A refusal and the removal of ended locks change nothing that is counted.
func TestSeal_StaysWhereNothingIsChanged(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id, _ := settled(w)
	seal(t, w)
	_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: id, UserID: ids.New(), Seats: 9, Key: "key"})
	if code := holdfast.CodeOf(err); code != holdfast.CodeSeatsUnavailable {
		t.Fatal(err)
	}
	retain(t, w, time.Nanosecond)
	if n := count(t, w, "seatlocks", bson.D{{Key: "eventId", Value: id}}); n != 1 {
		t.Errorf("%d locks are left, want the sold one", n)
	}
	if sealOf(w, id) == nil {
		t.Error("the seal was removed")
	}
}

// A rival acts at a moment of the job: before the proof reads locks, before the seal is written,
// and after that, in the same transaction. The event is then not sealed, or the rival has removed
// the seal. What Holdfast itself wrote meanwhile is no contradiction.
func TestSeal_RaceWithARival(t *testing.T) {
	t.Parallel()
	type moment struct{ command, collection string }
	for _, at := range []moment{
		{"aggregate", "seatlocks"}, {"find", "seatlocks"}, {"find", "bookings"}, {"update", "events"}, {"commitTransaction", ""},
	} {
		for what, rival := range map[string]func(w *testenv.Env, id holdfast.ID){
			"lock":         func(w *testenv.Env, id holdfast.ID) { w.Acquire(id, 1, testenv.Soon()) },
			"sale":         func(w *testenv.Env, id holdfast.ID) { sell(w, id, 1) },
			"foreign lock": func(w *testenv.Env, id holdfast.ID) { foreignLock(w, id) },
		} {
			t.Run(fmt.Sprint(what, " before ", at.command, " ", at.collection), func(t *testing.T) {
				t.Parallel()
				w := testenv.New(t)
				id, _ := settled(w)
				var once sync.Once
				acted := make(chan struct{})
				process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
					o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
						name, _ := e.Command.Lookup(at.command).StringValueOK()
						if e.CommandName == at.command && name == at.collection {
							once.Do(func() {
								go func() {
									defer close(acted)
									rival(w, id)
								}()
								if at.command != "commitTransaction" { // the seal's transaction would make it wait
									<-acted
								}
							})
						}
					}}
				})
				seal(t, process)
				<-acted
				if lines := process.Log.Lines("can't be sealed"); what != "foreign lock" && len(lines) > 0 {
					t.Error(lines)
				}
				got := sealOf(w, id)
				if what == "foreign lock" && at.command == "commitTransaction" {
					return // it wrote no event, after the last look: recovery finds it
				}
				if got != nil && what != "sale" || got != nil && got["availableSeats"] != int64(7) {
					t.Errorf("the seal is %v", got)
				}
			})
		}
	}
}

// foreignLock is an ACTIVE lock that other software adds without writing the event.
func foreignLock(w *testenv.Env, id holdfast.ID) {
	w.T.Helper()
	w.Insert("seatlocks", bson.D{{Key: "eventId", Value: id}, {Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"},
		{Key: "expiresAt", Value: clock.System().Add(time.Hour)}})
}

// A run that ends early leaves sealed what it sealed; the next one goes on. A page that is full
// of events that can't be sealed does not end it.
func TestSeal_GoesOnWhereARunEnded(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const inUse, over = 520, 30 // more than a page
	var events, locks []any
	for i := range inUse + over {
		id, available := ids.New(), 10
		if i < inUse {
			available = 9
			locks = append(locks, bson.D{{Key: "eventId", Value: id}, {Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"},
				{Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
		}
		events = append(events, bson.D{{Key: "_id", Value: id}, {Key: "totalSeats", Value: 10}, {Key: "availableSeats", Value: available},
			{Key: "eventDate", Value: time.Now().Add(-2 * sealAge)}})
	}
	for name, docs := range map[string][]any{"events": events, "seatlocks": locks} {
		if _, err := w.DB.Collection(name).InsertMany(w.Ctx(), docs); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(w.Ctx())
	commits := 0
	process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			if e.CommandName == "commitTransaction" {
				if commits++; commits == 10 {
					stop()
				}
			}
		}}
	})
	first, err := (&expiry.Sealer{Store: process.Store}).Run(ctx, sealAge, slog.New(w.Log))
	if err == nil || first.Applied < 9 || first.Applied > 10 {
		t.Errorf("the first run: %+v, %v; want about 10 sealed, and an error", first, err)
	}
	sealed := count(t, w, "events", bson.D{{Key: "internal.sealed", Value: bson.D{{Key: "$ne", Value: nil}}}})
	if second := seal(t, w); second.Applied != over-sealed || second.Skipped != inUse {
		t.Errorf("the second run: %+v after %d", second, sealed)
	}
}

// What a pass reads does not grow with the locks of sealed events. It reads some index entries of
// each event.
func TestSeal_APassReadsNoLocksOfSealedEvents(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const over, sold = 6, 300 // one in two is over
	var events, locks, bookings []any
	for i := range 2 * over {
		event, date, n := ids.New(), time.Now().Add(-2*sealAge), sold
		if i%2 == 0 {
			date, n = time.Now().Add(sealAge), 5
		}
		events = append(events, bson.D{{Key: "_id", Value: event}, {Key: "totalSeats", Value: 1000}, {Key: "availableSeats", Value: 1000 - n},
			{Key: "eventDate", Value: date}})
		for j := range n {
			lock, named := ids.New(), "eventId"
			if j%2 == 0 {
				named = "event" // by other software
			}
			locks = append(locks, bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: event}, {Key: "seats", Value: 1},
				{Key: "status", Value: "CONSUMED"}, {Key: "expiresAt", Value: time.Now()}})
			bookings = append(bookings, bson.D{{Key: named, Value: event}, {Key: "seatLockId", Value: lock}, {Key: "status", Value: "CONFIRMED"}})
		}
	}
	for name, docs := range map[string][]any{"events": events, "seatlocks": locks, "bookings": bookings} {
		if _, err := w.DB.Collection(name).InsertMany(w.Ctx(), docs); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (n int) {
		for _, p := range profile(t, w, func() { w.Recover() }) {
			if p.NS != w.DB.Name()+".events" {
				n += p.Keys
			}
		}
		return n
	}
	before := read()
	if report := seal(t, w); report.Applied != over {
		t.Fatalf("%+v", report)
	}
	if after := read(); before < 3*over*sold || after > over*sold/2 {
		t.Errorf("it reads %d index entries, and %d after %d of %d events were sealed", before, after, over, 2*over)
	}
}
