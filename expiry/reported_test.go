package expiry_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/expiry"
)

const (
	reportInterval = 24 * time.Hour
	maxReported    = 10_000
)

// A finding is reported once a day.
func TestReported_OnceADay(t *testing.T) {
	t.Parallel()
	var r expiry.Reported
	now := time.Unix(1_800_000_000, 0)
	for _, step := range []struct {
		after        time.Duration
		known, isNew bool
	}{
		{0, false, true}, {0, true, false}, {reportInterval - 1, true, false},
		{reportInterval, false, true}, {2*reportInterval - 1, true, false}, {2 * reportInterval, false, true},
	} {
		at := now.Add(step.after)
		if known := r.Knows("a", at); known != step.known {
			t.Errorf("after %v it is known: %v", step.after, known)
		}
		if r.Knows("b", at) {
			t.Errorf("after %v a finding that was never reported is known", step.after)
		}
		if isNew := r.IsNew("a", at); isNew != step.isNew {
			t.Errorf("after %v it is new: %v", step.after, isNew)
		}
	}
}

// A database full of findings fills no memory, and hides the findings of the next day no more.
func TestReported_IsBounded(t *testing.T) {
	t.Parallel()
	var r expiry.Reported
	now := time.Unix(1_800_000_000, 0)
	for i := range maxReported {
		at := now
		if i == 0 {
			at = now.Add(time.Hour)
		}
		if !r.IsNew(fmt.Sprint(i), at) {
			t.Fatalf("finding %d is not new", i)
		}
	}
	if r.IsNew("more", now.Add(time.Hour)) || r.Knows("more", now.Add(time.Hour)) {
		t.Error("the number of findings is not limited")
	}
	next := now.Add(reportInterval)
	if !r.IsNew("more", next) || !r.Knows("more", next) {
		t.Error("findings of the day before take the room of new ones")
	}
	if !r.Knows("0", next) || r.IsNew("0", next) {
		t.Error("a finding of today was forgotten")
	}
}
