package booking_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// 1,000 rounds of confirm, cancel, expiry and release at the same time. One of them wins,
// the rest are refused with the right code, and the seats are restored at most once.
func TestRace_ConfirmCancelExpireReleaseHaveOneWinner(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100_000)
	other := testenv.Open(t, w.URI, w.DB.Name())
	wins := map[string]int{}
	var mu sync.Mutex
	const rounds, parallel = 500, 10
	var workers sync.WaitGroup
	for k := range parallel {
		workers.Go(func() {
			for range rounds / parallel {
				winner := race(t, w, other, event, k)
				mu.Lock()
				wins[winner]++
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Log(wins)
	testenv.CheckInvariants(t, w.DB.Database)
	if len(wins) < 3 {
		t.Errorf("only %v ever won: there was no race", wins)
	}
}

// race runs all actions on a booking at the same time, and returns the final statuses of
// booking and lock.
func race(t *testing.T, w, other *testenv.Env, event holdfast.ID, k int) string {
	b := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
	lock := w.Lock(b.LockID)
	if k%2 == 0 { // the window passes meanwhile
		ends := time.Now().Add(time.Duration(rand.IntN(30)) * time.Millisecond)
		w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: ends}})
		w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: ends}})
	}
	var mu sync.Mutex
	codes := map[string]holdfast.Code{}
	note := func(action string, err error) {
		mu.Lock()
		defer mu.Unlock()
		codes[action] = holdfast.CodeOf(err)
		if err != nil && codes[action] == "" {
			t.Error(action, err)
		}
	}
	var all sync.WaitGroup
	all.Go(func() {
		_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "r-" + b.ID.String()})
		note("confirm", err)
	})
	all.Go(func() { _, err := other.Seats.ReleaseLock(w.Ctx(), lock.ID); note("release", err) })
	all.Go(func() {
		_, err := w.Pipeline.Sweep(w.Ctx(), event, inventory.ExpireLocks{
			Run:     inventory.Run{By: holdfast.EndedByLockExpiry, ID: "run"},
			LockIDs: []holdfast.ID{lock.ID},
		})
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
		all.Go(func() { _, err := w.Bookings.CancelBooking(w.Ctx(), b.ID); note("cancel", err) })
	}
	all.Wait()
	bookingNow, lockNow := w.Booking(b.ID), w.Lock(lock.ID)
	state := fmt.Sprintf("%s/%s", bookingNow.Status, lockNow.Status)
	asExpired := map[string][]holdfast.Code{"confirm": {expired}, "release": {holdfast.CodeLockExpired}, "cancel": {expired}}
	wantCodes := map[string]map[string][]holdfast.Code{
		"CONFIRMED/CONSUMED":      {"confirm": {""}, "release": {holdfast.CodeLockConsumed}},
		"CANCELLED/RELEASED":      {"confirm": {"", cancelled}, "release": {"", holdfast.CodeLockConsumed}, "cancel": {""}},
		"EXPIRED/EXPIRED":         asExpired,
		"PAYMENT_PENDING/EXPIRED": asExpired,
		"PAYMENT_PENDING/ACTIVE":  asExpired,
	}[state]
	if wantCodes == nil || (cancels && state == "CONFIRMED/CONSUMED") {
		t.Errorf("ended as %s, answers %v", state, codes)
	}
	if state == "CANCELLED/RELEASED" && !cancels && (codes["confirm"] != cancelled || codes["release"] != "") {
		t.Errorf("%s by the release alone, answers %v", state, codes)
	}
	for action, code := range codes {
		if allowed, known := wantCodes[action]; known && !slices.Contains(allowed, code) {
			t.Errorf("%s: %s was answered %q, want one of %q", state, action, code, allowed)
		}
	}
	return state
}

// A customer's cancellation has read the booking as open when the confirmation commits. The
// cancellation is decided again, and refused.
func TestRace_ACustomerCannotCancelWhatIsConfirmedMeanwhile(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	b := w.Book(w.Acquire(w.Event(10), 2, testenv.Soon()), testenv.Soon())
	other := testenv.Open(t, w.URI, w.DB.Name())
	// The first write of the cancellation waits until the booking is confirmed.
	reached, confirmed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	rival := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == "update" || e.CommandName == "findAndModify" {
				once.Do(func() {
					close(reached)
					<-confirmed
				})
			}
		}}
	})
	var cancelErr error
	var all sync.WaitGroup
	all.Go(func() { _, cancelErr = rival.Bookings.CancelOpenBooking(w.Ctx(), b.ID) })
	<-reached
	_, err := other.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "r-" + b.ID.String()})
	close(confirmed)
	all.Wait()
	wantCode(t, err, "")
	wantCode(t, cancelErr, holdfast.CodeBookingConfirmed)
	if now := w.Booking(b.ID); now.Status != holdfast.BookingConfirmed {
		t.Errorf("the booking is %s", now.Status)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
