package main

import (
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// These are the names of variants that sell at once, and that change bookings after their sale.
const (
	salesName     = "engine, sales at once"
	paidSalesName = "engine, sales at once with a payment each"
	changesName   = "engine, changes of bookings"
)

// salesAtOnce compares sales at once with locks of one event.
func salesAtOnce(s settings) (rows []*result) {
	for _, clients := range []int{64, mostClients} {
		rows = append(rows, inProcess(s, engineVariant, clients, 1, ampleSeats))
		for _, name := range []string{salesName, paidSalesName} {
			rows = append(rows, inProcess(s, complete(name, func(e *env) locker { return e.seller(name == paidSalesName) }), clients, 1, ampleSeats))
		}
	}
	return rows
}

// seller sells seats at once.
func (e *env) seller(pays bool) locker {
	return func(ctx context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
		r := holdfast.SaleRequest{LockRequest: holdfast.LockRequest{EventID: event, UserID: user, Seats: n, Key: key}}
		if pays {
			r.Charge = holdfast.Charge{Reference: key, Amount: new(int64(1000)), Currency: "EUR"}
		}
		_, _, err := e.Bookings.Sell(ctx, r)
		if holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
			return false, nil
		}
		return err == nil, err
	}
}

// changedBookings compares changes of the named seats of CONFIRMED bookings with named locks. Each client has a row of the
// hall for itself, and moves its two seats along it.
func changedBookings(s settings) (rows []*result) {
	for _, clients := range []int{1, 64, mostClients} {
		rows = append(rows, seatsInProcess(s, engineName, clients), changesInProcess(s, clients))
	}
	return rows
}

func changesInProcess(s settings, clients int) *result {
	const pair = 2
	return s.hallRow(changesName, clientsLoad(clients), func(ctx context.Context, e *env) (m measurement, err error) {
		hall, err := e.createHall(ctx)
		if err != nil {
			return m, err
		}
		bookings := make([]holdfast.ID, clients)
		for client := range clients {
			r := holdfast.LockRequest{EventID: hall, UserID: mongodb.NewID()}
			r.Wish.SeatIDs = block{row: client, seats: pair}.ids()
			b, _, err := e.Bookings.Sell(ctx, holdfast.SaleRequest{LockRequest: r})
			if err != nil {
				return m, err
			}
			bookings[client] = b.ID
		}
		m, err = closedLoop(ctx, clients, s.duration, func(ctx context.Context, client, n int) (bool, error) {
			seats := block{row: client, first: (n + 1) % (seatsInRow / pair) * pair, seats: pair}
			_, _, err := e.Bookings.ChangeBooking(ctx, bookings[client], holdfast.BookingChange{
				EventID: hall, Wish: holdfast.Wish{SeatIDs: seats.ids()},
			})
			return err == nil, err
		})
		if err != nil {
			return m, err
		}
		return m, e.checkHalls(ctx, int64(clients)*pair, int64(clients))
	})
}
