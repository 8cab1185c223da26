package pipeline

import (
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// The last 32,768 keys are known, each with its user, and at most twice as many are kept.
func TestRepeats_KnowTheLastKeys(t *testing.T) {
	t.Parallel()
	r, user := newRepeats(), mongodb.NewID()
	const many = 5 * maxKeys
	for n := range many {
		if r.note(user, strconv.Itoa(n)) {
			t.Fatalf("the key %d was not noted before", n)
		}
		if known := len(r.recent) + len(r.previous); known > 2*maxKeys {
			t.Fatalf("%d keys are kept", known)
		}
	}
	if r.note(mongodb.NewID(), strconv.Itoa(many-1)) {
		t.Error("another user's key is known")
	}
	for _, n := range []int{many - 1, many - maxKeys + 2} {
		if !r.note(user, strconv.Itoa(n)) {
			t.Errorf("the key %d is not known", n)
		}
	}
	if r.note(user, "0") {
		t.Error("the first key is known")
	}
}
