package expiry_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func changeEvent(t *testing.T, w *testenv.Env, eventID holdfast.ID, c holdfast.EventChange) {
	t.Helper()
	if _, err := w.Pipeline.Change(w.Ctx(), eventID, inventory.ChangeEvent{EventChange: c}); err != nil {
		t.Fatal(err)
	}
}

// waitlistOf opens the waiting list of an event.
func waitlistOf(t *testing.T, w *testenv.Env, eventID holdfast.ID) {
	t.Helper()
	open := holdfast.WaitlistOpen
	changeEvent(t, w, eventID, holdfast.EventChange{Waitlist: &open})
}

// join puts a new customer on the waiting list of an event, for one seat.
func join(t *testing.T, w *testenv.Env, eventID holdfast.ID) holdfast.ID {
	t.Helper()
	id := mongodb.NewID()
	_, err := w.Pipeline.Submit(w.Ctx(), eventID, inventory.Join{EntryID: id, JoinRequest: holdfast.JoinRequest{
		EventID: eventID, UserID: mongodb.NewID(), EntryWish: holdfast.EntryWish{Seats: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// wantEntry checks the status of an entry.
func wantEntry(t *testing.T, w *testenv.Env, id holdfast.ID, want holdfast.EntryStatus) {
	t.Helper()
	var doc struct {
		Status holdfast.EntryStatus `bson:"status"`
	}
	if err := w.DB.Collection("waitlist").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}).Decode(&doc); err != nil || doc.Status != want {
		t.Errorf("entry %s is %s, %v; want %s", id, doc.Status, err, want)
	}
}

// checkLists does what is due, like the job of a process that has just started.
func checkLists(t *testing.T, w *testenv.Env) expiry.Report {
	t.Helper()
	report, err := (&expiry.ListChecker{Pipeline: w.Pipeline, Batch: testenv.Batch}).Run(w.Ctx(), slog.New(w.Log), true)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// fillList lets many customers wait.
func fillList(t *testing.T, w *testenv.Env, eventID holdfast.ID, entries int) {
	t.Helper()
	docs := make([]any, 0, entries)
	for seq := range int64(entries) {
		docs = append(docs, bson.D{
			{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: eventID}, {Key: "userId", Value: mongodb.NewID()},
			{Key: "seats", Value: 1}, {Key: "status", Value: "WAITING"},
			{Key: "createdAt", Value: time.Now()}, {Key: "updatedAt", Value: time.Now()},
			{Key: "internal", Value: bson.D{{Key: "rev", Value: int64(0)}, {Key: "seq", Value: seq + 1}, {Key: "epoch", Value: int64(0)},
				{Key: "wish", Value: holdfast.EntryWish{Seats: 1}.Text()}}},
		})
	}
	if _, err := w.DB.Collection("waitlist").InsertMany(w.Ctx(), docs); err != nil {
		t.Fatal(err)
	}
	w.Set("events", eventID, bson.D{{Key: "internal.list.seq", Value: int64(entries)}, {Key: "internal.list.waiting", Value: int64(entries)}})
}

// told returns the changes of a type.
func told(t *testing.T, w *testenv.Env, what holdfast.ChangeType) (list []holdfast.Change) {
	t.Helper()
	if _, err := w.Changes.Number(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	for from := (*changes.Position)(nil); ; {
		page, next, err := w.Changes.List(w.Ctx(), from, changes.Filter{Types: []holdfast.ChangeType{what}}, 500)
		if err != nil {
			t.Fatal(err)
		}
		if list = append(list, page...); len(page) == 0 {
			return list
		}
		from = &next
	}
}

// The window of a sale begins without a transaction of the event.
func TestWaitlist_OffersWhenTheSaleBegins(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, starts := w.Event(2), time.Now().Add(time.Hour)
	changeEvent(t, w, eventID, holdfast.EventChange{SaleStartsAt: &starts})
	waitlistOf(t, w, eventID)
	first, second, third := join(t, w, eventID), join(t, w, eventID), join(t, w, eventID)
	if report := checkLists(t, w); report != (expiry.Report{}) {
		t.Errorf("before the sale: %+v", report)
	}
	for _, field := range []string{"saleStartsAt", "internal.list.checkAt"} { // an hour later
		w.Set("events", eventID, bson.D{{Key: field, Value: time.Now().Add(-3 * time.Second)}})
	}
	var checked []inventory.ListCheck
	checker := &expiry.ListChecker{Pipeline: testenv.Core(w.DB, nil).Pipeline, Batch: testenv.Batch,
		Checked: func(c inventory.ListCheck) { checked = append(checked, c) }}
	report, err := checker.Run(w.Ctx(), slog.New(w.Log), true)
	if err != nil || report.Found != 1 || report.Applied != 2 || report.Errors != 0 {
		t.Errorf("when it begins: %+v, %v", report, err)
	}
	if len(checked) != 1 || checked[0].Offers != 2 || checked[0].Late < 3*time.Second || checked[0].Missed != 0 {
		t.Errorf("the checks are %+v", checked)
	}
	wantEntry(t, w, first, holdfast.EntryOffered)
	wantEntry(t, w, second, holdfast.EntryOffered)
	wantEntry(t, w, third, holdfast.EntryWaiting)
	offered := told(t, w, holdfast.ChangeEntryOffered)
	if len(offered) != 2 || offered[0].Actor != expiry.Waitlist {
		t.Errorf("told %+v", offered)
	}
	if report := checkLists(t, w); report != (expiry.Report{}) {
		t.Errorf("nothing is due, and the job found %+v", report)
	}
}

// The job is killed in the middle, and another process goes on. Each entry is told once.
func TestWaitlist_ClosesEachEntryOnce(t *testing.T) {
	t.Parallel()
	past, cancelled, closed := time.Now().Add(-time.Minute), holdfast.Cancelled, holdfast.WaitlistClosed
	for name, end := range map[string]func(w *testenv.Env, eventID holdfast.ID){
		"the list is closed":     func(w *testenv.Env, id holdfast.ID) { changeEvent(t, w, id, holdfast.EventChange{Waitlist: &closed}) },
		"the event is cancelled": func(w *testenv.Env, id holdfast.ID) { changeEvent(t, w, id, holdfast.EventChange{Status: &cancelled}) },
		"the sale ends": func(w *testenv.Env, id holdfast.ID) { // an hour ago, as if a clock had gone on
			w.Set("events", id, bson.D{{Key: "saleEndsAt", Value: past}, {Key: "internal.list.checkAt", Value: past}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const entries, batch = 1200, 500
			w := testenv.New(t)
			eventID := w.Event(1)
			w.Acquire(eventID, 1, testenv.Soon())
			waitlistOf(t, w, eventID)
			fillList(t, w, eventID, entries)
			end(w, eventID)
			ctx, kill := context.WithTimeout(w.Ctx(), time.Minute)
			process := testenv.Open(t, w.URI, w.DB.Name())
			killed := &expiry.ListChecker{Pipeline: process.Pipeline, Batch: batch, Checked: func(inventory.ListCheck) { kill() }}
			before, err := killed.Run(ctx, slog.New(w.Log), false)
			left := count(t, w, "waitlist", bson.D{{Key: "status", Value: "WAITING"}})
			if err == nil || before.Applied != batch || left != entries-batch {
				t.Errorf("until the kill: %+v, %v; %d wait", before, err, left)
			}
			if after := checkLists(t, w); after.Applied != entries-batch || after.Errors != 0 {
				t.Errorf("after it: %+v", after)
			}
			if n := count(t, w, "waitlist", bson.D{{Key: "status", Value: "CLOSED"}}); n != entries {
				t.Errorf("%d entries are CLOSED", n)
			}
			times := map[holdfast.ID]int{}
			for _, c := range told(t, w, holdfast.ChangeEntryClosed) {
				times[c.Entry.ID]++
			}
			for id, n := range times {
				if n != 1 {
					t.Errorf("entry %s was told %d times", id, n)
				}
			}
			if len(times) != entries {
				t.Errorf("%d entries were told", len(times))
			}
			if report := checkLists(t, w); report != (expiry.Report{}) {
				t.Errorf("nothing is left, and the job found %+v", report)
			}
		})
	}
}

func TestWaitlist_AListThatFailsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	seated := w.SeatedEvent(holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}},
		Sections: []holdfast.Section{{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 1}}}},
	})
	var entries []holdfast.ID
	for i, eventID := range []holdfast.ID{seated, w.Event(1), w.Event(1)} {
		starts := time.Now().Add(time.Hour)
		changeEvent(t, w, eventID, holdfast.EventChange{SaleStartsAt: &starts})
		waitlistOf(t, w, eventID)
		entries = append(entries, join(t, w, eventID))
		past := time.Now().Add(-time.Hour).Add(time.Duration(i) * time.Minute)
		w.Set("events", eventID, bson.D{{Key: "saleStartsAt", Value: past}, {Key: "internal.list.checkAt", Value: past}})
	}
	if _, err := w.DB.Collection("seatingplans").DeleteMany(w.Ctx(), bson.D{}); err != nil { // its seats can't be picked
		t.Fatal(err)
	}
	process := testenv.Open(t, w.URI, w.DB.Name())
	report, err := (&expiry.ListChecker{Pipeline: process.Pipeline, Batch: testenv.Batch}).Run(w.Ctx(), slog.New(process.Log), true)
	if err != nil || report.Found != 3 || report.Applied != 2 || report.Errors != 1 {
		t.Errorf("the report is %+v, %v", report, err)
	}
	if lines := process.Log.Lines("Could not check a waiting list"); len(lines) != 1 {
		t.Errorf("%d lines", len(lines))
	}
	wantEntry(t, w, entries[0], holdfast.EntryWaiting)
	for _, id := range entries[1:] {
		wantEntry(t, w, id, holdfast.EntryOffered)
	}
}

// A list that waits is closed first, and a later run archives the event.
func TestArchive_ClosesTheWaitingListFirst(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(1)
	sell(w, eventID, 1)
	waitlistOf(t, w, eventID)
	entries := []holdfast.ID{join(t, w, eventID), join(t, w, eventID)}
	isOver(w, eventID)
	for range 2 { // the entries' documents still wait
		if report := archive(t, w); report.Skipped != 1 || archivedAt(w, eventID) != nil {
			t.Errorf("the report is %+v; the mark is %v", report, archivedAt(w, eventID))
		}
	}
	event, err := w.Seats.GetEvent(w.Ctx(), eventID)
	if err != nil || event.Waitlist.Waiting != 0 || event.Waitlist.Status != holdfast.WaitlistOpen {
		t.Errorf("the event is %+v, %v", event, err)
	}
	if report := checkLists(t, w); report.Applied != 2 {
		t.Errorf("the job reports %+v", report)
	}
	for _, id := range entries {
		wantEntry(t, w, id, holdfast.EntryClosed)
	}
	if report := archive(t, w); report.Applied != 1 || archivedAt(w, eventID) == nil {
		t.Errorf("the report is %+v; the mark is %v", report, archivedAt(w, eventID))
	}
}

func TestEventCancel_EndsOffersAndEntries(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(2)
	held, sold := w.Acquire(eventID, 1, testenv.Soon()), w.Acquire(eventID, 1, testenv.Soon())
	waitlistOf(t, w, eventID)
	offered, accepted, waits := join(t, w, eventID), join(t, w, eventID), join(t, w, eventID)
	for _, lock := range []holdfast.Lock{held, sold} {
		if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
			t.Fatal(err)
		}
	}
	offer := w.Lock(offered)
	booking := w.Book(w.Lock(accepted), testenv.Soon())
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), booking.ID, holdfast.Charge{}); err != nil {
		t.Fatal(err)
	}
	if offer.Status != holdfast.LockActive || offer.EntryID != offered {
		t.Fatalf("the offer is %+v", offer)
	}
	cancelAll(t, w, eventID)
	checkLists(t, w)
	wantEntry(t, w, offered, holdfast.EntryClosed)
	wantEntry(t, w, accepted, holdfast.EntryAccepted)
	wantEntry(t, w, waits, holdfast.EntryClosed)
	if got := w.Lock(offer.ID).Status; got != holdfast.LockReleased {
		t.Errorf("the lock of the offer is %s", got)
	}
	if got := w.Booking(booking.ID).Status; got != holdfast.BookingCancelled {
		t.Errorf("the booking is %s", got)
	}
	if closed := told(t, w, holdfast.ChangeEntryClosed); len(closed) != 2 {
		t.Errorf("told %+v", closed)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
