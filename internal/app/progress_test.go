package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/recovery"
)

func TestDrawProgress_HasABarAsLongAsTheWorkIsDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		progress recovery.Progress
		want     []string
	}{
		"half": {
			recovery.Progress{Doing: "Checking counters", Done: 50, Total: 100, PerSecond: 10},
			[]string{"done=50", "perSecond=10", "of=100", strings.Repeat("█", 15) + strings.Repeat("░", 15)},
		},
		"more than was expected": {recovery.Progress{Done: 120, Total: 100}, []string{strings.Repeat("█", 30)}},
		"of unknown length":      {recovery.Progress{Done: 7}, []string{"done=7"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			drawProgress(t.Context(), slog.New(slog.NewTextHandler(&out, nil)), c.progress)
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in %s", want, out.String())
				}
			}
			if c.progress.Total == 0 && strings.Contains(out.String(), "bar=") {
				t.Errorf("a bar without a total: %s", out.String())
			}
		})
	}
}
