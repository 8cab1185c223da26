package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

const past = "2026-01-29T06:30:00Z" // the time that the source of the product uses

var now = clock.System

// newSale makes a user and an event of 100 seats.
func newSale(ctx context.Context, api string) (user, event string, err error) {
	event, err = create(ctx, api+"/api/events", fields{"name": "Test Event", "totalSeats": 100, "eventDate": "2026-06-15T10:00:00Z"})
	if err != nil {
		return "", "", err
	}
	user, err = create(ctx, api+"/api/users", fields{"name": "Test User", "email": ids.New().String() + "@example.com"})
	return user, event, err
}

func lockExpiry(ctx context.Context, s *stage) error {
	api := s.state.API
	user, event, err := newSale(ctx, api)
	if err != nil {
		return err
	}
	if err := expect(ctx, api+"/api/events/"+event, "availableSeats", 100, 0); err != nil {
		return err
	}
	lock, err := create(ctx, api+"/api/locks", fields{"eventId": event, "userId": user, "seats": 2, "expiresAt": past})
	if err != nil {
		return err
	}
	fmt.Println("  The lock's time lies in the past; waiting for the worker ...")
	return errors.Join(
		expect(ctx, api+"/api/locks/"+lock, "status", "EXPIRED", jobTime),
		expect(ctx, api+"/api/events/"+event, "availableSeats", 100, 0))
}

func bookingExpiry(ctx context.Context, s *stage) error {
	api := s.state.API
	user, event, err := newSale(ctx, api)
	if err != nil {
		return err
	}
	lock, err := create(ctx, api+"/api/locks", fields{"eventId": event, "userId": user, "seats": 2})
	if err != nil {
		return err
	}
	if err := expect(ctx, api+"/api/events/"+event, "availableSeats", 98, 0); err != nil {
		return err
	}
	booking, err := create(ctx, api+"/api/bookings", fields{"userId": user, "lockId": lock, "eventId": event, "paymentExpiresAt": past})
	if err != nil {
		return err
	}
	fmt.Println("  Its payment window lies in the past; waiting for the worker ...")
	return errors.Join(
		expect(ctx, api+"/api/bookings/"+booking, "status", "EXPIRED", jobTime),
		expect(ctx, api+"/api/locks/"+lock, "status", "EXPIRED", 0),
		expect(ctx, api+"/api/events/"+event, "availableSeats", 100, 0))
}

// onSale: never more than there is, nothing left that would have fitted.
func onSale(ctx context.Context, s *stage) error {
	api := s.state.API
	user, event, err := newSale(ctx, api)
	if err != nil {
		return err
	}
	const customers, most = 500, 4
	var mu sync.Mutex
	var all sync.WaitGroup
	sold, won, refused, other, smallest := 0, 0, 0, 0, most+1
	start := now()
	for range customers {
		n := 1 + rand.IntN(most) //nolint:gosec // any seats will do
		all.Go(func() {
			status, answer, err := call(ctx, http.MethodPost, api+"/api/locks", fields{"eventId": event, "userId": user, "seats": n})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && status == http.StatusCreated:
				sold, won = sold+n, won+1
			case err == nil && status == http.StatusConflict && answer["code"] == "SEATS_UNAVAILABLE":
				refused, smallest = refused+1, min(smallest, n)
			default:
				other++
			}
		})
	}
	all.Wait()
	fmt.Printf("  %d customers were answered in %v: %d hold %d seats, %d were refused\n",
		customers, now().Sub(start).Round(poll/100), won, sold, refused)
	_, answer, err := call(ctx, http.MethodGet, api+"/api/events/"+event, nil)
	if err != nil {
		return err
	}
	left, _ := answer["availableSeats"].(float64)
	return errors.Join(
		compare("seats held and left", 100, sold+int(left)),
		compare("a refused request would have fitted", false, int(left) >= smallest),
		compare("other answers than 201 and 409", 0, other))
}
