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
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
)

const (
	// txTimeout and txAttempts bound a transaction with all its retries. txTimeout is long enough to find and end an
	// orphan (about 6 s).
	txTimeout  = 15 * time.Second
	txAttempts = 1000
	// The delay between attempts is jittered, and doubles from firstRetryDelay to
	// maxRetryDelay.
	firstRetryDelay  = time.Millisecond
	maxRetryDelay    = 50 * time.Millisecond
	fastRetryDelay   = 2 * time.Millisecond
	fastRetryTimeout = 500 * time.Millisecond
	// commitTimeout bounds the retries of a commit whose outcome is unknown.
	commitTimeout = 10 * time.Second
	abortTimeout  = 5 * time.Second
	// endTimeout bounds the abort of a transaction whose commit was not answered: the server seldom answers then,
	// and the caller waits.
	endTimeout = time.Second
	// graceTimeout is how long the commands of a transaction may run after its caller has given up, before they are
	// cancelled. See detachWithGrace.
	graceTimeout = 500 * time.Millisecond
	// orphanSearchDelay is how long a transaction loses to conflicts before it searches for orphans, and
	// orphanSearchInterval the time between two searches.
	orphanSearchDelay    = 2 * time.Second
	orphanSearchInterval = 500 * time.Millisecond
)

// TxOptions says how a transaction waits between two attempts.
type TxOptions struct {
	// IsCommitter is for the committer of an event, which meets little contention: it waits at most RetryDelay
	// between attempts, for fastRetryTimeout. Other transactions back off at once, because many of them would
	// conflict again and again. A committer backs off after fastRetryTimeout: if a dead process holds the event, its
	// attempts must last until the orphan is old enough to be ended.
	IsCommitter bool
	// RetryDelay is the longest wait of a committer between attempts. If it is shorter than fastRetryDelay,
	// fastRetryDelay applies.
	RetryDelay time.Duration
	// Rest is called for each pause, and has to call wait exactly once. If it is nil, the transaction just waits.
	Rest func(wait func())
}

// InTx runs fn in a transaction and commits it. fn may run several times: each run has to start from scratch, return
// every driver error, and do nothing that a rollback can't undo. If ctx is in a transaction already, InTx joins it.
// An error of fn without a driver's cause is returned unchanged. Other errors are translated; the package's document
// says what a caller may infer from each.
func InTx[T any](ctx context.Context, db *DB, fn func(ctx context.Context) (T, error)) (T, error) {
	return InTxWith(ctx, db, TxOptions{}, fn)
}

// InTxWith is InTx with options. They apply only if it begins the transaction.
func InTxWith[T any](ctx context.Context, db *DB, o TxOptions, fn func(ctx context.Context) (T, error)) (T, error) {
	if mongo.SessionFromContext(ctx) != nil {
		return fn(ctx)
	}
	var zero, value T
	outcome, attempts, err := db.runTx(ctx, o, func(ctx context.Context) (err error) {
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

// WithoutTx returns a context that is not in a transaction, for reads of documents that never change.
func WithoutTx(ctx context.Context) context.Context {
	if mongo.SessionFromContext(ctx) == nil {
		return ctx
	}
	return mongo.NewSessionContext(ctx, nil)
}

// Do is InTx for a function that returns no value.
func Do(ctx context.Context, db *DB, fn func(ctx context.Context) error) error {
	_, err := InTx(ctx, db, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// Insert inserts documents that have their _id by one command, in the caller's transaction. All documents together
// must not exceed 16 MiB. InsertMany would decode each document again, which costs as much as the rest of a commit.
func (db *DB) Insert(ctx context.Context, collection string, documents []bson.D) error {
	return db.RunCommand(ctx, bson.D{{Key: "insert", Value: collection}, {Key: "documents", Value: documents}}).Err()
}

// InsertArray is Insert for documents that are encoded already, as the elements of a BSON array. See AppendItem.
func (db *DB) InsertArray(ctx context.Context, collection string, array []byte) error {
	documents := bson.RawValue{Type: bson.TypeArray, Value: array}
	return db.RunCommand(ctx, bson.D{{Key: "insert", Value: collection}, {Key: "documents", Value: documents}}).Err()
}

// AppendItem begins a document that is an element of a BSON array, at the given index. End it by
// bsoncore.AppendDocumentEnd.
func AppendItem(array []byte, index int) (start int32, _ []byte) {
	array = append(array, byte(bson.TypeEmbeddedDocument))
	array = append(strconv.AppendInt(array, int64(index), 10), 0)
	return bsoncore.AppendDocumentStart(array)
}

func (db *DB) runTx(ctx context.Context, o TxOptions, fn func(context.Context) error) (Outcome, int, error) {
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
	fastDelay := max(o.RetryDelay, fastRetryDelay)
	wait := firstRetryDelay
	if o.IsCommitter {
		wait = max(firstRetryDelay, fastDelay/2)
	}
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
		if attempt == txAttempts {
			return exhaustedOutcome(err), attempt, ConflictError(err)
		}
		if now := db.clock(); now.After(nextSearch) {
			db.endOrphansQuietly(ctx)
			nextSearch = db.clock().Add(orphanSearchInterval)
		}
		if o.rest(ctx, wait/2+rand.N(wait)) != nil {
			return exhaustedOutcome(err), attempt, ConflictError(err)
		}
		if wait = min(2*wait, maxRetryDelay); o.IsCommitter && db.clock.Since(start) < fastRetryTimeout {
			wait = min(wait, fastDelay)
		}
	}
}

// rest pauses within Rest, if there is one.
func (o TxOptions) rest(ctx context.Context, d time.Duration) (err error) {
	if o.Rest == nil {
		return pause(ctx, d)
	}
	o.Rest(func() { err = pause(ctx, d) })
	return err
}

// failedOutcome returns the outcome of a transaction whose error can't be retried.
func failedOutcome(err error) Outcome {
	_, rejected := Rejection(err)
	switch {
	case isDriver(err) && rejected, errors.Is(err, ErrCorrupt):
		return Rejected
	case isDriver(err) || holdfast.HasCode(err, holdfast.CodeUnavailable):
		return Unavailable
	default:
		return Refused
	}
}

// exhaustedOutcome returns the outcome of a transaction that has used up its time or attempts. err is the error of
// the last attempt.
func exhaustedOutcome(err error) Outcome {
	if isOutage(err) {
		return Unavailable
	}
	return Conflict
}

// detachWithGrace returns a context that ends graceTimeout after ctx does. A cancelled command may reach the server
// after the abort, which is sent on another connection. It would then begin the transaction again, and hold
// documents until EndOrphans ends it.
func detachWithGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, _ := ctx.Deadline() // runTx has set a deadline; the server bounds each command by it
	late, end := context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(graceTimeout))
	stop := context.AfterFunc(ctx, func() {
		if pause(late, graceTimeout) == nil {
			end()
		}
	})
	return late, func() { stop(); end() }
}

// attempt runs fn and commits. Its commands may run for graceTimeout after ctx has ended. unknown is true if the
// commit was sent and its outcome is unknown.
func (db *DB) attempt(ctx context.Context, session *mongo.Session, fn func(context.Context) error) (unknown bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	err = session.StartTransaction(options.Transaction().
		SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority()))
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
		isAborted = isConflict(err)
		return false, err
	}
	if err := ctx.Err(); err != nil { // the caller gave up: nothing is committed
		return false, err
	}
	committed = true
	return db.commit(ctx, session)
}

// endSession ends a session. The driver aborts a transaction whose commit was not answered.
func endSession(ctx context.Context, session *mongo.Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	session.EndSession(ctx)
}

// commit retries the commit until its outcome is known or commitTimeout is over. It continues if the caller gives
// up, to learn the outcome.
// An error alone does not show the outcome: the server may have committed and then failed to wait for the majority,
// and the driver retries a commit by itself and returns only the last error. So a rejected commit is retried too. If
// the server has aborted the transaction, it says so.
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

// abort aborts the transaction, which releases its documents at once. If the abort fails, the server releases them
// later.
func (db *DB) abort(ctx context.Context, session *mongo.Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	if err := session.AbortTransaction(ctx); err != nil {
		db.log.DebugContext(ctx, "abort failed", slog.Any("error", err))
	}
}

// forgetTransaction ends a transaction that the server has aborted. It sends no command, because the server would
// only answer that the transaction does not exist.
func forgetTransaction(session *mongo.Session) {
	ended, end := context.WithCancel(context.Background())
	end()
	_ = session.AbortTransaction(ended)
}

// isConflict reports whether the server has refused a command because of a conflict with another transaction. The
// server has then aborted the transaction of the command.
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

// ClusterTime returns the latest time of the cluster that the session of the context's transaction knows; it is zero
// without a transaction. After a statement of the transaction, this time is not before the commit of anything that
// the transaction sees, and its own commit is later.
func ClusterTime(ctx context.Context) (t bson.Timestamp) {
	if session := mongo.SessionFromContext(ctx); session != nil {
		t.T, t.I, _ = session.ClusterTime().Lookup("$clusterTime", "clusterTime").TimestampOK()
	}
	return t
}
