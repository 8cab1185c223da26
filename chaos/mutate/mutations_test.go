package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each mutation still fits its file, once, and the tests that it names exist.
func TestMutations_FitTheirFilesAndTests(t *testing.T) {
	t.Parallel()
	const root = "../.."
	names := map[string]bool{}
	for _, m := range mutations {
		if err := m.check(root); err != nil {
			t.Error(err)
		}
		if names[m.name] {
			t.Errorf("two mutations are called %q", m.name)
		}
		names[m.name] = true
		if m.tests != "" && !hasTest(t, filepath.Join(root, m.testPackage()), m.tests) {
			t.Errorf("mutation %q: %s has no test that matches %q", m.name, m.testPackage(), m.tests)
		}
	}
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// hasTest reports whether a package has a test that matches the pattern of go test -run.
func hasTest(t *testing.T, dir, pattern string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile(strings.Split(pattern, "/")[0])
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testName.FindAllSubmatch(text, -1) {
			if test.Match(found[1]) {
				return true
			}
		}
	}
	return false
}
