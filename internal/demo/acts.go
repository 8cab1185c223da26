package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

var (
	past = time.Date(2026, 1, 29, 6, 30, 0, 0, time.UTC) // the time that the source of the product uses
	now  = clock.System
)

// newSale makes a user and an event of 100 seats.
func newSale(ctx context.Context, api *client.Client) (user, event string, err error) {
	e, err := api.CreateEvent(ctx, client.NewEvent{Name: "Test Event", TotalSeats: 100, EventDate: time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)})
	if err != nil {
		return "", "", err
	}
	u, err := api.CreateUser(ctx, "Test User", ids.New().String()+"@example.com")
	did("event", e.ID)
	did("user", u.ID)
	return u.ID, e.ID, err
}

func lockExpiry(ctx context.Context, s *stage) error {
	user, event, err := newSale(ctx, s.api)
	if err != nil {
		return err
	}
	if err := s.available(ctx, event, 100); err != nil {
		return err
	}
	lock, err := s.api.AcquireLock(ctx, client.LockRequest{EventID: event, UserID: user, Seats: 2, ExpiresAt: past})
	if err != nil {
		return err
	}
	did("lock", lock.ID)
	fmt.Println("  The lock's time lies in the past; waiting for the worker ...")
	return errors.Join(s.lockIs(ctx, lock.ID, "EXPIRED", jobTime), s.available(ctx, event, 100))
}

func bookingExpiry(ctx context.Context, s *stage) error {
	user, event, err := newSale(ctx, s.api)
	if err != nil {
		return err
	}
	lock, err := s.api.AcquireLock(ctx, client.LockRequest{EventID: event, UserID: user, Seats: 2})
	if err != nil {
		return err
	}
	did("lock", lock.ID)
	if err := s.available(ctx, event, 98); err != nil {
		return err
	}
	booking, err := s.api.CreateBooking(ctx, client.BookingRequest{UserID: user, LockID: lock.ID, EventID: event, PaymentExpiresAt: past})
	if err != nil {
		return err
	}
	did("booking", booking.ID)
	fmt.Println("  Its payment window lies in the past; waiting for the worker ...")
	return errors.Join(
		s.bookingIs(ctx, booking.ID, "EXPIRED", jobTime), s.lockIs(ctx, lock.ID, "EXPIRED", 0), s.available(ctx, event, 100))
}

// onSale: never more than there is, nothing left that would have fitted.
func onSale(ctx context.Context, s *stage) error {
	user, event, err := newSale(ctx, s.api)
	if err != nil {
		return err
	}
	const customers, most = 500, 4
	var mu sync.Mutex
	var all sync.WaitGroup
	var sold, smallest int64 = 0, most + 1
	won, refused, other := 0, 0, 0
	start := now()
	for range customers {
		n := 1 + rand.Int64N(most) //nolint:gosec // any seats will do
		all.Go(func() {
			_, err := s.api.AcquireLock(ctx, client.LockRequest{EventID: event, UserID: user, Seats: n})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				sold, won = sold+n, won+1
			case client.Is(err, client.SeatsUnavailable):
				refused, smallest = refused+1, min(smallest, n)
			default:
				other++
			}
		})
	}
	all.Wait()
	fmt.Printf("  %d customers were answered in %v: %d hold %d seats, %d were refused\n",
		customers, now().Sub(start).Round(poll/100), won, sold, refused)
	e, err := s.api.GetEvent(ctx, event)
	if err != nil {
		return err
	}
	return errors.Join(
		compare("seats held and left", 100, sold+e.AvailableSeats),
		compare("a refused request would have fitted", false, e.AvailableSeats >= smallest),
		compare("other answers than a lock and SEATS_UNAVAILABLE", 0, other))
}
