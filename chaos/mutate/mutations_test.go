package main

import "testing"

// Each mutation still fits its file, once.
func TestMutations_FitTheirFiles(t *testing.T) {
	t.Parallel()
	for _, m := range mutations {
		if _, err := m.apply("../.."); err != nil {
			t.Error(err)
		}
	}
}
