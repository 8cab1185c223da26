package peers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/ids"
)

// Each process has its share of the events, and one that leaves moves only its own.
func TestOwner_MovesOnlyTheEventsOfAProcessThatLeaves(t *testing.T) {
	t.Parallel()
	const events = 4000
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("api-%d/1/x", i))
	}
	shares := map[string]int{}
	for range events {
		event := ids.New()
		first := owner(event, names)
		shares[first]++
		for _, gone := range names {
			rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == gone })
			if second := owner(event, rest); gone != first && second != first || gone == first && second == first {
				t.Fatalf("the owner was %s; without %s it is %s", first, gone, second)
			}
		}
		backwards := slices.Clone(names)
		slices.Reverse(backwards)
		if other := owner(event, backwards); other != first {
			t.Fatalf("the order decides: %s or %s", first, other)
		}
	}
	for name, n := range shares {
		if mean := events / len(names); n < mean/2 || n > 2*mean {
			t.Errorf("%s owns %d of %d events", name, n, events)
		}
	}
	if owner(ids.New(), nil) != "" {
		t.Error("without processes there is an owner")
	}
}
