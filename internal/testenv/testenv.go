// Package testenv gives each test its own database on a real replica set, the
// services on it, and a check of the invariants.
//
// Tests use the server in HOLDFAST_TEST_MONGODB_URI, which scripts/test sets, or
// start one per test binary. If no server can be started, the tests fail.
//
// A package whose tests import this package needs servers, so scripts/test -short
// leaves it out. Under go test -short, a test that asks for a server fails.
package testenv

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Env has the services on one test's database.
type Env struct {
	*core.Core

	T   testing.TB
	URI string
	Log *Log

	mu           sync.Mutex
	transactions map[mongodb.Outcome]int
}

// Limits of the services in tests.
const (
	DefaultTTL    = 10 * time.Minute
	MaxTTL        = 2 * time.Hour
	MaxPaymentTTL = 24 * time.Hour
	Batch         = 500
)

// New returns services on an empty database, which no other test uses meanwhile.
func New(t testing.TB) *Env {
	t.Helper()
	p := takeDatabase()
	p.giveBackAfter(t)
	e := Open(t, URI(t), p.name)
	p.note(t)
	return e
}

// Open returns services on a database, which several Envs may share. A command monitor sees
// no command of Open itself.
func Open(t testing.TB, uri, database string, change ...func(*mongodb.Options)) *Env {
	t.Helper()
	e := &Env{T: t, URI: uri, Log: &Log{}, transactions: map[mongodb.Outcome]int{}}
	o := mongodb.Options{
		Log: slog.New(e.Log), Clock: mongodb.SystemTime,
		Observe: mongodb.Observer{Transaction: func(o mongodb.Outcome, _ int) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.transactions[o]++
		}},
	}
	for _, c := range change {
		c(&o)
	}
	var opened atomic.Bool
	defer opened.Store(true)
	o.Monitor = since(&opened, o.Monitor)
	db, err := mongodb.Connect(t.Context(), uri, database, o)
	if err != nil {
		t.Fatal(err)
	}
	e.Core = Core(db, core.AllUsersExist)
	all := slices.Concat(core.Collections(), jobs.Collections(), store.RetentionIndexes())
	if degraded, err := core.EnsureSchema(t.Context(), db, o.Log, all...); err != nil || len(degraded) > 0 {
		t.Fatal(err, degraded)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

// Core opens an engine on a database, like one more process.
func Core(db *mongodb.DB, users pipeline.UserLookup) *core.Core {
	return CoreWith(db, users, Settings())
}

// CoreWith is Core with other settings.
func CoreWith(db *mongodb.DB, users pipeline.UserLookup, settings core.Settings) *core.Core {
	return core.New(db, core.Options{
		Settings: settings, Log: db.Log(), Users: users, WithoutMemory: os.Getenv(memoryVariable) == "off",
		Collections: jobs.Collections(),
	})
}

// Settings of the services in tests.
func Settings() core.Settings {
	return core.Settings{LockDefaultTTL: DefaultTTL, LockMaxTTL: MaxTTL, PaymentMaxTTL: MaxPaymentTTL, SweepBatch: Batch}
}

// DropSeatIndex drops the unique index of seats, so that the guard of the event alone protects them.
func (e *Env) DropSeatIndex() {
	e.T.Helper()
	for _, c := range store.SeatIndex() {
		for _, index := range c.Indexes {
			if err := e.DB.Collection(c.Name).Indexes().DropWithKey(e.Ctx(), index.Keys); err != nil {
				e.T.Fatal(err)
			}
		}
	}
}

// Transactions returns how many transactions ended with an outcome.
func (e *Env) Transactions(o mongodb.Outcome) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.transactions[o]
}

// FailCommands makes the server's commands of some names, with spaces between them, fail. mode says
// how often; failure holds fields of the fail point failCommand. The server must be the
// test's own. The returned function switches the fail point off.
func (e *Env) FailCommands(names string, mode any, failure bson.D) (off func()) {
	e.T.Helper()
	set := func(mode any) {
		e.T.Helper()
		err := e.DB.Client().Database("admin").RunCommand(context.Background(), bson.D{
			{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: mode},
			{Key: "data", Value: append(bson.D{{Key: "failCommands", Value: strings.Fields(names)}}, failure...)},
		}).Err()
		if err != nil {
			e.T.Fatal(err)
		}
	}
	set(mode)
	return func() { set("off") }
}

// must returns a function that returns v, or fails the test with an error.
func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Ctx is the test's context.
func (e *Env) Ctx() context.Context { return e.T.Context() }

// Event creates an event with seats on sale.
func (e *Env) Event(total int64) holdfast.ID {
	e.T.Helper()
	return must(e.Seats.CreateEvent(e.Ctx(),
		holdfast.NewEvent{Name: "Event", TotalSeats: total, EventDate: mongodb.SystemTime().UTC()}))(e.T).ID
}

// SeatedEvent creates an event in a hall, with the default rules.
func (e *Env) SeatedEvent(plan holdfast.SeatingPlan) holdfast.ID {
	e.T.Helper()
	of, _, err := e.Plans.Create(e.Ctx(), plan, holdfast.CreationKey{})
	if err != nil {
		e.T.Fatal(err)
	}
	return must(e.Seats.CreateEvent(e.Ctx(),
		holdfast.NewEvent{Name: "Event", EventDate: mongodb.SystemTime().UTC(), Seating: holdfast.Seating{PlanID: of.ID}}))(e.T).ID
}

// Acquire locks seats for a new user, or fails the test.
func (e *Env) Acquire(event holdfast.ID, n int64, until holdfast.Until) holdfast.Lock {
	e.T.Helper()
	lock, _, err := e.Seats.AcquireLock(e.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: n, Until: until})
	if err != nil {
		e.T.Fatal(err)
	}
	return lock
}

// Book creates a booking of a lock, or fails the test.
func (e *Env) Book(lock holdfast.Lock, window holdfast.Until) holdfast.Booking {
	e.T.Helper()
	b, _, err := e.Bookings.CreateBooking(e.Ctx(), holdfast.BookingRequest{
		UserID: lock.UserID, Holder: lock.Holder, EventID: lock.EventID, LockID: lock.ID, Window: window,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return b
}

// Past is an expiry one hour ago.
func Past() holdfast.Until { return holdfast.Until{At: mongodb.SystemTime().Add(-time.Hour)} }

// Soon is an expiry in one hour.
func Soon() holdfast.Until { return holdfast.Until{For: time.Hour} }

// Available returns an event's availableSeats and oversold.
func (e *Env) Available(event holdfast.ID) (available, oversold int64) {
	e.T.Helper()
	found := must(e.Seats.GetEvent(e.Ctx(), event))(e.T)
	return found.AvailableSeats, found.Oversold
}

// Lock reads a lock.
func (e *Env) Lock(id holdfast.ID) holdfast.Lock {
	e.T.Helper()
	return must(e.Seats.GetLock(e.Ctx(), id))(e.T)
}

// Booking reads a booking.
func (e *Env) Booking(id holdfast.ID) holdfast.Booking {
	e.T.Helper()
	return must(e.Bookings.GetBooking(e.Ctx(), id))(e.T)
}

// Insert writes a raw document, like other software. MongoDB does not validate it.
func (e *Env) Insert(collection string, document bson.D) {
	e.T.Helper()
	if _, err := e.DB.Collection(collection).InsertOne(e.Ctx(), document, options.InsertOne().SetBypassDocumentValidation(true)); err != nil {
		e.T.Fatal(err)
	}
}

// Command runs a command on the database, like other software.
func (e *Env) Command(command bson.D) {
	e.T.Helper()
	if err := e.DB.RunCommand(e.Ctx(), command).Err(); err != nil {
		e.T.Fatal(err)
	}
}

// Set changes fields of a document, like other software. MongoDB does not validate it.
func (e *Env) Set(collection string, id holdfast.ID, fields bson.D) {
	e.T.Helper()
	e.ChangeUnchecked(collection, id, bson.D{{Key: "$set", Value: fields}})
}

// SweepLocks runs the lock sweep.
func (e *Env) SweepLocks() expiry.Report {
	e.T.Helper()
	return must(e.Sweeper.SweepLocks(e.Ctx(), e.Run(holdfast.EndedByLockExpiry)))(e.T)
}

// SweepBookings runs the booking sweep.
func (e *Env) SweepBookings() expiry.Report {
	e.T.Helper()
	return must(e.Sweeper.SweepBookings(e.Ctx(), e.Run(holdfast.EndedByBookingExpiry)))(e.T)
}

// Run is a run of a sweep, with the ID "run". The booking sweep also ends INITIATED
// bookings.
func (e *Env) Run(by holdfast.EndedBy) expiry.Run {
	return expiry.Run{Run: inventory.Run{By: by, ID: "run"}, Log: slog.New(e.Log), Initiated: true}
}

// Recover runs the whole recovery pass.
func (e *Env) Recover() recovery.Report {
	e.T.Helper()
	return must(e.Recovery.Run(e.Ctx(), "run", slog.New(e.Log)))(e.T)
}
