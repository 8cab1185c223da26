package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/clock"
)

type settings struct {
	Only    string        `help:"Regular expression of the mutations to try."`
	Seeds   []uint64      `help:"Seeds of the storms, one after the other until one finds it." default:"1,2"`
	Rounds  int           `help:"Rounds of each storm." default:"6"`
	Limit   time.Duration `help:"Time for one storm, or one package's tests." default:"6m"`
	Workers int           `help:"Mutations to try at a time; each is some twelve processes." default:"2"`
	Check   bool          `help:"Only look whether each mutation still fits its file, and compiles."`
}

func main() {
	var s settings
	kong.Parse(&s, kong.Name("mutate"), kong.Description("Takes guards out of copies of Holdfast and looks which checker finds that."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to do
	}
}

func run(ctx context.Context, s settings) error {
	only, err := regexp.Compile(s.Only)
	if err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	for _, m := range mutations {
		if _, err := m.apply("."); err != nil {
			return err
		}
	}
	if s.Check {
		return check(ctx, only)
	}
	rows, lived := make([]table.Row, len(mutations)), atomic.Int64{}
	all, within := errgroup.WithContext(ctx)
	all.SetLimit(s.Workers)
	for i, m := range mutations {
		if !only.MatchString(m.name) {
			continue
		}
		all.Go(func() error {
			start := clock.System()
			found, says, err := m.try(within, s)
			if within.Err() != nil {
				return within.Err()
			}
			if err != nil {
				says = err.Error()
			}
			if found == "" {
				lived.Add(1)
			}
			fmt.Fprintf(os.Stderr, "%d of %d, %s: %s, after %v: %s\n", i+1, len(mutations), m.name,
				cmp.Or(found, "IT LIVES"), clock.Clock(clock.System).Since(start).Round(time.Second), says)
			rows[i] = table.Row{m.name, "`" + m.file + "`", cmp.Or(found, "**nothing**"), says}
			return nil
		})
	}
	err = all.Wait()
	out := table.NewWriter()
	out.AppendHeader(table.Row{"guard taken out", "in", "found by", "which says"})
	for _, row := range rows {
		if row != nil {
			out.AppendRow(row)
		}
	}
	fmt.Println(out.RenderMarkdown())
	if err != nil {
		return err
	}
	if n := lived.Load(); n > 0 {
		return fmt.Errorf("%d mutations live", n)
	}
	return nil
}

// check compiles each mutation.
func check(ctx context.Context, only *regexp.Regexp) error {
	var wrong []error
	for _, m := range mutations {
		if !only.MatchString(m.name) {
			continue
		}
		dir, err := os.MkdirTemp("", "holdfast-mutation-")
		if err == nil {
			err = errors.Join(m.copyTo(ctx, dir), os.RemoveAll(dir))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	return errors.Join(wrong...)
}

// apply returns the file without the guard; the text has to be there once.
func (m mutation) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file)) //nolint:gosec // a file of the project
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), m.from); n != 1 {
		return nil, fmt.Errorf("mutation %q: its text is %d times in %s, and has to be there once", m.name, n, m.file)
	}
	return []byte(strings.Replace(string(text), m.from, m.to, 1)), nil
}

// try makes the copy and runs the proof: storms first, then the tests that are named.
func (m mutation) try(ctx context.Context, s settings) (found, says string, err error) {
	dir, err := os.MkdirTemp("", "holdfast-mutation-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // of the system's temporary folder
	if err := m.copyTo(ctx, dir); err != nil {
		return "", "", err
	}
	for _, seed := range s.Seeds {
		env := []string{fmt.Sprintf("CHAOS_SEED=%d", seed), fmt.Sprintf("CHAOS_ROUNDS=%d", s.Rounds), "CHAOS_ONLY=" + m.faults}
		if text, failed := m.test(ctx, dir, s.Limit, env, "./chaos", "TestStorm"); failed {
			checkers, says := findings(text)
			return fmt.Sprintf("storm, seed %d: *%s*", seed, checkers), says, ctx.Err()
		}
	}
	if m.pkg == "" {
		m.pkg, m.tests = "./"+filepath.Dir(m.file), "."
	}
	if text, failed := m.test(ctx, dir, s.Limit, nil, m.pkg, m.tests); failed {
		return "`" + firstFailed(text) + "` in `" + strings.TrimPrefix(m.pkg, "./") + "`", "", ctx.Err()
	}
	return "", "", ctx.Err()
}

// copyTo copies what the repository holds, with the mutation.
func (m mutation) copyTo(ctx context.Context, dir string) error {
	copying := exec.CommandContext(ctx, "bash", "-c", `git ls-files -z -co --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$0"`, dir) //nolint:gosec // our own command
	if output, err := copying.CombinedOutput(); err != nil {
		return fmt.Errorf("copying: %w: %s", err, output)
	}
	text, err := m.apply(dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, m.file), text, 0o600); err != nil {
		return err
	}
	if strings.Contains(m.to, "clock.System") {
		text = bytes.Replace(text, []byte("import (\n"), []byte("import (\n\t\"github.com/holdfast-dev/holdfast/internal/clock\"\n"), 1)
		if err := os.WriteFile(filepath.Join(dir, m.file), text, 0o600); err != nil {
			return err
		}
	}
	// A guard may have been the only use of a package: gofmt can't tell, the compiler can.
	return unused(ctx, dir, m.file)
}

var importedAndNotUsed = regexp.MustCompile(`"([^"]+)" imported and not used`)

// unused drops imports that the mutation left without a use.
func unused(ctx context.Context, dir, file string) error {
	for range 3 {
		build := exec.CommandContext(ctx, "go", "build", "./"+filepath.Dir(file)) //nolint:gosec // our own command
		build.Dir, build.Env = dir, environment()
		output, err := build.CombinedOutput()
		if err == nil {
			return nil
		}
		found := importedAndNotUsed.FindSubmatch(output)
		if found == nil {
			return fmt.Errorf("it does not compile: %s", output)
		}
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path) //nolint:gosec // a file of the project
		if err != nil {
			return err
		}
		text = bytes.Replace(text, append(append([]byte("\t\""), found[1]...), '"', '\n'), nil, 1)
		if err := os.WriteFile(path, text, 0o600); err != nil { //nolint:gosec // a file of our copy
			return err
		}
	}
	return fmt.Errorf("it does not compile")
}

// environment lets copies share what was compiled for another one.
func environment() []string { return append(os.Environ(), "GOFLAGS=-trimpath") }

func (m mutation) test(ctx context.Context, dir string, limit time.Duration, env []string, pkg, tests string) (output string, failed bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	devserver, err := filepath.Abs(".build/devserver")
	if err != nil {
		return err.Error(), true
	}
	test := exec.CommandContext(ctx, devserver, "with", "go", "test", "-count=1", "-failfast", "-timeout", limit.String(), "-run", tests, pkg) //nolint:gosec // our own command
	test.Dir, test.Env = dir, append(environment(), env...)
	test.Cancel = func() error { return test.Process.Signal(syscall.SIGTERM) }
	test.WaitDelay = 30 * time.Second
	text, err := test.CombinedOutput()
	return string(text), err != nil
}

var (
	finding   = regexp.MustCompile(`_test\.go:\d+: \[[^]]*\] ([a-z ]+): ([^\n]*)`)
	undecided = regexp.MustCompile(`requests\) could not be judged`)
	failure   = regexp.MustCompile(`--- FAIL: (\S+)`)
)

// findings are the checkers that found something, and what the first of them says.
func findings(text string) (checkers, says string) {
	found := finding.FindAllStringSubmatch(text, -1)
	if len(found) == 0 && undecided.MatchString(text) {
		return "linearizability", "a history that no order explained within a minute"
	}
	if len(found) == 0 {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		return "the storm's own end", strings.TrimSpace(lines[max(0, len(lines)-4)])
	}
	var names []string
	for _, f := range found {
		if !slices.Contains(names, f[1]) {
			names = append(names, f[1])
		}
	}
	says = ids.ReplaceAllString(strings.ReplaceAll(found[0][2], "|", "¦"), "…")
	const enough = 160
	if len(says) > enough {
		says = strings.ToValidUTF8(says[:enough], "") + "…"
	}
	return strings.Join(names, ", "), says
}

// ids are nobody's business in a table.
var ids = regexp.MustCompile(`\b[0-9a-f]{24}\b|history-\S+`)

func firstFailed(text string) string {
	found := failure.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return "the tests' end"
	}
	return found[len(found)-1][1]
}
