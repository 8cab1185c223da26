package mongodb_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// What was refused is asked for again, where it is worth a doubt and nowhere else.
func TestSurely_DoubtsARefusal(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	gone, taken := holdfast.Refuse("LOCK_NOT_FOUND", "gone"), holdfast.Refuse("LOCK_CONSUMED", "taken")
	for name, c := range map[string]struct {
		doubt func(error) bool
		first error
		times int
	}{
		"an absence":                  {holdfast.IsNotFound, gone, 2},
		"another rule, for absences":  {holdfast.IsNotFound, taken, 1},
		"a rule":                      {mongodb.IsRefusal, taken, 2},
		"an outage":                   {mongodb.IsRefusal, holdfast.Refuse(holdfast.CodeUnavailable, "down"), 1},
		"an unknown outcome":          {mongodb.IsRefusal, holdfast.Refuse(holdfast.CodeOutcomeUnknown, "?"), 1},
		"what was wrong in the input": {mongodb.IsRefusal, holdfast.RefuseInput("body", "wrong"), 1},
		"success":                     {mongodb.IsRefusal, nil, 1},
	} {
		times := 0
		do := func(context.Context) (int, error) {
			times++
			if times == 2 {
				return times, nil
			}
			return times, c.first
		}
		value, err := mongodb.ConfirmRefusal(t.Context(), w.DB, c.doubt, do)
		if times != c.times || value != c.times || (c.times == 2 && err != nil) {
			t.Errorf("%s: done %d times, %d, %v; want %d", name, times, value, err, c.times)
		}
	}
	// Its owner's transaction is what is repeated.
	times := 0
	_, err := mongodb.InTx(t.Context(), w.DB, func(ctx context.Context) (int, error) {
		return mongodb.ConfirmRefusal(ctx, w.DB, holdfast.IsNotFound, func(context.Context) (int, error) { times++; return 0, gone })
	})
	if times != 1 || holdfast.CodeOf(err) != "LOCK_NOT_FOUND" {
		t.Errorf("within a transaction: %d times, %v", times, err)
	}
}

// A refusal that can't be proved is none.
func TestSurely_WithoutAPrimaryIsUnavailable(t *testing.T) {
	t.Parallel()
	mongod := testenv.OwnMongod(t)
	w := testenv.Open(t, mongod.URI, "holdfast")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	mongod.Freeze()
	_, err := mongodb.ConfirmRefusal(ctx, w.DB, mongodb.IsRefusal, func(context.Context) (int, error) { return 0, holdfast.Refuse("LOCK_CONSUMED", "taken") })
	mongod.Wake()
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) {
		t.Errorf("got %v", err)
	}
}
