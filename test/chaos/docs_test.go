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

// codeBlock is a block of code in a page, with the output that the page shows for it.
type codeBlock struct{ language, code, output string }

var fences = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```\n")

// readCodeBlocks reads a page's code. A block without a language, or of JSON, that follows
// another block directly is that block's output.
func readCodeBlocks(t *testing.T, page string) (blocks []codeBlock) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	end := -1
	for _, at := range fences.FindAllSubmatchIndex(text, -1) {
		language, code := string(text[at[2]:at[3]]), string(text[at[4]:at[5]])
		if at[0] == end && (language == "" || language == "json") {
			blocks[len(blocks)-1].output = code
		} else {
			blocks = append(blocks, codeBlock{language: language, code: code})
		}
		end = at[1]
	}
	return blocks
}

// The commands and programs of the pages, run against an API, print what the pages show.
func TestDocs_CommandsPrintWhatThePagesShow(t *testing.T) {
	t.Parallel()
	for _, page := range []string{
		"README.md", "docs/getting-started.md", "docs/jobs.md", "docs/seat-picker.md", "docs/webhooks.md",
	} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			_, c := startAPI(t, testenv.New(t), 16)
			var commands []codeBlock
			for _, b := range readCodeBlocks(t, filepath.Join(root, page)) {
				b.code = strings.ReplaceAll(b.code, "http://127.0.0.1:8080", c.base)
				switch {
				case b.language == "sh" && strings.Contains(b.code, "curl "):
					commands = append(commands, b)
				case b.language == "go" && strings.Contains(b.code, "http.ListenAndServe"): // tools/browser/receivers.test.mjs runs it
				case b.language == "go" && page == "README.md": // it sells seats, and leaves out what each program has
					if got := strings.TrimSpace(goRun(t, fmt.Sprintf(sellingProgram, b.code))); got != "CONFIRMED" {
						t.Errorf("the booking is %s", got)
					}
				case b.language == "go" && strings.HasPrefix(b.code, "package main"):
					if got := goRun(t, b.code); strings.TrimSpace(got) != strings.TrimSpace(b.output) {
						t.Errorf("the program prints\n%s\nwant\n%s", got, b.output)
					}
				}
			}
			checkCommands(t, commands)
		})
	}
}

// checkCommands runs commands one after the other in one shell, and compares their outputs. A
// command without output on the page must not be refused. The shell knows no more than POSIX where sh is
// dash, and refuses variables that are not set.
func checkCommands(t *testing.T, commands []codeBlock) {
	t.Helper()
	const separator = "== next =="
	var script strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&script, "%s\necho; echo '%s'\n", c.code, separator)
	}
	shell := exec.CommandContext(t.Context(), "sh", "-u")
	shell.Dir, shell.Stdin = t.TempDir(), strings.NewReader(script.String())
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	outputs := strings.Split(string(out), separator)
	if len(commands) == 0 || len(outputs) != len(commands)+1 {
		t.Fatalf("%d commands have %d outputs: %s", len(commands), len(outputs), out)
	}
	var printed, documented docOutput
	for i, c := range commands {
		if c.output == "" {
			if strings.Contains(outputs[i], `"code":`) {
				t.Errorf("\n%s\nis refused: %s", c.code, outputs[i])
			}
			continue
		}
		// Answers do not end with a line feed.
		got, want := printed.normalize(strings.ReplaceAll(outputs[i], "}{", "}\n{")), documented.normalize(c.output)
		if got != want {
			t.Errorf("\n%s\nprints\n%s\nwant\n%s", c.code, got, want)
		}
	}
}

// sellingProgram is the program around the lines of the README.
const sellingProgram = `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

func main() {
	if err := sell(context.Background(), time.Now().AddDate(1, 0, 0)); err != nil {
		log.Fatal(err)
	}
}

func sell(ctx context.Context, opening time.Time) error {
	%s
	if err != nil {
		return err
	}
	fmt.Println(booking.Status)
	return nil
}
`

// goRun runs a program as part of the main module.
func goRun(t *testing.T, program string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, ".build"), 0o750); err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp(filepath.Join(root, ".build"), "docs-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "go", "run", "./.build/"+filepath.Base(folder))
	run.Dir = root
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
