package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each mutation still fits its file, once, and the tests that it names exist.
func TestMutations_FitTheirFilesAndTests(t *testing.T) {
	t.Parallel()
	const root = "../.."
	names, tests := map[string]bool{}, packageTests{}
	for _, m := range mutations {
		if err := m.check(root); err != nil {
			t.Error(err)
		}
		if names[m.name] {
			t.Errorf("two mutations are called %q", m.name)
		}
		names[m.name] = true
		if m.tests != "" && !tests.has(t, filepath.Join(root, m.testPackage()), m.tests) {
			t.Errorf("mutation %q: %s has no test that matches %q", m.name, m.testPackage(), m.tests)
		}
	}
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// packageTests are the names of the tests of packages, by folder: most mutations share one of few packages.
type packageTests map[string][]string

// has reports whether a package has a test that matches the pattern of go test -run.
func (p packageTests) has(t *testing.T, dir, pattern string) bool {
	t.Helper()
	if p[dir] == nil {
		p[dir] = testsOf(t, dir)
	}
	return slices.ContainsFunc(p[dir], regexp.MustCompile(strings.Split(pattern, "/")[0]).MatchString)
}

func testsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testName.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return names
}
