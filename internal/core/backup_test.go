package core_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// The chapter on backups names every collection of a database.
func TestCollections_AreNamedInTheChapterOnBackups(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	chapter, _, _ := strings.Cut(string(text), "\n## Restore\n")
	w := testenv.New(t)
	names, err := w.DB.ListCollectionNames(w.Ctx(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range slices.Concat(core.Collections(), jobs.Collections()) {
		names = append(names, c.Name)
	}
	const few = 10
	if len(names) < few {
		t.Fatalf("only %q", names)
	}
	for _, name := range names {
		if !strings.Contains(chapter, "`"+name+"`") {
			t.Errorf("%s is not named", name)
		}
	}
}
