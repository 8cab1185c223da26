package booking_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestStatus_EveryPairIsAllowedOrRefusedAsTheContractSays(t *testing.T) {
	allowed := map[holdfast.BookingStatus]map[holdfast.BookingAction]holdfast.BookingStatus{
		"INITIATED":       {"pay": "PAYMENT_PENDING", "cancel": "CANCELLED", "expire": "EXPIRED"},
		"PAYMENT_PENDING": {"confirm": "CONFIRMED", "cancel": "CANCELLED", "expire": "EXPIRED"},
		"CONFIRMED":       {"cancel": "CANCELLED"},
		"EXPIRED":         {},
		"CANCELLED":       {},
	}
	if len(holdfast.BookingStatuses) != len(allowed) {
		t.Fatalf("%d statuses, want %d", len(holdfast.BookingStatuses), len(allowed))
	}
	for _, from := range holdfast.BookingStatuses {
		for _, action := range []holdfast.BookingAction{holdfast.PayBooking, holdfast.ConfirmBooking, holdfast.CancelBooking, holdfast.ExpireBooking} {
			want, ok := allowed[from][action]
			if got, gotOK := from.Next(action); got != want || gotOK != ok {
				t.Errorf("%s %s: got %q, %v; want %q, %v", from, action, got, gotOK, want, ok)
			}
		}
	}
}

// states makes a booking in each of the contract's columns, on a lock of its own.
var states = []string{"INITIATED", "PAYMENT_PENDING", "due", "lock due", "EXPIRED", "CONFIRMED", "CANCELLED"}

func make1(w *testenv.Env, event holdfast.ID, state string) holdfast.Booking {
	w.T.Helper()
	lock := w.Take(event, 1, testenv.Soon())
	window := testenv.Soon()
	if state == "INITIATED" || state == "lock due" {
		window = holdfast.Until{}
	}
	b := w.Book(lock, window)
	var err error
	switch state {
	case "due":
		w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Second)}})
	case "lock due":
		w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Second)}})
	case "EXPIRED":
		w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Second)}})
		w.SweepBookings()
	case "CONFIRMED":
		_, err = w.Bookings.Confirm(w.Ctx(), b.ID, "ref")
	case "CANCELLED":
		_, err = w.Bookings.Cancel(w.Ctx(), b.ID)
	}
	if err != nil {
		w.T.Fatal(state, err)
	}
	return b
}

func TestActions_AnswerByTheBookingsStateAsTheContractSays(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	want := map[string][]holdfast.Code{ // in the order of states
		"pay":           {"", "", holdfast.CodeBookingExpired, holdfast.CodeBookingExpired, holdfast.CodeBookingExpired, holdfast.CodeBookingConfirmed, holdfast.CodeBookingCancelled},
		"confirm":       {holdfast.CodeBookingNotPayable, "", holdfast.CodeBookingExpired, holdfast.CodeBookingExpired, holdfast.CodeBookingExpired, "", holdfast.CodeBookingCancelled},
		"confirm other": {holdfast.CodeBookingNotPayable, "", holdfast.CodeBookingExpired, holdfast.CodeBookingExpired, holdfast.CodeBookingExpired, holdfast.CodeBookingConfirmed, holdfast.CodeBookingCancelled},
		"cancel":        {"", "", holdfast.CodeBookingExpired, holdfast.CodeBookingExpired, holdfast.CodeBookingExpired, "", ""},
	}
	do := map[string]func(id holdfast.ID) (holdfast.Booking, error){
		"pay":           func(id holdfast.ID) (holdfast.Booking, error) { return w.Bookings.Pay(w.Ctx(), id, testenv.Soon()) },
		"confirm":       func(id holdfast.ID) (holdfast.Booking, error) { return w.Bookings.Confirm(w.Ctx(), id, "") },
		"confirm other": func(id holdfast.ID) (holdfast.Booking, error) { return w.Bookings.Confirm(w.Ctx(), id, "other") },
		"cancel":        func(id holdfast.ID) (holdfast.Booking, error) { return w.Bookings.Cancel(w.Ctx(), id) },
	}
	for action, codes := range want {
		for i, state := range states {
			b := make1(w, event, state)
			for range 2 { // again: the same answer
				if _, err := do[action](b.ID); holdfast.CodeOf(err) != codes[i] {
					t.Errorf("%s of a booking %s: got %v, want %q", action, state, err, codes[i])
				}
			}
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestCreate_AnswersByTheLocksState(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	book := func(l holdfast.Lock) (holdfast.Booking, bool, error) {
		return w.Bookings.Create(w.Ctx(), holdfast.BookingRequest{UserID: l.UserID, EventID: event, LockID: l.ID, Window: testenv.Soon()})
	}
	live := w.Take(event, 1, testenv.Soon())
	first, made, err := book(live)
	if err != nil || !made || first.Status != holdfast.BookingPending {
		t.Fatal(first, made, err)
	}
	again, made, err := book(live)
	if err != nil || made || again.ID != first.ID {
		t.Errorf("again: %v, %v, %v; want the same booking", again, made, err)
	}
	if _, err := w.Bookings.Confirm(w.Ctx(), first.ID, "r"); err != nil {
		t.Fatal(err)
	}
	if sold, made, err := book(live); err != nil || made || sold.Status != holdfast.BookingConfirmed {
		t.Errorf("sold: %v, %v, %v; want the CONFIRMED booking", sold, made, err)
	}
	due, released := w.Take(event, 1, testenv.Past()), w.Take(event, 1, testenv.Soon())
	if _, err := w.Seats.Release(w.Ctx(), released.ID); err != nil {
		t.Fatal(err)
	}
	foreign := live
	foreign.UserID = ids.New()
	for name, c := range map[string]struct {
		lock holdfast.Lock
		code holdfast.Code
	}{
		"due": {due, holdfast.CodeLockExpired}, "released": {released, holdfast.CodeLockReleased},
		"another user's": {foreign, holdfast.CodeLockNotFound}, "none": {holdfast.Lock{ID: ids.New()}, holdfast.CodeLockNotFound},
	} {
		if _, _, err := book(c.lock); holdfast.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
	w.SweepLocks()
	if _, _, err := book(due); holdfast.CodeOf(err) != holdfast.CodeLockExpired {
		t.Errorf("swept: got %v, want %s", err, holdfast.CodeLockExpired)
	}
}

func TestCreate_ManyAtOnceMakeOneBooking(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Take(w.Event(10), 1, testenv.Soon())
	var made atomic.Int32
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			_, isNew, err := w.Bookings.Create(w.Ctx(), holdfast.BookingRequest{UserID: lock.UserID, EventID: lock.EventID, LockID: lock.ID})
			if err != nil {
				t.Error(err)
			}
			if isNew {
				made.Add(1)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("%d bookings were made, want 1", made.Load())
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestWindow_MovesTheLockAndStopsAtTheCap(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Take(w.Event(10), 1, holdfast.Until{For: time.Minute})
	b := w.Book(lock, holdfast.Until{})
	if got := w.Lock(lock.ID); !got.ExpiresAt.Equal(lock.ExpiresAt) || got.BookingID != b.ID {
		t.Errorf("INITIATED: the lock is %+v", got)
	}
	_, err := w.Bookings.Pay(w.Ctx(), b.ID, holdfast.Until{At: b.CreatedAt.Add(testenv.MaxPaymentTTL + time.Millisecond)})
	if !holdfast.HasCode(err, holdfast.CodeInvalid) {
		t.Errorf("beyond the cap: %v", err)
	}
	ends := b.CreatedAt.Add(testenv.MaxPaymentTTL)
	paid, err := w.Bookings.Pay(w.Ctx(), b.ID, holdfast.Until{At: ends})
	if err != nil || !paid.PaymentExpiresAt.Equal(ends) || !w.Lock(lock.ID).ExpiresAt.Equal(ends) {
		t.Errorf("to the cap: %+v, %v, lock %v", paid, err, w.Lock(lock.ID).ExpiresAt)
	}
	again, err := w.Bookings.Pay(w.Ctx(), b.ID, holdfast.Until{For: time.Minute})
	if err != nil || !again.PaymentExpiresAt.Equal(ends) {
		t.Errorf("again: %+v, %v; want it unchanged", again, err)
	}
}

func TestCancelledEvent_RefusesBookPayAndConfirm(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	free, lockA, lockB := w.Take(event, 1, testenv.Soon()), w.Take(event, 1, testenv.Soon()), w.Take(event, 1, testenv.Soon())
	initiated, pending := w.Book(lockA, holdfast.Until{}), w.Book(lockB, testenv.Soon())
	w.Set("events", event, bson.D{{Key: "status", Value: "CANCELLED"}})
	_, _, err := w.Bookings.Create(w.Ctx(), holdfast.BookingRequest{UserID: free.UserID, EventID: event, LockID: free.ID})
	_, payErr := w.Bookings.Pay(w.Ctx(), initiated.ID, testenv.Soon())
	_, confirmErr := w.Bookings.Confirm(w.Ctx(), pending.ID, "")
	for name, err := range map[string]error{"book": err, "pay": payErr, "confirm": confirmErr} {
		if !holdfast.HasCode(err, holdfast.CodeEventNotOnSale) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := w.Bookings.Cancel(w.Ctx(), pending.ID); err != nil {
		t.Error(err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestOutsideHands_TheLocksCodeAnswers(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for status, code := range map[string]holdfast.Code{"RELEASED": holdfast.CodeLockReleased, "EXPIRED": holdfast.CodeLockExpired, "CONSUMED": holdfast.CodeLockConsumed} {
		b := make1(w, event, "PAYMENT_PENDING")
		w.Set("seatlocks", b.LockID, bson.D{{Key: "status", Value: status}})
		if _, err := w.Bookings.Confirm(w.Ctx(), b.ID, ""); holdfast.CodeOf(err) != code {
			t.Errorf("confirm, lock %s: got %v, want %s", status, err, code)
		}
	}
}

// 1,000 rounds of confirm against cancel against expiry against release: one
// winner, the losers told why, seats back at most once.
func TestRace_ConfirmCancelExpireReleaseHaveOneWinner(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100_000)
	other := testenv.Open(t, w.URI, w.DB.Name())
	wins := map[string]int{}
	var mu sync.Mutex
	const rounds, beside = 1000, 10
	var workers sync.WaitGroup
	for k := range beside {
		workers.Go(func() {
			for range rounds / beside {
				who := race(t, w, other, event, k)
				mu.Lock()
				wins[who]++
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Log(wins)
	testenv.CheckInvariants(t, w.DB.Database)
	if len(wins) < 3 {
		t.Errorf("only %v ever won: the race is none", wins)
	}
}

func race(t *testing.T, w, other *testenv.Env, event holdfast.ID, k int) string {
	b := w.Book(w.Take(event, 1, testenv.Soon()), testenv.Soon())
	lock := w.Lock(b.LockID)
	if k%2 == 0 { // the window passes in the midst of it
		ends := time.Now().Add(time.Duration(rand.IntN(30)) * time.Millisecond)
		w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: ends}})
		w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: ends}})
	}
	var mu sync.Mutex
	codes := map[string]holdfast.Code{}
	note := func(who string, err error) {
		mu.Lock()
		defer mu.Unlock()
		codes[who] = holdfast.CodeOf(err)
		if err != nil && codes[who] == "" {
			t.Error(who, err)
		}
	}
	var all sync.WaitGroup
	all.Go(func() { _, err := w.Bookings.Confirm(w.Ctx(), b.ID, "r"); note("confirm", err) })
	all.Go(func() { _, err := other.Seats.Release(w.Ctx(), lock.ID); note("release", err) })
	all.Go(func() {
		_, err := w.Pipeline.Sweep(w.Ctx(), event, inventory.ExpireLocks{Run: inventory.Run{By: holdfast.EndedByLockExpiry, ID: "run"}, LockIDs: []holdfast.ID{lock.ID}})
		note("expiry", err)
	})
	all.Go(func() {
		_, err := other.Pipeline.Sweep(w.Ctx(), event, inventory.ExpireBookings{
			Run:      inventory.Run{By: holdfast.EndedByBookingExpiry, ID: "run"},
			Bookings: []inventory.BookingRef{{Booking: b.ID, Lock: lock.ID}},
		})
		note("booking expiry", err)
	})
	cancels := rand.IntN(2) == 0
	if cancels {
		all.Go(func() { _, err := w.Bookings.Cancel(w.Ctx(), b.ID); note("cancel", err) })
	}
	all.Wait()
	bookingNow, lockNow := w.Booking(b.ID), w.Lock(lock.ID)
	state := fmt.Sprintf("%s/%s", bookingNow.Status, lockNow.Status)
	expired := map[string][]holdfast.Code{"confirm": {holdfast.CodeBookingExpired}, "release": {holdfast.CodeLockExpired}, "cancel": {holdfast.CodeBookingExpired}}
	wantCodes := map[string]map[string][]holdfast.Code{
		"CONFIRMED/CONSUMED":      {"confirm": {""}, "release": {holdfast.CodeLockConsumed}},
		"CANCELLED/RELEASED":      {"confirm": {"", holdfast.CodeBookingCancelled}, "release": {"", holdfast.CodeLockConsumed}, "cancel": {""}},
		"EXPIRED/EXPIRED":         expired,
		"PAYMENT_PENDING/EXPIRED": expired,
		"PAYMENT_PENDING/ACTIVE":  expired,
	}[state]
	if wantCodes == nil || (cancels && state == "CONFIRMED/CONSUMED") {
		t.Errorf("ended as %s, answers %v", state, codes)
	}
	if state == "CANCELLED/RELEASED" && !cancels && (codes["confirm"] != holdfast.CodeBookingCancelled || codes["release"] != "") {
		t.Errorf("%s by the release alone, answers %v", state, codes)
	}
	for who, code := range codes {
		if allowed, told := wantCodes[who]; told && !slices.Contains(allowed, code) {
			t.Errorf("%s: %s was answered %q, want one of %q", state, who, code, allowed)
		}
	}
	return state
}
