package mongodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// DB is one database of a replica set or a sharded cluster.
type DB struct {
	*mongo.Database
	client  *mongo.Client
	ownsIt  bool // Close disconnects the client
	appName string
	log     *slog.Logger
	clock   Clock
	observe Observer
	orphans sync.Mutex // held while this process searches for orphans

	commitTimeout time.Duration
}

// Outcome is the outcome of a transaction, as metrics name it.
type Outcome string

// These are the outcomes of InTx; see the package's document.
const (
	Done        Outcome = "done"
	Refused     Outcome = "refused"
	Conflict    Outcome = "conflict"
	Rejected    Outcome = "rejected"
	Unavailable Outcome = "unavailable"
	Unknown     Outcome = "unknown"
)

// Observer has callbacks for the end of each transaction and for ended orphans. Each of them may be nil.
type Observer struct {
	Transaction func(o Outcome, attempts int)
	Orphans     func(ended int)
}

// Client is the driver's client, for packages that must not read or write documents themselves.
type Client = mongo.Client

// Options are the options of Connect and Use. Observe and CommitTimeout may be left empty.
type Options struct {
	Log     *slog.Logger
	Clock   Clock
	Observe Observer
	// Monitor observes every command of Connect's client. It may be nil.
	Monitor *event.CommandMonitor
	// CommitTimeout bounds the retries of a commit whose outcome is unknown. If it is 0, commitTimeout applies.
	CommitTimeout time.Duration
}

// These timeouts apply unless the URI has serverSelectionTimeoutMS or connectTimeoutMS.
const (
	serverSelectionTimeout = 5 * time.Second
	connectTimeout         = 5 * time.Second
)

// clientOptions are the options of the URI, with the default timeouts.
func clientOptions(uri string) *options.ClientOptions {
	o := options.Client().SetServerSelectionTimeout(serverSelectionTimeout).SetConnectTimeout(connectTimeout)
	return o.ApplyURI(uri)
}

// databaseOptions are those of every database that this package opens. A client may be the program's, so nothing may depend on
// its options: it may read from secondaries, acknowledge writes before the majority has them, and decode in its own way.
func databaseOptions() *options.DatabaseOptionsBuilder {
	return options.Database().SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Majority()).
		SetWriteConcern(writeconcern.Majority()).SetRegistry(registry).SetBSONOptions(&options.BSONOptions{})
}

// AppName is the name by which EndOrphans recognizes the connections of a database's processes.
func AppName(database string) string { return "holdfast:" + database }

// Connect opens the database and checks that the server can run transactions. The error says what to do; it never
// contains the password of the URI.
func Connect(ctx context.Context, uri, database string, o Options) (*DB, error) {
	client, err := mongo.Connect(clientOptions(uri).SetAppName(AppName(database)).SetMonitor(o.Monitor))
	if err != nil {
		// The parser's own message may quote the password, so it is dropped.
		return nil, errors.New("MONGODB_URI is not a valid connection string: " +
			"its form is mongodb://host:port/?replicaSet=name; check its scheme, hosts and options")
	}
	db := open(client, database, o)
	db.ownsIt = true
	if err := db.checkServer(ctx, "MONGODB_URI"); err != nil {
		return nil, errors.Join(err, db.Close(context.WithoutCancel(ctx)))
	}
	return db, nil
}

// Use is Connect with a client of the caller, whatever its options are. Close does not disconnect it.
func Use(ctx context.Context, client *mongo.Client, database string, o Options) (*DB, error) {
	db := open(client, database, o)
	return db, db.checkServer(ctx, "the client's URI")
}

func open(client *mongo.Client, database string, o Options) *DB {
	return &DB{
		Database: client.Database(database, databaseOptions()), client: client, appName: AppName(database),
		log: o.Log, clock: o.Clock, observe: o.Observe,
		commitTimeout: cmp.Or(o.CommitTimeout, commitTimeout),
	}
}

// checkServer checks that the server can run transactions. uri is the name of the setting that names the server.
func (db *DB) checkServer(ctx context.Context, uri string) error {
	var hello struct {
		SetName   string `bson:"setName"`
		Msg       string `bson:"msg"`
		IsReplica bool   `bson:"isreplicaset"` // without a configuration
	}
	err := db.hello(ctx, &hello)
	if hello.IsReplica || err != nil && strings.Contains(err.Error(), "RSGhost") { // as the driver calls such a server
		return errors.New(uri + " names a member of a replica set that was not initiated, or that it was removed from: in mongosh, run " +
			`rs.initiate({_id: "SET", members: [{_id: 0, host: "HOST:PORT"}]}) once, with the name of --replSet and each member ` +
			"as this machine reaches it")
	}
	if err != nil {
		return fmt.Errorf("%s: no primary answers; start MongoDB, or check host, port and credentials: %w", uri, err)
	}
	if hello.SetName == "" && hello.Msg != "isdbgrid" { // neither a replica set nor a mongos
		return errors.New(uri + " names a standalone server, which has no transactions: " +
			"start mongod with --replSet and initiate it (a set of one is enough), or use scripts/run or docker compose up")
	}
	return nil
}

// hello asks a primary for its role, its clock and its members.
func (db *DB) hello(ctx context.Context, into any) error {
	return db.client.Database("admin", databaseOptions()).RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(into)
}

// Close ends all connections of a client that Connect has made.
func (db *DB) Close(ctx context.Context) error {
	if !db.ownsIt {
		return nil
	}
	return db.client.Disconnect(ctx)
}

// Ping returns nil if a primary answers and accepts writes.
func (db *DB) Ping(ctx context.Context) error {
	var hello struct {
		Writable bool `bson:"isWritablePrimary"`
	}
	if err := db.hello(ctx, &hello); err != nil {
		return err
	}
	if !hello.Writable {
		return errors.New("the server does not accept writes")
	}
	return nil
}

// Now reads the database's clock.
func (db *DB) Now(ctx context.Context) (time.Time, error) {
	var hello struct {
		LocalTime time.Time `bson:"localTime"`
	}
	err := db.hello(ctx, &hello)
	return hello.LocalTime.UTC(), err
}

// Clock returns the process's clock, which is for durations.
func (db *DB) Clock() Clock { return db.clock }

// Log returns the process's log.
func (db *DB) Log() *slog.Logger { return db.log }
