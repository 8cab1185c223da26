package mongodb_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The caller leaves while the transaction's first command is on its way to the
// server, which hears of the abort before it. Nothing is left open that would keep
// others from the document.
func TestInTx_ACallerThatLeavesLeavesNoTransactionOpen(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "left")
	event := w.Event(1)
	seen := func(ctx context.Context) error {
		_, err := w.DB.Collection("events").UpdateOne(ctx, mongodb.Is("_id", event), bson.D{{Key: "$inc", Value: bson.D{{Key: "seen", Value: 1}}}})
		return err
	}
	w.FailCommands("update", bson.D{{Key: "times", Value: 1}}, bson.D{{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 300}})
	ctx, leave := context.WithCancel(w.Ctx())
	defer time.AfterFunc(100*time.Millisecond, leave).Stop()
	if err := mongodb.Do(ctx, w.DB, seen); err == nil {
		t.Error("it was committed for nobody")
	}
	if n := w.Transactions(mongodb.Done); n != 0 {
		t.Errorf("%d transactions were committed", n)
	}
	<-time.After(500 * time.Millisecond) // the server has heard all
	ctx, cancel := context.WithTimeout(w.Ctx(), 3*time.Second)
	defer cancel()
	if err := seen(ctx); err != nil {
		t.Errorf("what was left open keeps others out: %v", err)
	}
}
