package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/users"
)

// world is a database of its own for one side's turn.
type world struct {
	uri      string
	db       *mongodb.DB
	users    *users.Service
	seats    *seats.Service
	bookings *booking.Service
}

// newWorld opens an empty database with all indexes and validators.
func newWorld(ctx context.Context, uri string) (*world, error) {
	w, err := openWorld(ctx, uri, "bench_"+strings.ToLower(rand.Text()[:12]))
	if err != nil {
		return nil, err
	}
	var all []mongodb.Collection
	all = append(append(append(all, users.Collections()...), seats.Collections()...), booking.Collections()...)
	if degraded, err := mongodb.EnsureSchema(ctx, w.db, all...); err != nil || len(degraded) > 0 {
		return nil, fmt.Errorf("indexes and validators: %w %v", err, degraded)
	}
	return w, nil
}

func openWorld(ctx context.Context, uri, name string) (*world, error) {
	db, err := mongodb.Connect(ctx, uri, name, mongodb.Options{
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Clock: clock.System})
	if err != nil {
		return nil, err
	}
	w := &world{uri: uri, db: db, users: users.New(db)}
	w.seats = seats.New(db, seats.Limits{DefaultTTL: 10 * time.Minute, MaxTTL: 2 * time.Hour}, nil)
	w.bookings = booking.New(db, w.seats, booking.Limits{MaxPaymentTTL: 24 * time.Hour}, booking.Observer{})
	return w, nil
}

// close drops the database.
func (w *world) close(ctx context.Context) error {
	if err := w.seats.Close(ctx); err != nil {
		return err
	}
	if err := w.db.Drop(ctx); err != nil {
		return err
	}
	return w.db.Close(ctx)
}

// event makes an event on sale.
func (w *world) event(ctx context.Context, total int64) (ids.ID, error) {
	e, err := w.seats.CreateEvent(ctx, seats.NewEvent{Name: "Event", TotalSeats: total, EventDate: clock.System().UTC()})
	return e.ID, err
}

// prove fails unless counters and locks, those that the side keeps, say what was
// granted, a seat each. Of unknown requests nobody knows whether they were.
func (w *world) prove(ctx context.Context, granted, unknown int64, counter, keepsLocks bool) error {
	sums, err := mongodb.All[struct {
		Taken int64 `bson:"taken"`
		Below int64 `bson:"below"`
	}](ctx, w.db.Collection("events"), mongo.Pipeline{{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: nil},
		{Key: "taken", Value: bson.D{{Key: "$sum", Value: bson.D{{Key: "$subtract", Value: bson.A{"$totalSeats", "$availableSeats"}}}}}},
		{Key: "below", Value: bson.D{{Key: "$sum", Value: bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$lt", Value: bson.A{"$availableSeats", 0}}}, 1, 0}}}}}},
	}}}})
	if err != nil || len(sums) != 1 {
		return fmt.Errorf("summing events: %w", err)
	}
	locks, err := mongodb.All[struct {
		Seats int64 `bson:"seats"`
		Count int64 `bson:"count"`
	}](ctx, w.db.Collection("seatlocks"), mongo.Pipeline{
		mongodb.Match(mongodb.In("status", []string{"ACTIVE", "CONSUMED"})),
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "seats", Value: bson.D{{Key: "$sum", Value: "$seats"}}}, {Key: "count", Value: bson.D{{Key: "$sum", Value: 1}}}}}},
	})
	if err != nil {
		return err
	}
	held, count := int64(0), int64(0)
	if len(locks) == 1 {
		held, count = locks[0].Seats, locks[0].Count
	}
	as := func(n int64) bool { return n >= granted && n <= granted+unknown }
	switch {
	case sums[0].Below > 0:
		return fmt.Errorf("%d events are below 0", sums[0].Below)
	case counter && !as(sums[0].Taken):
		return fmt.Errorf("%d were granted, the counters say %d", granted, sums[0].Taken)
	case counter && keepsLocks && sums[0].Taken != held:
		return fmt.Errorf("the counters say that %d are taken, the locks hold %d", sums[0].Taken, held)
	case keepsLocks && (!as(held) || !as(count)):
		return fmt.Errorf("%d were granted; %d locks hold %d seats", granted, count, held)
	}
	return nil
}
