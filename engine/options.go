package engine

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Options configures Open. All fields but one of URI and Client may be left empty.
type Options struct {
	URI string // of a replica set or a mongos
	// Client is used instead of URI. It stays the program's, see Engine.Close. Nothing depends on its concerns, its read
	// preference and its registry: the engine sets them for each of its commands. Without the driver's retries of reads and
	// writes more calls end in UNAVAILABLE or OUTCOME_UNKNOWN; leave them on. A Timeout of the client
	// bounds each command of the engine too, those over many documents among them; leave it out, or let it be some minutes.
	// Give the client the name AppName(Database). If it has another one and a process dies in a transaction, others wait
	// for the transaction's seats until MongoDB ends it, which is after a minute by default; otherwise they end it after some seconds.
	Client   *mongo.Client
	Database string // "holdfast"
	Log      *slog.Logger
	// Metrics gets the metrics of the engine and of Run. They have the names of those of Holdfast's API and workers, so the
	// same dashboards and alerts apply (docs/operations.md). Two engines on one registerer need a label each:
	// prometheus.WrapRegistererWith. A program with OpenTelemetry reads a prometheus.Registry by the bridge
	// go.opentelemetry.io/contrib/bridges/prometheus.
	Metrics prometheus.Registerer
	// Clock returns the time of this process, which may be a little wrong. It is for durations, such as those of leases and
	// retries, and for the creation dates of users, seating plans and idempotency keys. So it has to advance, and no test
	// should stop it. It does not decide whether a lock is due or a sale is open: the database's clock does. A test moves
	// time by enginetest.Engine.Advance. The machine's clock is the default.
	Clock func() time.Time

	LockDefaultTTL time.Duration // 10m
	LockMaxTTL     time.Duration // 2h, from a lock's creation
	PaymentMaxTTL  time.Duration // 24h, from a booking's creation
	SweepBatch     int           // 500 documents in one transaction, at most 5000
	// 0 means no limit.
	MaxSeatsPerLock, MaxActiveLocksPerUser int64
}

// AppName returns the application name for Options.Client, by which the processes of a database recognize the transactions of
// those that died: options.Client().SetAppName(engine.AppName("holdfast")). Transactions of this name that have been idle for
// over 5 seconds are ended, so a client with this name should not begin transactions of the program's own.
func AppName(database string) string { return mongodb.AppName(database) }

func (o Options) settings() core.Settings {
	return core.Settings{
		Database: o.Database, LockDefaultTTL: o.LockDefaultTTL, LockMaxTTL: o.LockMaxTTL, PaymentMaxTTL: o.PaymentMaxTTL,
		SweepBatch: o.SweepBatch, MaxSeatsPerLock: o.MaxSeatsPerLock, MaxActiveLocksPerUser: o.MaxActiveLocksPerUser,
	}
}
