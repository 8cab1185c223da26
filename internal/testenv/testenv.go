// Package testenv is what tests share: a database of their own on a real
// replica set, the services on it, and the proof of the invariants.
//
// Tests use the server that HOLDFAST_TEST_MONGODB_URI names, as scripts/test
// sets it, or start one for the test binary. A server that can't be had fails
// the tests.
package testenv

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// memoryVariable is off where committers are to remember nothing between two batches.
const memoryVariable = "HOLDFAST_TEST_MEMORY"

// uriVariable names the server that tests share.
const uriVariable = "HOLDFAST_TEST_MONGODB_URI"

var own struct {
	once   sync.Once
	server *devserver.Mongod
	err    error
}

// Main runs a package's tests, ends the server that they started, and fails if
// a goroutine is left.
func Main(m *testing.M) {
	status := m.Run()
	if own.server != nil {
		own.server.Stop()
	}
	if ownRedis.server != nil {
		ownRedis.server.Stop()
	}
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// URI connects to the tests' server.
func URI(t testing.TB) string {
	t.Helper()
	if uri := os.Getenv(uriVariable); uri != "" {
		return uri
	}
	own.once.Do(func() {
		own.server, own.err = devserver.StartMongod(context.Background(), devserver.MongodOptions{Test: true, Progress: os.Stderr})
	})
	if own.err != nil {
		t.Fatal(own.err)
	}
	return own.server.URI
}

// OwnServer starts a server for one test: for faults that a server knows only
// one of at a time.
func OwnServer(t testing.TB) string {
	t.Helper()
	return OwnMongod(t).URI
}

// Mongod is a server of one test's own.
type Mongod struct{ *devserver.Mongod }

// OwnMongod is OwnServer for tests that stop the server's clock.
func OwnMongod(t testing.TB) *Mongod {
	t.Helper()
	server, err := devserver.StartMongod(t.Context(), devserver.MongodOptions{Test: true, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	m := &Mongod{server}
	t.Cleanup(func() {
		m.Wake()
		m.Stop()
	})
	return m
}

// Freeze stops the server's work; Wake lets it go on.
func (m *Mongod) Freeze() { signal(m.Process, syscall.SIGSTOP) }

// Wake ends Freeze.
func (m *Mongod) Wake() { signal(m.Process, syscall.SIGCONT) }

func signal(p *devserver.Process, s syscall.Signal) {
	syscall.Kill(-p.Pid(), s) //nolint:errcheck // gone already is as good
}

// KeepPort keeps a port for a process of one test's own.
func KeepPort(t testing.TB) *devserver.Port {
	t.Helper()
	port, err := devserver.KeepPort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { port.Close() }) //nolint:errcheck // nothing was written
	return port
}

// World is the services on a database of the test's own.
type World struct {
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

// New returns services on an empty database, which is dropped after the test.
func New(t testing.TB) *World {
	t.Helper()
	w := Open(t, URI(t), "holdfast_test_"+strings.ToLower(rand.Text()[:12]))
	t.Cleanup(func() {
		if err := w.DB.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// Open returns services on a database; several may share one.
func Open(t testing.TB, uri, database string, change ...func(*mongodb.Options)) *World {
	t.Helper()
	w := &World{T: t, URI: uri, Log: &Log{}, transactions: map[mongodb.Outcome]int{}}
	o := mongodb.Options{
		Log: slog.New(w.Log), Clock: clock.System,
		Observe: mongodb.Observer{Transaction: func(o mongodb.Outcome, _ int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.transactions[o]++
		}},
	}
	for _, c := range change {
		c(&o)
	}
	db, err := mongodb.Connect(t.Context(), uri, database, o)
	if err != nil {
		t.Fatal(err)
	}
	w.Core = Core(db, core.AllUsersExist)
	all := slices.Concat(core.Collections(), jobs.Collections(), store.RetentionIndexes())
	if degraded, err := mongodb.EnsureSchema(t.Context(), db, all...); err != nil || len(degraded) > 0 {
		t.Fatal(err, degraded)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

// Core is an engine on a database, as a process of its own would open it.
func Core(db *mongodb.DB, users pipeline.UserLookup) *core.Core {
	return core.New(db, core.Options{
		Log: db.Log(), SweepBatch: Batch, Users: users, WithoutMemory: os.Getenv(memoryVariable) == "off",
		Rules: inventory.Rules{DefaultLockTTL: DefaultTTL, MaxLockTTL: MaxTTL, MaxPaymentTTL: MaxPaymentTTL},
	})
}

// Transactions is how many have ended so.
func (w *World) Transactions(o mongodb.Outcome) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.transactions[o]
}

// FailCommands makes the server's next commands of a name fail, as often as
// mode says; failure is of failCommand's fields. It is for a server of the
// test's own, which knows one such point at a time. The result switches it off.
func (w *World) FailCommands(name string, mode any, failure bson.D) (off func()) {
	w.T.Helper()
	set := func(mode any) {
		w.T.Helper()
		err := w.DB.Client().Database("admin").RunCommand(context.Background(), bson.D{
			{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: mode},
			{Key: "data", Value: append(bson.D{{Key: "failCommands", Value: bson.A{name}}}, failure...)},
		}).Err()
		if err != nil {
			w.T.Fatal(err)
		}
	}
	set(mode)
	return func() { set("off") }
}

// Ctx ends with the test.
func (w *World) Ctx() context.Context { return w.T.Context() }

// Event makes an event with seats on sale.
func (w *World) Event(total int64) ids.ID {
	w.T.Helper()
	e, err := w.Seats.CreateEvent(w.Ctx(), seats.NewEvent{Name: "Event", TotalSeats: total, EventDate: clock.System().UTC()})
	if err != nil {
		w.T.Fatal(err)
	}
	return e.ID
}

// Take locks seats for a new user, or fails the test.
func (w *World) Take(event ids.ID, n int64, until seats.Until) seats.Lock {
	w.T.Helper()
	lock, _, err := w.Seats.Acquire(w.Ctx(), seats.LockRequest{EventID: event, UserID: ids.New(), Seats: n, Until: until})
	if err != nil {
		w.T.Fatal(err)
	}
	return lock
}

// Book makes a booking on a lock, or fails the test.
func (w *World) Book(lock seats.Lock, window seats.Until) booking.Booking {
	w.T.Helper()
	b, _, err := w.Bookings.Create(w.Ctx(), booking.Request{UserID: lock.UserID, EventID: lock.EventID, LockID: lock.ID, Window: window})
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

// Past and Soon are times that clients ask for.
func Past() seats.Until { return seats.Until{At: clock.System().Add(-time.Hour)} }

// Soon is well ahead.
func Soon() seats.Until { return seats.Until{For: time.Hour} }

// Available is an event's availableSeats and oversold.
func (w *World) Available(event ids.ID) (available, oversold int64) {
	w.T.Helper()
	e, err := w.Seats.Event(w.Ctx(), event)
	if err != nil {
		w.T.Fatal(err)
	}
	return e.AvailableSeats, e.Oversold
}

// Lock reads a lock.
func (w *World) Lock(id ids.ID) seats.Lock {
	w.T.Helper()
	l, err := w.Seats.Lock(w.Ctx(), id)
	if err != nil {
		w.T.Fatal(err)
	}
	return l
}

// Booking reads a booking.
func (w *World) Booking(id ids.ID) booking.Booking {
	w.T.Helper()
	b, err := w.Bookings.Get(w.Ctx(), id)
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

// Insert puts a raw document into a collection, as another tool would.
func (w *World) Insert(collection string, document bson.D) {
	w.T.Helper()
	if _, err := w.DB.Collection(collection).InsertOne(w.Ctx(), document); err != nil {
		w.T.Fatal(err)
	}
}

// Set changes fields of a document by hand.
func (w *World) Set(collection string, id ids.ID, fields bson.D) {
	w.T.Helper()
	result, err := w.DB.Collection(collection).UpdateOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$set", Value: fields}})
	if err != nil || result.MatchedCount != 1 {
		w.T.Fatal(err, result)
	}
}

// SweepLocks runs the lock sweep.
func (w *World) SweepLocks() expiry.Report {
	w.T.Helper()
	report, err := w.Sweeper.SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry, expiry.LockLines))
	if err != nil {
		w.T.Fatal(err)
	}
	return report
}

// SweepBookings runs the booking sweep.
func (w *World) SweepBookings() expiry.Report {
	w.T.Helper()
	report, err := w.Sweeper.SweepBookings(w.Ctx(), w.Run(holdfast.EndedByBookingExpiry, expiry.BookingLines))
	if err != nil {
		w.T.Fatal(err)
	}
	return report
}

// Run is a run of a sweep, which is called run; the booking sweep ends INITIATED
// bookings too.
func (w *World) Run(by holdfast.EndedBy, lines expiry.Lines) expiry.Run {
	return expiry.Run{Run: inventory.Run{By: by, ID: "run"}, Log: slog.New(w.Log), Lines: lines, Initiated: true}
}

// Recover runs the whole recovery pass.
func (w *World) Recover() recovery.Report {
	w.T.Helper()
	report, err := w.Recovery.Run(w.Ctx(), "run", slog.New(w.Log))
	if err != nil {
		w.T.Fatal(err)
	}
	return report
}
