package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	cancelledLocks = 100_000
	cancelledSales = cancelledLocks / 2 // CONFIRMED with a payment
)

// eventCancel measures how long it takes to cancel an event with its locks and bookings, and what that costs the
// sale of another event.
func eventCancel(s settings) []*result {
	return []*result{
		sellDuring(s, "the sale alone", func(ctx context.Context, _ *env, _ holdfast.ID) (note string, err error) {
			sleep(ctx, s.duration)
			return "", ctx.Err()
		}),
		sellDuring(s, "the sale during a cancellation", cancelByEngine),
	}
}

// sellDuring sells seats of an event until work returns. Another event has the locks and bookings to
// cancel.
func sellDuring(s settings, variant string, work func(context.Context, *env, holdfast.ID) (note string, err error)) *result {
	return s.row(variant, clientsLoad(mostClients), func(ctx context.Context, e *env) (m measurement, err error) {
		onSale, err := e.createEvent(ctx, ampleSeats)
		if err != nil {
			return m, err
		}
		sold, err := e.insertSold(ctx)
		if err != nil {
			return m, err
		}
		worker, err := openEnv(ctx, e.uri, e.DB.Name())
		if err != nil {
			return m, err
		}
		selling, stop := context.WithCancelCause(ctx)
		workDone := make(chan error, 1)
		var note string
		go func() {
			var err error
			note, err = work(ctx, worker, sold)
			workDone <- err
			stop(errLoadDone)
		}()
		user := mongodb.NewID()
		const saleTimeout = time.Hour // the work ends first
		m, err = closedLoop(selling, mostClients, saleTimeout, func(_ context.Context, client, n int) (bool, error) {
			return e.lock(ctx, onSale, user, 1, requestKey(client, n))
		})
		err = errors.Join(err, <-workDone, worker.DB.Close(ctx))
		m.note = note
		return m, err
	})
}

// cancelByEngine cancels an event with its locks and bookings. It notes when the last of its locks had ended.
func cancelByEngine(ctx context.Context, e *env, eventID holdfast.ID) (note string, err error) {
	start := wallClock()
	c := &expiry.Canceller{Sweeper: e.Sweeper}
	run := expiry.Run{Run: inventory.Run{By: holdfast.EndedByEventCancel}, Log: slog.New(slog.DiscardHandler)}
	if run.ID, err = c.Ask(ctx, eventID); err != nil {
		return "", err
	}
	watching, stop := context.WithCancel(ctx)
	ended := make(chan time.Duration, 1)
	go func() {
		live := mongodb.And(mongodb.Is("eventId", eventID), mongodb.In("status", []string{"ACTIVE", "CONSUMED"}))
		for watching.Err() == nil && e.DB.Collection("seatlocks").FindOne(watching, live).Err() == nil {
			sleep(watching, 100*time.Millisecond)
		}
		ended <- wallClock.Since(start)
	}()
	report, err := c.Run(ctx, run)
	stop()
	note = fmt.Sprintf("all ended after %.1f s, the last pass after %.1f s", (<-ended).Seconds(), wallClock.Since(start).Seconds())
	if err == nil && (report.Applied != cancelledLocks || report.Errors+report.Skipped > 0) {
		err = fmt.Errorf("the cancellation reports %+v", report)
	}
	if err != nil {
		return "", err
	}
	isDue := mongodb.And(mongodb.Is("eventId", eventID), mongodb.Is("status", "REFUND_DUE"))
	due, err := e.DB.Collection("payments").CountDocuments(ctx, isDue)
	if err == nil && due != cancelledSales {
		err = fmt.Errorf("%d payments are REFUND_DUE", due)
	}
	return note, err
}

// insertSold inserts an event with live locks, of which some are sold and paid for.
func (e *env) insertSold(ctx context.Context) (holdfast.ID, error) {
	now := mongodb.SystemTime()
	expiresAt, createdAt, updatedAt := now.Add(time.Hour), bson.E{Key: "createdAt", Value: now}, bson.E{Key: "updatedAt", Value: now}
	ofLock := []bson.E{createdAt, {Key: "internal", Value: bson.D{{Key: "rev", Value: int64(1)}}}}
	b := e.newBulkInsert()
	eventID := b.addEvent(ctx, cancelledLocks, cancelledLocks)
	for i := range cancelledLocks {
		if i%2 == 1 {
			b.addLock(ctx, eventID, 1, "ACTIVE", expiresAt, ofLock...)
			continue
		}
		reference := "pay-" + strconv.Itoa(i)
		paymentID := holdfast.Charge{Reference: reference}.PaymentID()
		bookingID, userID := b.addSold(ctx, eventID, 1, expiresAt, ofLock, []bson.E{
			{Key: "paymentExpiresAt", Value: expiresAt}, {Key: "paymentReference", Value: reference}, createdAt, updatedAt,
			{Key: "internal", Value: bson.D{{Key: "rev", Value: int64(1)}, {Key: "payments", Value: []holdfast.ListedPayment{
				{ID: paymentID, Status: holdfast.PaymentAccepted}}}}},
		})
		b.add(ctx, "payments", bson.D{
			{Key: "_id", Value: paymentID}, {Key: "provider", Value: holdfast.DefaultProvider}, {Key: "reference", Value: reference},
			{Key: "part", Value: ""}, {Key: "bookingId", Value: bookingID}, {Key: "eventId", Value: eventID}, {Key: "userId", Value: userID},
			{Key: "status", Value: "ACCEPTED"}, createdAt, updatedAt, {Key: "internal", Value: bson.D{{Key: "rev", Value: int64(0)}}},
		})
	}
	return eventID, b.flush(ctx)
}
