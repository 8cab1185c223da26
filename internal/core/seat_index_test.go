package core_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The setting decides for a new database alone. Later starts, with whatever setting, keep what was decided.
func TestEnsureSchema_DecidesOnTheSeatIndexOfANewDatabase(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	with, without := core.Collections(), core.WithoutSeatIndex(core.Collections())
	start := func(all []mongodb.Collection) {
		t.Helper()
		if degraded, err := core.EnsureSchema(w.Ctx(), w.DB, slog.New(w.Log), all...); err != nil || len(degraded) > 0 {
			t.Fatal(degraded, err)
		}
	}
	want := func(situation string, has bool) {
		t.Helper()
		specs, err := w.DB.Collection("seatlocks").Indexes().ListSpecifications(w.Ctx())
		if err != nil {
			t.Fatal(err)
		}
		isThere := false
		for _, s := range specs {
			isThere = isThere || strings.Contains(s.Name, "seatIds")
		}
		if isThere != has {
			t.Errorf("%s: the index is there: %t, want %t", situation, isThere, has)
		}
		for _, all := range [][]mongodb.Collection{with, without} {
			if gaps, err := core.SchemaGaps(w.Ctx(), w.DB, all...); err != nil || len(gaps) > 0 {
				t.Errorf("%s: gaps %q, %v", situation, gaps, err)
			}
		}
	}
	for _, row := range []struct {
		first, later []mongodb.Collection
		has          bool
	}{{with, without, true}, {without, with, false}} {
		dropAll(w)
		start(row.first)
		want("new", row.has)
		start(row.later)
		want("started again", row.has)
	}
}
