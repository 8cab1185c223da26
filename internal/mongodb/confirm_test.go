package mongodb_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Only a refusal that may come from old data is decided twice.
func TestConfirmRefusal_DecidesDoubtfulRefusalsAgain(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	gone, consumed := holdfast.Refuse(holdfast.CodeLockNotFound, "gone"), holdfast.Refuse(holdfast.CodeLockConsumed, "consumed")
	for name, c := range map[string]struct {
		doubtful func(error) bool
		first    error
		times    int
	}{
		"not found": {holdfast.IsNotFound, gone, 2},
		"another rule, where not found is in doubt": {holdfast.IsNotFound, consumed, 1},
		"a rule":             {mongodb.IsRefusal, consumed, 2},
		"an outage":          {mongodb.IsRefusal, holdfast.Refuse(holdfast.CodeUnavailable, "down"), 1},
		"an unknown outcome": {mongodb.IsRefusal, holdfast.Refuse(holdfast.CodeOutcomeUnknown, "?"), 1},
		"invalid input":      {mongodb.IsRefusal, holdfast.RefuseInput("body", "wrong"), 1},
		"success":            {mongodb.IsRefusal, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			times := 0
			value, err := mongodb.ConfirmRefusal(t.Context(), w.DB, c.doubtful, func(context.Context) (int, error) {
				if times++; times == 2 {
					return times, nil
				}
				return times, c.first
			})
			if times != c.times || value != c.times || (c.times == 2 && err != nil) {
				t.Errorf("decided %d times: %d, %v; want %d times", times, value, err, c.times)
			}
		})
	}
}

// The whole transaction is repeated, not only the part that refuses.
func TestConfirmRefusal_DecidesOnceWithinATransaction(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	times := 0
	_, err := mongodb.InTx(t.Context(), w.DB, func(ctx context.Context) (int, error) {
		return mongodb.ConfirmRefusal(ctx, w.DB, holdfast.IsNotFound, func(context.Context) (int, error) {
			times++
			return 0, holdfast.Refuse(holdfast.CodeLockNotFound, "gone")
		})
	})
	if times != 1 || !holdfast.HasCode(err, holdfast.CodeLockNotFound) {
		t.Errorf("decided %d times: %v", times, err)
	}
}

// If a refusal can't be confirmed, the answer is UNAVAILABLE.
func TestConfirmRefusal_WithoutAPrimaryIsUnavailable(t *testing.T) {
	t.Parallel()
	mongod := testenv.OwnMongod(t)
	w := testenv.Open(t, mongod.URI, "holdfast")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	mongod.Freeze()
	_, err := mongodb.ConfirmRefusal(ctx, w.DB, mongodb.IsRefusal,
		func(context.Context) (int, error) { return 0, holdfast.Refuse("LOCK_CONSUMED", "taken") })
	mongod.Wake()
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) {
		t.Errorf("got %v", err)
	}
}

// Only a linearizable read asks the majority whether the primary is still the primary.
func TestBarrier_AsksThePrimary(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	asked := 0
	process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if level, _ := e.Command.Lookup("readConcern", "level").StringValueOK(); level == "linearizable" {
				asked++
			}
		}}
	})
	at, err := process.DB.Barrier(t.Context())
	if err != nil || !at.After(mongodb.ReadTime{}) || asked != 1 {
		t.Errorf("asked %d times at %v, %v; want once", asked, at, err)
	}
}
