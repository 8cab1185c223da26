package mongodb_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A commit that was done, and whose answer says only that the majority is not known to have
// it, is never called undone.
func TestInTx_ACommitThatMayBeDoneIsNotUnavailable(t *testing.T) {
	t.Parallel()
	uri := testenv.OwnServer(t)
	const (
		unknownReplWriteConcern    = 79
		unsatisfiableWriteConcern  = 100
		primarySteppedDown         = 189
		interrupted                = 11601
		writeConcernFailedToSettle = 64
	)
	for name, code := range map[string]int{
		"unknown write concern": unknownReplWriteConcern, "unsatisfiable": unsatisfiableWriteConcern,
		"step-down": primarySteppedDown, "interrupted": interrupted, "not settled": writeConcernFailedToSettle,
	} {
		t.Run(name, func(t *testing.T) {
			w := testenv.Open(t, uri, "holdfast_test", func(o *mongodb.Options) { o.CommitTimeout = 300 * time.Millisecond })
			before := count(t, w)
			off := w.FailCommands("commitTransaction", "alwaysOn", bson.D{{Key: "writeConcernError", Value: bson.D{
				{Key: "code", Value: code}, {Key: "errmsg", Value: "the majority is not known to have it"}}}})
			err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error { return insert(ctx, w) })
			off()
			if !holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) {
				t.Errorf("answered %v, and %d documents were written", err, count(t, w)-before)
			}
		})
	}
}

// A server that rejects a commit and then says that it has no such transaction has written
// nothing: the answer is the rejection.
func TestInTx_ARejectedCommitIsProvedByItsRepetition(t *testing.T) {
	t.Parallel()
	uri := testenv.OwnServer(t)
	w := testenv.Open(t, uri, "holdfast_test")
	const unauthorized = 13
	off := w.FailCommands("commitTransaction", bson.D{{Key: "times", Value: 1}}, bson.D{{Key: "errorCode", Value: unauthorized}})
	defer off()
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error { return insert(ctx, w) })
	if err != nil || count(t, w) != 1 { // the transaction was still there, so that its repeated commit was done
		t.Errorf("%v, %d documents; want the repeated commit to be done", err, count(t, w))
	}
}

// A server that stops answering at the commit can't keep the caller waiting beyond the limits of the commit and of
// the abort.
func TestInTx_DoesNotWaitForTheAbortOfAnUnknownCommit(t *testing.T) {
	t.Parallel()
	mongod := testenv.OwnMongod(t)
	w := testenv.Open(t, mongod.URI, "holdfast_test", func(o *mongodb.Options) { o.CommitTimeout = 200 * time.Millisecond })
	fillPool(w)
	answered := make(chan error, 1)
	go func() {
		answered <- mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
			err := insert(ctx, w)
			mongod.Freeze()
			for answers(w) { // a signal takes a moment
			}
			return err
		})
	}()
	const limit = 10 * time.Second // the driver's own limits leave the abort without an answer for longer
	select {
	case err := <-answered:
		mongod.Wake()
		if !holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) {
			t.Errorf("got %v", err)
		}
	case <-time.After(limit):
		mongod.Wake()
		t.Errorf("no answer after %v; with the server awake: %v", limit, <-answered)
	}
}

// answers reports whether the server answers at once.
func answers(w *testenv.Env) bool {
	ctx, cancel := context.WithTimeout(w.Ctx(), 100*time.Millisecond)
	defer cancel()
	return w.DB.Ping(ctx) == nil
}

// fillPool opens several connections, so that the abort finds one.
func fillPool(w *testenv.Env) {
	off := w.FailCommands("ping", "alwaysOn", bson.D{{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 200}})
	defer off()
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { _ = w.DB.RunCommand(w.Ctx(), bson.D{{Key: "ping", Value: 1}}).Err() })
	}
	all.Wait()
}
