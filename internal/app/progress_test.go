package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A long step is told of with counts and rate, and a bar for people.
func TestProgress_TellsHowFar(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, people := range []bool{false, true} {
		var out bytes.Buffer
		r := &Recovery{Clock: func() time.Time { return now }, Bar: people}
		done := r.progress(slog.New(slog.NewTextHandler(&out, nil)), "Proving counters", 100)
		done(t.Context(), 25)
		if out.Len() > 0 {
			t.Errorf("told at once: %s", out.String())
		}
		now = now.Add(5 * time.Second)
		done(t.Context(), 25)
		line := out.String()
		if !strings.Contains(line, "done=50 perSecond=10 of=100") || strings.Contains(line, strings.Repeat("█", 15)+strings.Repeat("░", 15)) != people {
			t.Errorf("people %v: %s", people, line)
		}
	}
}
