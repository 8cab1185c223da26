package mongodb_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func insert(ctx context.Context, w *testenv.Env) error {
	_, err := w.DB.Collection("things").InsertOne(ctx, bson.D{{Key: "_id", Value: mongodb.NewID()}})
	return err
}

func count(t *testing.T, w *testenv.Env) int64 {
	t.Helper()
	n, err := w.DB.Collection("things").CountDocuments(context.Background(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestInTx_ARefusalWritesNothingAndRunsOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	runs := 0
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
		runs++
		return errors.Join(insert(ctx, w), holdfast.Refuse("NO", "no"))
	})
	if !holdfast.HasCode(err, "NO") || runs != 1 || count(t, w) != 0 || w.Transactions(mongodb.Refused) != 1 {
		t.Errorf("%v after %d runs, %d documents", err, runs, count(t, w))
	}
}

func TestInTx_JoinsTheTransactionThatItIsCalledIn(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
		if err := mongodb.Do(ctx, w.DB, func(ctx context.Context) error { return insert(ctx, w) }); err != nil {
			return err
		}
		return holdfast.Refuse("NO", "no")
	})
	if !holdfast.HasCode(err, "NO") || count(t, w) != 0 {
		t.Errorf("%v, %d documents", err, count(t, w))
	}
}

func TestInTx_ConflictsAreRetriedUntilAllAreDone(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
				var doc struct{ N int }
				if err := w.DB.Collection("events").FindOne(ctx, bson.D{{Key: "_id", Value: event}}).Decode(&doc); err != nil {
					return err
				}
				_, err := w.DB.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: event}},
					bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: doc.N + 1}}}})
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var doc struct{ N int }
	if err := w.DB.Collection("events").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: event}}).Decode(&doc); err != nil || doc.N != 20 {
		t.Errorf("n is %d, %v; want 20", doc.N, err)
	}
}

func TestInTx_ObeysItsContextBetweenRetries(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	ctx, cancel := context.WithTimeout(w.Ctx(), 200*time.Millisecond)
	defer cancel()
	start, runs := time.Now(), 0
	err := mongodb.Do(ctx, w.DB, func(context.Context) error { runs++; return testenv.Conflict() })
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) || runs < 3 || time.Since(start) > 5*time.Second ||
		w.Transactions(mongodb.Conflict)+w.Transactions(mongodb.Unavailable) != 1 { // depends on its step when time ran out
		t.Errorf("%v after %v and %d runs", err, time.Since(start), runs)
	}
}

// Fast retries do not use up all attempts before the transaction of a dead process is old
// enough to be ended.
func TestInTx_FastRetryEndsAfterAShortTime(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	ctx, cancel := context.WithTimeout(w.Ctx(), 3*time.Second)
	defer cancel()
	early, runs, start := 0, 0, time.Now()
	_, err := mongodb.InTxWith(ctx, w.DB, mongodb.TxOptions{IsCommitter: true}, func(context.Context) (int, error) {
		if runs++; time.Since(start) < 500*time.Millisecond {
			early++
		}
		return 0, testenv.Conflict()
	})
	if err == nil || ctx.Err() == nil || runs-early > 200 || early < 30 {
		t.Errorf("%v after %d attempts, %d of them in the first half second", err, runs, early)
	}
}

// The pauses between attempts are within the rest of the options.
func TestInTx_RestsBetweenAttempts(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	rests, runs, isResting := 0, 0, false
	rest := func(wait func()) {
		rests++
		isResting = true
		wait()
		isResting = false
	}
	_, err := mongodb.InTxWith(w.Ctx(), w.DB, mongodb.TxOptions{Rest: rest}, func(context.Context) (int, error) {
		if runs++; isResting {
			t.Error("an attempt begins during a rest")
		}
		if runs <= 3 {
			return 0, testenv.Conflict()
		}
		return 0, nil
	})
	if err != nil || runs != 4 || rests != 3 {
		t.Errorf("%v after %d attempts and %d rests, want 4 and 3", err, runs, rests)
	}
}

func TestInTx_APanicLeavesNoTransactionOpen(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	touch := func(ctx context.Context) error {
		_, err := w.DB.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: event}},
			bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}})
		return err
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
			if err := touch(ctx); err != nil {
				return err
			}
			panic("x")
		})
	}()
	start := time.Now()
	if err := mongodb.Do(w.Ctx(), w.DB, touch); err != nil || time.Since(start) > 4*time.Second { // an orphan would delay it by 5 s
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// The commit is never answered: the caller gets OUTCOME_UNKNOWN.
func TestInTx_ACommitWithoutAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test", func(o *mongodb.Options) { o.CommitTimeout = 200 * time.Millisecond })
	off := w.FailCommands("commitTransaction", "alwaysOn", bson.D{{Key: "closeConnection", Value: true}})
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error { return insert(ctx, w) })
	off()
	if !holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) || w.Transactions(mongodb.Unknown) != 1 {
		t.Errorf("got %v", err)
	}
}

func TestInTx_WithoutAServerItIsUnavailableInTime(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test")
	w.FailCommands("insert", "alwaysOn", bson.D{{Key: "errorCode", Value: 11602},
		{Key: "errorLabels", Value: bson.A{"TransientTransactionError"}}})
	ctx, cancel := context.WithTimeout(w.Ctx(), time.Second)
	defer cancel()
	start := time.Now()
	err := mongodb.Do(ctx, w.DB, func(ctx context.Context) error { return insert(ctx, w) })
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) || time.Since(start) > 3*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// After a statement, a transaction knows a time of the cluster that is after the commit of what it sees, and
// before its own.
func TestClusterTime_FollowsTheOrderOfDependentTransactions(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	if at := mongodb.ClusterTime(w.Ctx()); !at.IsZero() {
		t.Errorf("without a transaction: %v", at)
	}
	w.Insert("other", bson.D{{Key: "n", Value: 0}})
	last := bson.Timestamp{}
	for range 20 {
		err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
			_, err := w.DB.Collection("other").UpdateOne(ctx, bson.D{}, bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}})
			if at := mongodb.ClusterTime(ctx); err == nil && !at.After(last) {
				t.Errorf("%v after %v", at, last)
			}
			last = mongodb.ClusterTime(ctx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
