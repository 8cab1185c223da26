package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// server is an API process on a database without a worker, so that only recovery
// can repair it.
type server struct {
	process *devserver.Process
	setup
	log *output
}

type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) has(line string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(o.text.String(), line)
}

func (s *setup) startAPI(ctx context.Context, database string) (*server, error) {
	port, err := devserver.ReservePort()
	if err != nil {
		return nil, err
	}
	defer port.Close()
	url := "http://" + port.Addr()
	a := &server{log: &output{}}
	a.api = client.New(url)
	a.process, err = devserver.Start(devserver.Command{
		Args: []string{".build/api", "--http-addr=" + port.Addr(), "--log-format=json"}, Output: a.log,
		Env: []string{"MONGODB_URI=" + s.state.MongoDBURI, "MONGODB_DATABASE=" + database, "API_KEYS=", "METRICS_ADDR=", "SHUTDOWN_DELAY=0s"},
	})
	if err != nil {
		return nil, err
	}
	for {
		if devserver.IsReady(ctx, url) {
			return a, nil
		}
		select {
		case <-a.process.Done():
			return nil, fmt.Errorf("the API ended: %s", a.log.text.String())
		case <-ctx.Done():
			a.process.Stop()
			return nil, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

func recoveryAtRestart(ctx context.Context, s *setup) error {
	database := "holdfast_demo_" + ids.New().String()
	db := s.mongo.Database(database)
	defer db.Drop(context.WithoutCancel(ctx)) //nolint:errcheck // a leftover database is harmless
	before, err := s.startAPI(ctx, database)
	if err != nil {
		return err
	}
	user, event, err := newSale(ctx, before.api)
	before.process.Stop()
	if err != nil {
		return err
	}
	lock, booking := ids.New(), ids.New()
	if err := corruptDatabase(ctx, s, database, user, event, lock, booking); err != nil {
		return err
	}
	fmt.Println("  Wrote a stale lock, a stale booking and a wrong counter to MongoDB; restarting the server ...")
	after, err := s.startAPI(ctx, database)
	if err != nil {
		return err
	}
	defer after.process.Stop()
	for _, line := range []string{
		"[RECOVERY] Starting system recovery from partial failures...",
		"[RECOVERY] Found 1 stale ACTIVE locks that should be EXPIRED",
		"[RECOVERY] Expired stale lock " + lock.String() + ", restored 2 seats",
		"[RECOVERY] Found 1 stale PAYMENT_PENDING bookings",
		"[RECOVERY] Expired stale booking " + booking.String() + ", released lock " + lock.String(),
		"[RECOVERY] Corrected available seats for event " + event,
		"[RECOVERY] System recovery completed successfully",
	} {
		if e := compare("log: "+line[:min(len(line), 66)], true, after.log.has(line)); e != nil {
			err = e
		}
	}
	return errors.Join(err,
		after.expectLock(ctx, lock.String(), "EXPIRED", 0), after.expectBooking(ctx, booking.String(), "EXPIRED", 0),
		after.expectAvailable(ctx, event, 100))
}

// corruptDatabase writes the documents that a crash of other software may leave.
func corruptDatabase(ctx context.Context, s *setup, database, user, event string, lock, booking holdfast.ID) error {
	db := s.mongo.Database(database)
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
