package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

var (
	past = time.Date(2026, 1, 29, 6, 30, 0, 0, time.UTC) // the expiry in the acceptance tests
	now  = mongodb.SystemTime
)

// newSale creates a user and an event with 100 seats.
func (s *setup) newSale(ctx context.Context) (user, event string, err error) {
	date := time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)
	e, err := s.api.CreateEvent(ctx, client.NewEvent{Name: "Test Event", TotalSeats: 100, EventDate: date})
	if err != nil {
		return "", "", err
	}
	s.events = append(s.events, e.ID)
	u, err := s.api.CreateUser(ctx, "Test User", mongodb.NewID().String()+"@example.com")
	logCreated("event", e.ID)
	logCreated("user", u.ID)
	return u.ID, e.ID, err
}

func lockExpiry(ctx context.Context, s *setup) error {
	user, event, err := s.newSale(ctx)
	if err != nil {
		return err
	}
	if err := s.expectAvailable(ctx, event, 100); err != nil {
		return err
	}
	lock, err := s.api.AcquireLock(ctx, client.LockRequest{EventID: event, UserID: user, Seats: 2, ExpiresAt: past})
	if err != nil {
		return err
	}
	logCreated("lock", lock.ID)
	fmt.Println("  The lock has expired; waiting for the worker ...")
	return errors.Join(s.expectLock(ctx, lock.ID, "EXPIRED", jobTimeout), s.expectAvailable(ctx, event, 100))
}

func bookingExpiry(ctx context.Context, s *setup) error {
	user, event, err := s.newSale(ctx)
	if err != nil {
		return err
	}
	lock, err := s.api.AcquireLock(ctx, client.LockRequest{EventID: event, UserID: user, Seats: 2})
	if err != nil {
		return err
	}
	logCreated("lock", lock.ID)
	if err := s.expectAvailable(ctx, event, 98); err != nil {
		return err
	}
	booking, err := s.api.CreateBooking(ctx, client.BookingRequest{UserID: user, LockID: lock.ID, EventID: event, PaymentExpiresAt: past})
	if err != nil {
		return err
	}
	logCreated("booking", booking.ID)
	fmt.Println("  Its payment window has passed; waiting for the worker ...")
	return errors.Join(
		s.expectBooking(ctx, booking.ID, "EXPIRED", jobTimeout), s.expectLock(ctx, lock.ID, "EXPIRED", 0), s.expectAvailable(ctx, event, 100))
}

// onSale checks that no more seats are locked than the event has, and that no request
// was refused although enough seats were left.
func onSale(ctx context.Context, s *setup) error {
	user, event, err := s.newSale(ctx)
	if err != nil {
		return err
	}
	const customers, maxSeats = 500, 4
	var mu sync.Mutex
	var all sync.WaitGroup
	var sold, smallest int64 = 0, maxSeats + 1
	granted, refused, other := 0, 0, 0
	start := now()
	for range customers {
		n := 1 + rand.Int64N(maxSeats)
		all.Go(func() {
			_, err := s.api.AcquireLock(ctx, client.LockRequest{EventID: event, UserID: user, Seats: n})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				sold, granted = sold+n, granted+1
			case client.Is(err, client.SeatsUnavailable):
				refused, smallest = refused+1, min(smallest, n)
			default:
				other++
			}
		})
	}
	all.Wait()
	fmt.Printf("  %d customers got an answer within %v: %d hold %d seats, %d were refused\n",
		customers, now().Sub(start).Round(pollInterval/100), granted, sold, refused)
	e, err := s.api.GetEvent(ctx, event)
	if err != nil {
		return err
	}
	return errors.Join(
		compare("seats held and seats left", 100, sold+e.AvailableSeats),
		compare("a request was refused with enough seats left", false, e.AvailableSeats >= smallest),
		compare("answers other than a lock or SEATS_UNAVAILABLE", 0, other))
}
