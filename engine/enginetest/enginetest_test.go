//go:build unix

// These tests start servers, which do not run on Windows.

package enginetest_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/engine/enginetest"
)

func TestCheckout_UnpaidSeatsComeBack(t *testing.T) {
	t.Parallel()
	ctx, e := t.Context(), enginetest.New(t)
	gala, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{Name: "Gala", TotalSeats: 2})
	if err != nil {
		t.Fatal(err)
	}
	cart := holdfast.LockRequest{EventID: gala.ID, Holder: "cart-1", Seats: 2, Until: holdfast.Until{For: 10 * time.Minute}}
	if _, _, err := e.Seats.AcquireLock(ctx, cart); err != nil {
		t.Fatal(err)
	}
	e.Advance(10 * time.Minute)
	if _, err := e.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if left, err := e.Seats.GetEvent(ctx, gala.ID); err != nil || left.AvailableSeats != 2 {
		t.Errorf("%d seats are available, %v", left.AvailableSeats, err)
	}
}

// The test in the package's document is the test above.
func TestDoc_HasTheTestThatRuns(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	test, err := os.ReadFile("enginetest_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var example strings.Builder
	for line := range strings.Lines(string(doc)) {
		if code, isCode := strings.CutPrefix(line, "//\t"); isCode {
			example.WriteString(code)
		}
	}
	if example.Len() == 0 || !strings.Contains(string(test), "\n"+example.String()) {
		t.Error("the document has another test:\n", example.String())
	}
}

// shop is a test's engine, whose calls must not fail.
type shop struct {
	*enginetest.Engine
	t *testing.T
}

func newShop(t *testing.T) shop {
	t.Helper()
	t.Parallel()
	return shop{enginetest.New(t), t}
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func (s shop) event(n holdfast.NewEvent) holdfast.ID {
	s.t.Helper()
	n.Name, n.TotalSeats = "Gala", 4
	return must(s.Seats.CreateEvent(s.t.Context(), n))(s.t).ID
}

func (s shop) acquire(event holdfast.ID, holder string) (holdfast.Lock, error) {
	lock, _, err := s.Seats.AcquireLock(s.t.Context(), holdfast.LockRequest{
		EventID: event, Holder: holder, Seats: 4, Until: holdfast.Until{For: 10 * time.Minute},
	})
	return lock, err
}

func (s shop) book(lock holdfast.Lock) holdfast.Booking {
	s.t.Helper()
	b, _, err := s.Bookings.CreateBooking(s.t.Context(), holdfast.BookingRequest{
		EventID: lock.EventID, Holder: lock.Holder, LockID: lock.ID, Window: holdfast.Until{For: 15 * time.Minute},
	})
	return must(b, err)(s.t)
}

func (s shop) sweep() {
	s.t.Helper()
	must(s.Sweep(s.t.Context()))(s.t)
}

func (s shop) available(event holdfast.ID) int64 {
	s.t.Helper()
	return must(s.Seats.GetEvent(s.t.Context(), event))(s.t).AvailableSeats
}

func TestAdvance_ALockIsDueAtItsEndAndNotBefore(t *testing.T) {
	s := newShop(t)
	event := s.event(holdfast.NewEvent{})
	lock := must(s.acquire(event, "ada"))(t)
	s.Advance(9 * time.Minute)
	s.sweep()
	if left := s.available(event); left != 0 {
		t.Errorf("a minute before its end, %d seats are available", left)
	}
	if now := must(s.Seats.GetLock(t.Context(), lock.ID))(t); lock.ExpiresAt.Sub(now.ExpiresAt) != 9*time.Minute {
		t.Errorf("its end has moved from %v to %v", lock.ExpiresAt, now.ExpiresAt)
	}
	s.Advance(time.Minute)
	s.sweep()
	if left := s.available(event); left != 4 {
		t.Errorf("at its end, %d seats are available", left)
	}
}

func TestAdvance_ASaleOpensAndEnds(t *testing.T) {
	s := newShop(t)
	now := time.Now()
	event := s.event(holdfast.NewEvent{SaleStartsAt: now.Add(time.Hour), SaleEndsAt: now.Add(3 * time.Hour)})
	for range 2 { // the engine remembers the event after the first refusal
		if _, err := s.acquire(event, "ada"); !holdfast.HasCode(err, holdfast.CodeSaleNotOpen) {
			t.Fatal(err)
		}
	}
	s.Advance(time.Hour)
	lock := must(s.acquire(event, "ada"))(t)
	must(s.Seats.ReleaseLock(t.Context(), lock.ID))(t)
	s.Advance(2 * time.Hour)
	if _, err := s.acquire(event, "ada"); !holdfast.HasCode(err, holdfast.CodeEventNotOnSale) {
		t.Error(err)
	}
}

// A customer gets the seats of a lock that is due without a sweep, although the engine has just refused another one.
func TestAdvance_SeatsOfADueLockAreReclaimed(t *testing.T) {
	s := newShop(t)
	event := s.event(holdfast.NewEvent{})
	must(s.acquire(event, "ada"))(t)
	for range 2 {
		if _, err := s.acquire(event, "grace"); !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
			t.Fatal(err)
		}
	}
	s.Advance(10 * time.Minute)
	must(s.acquire(event, "grace"))(t)
}

func TestAdvance_AnOfferOfTheWaitingListEnds(t *testing.T) {
	s := newShop(t)
	list := holdfast.Waitlist{Status: holdfast.WaitlistOpen, OfferSeconds: 600, Fit: holdfast.WaitlistSkips}
	event := s.event(holdfast.NewEvent{Waitlist: &list})
	lock := must(s.acquire(event, "ada"))(t)
	join := func(holder string) holdfast.ID {
		entry, _, err := s.Seats.Join(t.Context(), holdfast.JoinRequest{
			EventID: event, Holder: holder, EntryWish: holdfast.EntryWish{Seats: 4},
		})
		return must(entry, err)(t).ID
	}
	first, second := join("first"), join("second")
	must(s.Seats.ReleaseLock(t.Context(), lock.ID))(t)
	statuses := func() [2]holdfast.EntryStatus {
		return [2]holdfast.EntryStatus{
			must(s.Seats.Entry(t.Context(), first))(t).Status, must(s.Seats.Entry(t.Context(), second))(t).Status,
		}
	}
	if got := statuses(); got != [2]holdfast.EntryStatus{holdfast.EntryOffered, holdfast.EntryWaiting} {
		t.Error(got)
	}
	s.Advance(10 * time.Minute)
	s.sweep()
	if got := statuses(); got != [2]holdfast.EntryStatus{holdfast.EntryExpired, holdfast.EntryOffered} {
		t.Error(got)
	}
}

func TestAdvance_APaymentIsLate(t *testing.T) {
	s := newShop(t)
	late := holdfast.LatePayments{Policy: holdfast.LatePaymentsAccepted, Seconds: 3600}
	event := s.event(holdfast.NewEvent{LatePayments: &late})
	accepted := s.book(must(s.acquire(event, "ada"))(t))
	s.Advance(15 * time.Minute)
	s.sweep()
	if left := s.available(event); left != 4 {
		t.Errorf("%d seats are available after the payment window", left)
	}
	b := must(s.Bookings.ConfirmBooking(t.Context(), accepted.ID, holdfast.Charge{Reference: "late"}))(t)
	if !b.Late || b.Status != holdfast.BookingConfirmed {
		t.Errorf("%+v", b)
	}
	must(s.Bookings.CancelBooking(t.Context(), b.ID))(t)
	refused := s.book(must(s.acquire(event, "grace"))(t))
	s.Advance(15 * time.Minute)
	s.sweep()
	s.Advance(time.Hour)
	_, err := s.Bookings.ConfirmBooking(t.Context(), refused.ID, holdfast.Charge{Reference: "too late"})
	if !holdfast.HasCode(err, holdfast.CodeBookingExpired) {
		t.Error(err)
	}
}

// What a process remembers of an event is valid for its revision only, so that no date is left behind in a memory. Every date
// of every document moves, also within lists, and no other value changes.
func TestAdvance_MovesEveryDateAndRaisesRevisions(t *testing.T) {
	s := newShop(t)
	s.book(must(s.acquire(s.event(holdfast.NewEvent{SaleEndsAt: time.Now().Add(time.Hour)}), "ada"))(t))
	db := s.Client.Database(s.Database)
	at, before := time.UnixMilli(1_700_000_000_123).UTC(), bson.D{{Key: "_id", Value: "x"}, {Key: "n", Value: int64(7)}}
	things := db.Collection("shop")
	document := func(at time.Time) bson.D {
		return append(before[:2:2], bson.E{Key: "at", Value: at},
			bson.E{Key: "list", Value: bson.A{bson.D{{Key: "at", Value: at}}, "text", bson.A{at}}}, bson.E{Key: "t", Value: bson.Timestamp{T: 7}})
	}
	must(things.InsertOne(t.Context(), document(at)))(t)
	revision := func() (doc struct {
		Internal struct {
			Rev int64 `bson:"rev"`
		} `bson:"internal"`
	}) {
		if err := db.Collection("events").FindOne(t.Context(), bson.D{}).Decode(&doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	last := revision()
	s.Advance(time.Hour)
	if now := revision(); now.Internal.Rev <= last.Internal.Rev {
		t.Errorf("the revision of the event is %d after %d", now.Internal.Rev, last.Internal.Rev)
	}
	want, err := bson.Marshal(document(at.Add(-time.Hour)))
	got := must(things.FindOne(t.Context(), bson.D{}).Raw())(t)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, want %v", got, bson.Raw(want))
	}
}

// A repeat returns the lock of its key also after time has passed.
func TestAdvance_KeepsIdempotencyKeys(t *testing.T) {
	s := newShop(t)
	request := holdfast.LockRequest{EventID: s.event(holdfast.NewEvent{}), Holder: "ada", Seats: 1, Key: "cart"}
	first, _, err := s.Seats.AcquireLock(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	s.Advance(time.Minute)
	if again, replayed, err := s.Seats.AcquireLock(t.Context(), request); err != nil || !replayed || again.ID != first.ID {
		t.Error(again.ID, replayed, err)
	}
}

// Time passes for the jobs of Run too, also while they run: their leader stays, and does what is due.
func TestAdvance_WhileJobsRun(t *testing.T) {
	s := newShop(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	often := map[string]time.Duration{"lock-expiry": 50 * time.Millisecond}
	go func() { ended <- s.Run(ctx, engine.RunOptions{Intervals: often}) }()
	event := s.event(holdfast.NewEvent{})
	for range 3 {
		must(s.acquire(event, "ada"))(t)
		s.Advance(10 * time.Minute)
		for tick := time.Tick(20 * time.Millisecond); s.available(event) != 4; {
			select {
			case <-tick:
			case <-time.After(time.Minute):
				t.Fatal("the seats did not come back")
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Two tests have two databases: what happens in one, and its time, does not matter to the other.
func TestNew_TestsDoNotDisturbEachOther(t *testing.T) {
	a, b := newShop(t), shop{enginetest.New(t), t}
	event := b.event(holdfast.NewEvent{})
	must(b.acquire(event, "ada"))(t)
	a.event(holdfast.NewEvent{})
	a.Advance(time.Hour)
	for _, s := range []shop{a, b} {
		s.sweep()
	}
	if left := b.available(event); left != 0 {
		t.Errorf("%d seats came back by the time of another test", left)
	}
	if all, _, err := a.Seats.ListEvents(t.Context(), holdfast.EventFilter{}, holdfast.Page{}); err != nil || len(all) != 1 {
		t.Error(len(all), err)
	}
}

// The database is gone after the test, and the engine is closed.
func TestNew_LeavesNothing(t *testing.T) {
	t.Parallel()
	outer := enginetest.New(t)
	var inner *enginetest.Engine
	t.Run("a test", func(t *testing.T) { inner = enginetest.Open(t, engine.Options{MaxSeatsPerLock: 1}) })
	names, err := outer.Client.ListDatabaseNames(t.Context(), bson.D{{Key: "name", Value: inner.Database}})
	if err != nil || len(names) > 0 {
		t.Error(names, err)
	}
	if _, err := inner.Sweep(t.Context()); err == nil {
		t.Error("the engine is not closed")
	}
}
