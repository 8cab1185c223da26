package mongodb_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The caller gives up while the transaction's first command is in flight. The server could
// receive the abort before it. No transaction stays open that would hold the document.
func TestInTx_ACallerThatGivesUpLeavesNoTransactionOpen(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "given_up")
	event := w.Event(1)
	before := w.Transactions(mongodb.Done)
	touch := func(ctx context.Context) error {
		_, err := w.DB.Collection("events").UpdateOne(ctx, mongodb.Is("_id", event),
			bson.D{{Key: "$inc", Value: bson.D{{Key: "touched", Value: 1}}}})
		return err
	}
	// This is shorter than graceTimeout.
	w.FailCommands("update", bson.D{{Key: "times", Value: 1}}, bson.D{{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 300}})
	ctx, giveUp := context.WithCancel(w.Ctx())
	defer giveUp()
	done := make(chan error, 1)
	go func() { done <- mongodb.Do(ctx, w.DB, touch) }()
	testenv.WaitFor(t, func() bool { return isRunning(t, w, "update") })
	giveUp()
	if err := <-done; err == nil {
		t.Error("it was committed although its caller had given up")
	}
	if n := w.Transactions(mongodb.Done) - before; n != 0 {
		t.Errorf("%d transactions were committed", n)
	}
	testenv.WaitFor(t, func() bool { return !isRunning(t, w, "update") }) // the server has received the update
	ctx, cancel := context.WithTimeout(w.Ctx(), 3*time.Second)
	defer cancel()
	if err := touch(ctx); err != nil {
		t.Errorf("a transaction that stayed open holds the document: %v", err)
	}
}

// isRunning reports whether the server is executing a command in the test's database.
func isRunning(t *testing.T, w *testenv.Env, command string) bool {
	t.Helper()
	var answer struct {
		Operations []bson.Raw `bson:"inprog"`
	}
	err := w.DB.Client().Database("admin").RunCommand(w.Ctx(), bson.D{
		{Key: "currentOp", Value: 1}, {Key: "active", Value: true},
		{Key: "command." + command, Value: bson.D{{Key: "$exists", Value: true}}}, {Key: "command.$db", Value: w.DB.Name()},
	}).Decode(&answer)
	if err != nil {
		t.Fatal(err)
	}
	return len(answer.Operations) > 0
}
