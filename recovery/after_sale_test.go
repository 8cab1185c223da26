package recovery_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func sellAtOnce(w *testenv.Env, event holdfast.ID, seats int64, reference string) holdfast.Booking {
	w.T.Helper()
	b, _, err := w.Bookings.Sell(w.Ctx(), holdfast.SaleRequest{
		LockRequest: holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: seats}, Charge: holdfast.Charge{Reference: reference},
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

// wantNothingFound fails unless a pass would repair and report nothing.
func wantNothingFound(t *testing.T, w *testenv.Env) {
	t.Helper()
	p, err := w.Recovery.Plan(w.Ctx())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Findings() {
		if f.Count > 0 {
			t.Errorf("found %+v", f)
		}
	}
}

// Bookings whose seats or customer changed are in order: a pass finds nothing, even if it reads while they change.
func TestRecovery_FindsNothingWrongAfterTheSale(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	event := w.Event(1000)
	var all sync.WaitGroup
	stop := make(chan struct{})
	for n := range 4 {
		b := sellAtOnce(w, event, 2, fmt.Sprint(n))
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				_, _, err := w.Bookings.TransferBooking(w.Ctx(), b.ID, holdfast.BookingTransfer{Holder: fmt.Sprint("guest ", i%3)})
				if err == nil {
					_, _, err = w.Bookings.ChangeBooking(w.Ctx(), b.ID, holdfast.BookingChange{Seats: int64(1 + i%3)})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 20 {
		wantNothingFound(t, other)
	}
	close(stop)
	all.Wait()
	wantNothingFound(t, other)
	if report := other.Recover(); report.Applied != 0 || report.Corrections != 0 {
		t.Errorf("%+v", report)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A crash of other software left the lock of a CONFIRMED booking ACTIVE. A change or a transfer of the booking repairs it, and
// the seats stay sold although the lock is due.
func TestRecovery_WhatComesAfterASaleWhoseLockIsActive(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, act := range map[string]func(id holdfast.ID) (holdfast.Booking, error){
		"a change": func(id holdfast.ID) (holdfast.Booking, error) {
			b, _, err := w.Bookings.ChangeBooking(w.Ctx(), id, holdfast.BookingChange{Seats: 3})
			return b, err
		},
		"a transfer": func(id holdfast.ID) (holdfast.Booking, error) {
			b, _, err := w.Bookings.TransferBooking(w.Ctx(), id, holdfast.BookingTransfer{Holder: "guest"})
			return b, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			event := w.Event(10)
			sold := sellAtOnce(w, event, 2, name)
			w.Set("seatlocks", sold.LockID, bson.D{{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(-time.Hour)}})
			b, err := act(sold.ID)
			if err != nil || b.Status != holdfast.BookingConfirmed || w.Lock(b.LockID).Status != holdfast.LockConsumed {
				t.Errorf("%+v, %v", b, err)
			}
			w.SweepLocks()
			w.Recover()
			if available, _ := w.Available(event); available != 10-b.Seats || w.Lock(b.LockID).Status != holdfast.LockConsumed {
				t.Errorf("%d seats are available", available)
			}
			wantNothingFound(t, w)
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}
