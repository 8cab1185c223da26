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
	Only    string        `help:"Regular expression of the names of mutations to run."`
	By      []string      `help:"In this order: the tests of a mutation, the nemesis." default:"tests,nemesis" enum:"tests,nemesis"`
	Seeds   []uint64      `help:"Seeds of the nemesis, tried one after the other until a checker finds the mutation." default:"1,2"`
	Rounds  int           `help:"Rounds for each seed." default:"6"`
	Limit   time.Duration `help:"Timeout of one seed, and of a mutation's tests." default:"6m"`
	Workers int           `help:"Mutations to run at the same time; each starts about twelve processes." default:"2"`
	Check   bool          `help:"Only check that each mutation applies to its file and compiles."`
}

func main() {
	var s settings
	kong.Parse(&s, kong.Name("mutate"),
		kong.Description("Removes guards from copies of Holdfast, one at a time, and reports which checker finds that."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
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
	rows, survived := make([]table.Row, len(mutations)), atomic.Int64{}
	all, groupCtx := errgroup.WithContext(ctx)
	all.SetLimit(s.Workers)
	for i, m := range mutations {
		if !only.MatchString(m.name) || !m.canBeFoundBy(s.By) {
			continue
		}
		all.Go(func() error {
			start := clock.System()
			foundBy, message, err := m.run(groupCtx, s)
			if groupCtx.Err() != nil {
				return groupCtx.Err()
			}
			if err != nil {
				message = err.Error()
			}
			if foundBy == "" {
				survived.Add(1)
			}
			fmt.Fprintf(os.Stderr, "%d of %d, %s: %s, after %v: %s\n", i+1, len(mutations), m.name,
				cmp.Or(foundBy, "SURVIVED"), clock.Clock(clock.System).Since(start).Round(time.Second), message)
			rows[i] = table.Row{m.name, "`" + m.file + "`", cmp.Or(foundBy, "**nothing**"), message}
			return nil
		})
	}
	err = all.Wait()
	out := table.NewWriter()
	out.AppendHeader(table.Row{"guard removed", "file", "found by", "message"})
	for _, row := range rows {
		if row != nil {
			out.AppendRow(row)
		}
	}
	fmt.Println(out.RenderMarkdown())
	if err != nil {
		return err
	}
	if n := survived.Load(); n > 0 {
		return fmt.Errorf("%d mutations survived", n)
	}
	return nil
}

// check compiles each mutation.
func check(ctx context.Context, only *regexp.Regexp) error {
	var errs []error
	for _, m := range mutations {
		if !only.MatchString(m.name) {
			continue
		}
		dir, err := os.MkdirTemp("", "holdfast-mutation-")
		if err == nil {
			err = errors.Join(m.copyTo(ctx, dir), os.RemoveAll(dir))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	return errors.Join(errs...)
}

// apply returns the file without the guard. The guard's text must occur exactly once.
func (m mutation) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), m.from); n != 1 {
		return nil, fmt.Errorf("mutation %q: its text occurs %d times in %s, want once", m.name, n, m.file)
	}
	return []byte(strings.Replace(string(text), m.from, m.to, 1)), nil
}

// canBeFoundBy reports whether there is anything to run for the mutation.
func (m mutation) canBeFoundBy(by []string) bool {
	return m.tests != "" || slices.Contains(by, byNemesis)
}

// What looks for mutations, see settings.By.
const (
	byTests   = "tests"
	byNemesis = "nemesis"
)

// run makes a copy with the mutation and tests it. foundBy is empty if no test failed.
func (m mutation) run(ctx context.Context, s settings) (foundBy, message string, err error) {
	dir, err := os.MkdirTemp("", "holdfast-mutation-")
	if err != nil {
		return "", "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := m.copyTo(ctx, dir); err != nil {
		return "", "", err
	}
	for _, by := range s.By {
		find := m.findByTests
		if by == byNemesis {
			find = m.findByNemesis
		}
		if foundBy, message, err = find(ctx, dir, s); foundBy != "" || err != nil {
			return foundBy, message, err
		}
	}
	return "", "", ctx.Err()
}

// findByTests runs the tests that the mutation names.
func (m mutation) findByTests(ctx context.Context, dir string, s settings) (foundBy, message string, err error) {
	if m.tests == "" {
		return "", "", nil
	}
	output, failed := m.runTests(ctx, dir, testRun{pkg: m.testPackage(), tests: m.tests, timeout: s.Limit})
	switch {
	case noTests.MatchString(output):
		return "", "", fmt.Errorf("no test ran: %s", output)
	case !failed:
		return "", "", ctx.Err()
	default:
		return "`" + failedTest(output) + "` in `" + strings.TrimPrefix(m.testPackage(), "./") + "`", "", ctx.Err()
	}
}

// noTests is in the output of tests that do not compile, or do not exist.
var noTests = regexp.MustCompile(`\[(build failed|setup failed|no tests to run|no test files)\]`)

// testPackage is the package of the tests that the mutation names.
func (m mutation) testPackage() string { return cmp.Or(m.pkg, "./"+filepath.Dir(m.file)) }

// findByNemesis runs the nemesis with one seed after the other.
func (m mutation) findByNemesis(ctx context.Context, dir string, s settings) (foundBy, message string, err error) {
	for _, seed := range s.Seeds {
		env := []string{fmt.Sprintf("CHAOS_SEED=%d", seed), fmt.Sprintf("CHAOS_ROUNDS=%d", s.Rounds), "CHAOS_ONLY=" + m.faults}
		if output, failed := m.runTests(ctx, dir, testRun{pkg: "./chaos", tests: "TestNemesis", env: env, timeout: s.Limit}); failed {
			checkers, message := violations(output)
			return fmt.Sprintf("nemesis, seed %d: *%s*", seed, checkers), message, ctx.Err()
		}
	}
	return "", "", ctx.Err()
}

// copyTo copies the repository's files to a folder and applies the mutation there.
func (m mutation) copyTo(ctx context.Context, dir string) error {
	const script = `git ls-files -z -co --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$0"`
	copying := exec.CommandContext(ctx, "bash", "-c", script, dir)
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
	return removeUnusedImports(ctx, dir, m.file)
}

var importedAndNotUsed = regexp.MustCompile(`"([^"]+)" imported and not used`)

// removeUnusedImports removes the imports that only the guard used: the compiler names them.
func removeUnusedImports(ctx context.Context, dir, file string) error {
	for range 3 {
		build := exec.CommandContext(ctx, "go", "build", "./"+filepath.Dir(file))
		build.Dir, build.Env = dir, goEnvironment()
		output, err := build.CombinedOutput()
		if err == nil {
			return nil
		}
		found := importedAndNotUsed.FindSubmatch(output)
		if found == nil {
			return fmt.Errorf("the mutation does not compile: %s", output)
		}
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = bytes.Replace(text, fmt.Appendf(nil, "\t%q\n", found[1]), nil, 1)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return errors.New("the mutation does not compile")
}

// goEnvironment lets the copies share compiled packages, whatever their folders are.
func goEnvironment() []string { return append(os.Environ(), "GOFLAGS=-trimpath") }

// testRun is tests of one package, run with environment variables.
type testRun struct {
	pkg, tests string
	env        []string
	timeout    time.Duration
}

// runTests runs tests in a copy, and returns their output and whether they failed.
func (m mutation) runTests(ctx context.Context, dir string, r testRun) (output string, failed bool) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	args := []string{"go", "test", "-count=1", "-vet=off", "-failfast", "-timeout", r.timeout.String(), "-run", r.tests, r.pkg}
	if os.Getenv("HOLDFAST_TEST_MONGODB_URI") == "" { // else the tests share the servers that are running
		devserver, err := filepath.Abs(".build/devserver")
		if err != nil {
			return err.Error(), true
		}
		args = append([]string{devserver, "with"}, args...)
	}
	test := exec.CommandContext(ctx, args[0], args[1:]...)
	test.Dir, test.Env = dir, append(goEnvironment(), r.env...)
	test.Cancel = func() error { return test.Process.Signal(syscall.SIGTERM) }
	test.WaitDelay = 30 * time.Second
	text, err := test.CombinedOutput()
	return string(text), err != nil
}

var (
	violation = regexp.MustCompile(`_test\.go:\d+: \[[^]]*\] ([a-z ]+): ([^\n]*)`)
	undecided = regexp.MustCompile(`requests\) was not decided`)
	failure   = regexp.MustCompile(`--- FAIL: (\S+)`)
)

// violations returns the checkers that found a violation in a test's output, and the message of
// the first one.
func violations(text string) (checkers, message string) {
	found := violation.FindAllStringSubmatch(text, -1)
	if len(found) == 0 && undecided.MatchString(text) {
		return "linearizability", "a history was not decided in time"
	}
	if len(found) == 0 {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		return "the test failed", strings.TrimSpace(lines[max(0, len(lines)-4)])
	}
	var names []string
	for _, f := range found {
		if !slices.Contains(names, f[1]) {
			names = append(names, f[1])
		}
	}
	message = variable.ReplaceAllString(strings.ReplaceAll(found[0][2], "|", "¦"), "…")
	const maxLength = 160
	if len(message) > maxLength {
		message = strings.ToValidUTF8(message[:maxLength], "") + "…"
	}
	return strings.Join(names, ", "), message
}

// variable matches IDs and names of files, which differ from run to run.
var variable = regexp.MustCompile(`\b[0-9a-f]{24}\b|history-\S+`)

// failedTest returns the test that failed, by its whole name.
func failedTest(text string) string {
	found := failure.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return "the tests, which ended early,"
	}
	return found[len(found)-1][1]
}
