//go:build unix

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// commands collects the commands of a client that do not read from the primary what the majority has, or that do not write
// to the majority.
type commands struct {
	mu   sync.Mutex
	seen map[string]int
	weak []string
}

func (c *commands) started(_ context.Context, e *event.CommandStartedEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[e.CommandName]++
	has := func(values []string, path ...string) bool {
		value, _ := e.Command.Lookup(path...).StringValueOK()
		return slices.Contains(values, value)
	}
	_, err := e.Command.LookupErr("autocommit")
	isInTransaction := err == nil
	isDiagnosis := e.DatabaseName == "admin"
	strongRead := []string{"majority", "snapshot", "linearizable"}
	isStrong := true
	switch e.CommandName {
	case "commitTransaction", "abortTransaction":
		isStrong = has([]string{"majority"}, "writeConcern", "w")
	case "insert", "update", "delete", "findAndModify":
		isStrong = isInTransaction || has([]string{"majority"}, "writeConcern", "w")
	case "find", "aggregate", "distinct", "count":
		isStrong = isInTransaction || isDiagnosis || has(strongRead, "readConcern", "level")
	}
	if _, err := e.Command.LookupErr("startTransaction"); err == nil {
		isStrong = isStrong && has([]string{"snapshot"}, "readConcern", "level")
	}
	if mode, err := e.Command.LookupErr("$readPreference", "mode"); err == nil {
		isStrong = isStrong && mode.StringValue() == "primary"
	}
	if !isStrong {
		c.weak = append(c.weak, e.Command.String())
	}
}

// programsClient is a client whose options are the worst that a program can have.
func programsClient(t *testing.T, uri string, watch *event.CommandMonitor) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetMonitor(watch).
		SetWriteConcern(writeconcern.W1()).SetReadConcern(readconcern.Local()).SetReadPreference(readpref.SecondaryPreferred()).
		SetRetryWrites(false).SetRetryReads(false).SetTimeout(time.Minute).
		SetRegistry(bson.NewRegistry()).SetBSONOptions(&options.BSONOptions{StringifyMapKeysWithFmt: true, UseLocalTimeZone: true}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// Every command of an engine is as strong as with a client of its own, whatever the options of the program's client are.
func TestOpen_DependsOnNoOptionOfTheProgramsClient(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	sent := &commands{seen: map[string]int{}}
	client := programsClient(t, w.URI, &event.CommandMonitor{Started: sent.started})
	e, err := engine.Open(t.Context(), engine.Options{Client: client, Database: w.DB.Name(), Log: w.DB.Log()})
	if err != nil {
		t.Fatal(err)
	}
	run(t, e, engine.RunOptions{Intervals: soon})
	sellAll(t, e)
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, func() bool { return len(leaders(t, w)) == 1 && len(records(t, w, bson.D{})) > 0 })
	testenv.CheckInvariants(t, w.DB.Database)
	sent.mu.Lock()
	defer sent.mu.Unlock()
	for _, weak := range sent.weak {
		t.Error(weak)
	}
	for _, name := range []string{"aggregate", "update", "insert", "findAndModify", "commitTransaction", "hello"} {
		if sent.seen[name] == 0 {
			t.Errorf("the test has sent no %s: %v", name, sent.seen)
		}
	}
}

// sellAll lets ten customers at once want three of 20 seats each, refuses the others, and confirms, cancels, lists and reports.
func sellAll(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx := t.Context()
	user, err := e.Users.CreateUser(ctx, "Ada", "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	sale, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{Name: "Event", TotalSeats: 20, EventDate: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	granted := make(chan holdfast.Lock, 10)
	for i := range 10 {
		all.Go(func() {
			lock, _, err := e.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: sale.ID, UserID: user.ID, Seats: 3, Key: fmt.Sprint(i)})
			if err == nil {
				granted <- lock
			} else if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(granted) != 6 {
		t.Fatalf("%d requests were granted", len(granted))
	}
	for i := range len(granted) {
		lock := <-granted
		booking, _, err := e.Bookings.CreateBooking(ctx, holdfast.BookingRequest{
			EventID: sale.ID, UserID: user.ID, LockID: lock.ID, Window: holdfast.Until{For: time.Minute},
		})
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			_, err = e.Bookings.ConfirmBooking(ctx, booking.ID, holdfast.Charge{Reference: fmt.Sprint("payment-", i)})
		} else {
			_, err = e.Bookings.CancelBooking(ctx, booking.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if left, err := e.Seats.GetEvent(ctx, sale.ID); err != nil || left.AvailableSeats != 11 {
		t.Error(left.AvailableSeats, err)
	}
}

// Close leaves the program's client connected, and disconnects its own.
func TestClose_LeavesTheProgramsClientConnected(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	client := programsClient(t, w.URI, nil)
	e, err := engine.Open(t.Context(), engine.Options{Client: client, Database: w.DB.Name(), Log: w.DB.Log()})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context(), readpref.Primary()); err != nil {
		t.Error(err)
	}
	own, err := engine.Open(t.Context(), engine.Options{URI: w.URI, Database: w.DB.Name(), Log: w.DB.Log()})
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := own.Sweep(t.Context()); err == nil {
		t.Error("an engine swept after it was closed")
	}
	if _, err := own.Users.CreateUser(t.Context(), "A", "a@example.com"); !holdfast.HasCode(err, holdfast.CodeUnavailable) {
		t.Error(err)
	}
}

// A Timeout that is too short for a command fails that command, and nothing is half done.
func TestOpen_ShortTimeoutOfTheProgramsClient(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	client, err := mongo.Connect(options.Client().ApplyURI(w.URI).SetTimeout(time.Nanosecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	_, err = engine.Open(t.Context(), engine.Options{Client: client, Database: w.DB.Name(), Log: w.DB.Log()})
	if err == nil || !strings.Contains(err.Error(), "the client's URI: no primary answers") || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// The clock of the program dates what it creates. It does not decide what is due, even if it is two days ahead.
func TestOpen_ClockDecidesNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const ahead = 48 * time.Hour
	e, err := engine.Open(t.Context(), engine.Options{
		URI: w.URI, Database: w.DB.Name(), Log: w.DB.Log(), Clock: func() time.Time { return time.Now().Add(ahead) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	user, err := e.Users.CreateUser(t.Context(), "Ada", "ada@example.com")
	if err != nil || time.Until(user.CreatedAt) < ahead/2 {
		t.Error(user.CreatedAt, err)
	}
	lock := acquire(t.Context(), e, holdfast.LockRequest{EventID: w.Event(10), UserID: user.ID, Seats: 3})
	if left := time.Until(lock.ExpiresAt); left > time.Hour {
		t.Errorf("the lock ends in %v", left)
	}
	if report, err := e.Sweep(t.Context()); err != nil || report.Applied != 0 {
		t.Error(report, err)
	}
}
