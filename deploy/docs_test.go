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

// readFiles returns the text of the project's files with one of the given extensions, by
// path from this folder. Folders of tools and builds are left out.
func readFiles(t *testing.T, extensions ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == "../.github": // its workflows are code
			return nil
		case entry.IsDir() && path != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files with the extensions %q: %v", len(files), extensions, err)
	}
	return files
}

var linkPattern = regexp.MustCompile(`(?:\]\(|\b(?:src|srcset)=")([^)#"\s]*)(#[^)"]*)?[)"]`)

func TestDocs_LinksResolve(t *testing.T) {
	t.Parallel()
	pages := readFiles(t, ".md")
	for page, text := range pages {
		text = codePattern.ReplaceAllString(fencePattern.ReplaceAllString(text, ""), "")
		for _, link := range linkPattern.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			target := page
			if link[1] != "" {
				target = filepath.Join(filepath.Dir(page), link[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
			}
			if anchor := strings.TrimPrefix(link[2], "#"); anchor != "" && !slices.Contains(anchors(pages[target]), anchor) {
				t.Errorf("%s: %s has no heading #%s, but %v", page, target, anchor, anchors(pages[target]))
			}
		}
	}
}

// Code is not Markdown: f[T](x) is a call there, not a link.
var (
	fencePattern   = regexp.MustCompile("(?ms)^```.*?^```$")
	codePattern    = regexp.MustCompile("`[^`\n]+`")
	headingPattern = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchors returns the anchors that GitHub derives from the headings of a page.
func anchors(text string) (names []string) {
	for _, heading := range headingPattern.FindAllStringSubmatch(fencePattern.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, heading[1]))
	}
	return names
}

var testPattern = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// What a page names must exist, so that a rename in the code reaches the documents too.
func TestDocs_NamesExist(t *testing.T) {
	t.Parallel()
	pages := readFiles(t, ".md")
	code := allText(readFiles(t, ".go", ".js", ".mjs", ".yml", ".yaml"))
	var tests []string
	for _, declaration := range testPattern.FindAllStringSubmatch(code, -1) {
		tests = append(tests, declaration[1])
	}
	metrics := processMetrics(t)
	for _, row := range []struct {
		what    string
		pattern string
		exists  func(name string) bool
	}{
		{"test", `\bTest[A-Z]\w+`, func(name string) bool {
			return slices.Contains(tests, name) || strings.Contains(code, "(c *Client) "+name+"(") // client.TestWebhook
		}},
		{"file", "`([a-z][\\w.-]*(?:/[\\w.-]+)+\\.(?:go|js|mjs|ya?ml|json))`", fileExists},
		{"script", `\bscripts/[a-z-]+\b`, fileExists},
		{"setting or code", `\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b`, func(name string) bool { return strings.Contains(code, name) }},
		{"metric", `\bholdfast_[a-z_]+[a-z]\b`, func(name string) bool {
			isOther := name == "holdfast_gocron" || name == "holdfast_client" // of the library; the package for Python
			return isOther || slices.Contains(metrics, strings.TrimSuffix(name, "_bucket"))
		}},
	} {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			found := 0
			for page, text := range pages {
				for _, match := range regexp.MustCompile(row.pattern).FindAllStringSubmatch(text, -1) {
					found++
					if name := match[len(match)-1]; !row.exists(name) {
						t.Errorf("%s names the %s %s, which does not exist", page, row.what, name)
					}
				}
			}
			if found == 0 {
				t.Errorf("no page names a %s", row.what)
			}
		})
	}
}

func allText(files map[string]string) string {
	var all strings.Builder
	for _, text := range files {
		all.WriteString(text)
	}
	return all.String()
}

// fileExists reports whether the project has a file, by its path from the root.
func fileExists(path string) bool {
	_, err := os.Stat(filepath.Join("..", path))
	return err == nil
}

// No page shows a failed fmt verb, such as %!w(<nil>).
func TestDocs_ShowNoFormatErrors(t *testing.T) {
	t.Parallel()
	for page, text := range readFiles(t, ".md") {
		if strings.Contains(text, "%!") {
			t.Errorf("%s shows the output of a wrong format string", page)
		}
	}
}

var folderPattern = regexp.MustCompile("`([a-z]+(?:/[a-z]+)*)/?`")

// ARCHITECTURE.md names every folder with Go code, and no folder that does not exist.
func TestDocs_ArchitectureNamesEveryFolder(t *testing.T) {
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
			code, err := filepath.Glob(folder + "/*.go")
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimPrefix(folder, "../")
			if len(code) > 0 && !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+name+"/`") {
				t.Errorf("ARCHITECTURE.md does not name the folder %s", name)
			}
		}
	}
	for _, match := range folderPattern.FindAllStringSubmatch(text, -1) {
		name := match[1]
		if !strings.Contains(name, "/") && !strings.Contains(text, "| `"+name+"/`") {
			continue // a word, not a folder
		}
		if info, err := os.Stat("../" + name); err != nil || !info.IsDir() {
			t.Errorf("ARCHITECTURE.md names the folder %s, which does not exist", name)
		}
	}
}
