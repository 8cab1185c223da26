package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// Each patch applies to the repository as it is, and its package has the test that it names.
func TestPatches_ApplyAndNameATest(t *testing.T) {
	t.Parallel()
	all, err := readPatches("../" + patches)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Errorf("there are only %d patches", len(all))
	}
	repository := filepath.Join("..", root)
	for _, p := range all {
		if output, err := p.apply(t.Context(), repository, "--check"); err != nil {
			t.Errorf("%s does not apply: %s", p.name, output)
		}
		files, err := filepath.Glob(filepath.Join(repository, p.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var names strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range testName.FindAllSubmatch(text, -1) {
				names.Write(append(found[1], '\n'))
			}
		}
		pattern, _, _ := strings.Cut(p.run, "/")
		if !regexp.MustCompile("(?m)" + pattern).MatchString(names.String()) {
			t.Errorf("%s: %s has no test that matches %s", p.name, p.pkg, p.run)
		}
	}
}
