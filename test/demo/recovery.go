package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// startAPI starts an API process on a database without a worker, so that only recovery can repair it. Its output is in
// the file log.
func (s *setup) startAPI(ctx context.Context, database, log string) (*setup, error) {
	output, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	process, address, err := devserver.StartReady(ctx, func(address string) devserver.Command {
		return devserver.Command{Args: []string{".build/api", "--log-format=json"}, Output: output, Env: []string{
			"MONGODB_URI=" + s.state.MongoDBURI, "MONGODB_DATABASE=" + database, "HTTP_ADDR=" + address,
			"API_KEYS=", "METRICS_ADDR=", "SHUTDOWN_DELAY=0s",
		}}
	})
	if err != nil {
		return nil, fmt.Errorf("%w: see %s", err, log)
	}
	return &setup{own: process, api: client.New("http://" + address)}, nil
}

func recoveryAtRestart(ctx context.Context, s *setup) error {
	database := "holdfast_demo_" + mongodb.NewID().String()
	db := s.mongo.Database(database)
	defer db.Drop(context.WithoutCancel(ctx)) //nolint:errcheck // a leftover database is harmless
	log := filepath.Join(".build", "demo-api.log")
	before, err := s.startAPI(ctx, database, log)
	if err != nil {
		return err
	}
	user, event, err := before.newSale(ctx)
	before.own.Stop()
	if err != nil {
		return err
	}
	lock, booking := mongodb.NewID(), mongodb.NewID()
	if err := corruptDatabase(ctx, db, user, event, lock, booking); err != nil {
		return err
	}
	fmt.Println("  Wrote a stale lock, a stale booking and a wrong counter to MongoDB; restarting the server ...")
	after, err := s.startAPI(ctx, database, log)
	if err != nil {
		return err
	}
	defer after.own.Stop()
	output, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	for _, line := range []string{
		"[RECOVERY] Starting system recovery from partial failures...",
		"[RECOVERY] Found 1 stale ACTIVE locks that should be EXPIRED",
		"[RECOVERY] Expired stale lock " + lock.String() + ", restored 2 seats",
		"[RECOVERY] Found 1 stale PAYMENT_PENDING bookings",
		"[RECOVERY] Expired stale booking " + booking.String() + ", released lock " + lock.String(),
		"[RECOVERY] Corrected available seats for event " + event,
		"[RECOVERY] System recovery completed successfully",
	} {
		if e := compare("log: "+line[:min(len(line), 66)], true, bytes.Contains(output, []byte(line))); e != nil {
			err = e
		}
	}
	return errors.Join(err,
		after.expectLock(ctx, lock.String(), "EXPIRED", 0), after.expectBooking(ctx, booking.String(), "EXPIRED", 0),
		after.expectAvailable(ctx, event, 100))
}

// corruptDatabase writes the documents that a crash of other software may leave.
func corruptDatabase(ctx context.Context, db *mongo.Database, user, event string, lock, booking holdfast.ID) error {
	userID, err := holdfast.ParseID(user)
	if err != nil {
		return err
	}
	eventID, err := holdfast.ParseID(event)
	if err != nil {
		return err
	}
	_, err = db.Collection("seatlocks").InsertOne(ctx, bson.D{
		{Key: "_id", Value: lock}, {Key: "eventId", Value: eventID}, {Key: "userId", Value: userID}, {Key: "seats", Value: 2},
		{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: past}, {Key: "idempotencyKey", Value: "test-lock"},
	})
	if err != nil {
		return err
	}
	_, err = db.Collection("bookings").InsertOne(ctx, bson.D{
		{Key: "_id", Value: booking}, {Key: "user", Value: userID}, {Key: "event", Value: eventID}, {Key: "seats", Value: bson.A{"2"}},
		{Key: "status", Value: "PAYMENT_PENDING"}, {Key: "seatLockId", Value: lock}, {Key: "paymentExpiresAt", Value: past},
	})
	if err != nil {
		return err
	}
	_, err = db.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: eventID}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "availableSeats", Value: 95}}}})
	return err
}
