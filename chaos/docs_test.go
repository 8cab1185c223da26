package chaos_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// block is a piece of code in a text, with the output that follows it.
type block struct{ language, code, prints string }

var fences = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```\n")

// blocksOf reads a text's code. What is directly behind a piece that can be run is
// what it prints.
func blocksOf(t *testing.T, page string) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	end := -1
	for _, at := range fences.FindAllSubmatchIndex(text, -1) {
		language, code := string(text[at[2]:at[3]]), string(text[at[4]:at[5]])
		if at[0] == end && (language == "" || language == "json") {
			blocks[len(blocks)-1].prints = code
		} else {
			blocks = append(blocks, block{language: language, code: code})
		}
		end = at[1]
	}
	return blocks
}

// changing is what is another in every run: IDs, times, and what is not ours.
var changing = regexp.MustCompile(`[0-9a-f]{24}|\d{4}-\d{2}-\d{2}T[0-9:.]+Z|id: \d+|"idempotencyKey":"[A-Z0-9]{20,}",|"idempotencyKey":"",|\r`)

func unchanging(text string) string {
	return strings.TrimSpace(changing.ReplaceAllString(text, ""))
}

// What the texts have for people to type, run as printed against an API: each command
// does what is said, and prints what is printed.
func TestDocs_RunAsPrinted(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"../README.md", "../docs/getting-started.md", "../docs/jobs.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			_, c := apiOf(t, w, 16)
			const mark = "== next =="
			var script strings.Builder
			var wanted []block
			for _, b := range blocksOf(t, page) {
				here := strings.ReplaceAll(b.code, "http://127.0.0.1:8080", c.base)
				switch {
				case b.language == "sh" && strings.Contains(here, "curl "):
					fmt.Fprintf(&script, "%s\necho; echo '%s'\n", here, mark)
					wanted = append(wanted, b)
				case b.language == "go" && strings.HasPrefix(here, "package main"):
					if got := goRun(t, here); unchanging(got) != unchanging(b.prints) {
						t.Errorf("the program prints\n%s\nand not\n%s", got, b.prints)
					}
				}
			}
			bash := exec.CommandContext(t.Context(), "bash")
			bash.Dir, bash.Stdin = t.TempDir(), strings.NewReader(script.String())
			out, err := bash.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			parts := strings.Split(string(out), mark)
			if len(wanted) == 0 || len(parts) != len(wanted)+1 {
				t.Fatalf("%d commands printed %d times: %s", len(wanted), len(parts), out)
			}
			for i, b := range wanted {
				if b.prints == "" && strings.Contains(parts[i], `"code":`) {
					t.Errorf("\n%s\nis refused: %s", b.code, parts[i])
				}
				if b.prints == "" {
					continue
				}
				// Answers end without a new line.
				if got, want := unchanging(strings.ReplaceAll(parts[i], "}{", "}\n{")), unchanging(b.prints); got != want {
					t.Errorf("\n%s\nprints\n%s\nand not\n%s", b.code, got, want)
				}
			}
		})
	}
}

// goRun runs a program as one of the module's.
func goRun(t *testing.T, program string) string {
	t.Helper()
	if err := os.MkdirAll("../.build", 0o750); err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("../.build", "docs-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // ignored by git
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "./"+folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
