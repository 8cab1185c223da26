package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// pages are the project's texts.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules") && path != ".." {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".md") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[path] = string(text)
		}
		return err
	})
	if err != nil || len(found) < 5 {
		t.Fatal(err, found)
	}
	return found
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

// Every link of the texts to a file of the project leads to one, and to a heading
// that it has.
func TestDocs_LinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for page, text := range all {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			target := filepath.Join(filepath.Dir(page), found[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
			}
			if anchor := strings.TrimPrefix(found[2], "#"); anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
				t.Errorf("%s: %s has no heading #%s, but %v", page, target, anchor, anchors(all[target]))
			}
		}
	}
}

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// anchors are a text's headings, as links name them.
func anchors(text string) (names []string) {
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, found[1]))
	}
	return names
}

// ARCHITECTURE.md names every folder with code, and none that there is not.
func TestDocs_ArchitectureIsTrueToTheTree(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, pattern := range []string{"../*", "../cmd/*", "../internal/*"} {
		folders, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range folders {
			name := strings.TrimPrefix(folder, "../")
			if code, _ := filepath.Glob(folder + "/*.go"); len(code) > 0 && !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+name+"/`") {
				t.Errorf("%s is not named", name)
			}
		}
	}
	for _, named := range regexp.MustCompile("`([a-z]+(?:/[a-z]+)*)/?`").FindAllStringSubmatch(text, -1) {
		if name := named[1]; strings.Contains(name, "/") || strings.Contains(text, "| `"+name+"/`") {
			if info, err := os.Stat("../" + name); err != nil || !info.IsDir() {
				t.Errorf("there is no folder %s", name)
			}
		}
	}
}
