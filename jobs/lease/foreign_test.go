package lease_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// An index of other software rejects a second lease of one holder: that is no other holder.
func TestForeignIndex_IsNoOtherHolder(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	store := lease.NewMongo(env.DB, terms)
	env.ForeignIndex(lease.Collection, "lockedBy")
	if _, err := store.Acquire(t.Context(), "a", "me"); err != nil {
		t.Fatal(err)
	}
	_, err := store.Acquire(t.Context(), "b", "me")
	if _, unavailable := lease.IsUnavailable(err); !unavailable || !strings.Contains(err.Error(), "index: theirs") {
		t.Errorf("the second lease: %v", err)
	}
	if _, err := store.Acquire(t.Context(), "a", "other"); err == nil {
		t.Error("a lease has two holders")
	} else if _, held := lease.IsHeld(err); !held {
		t.Errorf("a held lease: %v", err)
	}
}
