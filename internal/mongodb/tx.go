package mongodb

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
)

const (
	// txTimeout and txAttempts bound a transaction with all its repetitions. txTimeout is
	// long enough to find and end an orphan (about 6 s).
	txTimeout  = 15 * time.Second
	txAttempts = 1000
	// The delay between attempts is jittered, and doubles from firstRetryDelay to
	// maxRetryDelay.
	firstRetryDelay  = time.Millisecond
	maxRetryDelay    = 50 * time.Millisecond
	fastRetryDelay   = 2 * time.Millisecond
	fastRetryTimeout = 500 * time.Millisecond
	// commitTimeout bounds the repetition of a commit whose outcome is unknown.
	commitTimeout = 10 * time.Second
	abortTimeout  = 5 * time.Second
	// endTimeout bounds the abort of a transaction whose commit had no answer: the server
	// seldom answers then, and the caller waits.
	endTimeout = time.Second
	// graceTimeout is how long the commands of a transaction go on after its caller has
	// given up, before they are cancelled. See detachWithGrace.
	graceTimeout = 500 * time.Millisecond
	// orphanSearchDelay passes before a transaction that loses to conflicts searches for
	// orphans, and orphanSearchInterval between two searches.
	orphanSearchDelay    = 2 * time.Second
	orphanSearchInterval = 500 * time.Millisecond
)

type fastRetryKey struct{}

// WithFastRetry makes transactions of the context wait at most a short delay between
// attempts, for fastRetryTimeout: fastRetryDelay, or longer if delay is longer. It is for the
// committer of an event, which meets little contention. Other transactions back off at once, because many of them would conflict
// again and again. A committer backs off after fastRetryTimeout: if a dead process holds
// the event, its attempts must last until the orphan is old enough to be ended.
func WithFastRetry(ctx context.Context, delay time.Duration) context.Context {
	return context.WithValue(ctx, fastRetryKey{}, max(delay, fastRetryDelay))
}

type restKey struct{}

// WithRest calls rest for each pause between two attempts of a transaction of the context. rest has to call wait, once. nil
// changes nothing.
func WithRest(ctx context.Context, rest func(wait func())) context.Context {
	if rest == nil {
		return ctx
	}
	return context.WithValue(ctx, restKey{}, rest)
}

type beforeRetryKey struct{}

// WithBeforeRetry calls look before each repetition of a transaction of the context, with the number of attempts so far. An
// error of look ends the transaction, which has changed nothing, and is returned as it is.
func WithBeforeRetry(ctx context.Context, look func(attempts int) error) context.Context {
	return context.WithValue(ctx, beforeRetryKey{}, look)
}

// InTx runs fn in a transaction and commits it. fn may run several times: it builds its
// result anew each time, returns every driver error, and does nothing that a rollback
// can't undo. Called within a transaction, InTx joins it.
//
// An error of fn without a driver's cause is returned as it is. Other errors are
// translated; the package's document says what a caller may infer from each.
func InTx[T any](ctx context.Context, db *DB, fn func(ctx context.Context) (T, error)) (T, error) {
	if mongo.SessionFromContext(ctx) != nil {
		return fn(ctx)
	}
	var zero, value T
	outcome, attempts, err := db.runTx(ctx, func(ctx context.Context) (err error) {
		value, err = fn(ctx)
		return err
	})
	if db.observe.Transaction != nil {
		db.observe.Transaction(outcome, attempts)
	}
	if err != nil {
		return zero, err
	}
	return value, nil
}

// WithoutTx returns a context that is in no transaction: for reads of documents that never change.
func WithoutTx(ctx context.Context) context.Context {
	if mongo.SessionFromContext(ctx) == nil {
		return ctx
	}
	return mongo.NewSessionContext(ctx, nil)
}

// Do is InTx for a function without a value.
func Do(ctx context.Context, db *DB, fn func(ctx context.Context) error) error {
	_, err := InTx(ctx, db, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// Insert inserts documents that have their _id by one command, in the caller's
// transaction. They have to fit into 16 MiB. InsertMany would decode each document
// again, which costs as much as the rest of a commit.
func (db *DB) Insert(ctx context.Context, collection string, documents []bson.D) error {
	return db.RunCommand(ctx, bson.D{{Key: "insert", Value: collection}, {Key: "documents", Value: documents}}).Err()
}

// InsertArray is Insert for documents that are encoded already, as the elements of a BSON array. See AppendItem.
func (db *DB) InsertArray(ctx context.Context, collection string, array []byte) error {
	documents := bson.RawValue{Type: bson.TypeArray, Value: array}
	return db.RunCommand(ctx, bson.D{{Key: "insert", Value: collection}, {Key: "documents", Value: documents}}).Err()
}

// AppendItem begins a document that is the element of a BSON array with that index. End it by
// bsoncore.AppendDocumentEnd.
func AppendItem(array []byte, index int) (start int32, _ []byte) {
	array = append(array, byte(bson.TypeEmbeddedDocument))
	array = append(strconv.AppendInt(array, int64(index), 10), 0)
	return bsoncore.AppendDocumentStart(array)
}

func (db *DB) runTx(ctx context.Context, fn func(context.Context) error) (Outcome, int, error) {
	ctx, cancel := context.WithTimeout(ctx, txTimeout)
	defer cancel()
	session, err := db.client.StartSession()
	if err != nil {
		return Unavailable, 0, Translate(err)
	}
	defer endSession(ctx, session)
	if err := advance(ctx, session); err != nil {
		return Unavailable, 0, Translate(err)
	}

	start := db.clock()
	nextSearch := start.Add(orphanSearchDelay)
	fastDelay, fast := ctx.Value(fastRetryKey{}).(time.Duration)
	wait := max(firstRetryDelay, fastDelay/2)
	for attempt := 1; ; attempt++ {
		committing, err := db.attempt(ctx, session, fn)
		if err == nil {
			return Done, attempt, nil
		}
		if committing {
			return Unknown, attempt, unknownOutcome(err)
		}
		if !repeatable(err) {
			return failedOutcome(err), attempt, Translate(err)
		}
		if look, found := ctx.Value(beforeRetryKey{}).(func(attempts int) error); found {
			if err := look(attempt); err != nil {
				return Conflict, attempt, err
			}
		}
		if attempt == txAttempts {
			return exhaustedOutcome(err), attempt, ConflictError(err)
		}
		if now := db.clock(); now.After(nextSearch) {
			db.endOrphansQuietly(ctx)
			nextSearch = db.clock().Add(orphanSearchInterval)
		}
		if restFor(ctx, wait/2+rand.N(wait)) != nil {
			return exhaustedOutcome(err), attempt, ConflictError(err)
		}
		if wait = min(2*wait, maxRetryDelay); fast && db.clock.Since(start) < fastRetryTimeout {
			wait = min(wait, fastDelay)
		}
	}
}

// restFor is pause within the context's rest.
func restFor(ctx context.Context, d time.Duration) (err error) {
	rest, found := ctx.Value(restKey{}).(func(wait func()))
	if !found {
		return pause(ctx, d)
	}
	rest(func() { err = pause(ctx, d) })
	return err
}

// failedOutcome is the outcome of a transaction whose error is not repeatable.
func failedOutcome(err error) Outcome {
	_, rejected := Rejection(err)
	switch {
	case isDriver(err) && rejected:
		return Rejected
	case isDriver(err) || holdfast.HasCode(err, holdfast.CodeUnavailable):
		return Unavailable
	default:
		return Refused
	}
}

// exhaustedOutcome is the outcome of a transaction whose time or attempts are used up. err
// is the last attempt's.
func exhaustedOutcome(err error) Outcome {
	if isOutage(err) {
		return Unavailable
	}
	return Conflict
}

// detachWithGrace returns a context that ends graceTimeout after ctx does. A cancelled
// command may reach the server after the abort, which is sent on another connection. It
// would then begin the transaction anew, and hold documents until EndOrphans ends it.
func detachWithGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, _ := ctx.Deadline() // runTx has set one; the server bounds each command by it
	late, end := context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(graceTimeout))
	stop := context.AfterFunc(ctx, func() {
		if pause(late, graceTimeout) == nil {
			end()
		}
	})
	return late, func() { stop(); end() }
}

// attempt runs fn and commits. Its commands may go on for graceTimeout after ctx has
// ended. unknown is true if the commit was sent and its outcome is unknown.
func (db *DB) attempt(ctx context.Context, session *mongo.Session, fn func(context.Context) error) (unknown bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	err = session.StartTransaction(options.Transaction().
		SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority()))
	if err != nil {
		return false, err
	}
	committed, isAborted := false, false
	defer func() {
		switch {
		case isAborted:
			forgetTransaction(session)
		case !committed: // also if fn panicked
			db.abort(ctx, session)
		}
	}()
	late, end := detachWithGrace(ctx)
	defer end()
	if err := fn(mongo.NewSessionContext(late, session)); err != nil {
		isAborted = isConflict(err) && !db.Sharded()
		return false, err
	}
	if err := ctx.Err(); err != nil { // the caller gave up: nothing is committed
		return false, err
	}
	committed = true
	return db.commit(ctx, session)
}

// endSession ends a session. The driver aborts a transaction whose commit had no answer.
func endSession(ctx context.Context, session *mongo.Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	session.EndSession(ctx)
}

// commit repeats the commit until its outcome is known or commitTimeout is over. It goes on
// if the caller gives up, to learn the outcome.
//
// An error alone proves nothing: the server may have committed and then failed to wait for
// the majority, and the driver repeats a commit by itself and returns only the last error.
// So a rejected commit is repeated too. If the server has aborted the transaction, it says so.
func (db *DB) commit(ctx context.Context, session *mongo.Session) (unknown bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.commitTimeout)
	defer cancel()
	var rejection error
	for wait := firstRetryDelay; ; wait = min(2*wait, maxRetryDelay) {
		err := session.CommitTransaction(ctx)
		switch {
		case err == nil:
			return false, nil
		case isAborted(err) && rejection != nil:
			return false, rejection
		case isAborted(err):
			return false, err
		case rejection == nil && RejectedByServer(err):
			rejection = err
		}
		if pause(ctx, wait) != nil {
			return true, err
		}
	}
}

// isAborted reports whether the server says that the transaction was aborted, and that a
// majority agrees.
func isAborted(err error) bool {
	var labeled mongo.LabeledError
	return errors.As(err, &labeled) && labeled.HasErrorLabel("TransientTransactionError") &&
		!labeled.HasErrorLabel("UnknownTransactionCommitResult") && !hasWriteConcernError(err)
}

// hasWriteConcernError reports whether the server says that the write is not known to have
// reached the majority.
func hasWriteConcernError(err error) bool {
	var server mongo.ServerError
	if !errors.As(err, &server) {
		return false
	}
	var command mongo.CommandError
	if errors.As(err, &command) {
		_, lookupErr := command.Raw.LookupErr("writeConcernError")
		return lookupErr == nil
	}
	var write mongo.WriteException
	if errors.As(err, &write) {
		return write.WriteConcernError != nil
	}
	var bulk mongo.BulkWriteException
	return errors.As(err, &bulk) && bulk.WriteConcernError != nil
}

// abort releases the documents at once. If it fails, the server releases them later.
func (db *DB) abort(ctx context.Context, session *mongo.Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	if err := session.AbortTransaction(ctx); err != nil {
		db.log.DebugContext(ctx, "abort failed", slog.Any("error", err))
	}
}

// forgetTransaction ends a transaction that the server has aborted. No command is sent: the server would only say that
// there is no such transaction.
func forgetTransaction(session *mongo.Session) {
	ended, end := context.WithCancel(context.Background())
	end()
	_ = session.AbortTransaction(ended)
}

// isConflict reports whether the server has refused a command for a conflict with another transaction. It has then
// aborted the transaction of the command.
func isConflict(err error) bool {
	const writeConflict = 112
	var command mongo.CommandError
	return errors.As(err, &command) && command.Raw != nil && command.Code == writeConflict
}

func repeatable(err error) bool {
	var labeled mongo.LabeledError
	return errors.As(err, &labeled) && labeled.HasErrorLabel("TransientTransactionError")
}

// pause waits for d. If ctx ends first, it returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ClusterTime is the latest time of the cluster that the context's transaction has been told; zero: none. After a
// statement of the transaction it is not before the commit of anything that the transaction sees, and its own
// commit is later.
func ClusterTime(ctx context.Context) (t bson.Timestamp) {
	if session := mongo.SessionFromContext(ctx); session != nil {
		t.T, t.I, _ = session.ClusterTime().Lookup("$clusterTime", "clusterTime").TimestampOK()
	}
	return t
}
