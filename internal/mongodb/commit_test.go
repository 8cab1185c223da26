package mongodb_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// If a caller gives up while its commit is in flight, the commit continues, and its outcome becomes known.
func TestInTx_ACallerThatGivesUpDuringTheCommitLearnsItsOutcome(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	giveUp := sync.OnceFunc(cancel)
	defer giveUp()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test", func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == "commitTransaction" {
				giveUp()
			}
		}}
	})
	off := w.FailCommands("commitTransaction", bson.D{{Key: "times", Value: 1}},
		bson.D{{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 300}})
	defer off()
	err := mongodb.Do(ctx, w.DB, func(ctx context.Context) error { return insert(ctx, w) })
	if err != nil || ctx.Err() == nil || count(t, w) != 1 {
		t.Errorf("%v, %d documents; want the commit to be done", err, count(t, w))
	}
}

// commitFailures are a server that fails commits, one after the other.
func commitFailures(t *testing.T, failures ...bson.D) *testenv.Env {
	t.Helper()
	uri := testenv.OwnServer(t)
	control := testenv.Open(t, uri, "holdfast_test")
	fail := func() {
		if len(failures) > 0 {
			control.FailCommands("commitTransaction", bson.D{{Key: "times", Value: 1}}, failures[0])
			failures = failures[1:]
		}
	}
	w := testenv.Open(t, uri, "holdfast_test", func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Failed: func(_ context.Context, e *event.CommandFailedEvent) {
			if e.CommandName == "commitTransaction" {
				fail()
			}
		}}
	})
	fail()
	return w
}

const (
	noSuchTransaction = 251
	unauthorized      = 13
)

// aborted is the answer of a server that has aborted the transaction.
func aborted() bson.D {
	return bson.D{{Key: "errorCode", Value: noSuchTransaction}, {Key: "errorLabels", Value: bson.A{"TransientTransactionError"}}}
}

// If the server has aborted the transaction before its commit, the transaction runs again.
func TestInTx_AnAbortedCommitIsRepeatedAsATransaction(t *testing.T) {
	t.Parallel()
	w := commitFailures(t, aborted())
	runs := 0
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error { runs++; return insert(ctx, w) })
	if err != nil || runs != 2 || count(t, w) != 1 {
		t.Errorf("%v after %d runs, %d documents", err, runs, count(t, w))
	}
}

// The server rejects a commit, and has aborted the transaction when the commit is repeated.
// Nothing was written: the answer is the rejection, and the function runs once.
func TestInTx_ACommitThatIsRejectedAndThenAbortedIsRejected(t *testing.T) {
	t.Parallel()
	w := commitFailures(t, bson.D{{Key: "errorCode", Value: unauthorized}}, aborted())
	runs := 0
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error { runs++; return insert(ctx, w) })
	var cause mongo.CommandError
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) || !errors.As(err, &cause) || cause.Code != unauthorized || runs != 1 {
		t.Errorf("%v after %d runs", err, runs)
	}
	if n := count(t, w); n != 0 {
		t.Errorf("%d documents", n)
	}
}

// The server says that the transaction does not exist, and the driver that it does not know the outcome: it may have
// repeated a commit that was done. The commit is retried until its outcome is known.
func TestInTx_AnAbortedCommitThatTheDriverDoesNotKnowIsRepeated(t *testing.T) {
	t.Parallel()
	w := commitFailures(t, bson.D{
		{Key: "errorCode", Value: noSuchTransaction},
		{Key: "errorLabels", Value: bson.A{"TransientTransactionError", "UnknownTransactionCommitResult"}},
	})
	runs := 0
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error { runs++; return insert(ctx, w) })
	if err != nil || runs != 1 || count(t, w) != 1 { // the transaction was still there
		t.Errorf("%v after %d runs, %d documents", err, runs, count(t, w))
	}
}

// The commands of a transaction have a deadline, whatever deadline the caller has.
func TestInTx_HasATimeLimit(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const most = 16 * time.Second // 15 s, and half a second for commands in flight
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
		if deadline, limited := ctx.Deadline(); !limited || time.Until(deadline) > most {
			t.Errorf("the deadline is %v", deadline)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Transactions are counted by their outcome.
func TestInTx_AnOutageIsCountedAsOne(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	err := mongodb.Do(w.Ctx(), w.DB, func(context.Context) error {
		return holdfast.Refuse(holdfast.CodeUnavailable, "Nothing answers.")
	})
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) || w.Transactions(mongodb.Unavailable) != 1 || w.Transactions(mongodb.Refused) != 0 {
		t.Errorf("%v, %d outages, %d refusals", err, w.Transactions(mongodb.Unavailable), w.Transactions(mongodb.Refused))
	}
}

// A transaction that loses to conflicts until its time is used up is counted as a conflict.
func TestInTx_AConflictIsCountedAsOne(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	ctx, cancel := context.WithCancel(w.Ctx())
	err := mongodb.Do(ctx, w.DB, func(context.Context) error { cancel(); return testenv.Conflict() })
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) || w.Transactions(mongodb.Conflict) != 1 {
		t.Errorf("%v, %d conflicts", err, w.Transactions(mongodb.Conflict))
	}
}

// The commit was done, but the server does not know that the majority has it, and calls the error transient. That is
// not an abort: the function does not run again.
func TestInTx_ACommitThatTheMajorityMayNotHaveIsNoAbort(t *testing.T) {
	t.Parallel()
	w := commitFailures(t, bson.D{
		{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "timeout"}}},
		{Key: "errorLabels", Value: bson.A{"TransientTransactionError"}},
	})
	runs := 0
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error { runs++; return insert(ctx, w) })
	if err != nil || runs != 1 || count(t, w) != 1 {
		t.Errorf("%v after %d runs, %d documents", err, runs, count(t, w))
	}
}

// A transaction that failed has no value, whatever its function returned.
func TestInTx_ATransactionThatFailedHasNoValue(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	value, err := mongodb.InTx(w.Ctx(), w.DB, func(context.Context) (int, error) {
		return 5, holdfast.Refuse(holdfast.CodeSeatsUnavailable, "None is left.")
	})
	if err == nil || value != 0 {
		t.Errorf("got %d, %v", value, err)
	}
}
