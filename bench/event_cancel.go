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
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	cancelledLocks = 100_000
	cancelledSales = 50_000 // of the locks, CONFIRMED with a payment
)

// eventCancel measures how long it takes to cancel all of an event, and what that costs the sale of another one.
func eventCancel(s settings) []*result {
	alone := func(ctx context.Context) (measurement, error) {
		return sellBesideCancelled(ctx, s, func(ctx context.Context, _ *env, _ holdfast.ID) error {
			sleep(ctx, s.duration)
			return ctx.Err()
		})
	}
	beside := func(ctx context.Context) (m measurement, err error) {
		var ended, took time.Duration
		m, err = sellBesideCancelled(ctx, s, func(ctx context.Context, e *env, eventID holdfast.ID) error {
			ended, took, err = cancelByEngine(ctx, e, eventID)
			return err
		})
		m.note = fmt.Sprintf("all ended after %.1f s, the last pass after %.1f s", ended.Seconds(), took.Seconds())
		return m, err
	}
	return []*result{
		{Variant: "the sale alone", Load: clientsLoad(saleClients), measure: alone},
		{Variant: "the sale beside a cancellation", Load: clientsLoad(saleClients), measure: beside},
	}
}

// cancelByEngine cancels all of an event. ended is when the last of its locks had ended.
func cancelByEngine(ctx context.Context, e *env, eventID holdfast.ID) (ended, took time.Duration, err error) {
	start := wallClock()
	c := &expiry.Canceller{Sweeper: e.Sweeper}
	run := expiry.Run{Run: inventory.Run{By: holdfast.EndedByEventCancel}, Log: slog.New(slog.DiscardHandler)}
	if run.ID, err = c.Ask(ctx, eventID); err != nil {
		return 0, 0, err
	}
	watching, stop := context.WithCancel(ctx)
	seen := make(chan time.Duration, 1)
	go func() {
		live := bson.D{{Key: "eventId", Value: eventID}, {Key: "status", Value: bson.D{{Key: "$in", Value: bson.A{"ACTIVE", "CONSUMED"}}}}}
		for watching.Err() == nil {
			if e.DB.Collection("seatlocks").FindOne(watching, live).Err() != nil {
				break
			}
			sleep(watching, 100*time.Millisecond)
		}
		seen <- wallClock.Since(start)
	}()
	report, err := c.Run(ctx, run)
	stop()
	ended = <-seen
	if err == nil && (report.Applied != cancelledLocks || report.Errors+report.Skipped > 0) {
		err = fmt.Errorf("the cancellation reports %+v", report)
	}
	if err != nil {
		return 0, 0, err
	}
	due, err := e.DB.Collection("payments").CountDocuments(ctx, bson.D{{Key: "eventId", Value: eventID}, {Key: "status", Value: "REFUND_DUE"}})
	if err == nil && due != cancelledSales {
		err = fmt.Errorf("%d payments are REFUND_DUE", due)
	}
	return ended, wallClock.Since(start), err
}

// sellBesideCancelled sells seats of an event until work returns. Another event has all that can be cancelled.
func sellBesideCancelled(ctx context.Context, s settings, work func(context.Context, *env, holdfast.ID) error) (measurement, error) {
	e, err := newEnv(ctx, s.mongoURI)
	if err != nil {
		return measurement{}, err
	}
	onSale, err := e.insertDueLocks(ctx, 1, 0)
	if err != nil {
		return measurement{}, err
	}
	if _, err := e.DB.Collection("events").UpdateMany(ctx, bson.D{}, bson.D{{Key: "$set", Value: bson.D{
		{Key: "totalSeats", Value: ampleSeats}, {Key: "availableSeats", Value: ampleSeats}}}}); err != nil {
		return measurement{}, err
	}
	sold, err := e.insertSold(ctx)
	if err != nil {
		return measurement{}, err
	}
	worker, err := openEnv(ctx, s.mongoURI, e.DB.Name())
	if err != nil {
		return measurement{}, err
	}
	selling, stop := context.WithCancelCause(ctx)
	workDone := make(chan error, 1)
	go func() {
		workDone <- work(ctx, worker, sold)
		stop(errLoadDone)
	}()
	user := ids.New()
	const saleTimeout = time.Hour // the work ends first
	m, err := closedLoop(selling, saleClients, saleTimeout, func(_ context.Context, client, n int) (bool, error) {
		return engine{e.Seats}.lock(ctx, onSale[0], user, 1, requestKey(client, n))
	})
	if err = errors.Join(err, <-workDone); err != nil {
		return m, err
	}
	return m, errors.Join(worker.DB.Close(ctx), e.drop(ctx))
}

// insertSold inserts an event with live locks, of which some are sold and paid for.
func (e *env) insertSold(ctx context.Context) (holdfast.ID, error) {
	const perInsert = 10_000
	eventID, now := ids.New(), clock.System()
	_, err := e.DB.Collection("events").InsertOne(ctx, bson.D{{Key: "_id", Value: eventID}, {Key: "name", Value: "Event"},
		{Key: "totalSeats", Value: int64(cancelledLocks)}, {Key: "availableSeats", Value: int64(0)}})
	docs := map[string][]any{}
	flush := func() error {
		for _, collection := range []string{"seatlocks", "bookings", "payments"} {
			if len(docs[collection]) > 0 {
				if _, err := e.DB.Collection(collection).InsertMany(ctx, docs[collection]); err != nil {
					return err
				}
			}
		}
		clear(docs)
		return nil
	}
	for i := 0; i < cancelledLocks && err == nil; i++ {
		lockID, bookingID, userID := ids.New(), ids.New(), ids.New()
		lock := bson.D{
			{Key: "_id", Value: lockID}, {Key: "eventId", Value: eventID}, {Key: "userId", Value: userID}, {Key: "seats", Value: int64(1)},
			{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: now.Add(time.Hour)}, {Key: "createdAt", Value: now},
			{Key: "internal", Value: bson.D{{Key: "rev", Value: int64(1)}}},
		}
		if i%2 == 0 && i/2 < cancelledSales {
			reference := "pay-" + strconv.Itoa(i)
			paymentID := holdfast.Charge{Reference: reference}.PaymentID()
			lock[4].Value = "CONSUMED"
			docs["bookings"] = append(docs["bookings"], bson.D{
				{Key: "_id", Value: bookingID}, {Key: "userId", Value: userID}, {Key: "eventId", Value: eventID}, {Key: "seatLockId", Value: lockID},
				{Key: "seats", Value: int64(1)}, {Key: "status", Value: "CONFIRMED"}, {Key: "paymentExpiresAt", Value: now.Add(time.Hour)},
				{Key: "paymentReference", Value: reference}, {Key: "createdAt", Value: now}, {Key: "updatedAt", Value: now},
				{Key: "internal", Value: bson.D{{Key: "rev", Value: int64(1)}, {Key: "paymentId", Value: paymentID}}},
			})
			docs["payments"] = append(docs["payments"], bson.D{
				{Key: "_id", Value: paymentID}, {Key: "provider", Value: holdfast.DefaultProvider}, {Key: "reference", Value: reference},
				{Key: "part", Value: ""}, {Key: "bookingId", Value: bookingID}, {Key: "eventId", Value: eventID}, {Key: "userId", Value: userID},
				{Key: "status", Value: "ACCEPTED"}, {Key: "createdAt", Value: now}, {Key: "updatedAt", Value: now},
				{Key: "internal", Value: bson.D{{Key: "rev", Value: int64(0)}}},
			})
		}
		docs["seatlocks"] = append(docs["seatlocks"], lock)
		if len(docs["seatlocks"]) == perInsert || i == cancelledLocks-1 {
			err = flush()
		}
	}
	return eventID, err
}
