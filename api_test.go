package holdfast_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// public are the packages that doc.go promises to keep compatible.
var public = []string{".", "engine", "engine/enginetest", "booking", "seats", "users"}

// Every package that another module could import is promised, or says that it may change.
func TestPackages_ArePromisedOrMarked(t *testing.T) {
	t.Parallel()
	notImported := []string{"cmd", "examples", "test", "tools", "testdata", "internal", "client", "clients", "deploy", "node_modules"}
	err := filepath.WalkDir(".", func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || dir == "." {
			return err
		}
		if name := entry.Name(); slices.Contains(notImported, name) || strings.HasPrefix(name, ".") {
			return fs.SkipDir
		}
		if doc, isPackage := documentOf(t, dir); isPackage {
			isMarked := strings.Contains(strings.Join(strings.Fields(doc), " "), "may change in any release: see package holdfast.")
			if isPublic := slices.Contains(public, filepath.ToSlash(dir)); isPublic == isMarked {
				t.Errorf("package %s: it is public: %v, and says that it may change: %v", dir, isPublic, isMarked)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	promise, _ := documentOf(t, ".")
	for _, dir := range public[1:] {
		if !strings.Contains(promise, path.Base(dir)) {
			t.Errorf("doc.go does not name %s", dir)
		}
	}
}

// documentOf returns the document of the package in a folder.
func documentOf(t *testing.T, dir string) (doc string, isPackage bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		doc, isPackage = doc+file.Doc.Text(), true
	}
	return doc, isPackage
}
