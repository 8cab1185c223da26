package expiry_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// archiveAge is shorter than the time since a past event.
const archiveAge = time.Hour

// archive runs the job of a process that has just started.
func archive(t *testing.T, w *testenv.Env) expiry.Report {
	t.Helper()
	report, err := (&expiry.Archiver{Pipeline: w.Pipeline}).Run(w.Ctx(), archiveAge, slog.New(w.Log))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// isOver moves the date of the event into the past.
func isOver(w *testenv.Env, id holdfast.ID) holdfast.ID {
	w.T.Helper()
	w.Set("events", id, bson.D{{Key: "eventDate", Value: time.Now().Add(-2 * archiveAge)}})
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

// settled returns a past event of 10 seats, with 2 seats sold and a lock that expired.
func settled(w *testenv.Env) (id holdfast.ID, sale holdfast.Booking) {
	w.T.Helper()
	id = isOver(w, w.Event(10))
	w.Acquire(id, 1, testenv.Past())
	sale = sell(w, id, 2)
	w.SweepLocks()
	return id, sale
}

// archivedAt returns the mark of an event, or nil if it has none.
func archivedAt(w *testenv.Env, id holdfast.ID) any {
	w.T.Helper()
	var doc struct {
		Internal struct {
			ArchivedAt any `bson:"archivedAt"`
		} `bson:"internal"`
	}
	if err := w.DB.Collection("events").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}).Decode(&doc); err != nil {
		w.T.Fatal(err)
	}
	return doc.Internal.ArchivedAt
}

// An event is archived once its date has passed and nothing of it is open.
func TestArchive_EventsThatAreOver(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	over, _ := settled(w)
	empty := isOver(w, w.Event(5))
	future := w.Event(10)
	recent := w.Event(10)
	w.Set("events", recent, bson.D{{Key: "eventDate", Value: time.Now().Add(-archiveAge / 2)}})
	undated := w.Event(10)
	w.Set("events", undated, bson.D{{Key: "eventDate", Value: nil}})
	locked := isOver(w, w.Event(10))
	w.Acquire(locked, 1, testenv.Soon())
	oversold, _ := settled(w)
	w.Set("events", oversold, bson.D{{Key: "availableSeats", Value: 0}, {Key: "oversold", Value: 1}, {Key: "totalSeats", Value: 1}})
	booked, _ := settled(w)
	foreign, _ := settled(w)
	for _, b := range []bson.D{{{Key: "eventId", Value: booked}, {Key: "status", Value: "INITIATED"}},
		{{Key: "event", Value: foreign}, {Key: "status", Value: "PAYMENT_PENDING"}, {Key: "paymentExpiresAt", Value: time.Now()}}} {
		w.Insert("bookings", append(b, bson.E{Key: "seatLockId", Value: mongodb.NewID()}))
	}
	if report := archive(t, w); report != (expiry.Report{Found: 6, Applied: 2, Skipped: 4}) {
		t.Errorf("got %+v, want 2 of 6 archived", report)
	}
	for name, id := range map[string]holdfast.ID{"over": over, "empty": empty} {
		if _, isDate := archivedAt(w, id).(bson.DateTime); !isDate {
			t.Errorf("%s: the mark is %v, want a date", name, archivedAt(w, id))
		}
	}
	for name, id := range map[string]holdfast.ID{
		"future": future, "recent": recent, "undated": undated, "locked": locked, "oversold": oversold, "booked": booked, "foreign": foreign,
	} {
		if got := archivedAt(w, id); got != nil {
			t.Errorf("%s is archived: %v", name, got)
		}
	}
	if again := archive(t, w); again.Applied != 0 || again.Found != 4 {
		t.Errorf("again: %+v", again)
	}
	if len(w.Log.Lines("INFO [RETENTION JOB] Archived 2 events that are over")) != 1 {
		t.Error("not logged")
	}
}

// The database's clock decides whether an event is past, not the clock of the process.
func TestArchive_GoesByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	over, future := isOver(w, w.Event(10)), w.Event(10)
	w.Set("events", future, bson.D{{Key: "eventDate", Value: time.Now().Add(archiveAge)}})
	for _, wrong := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
			o.Clock = func() time.Time { return time.Now().Add(wrong) }
		})
		archive(t, process)
		if archivedAt(w, over) == nil || archivedAt(w, future) != nil {
			t.Errorf("a clock that is wrong by %v: the marks are %v and %v", wrong, archivedAt(w, over), archivedAt(w, future))
		}
		unmark := bson.D{{Key: "$unset", Value: bson.D{{Key: "internal.archivedAt", Value: ""}}}}
		if _, err := w.DB.Collection("events").UpdateByID(w.Ctx(), over, unmark); err != nil {
			t.Fatal(err)
		}
	}
}

// Every command that writes an archived event removes the mark in its transaction, and succeeds as without the mark.
func TestArchive_EveryWriteTakesTheMarkAway(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	update := func(change holdfast.EventChange) func(past) {
		return func(p past) {
			_, err := w.Seats.UpdateEvent(w.Ctx(), p.event, change)
			must(err)
		}
	}
	name, total, closed := "New name", int64(20), holdfast.Closed
	for what, write := range map[string]func(past){
		"lock": func(p past) { w.Acquire(p.event, 1, testenv.Soon()) },
		"cancel": func(p past) {
			_, err := w.Bookings.CancelBooking(w.Ctx(), p.sale.ID)
			must(err)
		},
		"late payment": func(p past) {
			b, err := w.Bookings.ConfirmBooking(w.Ctx(), p.expired.ID, holdfast.Charge{Reference: "late"})
			if must(err); !b.Late {
				t.Errorf("the booking is %+v", b)
			}
		},
		"name":   update(holdfast.EventChange{Name: &name}),
		"total":  update(holdfast.EventChange{TotalSeats: &total}),
		"status": update(holdfast.EventChange{Status: &closed}),
		"repair": func(p past) {
			w.Set("events", p.event, bson.D{{Key: "availableSeats", Value: 3}})
			_, err := w.Pipeline.Repair(w.Ctx(), p.event, "run")
			must(err)
		},
		"repair with others": func(p past) {
			w.Set("events", p.event, bson.D{{Key: "availableSeats", Value: 3}})
			report, err := w.Recovery.RunAll(w.Ctx(), "run", slog.New(w.Log))
			if must(err); report.Corrections != 1 {
				t.Errorf("%+v, want 1 corrected", report)
			}
		},
		"sweep of a restored lock": func(p past) {
			w.Insert("seatlocks", bson.D{{Key: "eventId", Value: p.event}, {Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"},
				{Key: "expiresAt", Value: testenv.Past().At}})
			w.Set("events", p.event, bson.D{{Key: "availableSeats", Value: 7}})
			if swept := w.SweepLocks(); swept.Applied != 1 {
				t.Errorf("swept: %+v", swept)
			}
		},
	} {
		p := newPast(w)
		if archive(t, w); archivedAt(w, p.event) == nil {
			t.Fatalf("%s: not archived", what)
		}
		write(p)
		if got := archivedAt(w, p.event); got != nil {
			t.Errorf("%s: the mark is %v", what, got)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// past is an event that is past and settled.
type past struct {
	event   holdfast.ID
	sale    holdfast.Booking
	expired holdfast.Booking // its payment is accepted late
}

func newPast(w *testenv.Env) (p past) {
	w.T.Helper()
	p.event, p.sale = settled(w)
	if _, err := w.Seats.UpdateEvent(w.Ctx(), p.event, holdfast.EventChange{LatePayments: new(holdfast.LatePaymentsAccepted)}); err != nil {
		w.T.Fatal(err)
	}
	p.expired = w.Book(w.Acquire(p.event, 1, testenv.Soon()), testenv.Soon())
	w.Set("bookings", p.expired.ID, bson.D{{Key: "paymentExpiresAt", Value: testenv.Past().At}})
	w.SweepBookings()
	return p
}

// The same of an event with a seating plan.
func TestArchive_EveryWriteOfASeatedEventTakesTheMarkAway(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id := isOver(w, w.SeatedEvent(holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{
			{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 3}}},
			{Key: "pit", Name: "Pit", Category: "c", Capacity: 5},
		}}))
	for _, step := range []struct {
		what  string
		write func() error
	}{
		{"block", func() error { _, err := w.Seats.BlockSeats(w.Ctx(), id, []string{"A-1-1"}); return err }},
		{"unblock", func() error { _, err := w.Seats.UnblockSeats(w.Ctx(), id, []string{"A-1-1"}); return err }},
		{"repair", func() error {
			w.Set("events", id, bson.D{{Key: "internal.map.0", Value: bson.Binary{Data: []byte{0x80}}}})
			_, _, err := w.Pipeline.RepairSeats(w.Ctx(), id, "run")
			return err
		}},
		{"lock", func() error {
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{
				EventID: id, UserID: mongodb.NewID(), Wish: holdfast.Wish{SeatIDs: []string{"A-1-2"}}, Until: testenv.Soon(),
			})
			return err
		}},
	} {
		if archive(t, w); archivedAt(w, id) == nil {
			t.Fatalf("before %s: not archived", step.what)
		}
		if err := step.write(); err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
		if got := archivedAt(w, id); got != nil {
			t.Errorf("%s: the mark is %v", step.what, got)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A refusal and the removal of ended locks change nothing that is counted.
func TestArchive_StaysWhereNothingIsChanged(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id, _ := settled(w)
	archive(t, w)
	_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: id, UserID: mongodb.NewID(), Seats: 9, Key: "key"})
	if code := holdfast.CodeOf(err); code != holdfast.CodeSeatsUnavailable {
		t.Fatal(err)
	}
	retain(t, w, time.Nanosecond)
	if n := count(t, w, "seatlocks", bson.D{{Key: "eventId", Value: id}}); n != 1 {
		t.Errorf("%d locks are left, want the sold one", n)
	}
	if archivedAt(w, id) == nil {
		t.Error("the mark was removed")
	}
}

// A run that ends early leaves archived what it archived; the next one goes on. A page that is full
// of events that are open does not end it.
func TestArchive_GoesOnWhereARunEnded(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const inUse, over = 520, 30 // more than a page
	var events, locks []any
	for i := range inUse + over {
		id, available := mongodb.NewID(), 10
		if i < inUse {
			available = 9
			locks = append(locks, bson.D{{Key: "eventId", Value: id}, {Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"},
				{Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
		}
		events = append(events, bson.D{{Key: "_id", Value: id}, {Key: "totalSeats", Value: 10}, {Key: "availableSeats", Value: available},
			{Key: "eventDate", Value: time.Now().Add(-2 * archiveAge)}})
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
	first, err := (&expiry.Archiver{Pipeline: process.Pipeline}).Run(ctx, archiveAge, slog.New(w.Log))
	if err == nil || first.Applied < 9 || first.Applied > 10 {
		t.Errorf("the first run: %+v, %v; want about 10 archived, and an error", first, err)
	}
	archived := count(t, w, "events", bson.D{{Key: "internal.archivedAt", Value: bson.D{{Key: "$ne", Value: nil}}}})
	if second := archive(t, w); second.Applied != over-archived || second.Skipped != inUse {
		t.Errorf("the second run: %+v after %d", second, archived)
	}
}

// What a pass reads does not grow with the locks of archived events. It reads some index entries of
// each event.
func TestArchive_APassReadsNoLocksOfArchivedEvents(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const over, sold = 6, 300 // one in two is over
	var events, locks, bookings []any
	for i := range 2 * over {
		event, date, n := mongodb.NewID(), time.Now().Add(-2*archiveAge), sold
		if i%2 == 0 {
			date, n = time.Now().Add(archiveAge), 5
		}
		events = append(events, bson.D{{Key: "_id", Value: event}, {Key: "totalSeats", Value: 1000}, {Key: "availableSeats", Value: 1000 - n},
			{Key: "eventDate", Value: date}})
		for j := range n {
			lock, named := mongodb.NewID(), "eventId"
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
	if report := archive(t, w); report.Applied != over {
		t.Fatalf("%+v", report)
	}
	if after := read(); before < 3*over*sold || after > over*sold/2 {
		t.Errorf("it reads %d index entries, and %d after %d of %d events were archived", before, after, over, 2*over)
	}
}
