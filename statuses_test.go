package holdfast_test

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// The lists are rules of the engine: a repair counts the seats of the taking statuses. A
// program that changes what it got changes its own slice.
func TestLists_CannotBeChangedByACaller(t *testing.T) {
	t.Run("LockStatuses", func(t *testing.T) { checkOwnSlice(t, holdfast.LockStatuses) })
	t.Run("TakingStatuses", func(t *testing.T) { checkOwnSlice(t, holdfast.TakingStatuses) })
	t.Run("BookingStatuses", func(t *testing.T) { checkOwnSlice(t, holdfast.BookingStatuses) })
	t.Run("LiveStatuses", func(t *testing.T) { checkOwnSlice(t, holdfast.LiveStatuses) })
	t.Run("EventStatuses", func(t *testing.T) { checkOwnSlice(t, holdfast.EventStatuses) })
	t.Run("Codes", func(t *testing.T) { checkOwnSlice(t, holdfast.Codes) })
}

func checkOwnSlice[T ~string](t *testing.T, list func() []T) {
	t.Helper()
	got := list()
	want := slices.Clone(got)
	got[0] = "X"
	if again := list(); !slices.Equal(again, want) {
		t.Errorf("got %v after a caller changed its slice, want %v", again, want)
	}
	if grown := append(list(), "X"); !slices.Equal(list(), want) {
		t.Errorf("got %v after a caller appended to its slice (%v), want %v", list(), grown, want)
	}
}
