package mongodb

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/holdfast-dev/holdfast"
)

const (
	// txTimeout and txAttempts bound a transaction with all its repetitions. The
	// time leaves room for an orphan to be found and ended (about 6 s).
	txTimeout  = 15 * time.Second
	txAttempts = 1000
	// Between attempts: a jittered wait that doubles from firstRetryDelay to maxRetryDelay.
	firstRetryDelay  = time.Millisecond
	maxRetryDelay    = 50 * time.Millisecond
	fastRetryDelay   = 2 * time.Millisecond
	fastRetryTimeout = 500 * time.Millisecond
	// commitTimeout bounds the repetition of a commit whose outcome is unknown.
	commitTimeout = 10 * time.Second
	abortTimeout  = 5 * time.Second
	// graceTimeout is how long the commands of a transaction go on after its caller
	// left, before they are cut off. See detachWithGrace.
	graceTimeout = 500 * time.Millisecond
	// orphanSearchDelay passes before a loser looks for orphans, and between looks.
	orphanSearchDelay    = 2 * time.Second
	orphanSearchInterval = 500 * time.Millisecond
)

type fastRetryKey struct{}

// WithFastRetry makes transactions of the context wait no longer than fastRetryDelay between
// their first attempts: for who holds a document again and again, in turns with
// few others. Everybody else backs off, or many would keep each other from
// working; and so do they after fastRetryTimeout, when nobody's turn can last so long,
// or their attempts would be used up before an orphan is old enough to be ended.
func WithFastRetry(ctx context.Context) context.Context {
	return context.WithValue(ctx, fastRetryKey{}, true)
}

// ErrRetry is for a transaction's function to return; it repeats it as a conflict
// would: what was read and what could be written did not fit together.
var ErrRetry = errors.New("the transaction has to start again")

// InTx runs fn in a transaction and commits it; fn may run several times, so
// it builds its result anew each time, returns every driver error, and does
// nothing that a rollback can't undo. Called within a transaction, it joins it.
//
// An error of fn without a driver's cause is returned as it is. All others
// come translated, see the package's document for what each lets a caller infer.
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

// Do is InTx for a function without a value.
func Do(ctx context.Context, db *DB, fn func(ctx context.Context) error) error {
	_, err := InTx(ctx, db, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// Insert inserts documents that have their _id, in the caller's transaction and in
// one command; they have to fit into one, 16 MiB. It does no more than InsertMany
// does, which decodes each document again and so costs as much as all the rest.
func (db *DB) Insert(ctx context.Context, collection string, documents []bson.D) error {
	return db.RunCommand(ctx, bson.D{{Key: "insert", Value: collection}, {Key: "documents", Value: documents}}).Err()
}

func (db *DB) runTx(ctx context.Context, fn func(context.Context) error) (Outcome, int, error) {
	ctx, cancel := context.WithTimeout(ctx, txTimeout)
	defer cancel()
	session, err := db.client.StartSession()
	if err != nil {
		return Unavailable, 0, Translate(err)
	}
	defer session.EndSession(context.WithoutCancel(ctx))

	start := db.clock()
	nextLook := start.Add(orphanSearchDelay)
	wait, fast := firstRetryDelay, ctx.Value(fastRetryKey{}) != nil
	for attempt := 1; ; attempt++ {
		err, committing := db.attempt(ctx, session, fn)
		if err == nil {
			return Done, attempt, nil
		}
		if committing {
			return Unknown, attempt, unknownOutcome(err)
		}
		if !repeatable(err) {
			if isDriver(err) || holdfast.HasCode(err, holdfast.CodeUnavailable) {
				return Unavailable, attempt, Translate(err)
			}
			return Refused, attempt, err
		}
		if attempt == txAttempts {
			return Conflict, attempt, ConflictError(err)
		}
		if now := db.clock(); now.After(nextLook) {
			db.endOrphansQuietly(ctx)
			nextLook = db.clock().Add(orphanSearchInterval)
		}
		if pause(ctx, wait/2+rand.N(wait)) != nil { //nolint:gosec // jitter
			return Conflict, attempt, ConflictError(err)
		}
		if wait = min(2*wait, maxRetryDelay); fast && db.clock.Since(start) < fastRetryTimeout {
			wait = min(wait, fastRetryDelay)
		}
	}
}

// detachWithGrace returns a context that ends graceTimeout after ctx does. A command that is cut
// off on its way may reach the server after the abort that follows it, on another
// connection, and then begins the transaction that the abort was to end: it would keep
// others from its documents until they find it (see EndOrphans).
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

// attempt runs fn and commits, with commands that last longer than the caller's
// patience. unknown is true if the commit was sent and its outcome could not be learned.
func (db *DB) attempt(ctx context.Context, session *mongo.Session, fn func(context.Context) error) (err error, unknown bool) { //nolint:revive // the error is the answer, the flag qualifies it
	if err := ctx.Err(); err != nil {
		return err, false
	}
	err = session.StartTransaction(options.Transaction().
		SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority()))
	if err != nil {
		return err, false
	}
	committed := false
	defer func() {
		if !committed { // also where fn panicked
			db.abort(ctx, session)
		}
	}()
	late, end := detachWithGrace(ctx)
	defer end()
	if err := fn(mongo.NewSessionContext(late, session)); err != nil {
		return err, false
	}
	if err := ctx.Err(); err != nil { // who gave up before the commit gets no change
		return err, false
	}
	committed = true
	return db.commit(ctx, session)
}

// commit repeats the commit until it has an answer or commitTimeout is over. The
// caller's leaving doesn't stop it: a commit that was sent must be known of.
func (db *DB) commit(ctx context.Context, session *mongo.Session) (err error, unknown bool) { //nolint:revive // see attempt
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.commitTimeout)
	defer cancel()
	for wait := firstRetryDelay; ; wait = min(2*wait, maxRetryDelay) {
		err := session.CommitTransaction(ctx)
		if err == nil {
			return nil, false
		}
		if answered(err) {
			return err, false
		}
		if pause(ctx, wait) != nil {
			return err, true
		}
	}
}

// answered reports whether a failed commit is known not to have happened: the
// server says so, by the label of a conflict or with an error of its own.
func answered(err error) bool {
	var labeled mongo.LabeledError
	if errors.As(err, &labeled) {
		if labeled.HasErrorLabel("UnknownTransactionCommitResult") {
			return false
		}
		if labeled.HasErrorLabel("TransientTransactionError") {
			return true
		}
	}
	var server mongo.ServerError
	return errors.As(err, &server) && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err)
}

// abort frees the documents at once; where it fails the server does so later.
func (db *DB) abort(ctx context.Context, session *mongo.Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	if err := session.AbortTransaction(ctx); err != nil {
		db.log.DebugContext(ctx, "abort failed", "error", err)
	}
}

func repeatable(err error) bool {
	if errors.Is(err, ErrRetry) {
		return true
	}
	var labeled mongo.LabeledError
	return errors.As(err, &labeled) && labeled.HasErrorLabel("TransientTransactionError")
}

// pause waits for d or until ctx ends, whose error it then returns.
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
