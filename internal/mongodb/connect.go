package mongodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// DB is one database of a replica set or a sharded cluster.
type DB struct {
	*mongo.Database
	client  *mongo.Client
	appName string
	log     *slog.Logger
	clock   clock.Clock
	observe Observer
	orphans sync.Mutex // held while this process searches for orphans
	upgrade upgrade

	commitTimeout time.Duration
	sharded       bool // the server is a mongos
}

// Outcome of a transaction, as metrics name it.
type Outcome string

// The outcomes of InTx; see the package's document.
const (
	Done        Outcome = "done"
	Refused     Outcome = "refused"
	Conflict    Outcome = "conflict"
	Rejected    Outcome = "rejected"
	Unavailable Outcome = "unavailable"
	Unknown     Outcome = "unknown"
)

// Observer has callbacks for the end of each transaction and for ended orphans; each may
// be nil.
type Observer struct {
	Transaction func(o Outcome, attempts int)
	Orphans     func(ended int)
}

// Options of Connect; Observe and CommitTimeout may be left empty.
type Options struct {
	Log     *slog.Logger
	Clock   clock.Clock
	Observe Observer
	// Monitor observes every command; may be nil.
	Monitor *event.CommandMonitor
	// CommitTimeout bounds the repetition of a commit whose outcome is unknown; 0
	// means commitTimeout.
	CommitTimeout time.Duration
	// Sharded treats the server as a mongos. For tests; a mongos says so itself.
	Sharded bool
}

// Unless the URI has serverSelectionTimeoutMS or connectTimeoutMS.
const (
	serverSelectionTimeout = 5 * time.Second
	connectTimeout         = 5 * time.Second
)

// clientOptions are the options of the URI, with the default timeouts.
func clientOptions(uri string) *options.ClientOptions {
	o := options.Client().SetServerSelectionTimeout(serverSelectionTimeout).SetConnectTimeout(connectTimeout)
	return o.ApplyURI(uri)
}

// Connect opens the database and checks that the server can run transactions.
// The error says what to do; it never holds the URI's password.
func Connect(ctx context.Context, uri, database string, o Options) (*DB, error) {
	appName := "holdfast:" + database
	opts := clientOptions(uri).
		SetAppName(appName).
		SetDriverInfo(&options.DriverInfo{Name: clientName, Version: version.String()}).
		SetReadPreference(readpref.Primary()).
		SetReadConcern(readconcern.Majority()).
		SetWriteConcern(writeconcern.Majority()).
		SetMonitor(o.Monitor).
		SetRegistry(registry)
	client, err := mongo.Connect(opts)
	if err != nil {
		// The parser's own message may quote the password.
		return nil, errors.New("MONGODB_URI is not a valid connection string: " +
			"its form is mongodb://host:port/?replicaSet=name; check its scheme, hosts and options")
	}
	sharded, err := checkServer(ctx, client)
	if err != nil {
		return nil, errors.Join(err, client.Disconnect(context.WithoutCancel(ctx)))
	}
	return &DB{
		Database: client.Database(database), client: client, appName: appName,
		log: o.Log, clock: o.Clock, observe: o.Observe,
		commitTimeout: cmp.Or(o.CommitTimeout, commitTimeout), sharded: sharded || o.Sharded,
	}, nil
}

// Sharded reports whether the database is in a sharded cluster.
func (db *DB) Sharded() bool { return db.sharded }

func checkServer(ctx context.Context, client *mongo.Client) (sharded bool, err error) {
	var hello struct {
		SetName string `bson:"setName"`
		Msg     string `bson:"msg"`
	}
	err = client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
	if err != nil {
		return false, fmt.Errorf("MONGODB_URI: no primary answers; start MongoDB, or check host, port and credentials: %w", err)
	}
	sharded = hello.Msg == "isdbgrid"
	if hello.SetName == "" && !sharded {
		return false, errors.New("MONGODB_URI names a standalone server, which has no transactions: " +
			"start mongod with --replSet and initiate it (a set of one is enough), or use scripts/run or docker compose up")
	}
	return sharded, nil
}

// Close ends all connections.
func (db *DB) Close(ctx context.Context) error { return db.client.Disconnect(ctx) }

// Ping returns nil if a primary answers that accepts writes.
func (db *DB) Ping(ctx context.Context) error {
	var hello struct {
		Writable bool `bson:"isWritablePrimary"`
	}
	err := db.client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
	if err != nil {
		return err
	}
	if !hello.Writable {
		return errors.New("the server does not accept writes")
	}
	return nil
}

// Now is the database's clock.
func (db *DB) Now(ctx context.Context) (time.Time, error) {
	var hello struct {
		LocalTime time.Time `bson:"localTime"`
	}
	err := db.client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
	return hello.LocalTime.UTC(), err
}

// Clock is the process's clock, for durations.
func (db *DB) Clock() clock.Clock { return db.clock }

// Log is the process's log.
func (db *DB) Log() *slog.Logger { return db.log }

// MaxWhole is the largest whole number that every numeric type of BSON holds exactly.
const MaxWhole = math.MaxInt32 * int64(1<<20)
