package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/clock"
)

// search looks for tests that find mutations.
type search struct {
	settings
	root      string // of the repository
	devserver string // runs tests with servers; "" if they need none, or know running ones
	chosen    []mutation

	unchanged string // a copy of the repository without a mutation
	mu        sync.Mutex
	controls  map[string]func() error // by command: whether it passes without a mutation
}

func newSearch(s settings, root, devserver string, chosen []mutation) *search {
	return &search{settings: s, root: root, devserver: devserver, chosen: chosen, controls: map[string]func() error{}}
}

// result is what the search found out about one mutation. If err is nil and foundBy is empty, the
// mutation has survived.
type result struct {
	mutation
	foundBy, message string
	err              error
}

type results []result

// run tries every chosen mutation. The error says that the search ended early.
func (s *search) run(ctx context.Context) (results, error) {
	dir, err := os.MkdirTemp("", "holdfast-control-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := copyFiles(ctx, s.root, dir); err != nil {
		return nil, err
	}
	s.unchanged = dir
	found := make(results, len(s.chosen))
	all, groupCtx := errgroup.WithContext(ctx)
	all.SetLimit(s.Workers)
	for i, m := range s.chosen {
		all.Go(func() error {
			start := clock.System()
			r := s.try(groupCtx, m)
			if groupCtx.Err() != nil {
				r.err = groupCtx.Err()
			}
			fmt.Fprintf(os.Stderr, "%d of %d, %s: %s, after %v: %s\n", i+1, len(s.chosen), m.name,
				r.verdict(), clock.Clock(clock.System).Since(start).Round(time.Second), r.message)
			found[i] = r
			return groupCtx.Err()
		})
	}
	return found, all.Wait()
}

// try makes a copy with the mutation and tests it.
func (s *search) try(ctx context.Context, m mutation) result {
	r := result{mutation: m}
	dir, err := os.MkdirTemp("", "holdfast-mutation-")
	if err != nil {
		r.err = err
		return r
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if r.err = copyFiles(ctx, s.root, dir); r.err != nil {
		return r
	}
	if r.err = m.applyTo(ctx, dir); r.err != nil {
		return r
	}
	for _, by := range s.By {
		find := s.findByTests
		if by == byNemesis {
			find = s.findByNemesis
		}
		if r.foundBy, r.message, r.err = find(ctx, dir, m); r.foundBy != "" || r.err != nil {
			return r
		}
	}
	return r
}

// findByTests runs the tests that the mutation names. The control is one run of the tests that
// all chosen mutations name in this package.
func (s *search) findByTests(ctx context.Context, dir string, m mutation) (foundBy, message string, err error) {
	if m.tests == "" {
		return "", "", nil
	}
	control := testRun{pkg: m.testPackage(), tests: s.testsOf(m.testPackage()), timeout: s.Limit}
	if err := s.requireControl(ctx, control); err != nil {
		return "", "", err
	}
	o := s.runTests(ctx, dir, testRun{pkg: m.testPackage(), tests: m.tests, timeout: s.Limit, failFast: true})
	if o.err != nil || !o.failed {
		return "", "", o.err
	}
	return "`" + failedTest(o.output) + "` in `" + strings.TrimPrefix(m.testPackage(), "./") + "`", "", nil
}

// testsOf is a pattern of all tests of a package that the chosen mutations name.
func (s *search) testsOf(pkg string) string {
	var patterns []string
	for _, m := range s.chosen {
		if m.tests != "" && m.testPackage() == pkg && !slices.Contains(patterns, m.tests) {
			patterns = append(patterns, m.tests)
		}
	}
	return strings.Join(patterns, "|")
}

// findByNemesis runs the nemesis with one seed after the other, each of which must pass without
// the mutation. Only what a checker reports counts: if the test fails otherwise, such as for a
// server that does not start, the cause is unknown.
func (s *search) findByNemesis(ctx context.Context, dir string, m mutation) (foundBy, message string, err error) {
	for _, seed := range s.Seeds {
		env := []string{fmt.Sprintf("CHAOS_SEED=%d", seed), fmt.Sprintf("CHAOS_ROUNDS=%d", s.Rounds), "CHAOS_ONLY=" + m.faults}
		r := testRun{pkg: "./chaos", tests: "TestNemesis", env: env, timeout: s.Limit}
		if err := s.requireControl(ctx, r); err != nil {
			return "", "", err
		}
		o := s.runTests(ctx, dir, r)
		if o.err != nil {
			return "", "", o.err
		}
		if !o.failed {
			continue
		}
		checkers, message := violations(o.output)
		if checkers == "" {
			return "", "", fmt.Errorf("%w: seed %d: %s", errNoViolation, seed, message)
		}
		return fmt.Sprintf("nemesis, seed %d: *%s*", seed, checkers), message, nil
	}
	return "", "", nil
}

var (
	errNoViolation = errors.New("the nemesis failed, but no checker reported a violation")
	errControl     = errors.New("the tests do not pass without a mutation")
)

// requireControl runs tests without a mutation, once for each command, and returns an error
// unless they pass.
func (s *search) requireControl(ctx context.Context, r testRun) error {
	key := fmt.Sprint(r.pkg, r.tests, r.env)
	s.mu.Lock()
	control, known := s.controls[key]
	if !known {
		control = sync.OnceValue(func() error {
			o := s.runTests(ctx, s.unchanged, r)
			switch {
			case o.err != nil:
				return fmt.Errorf("control: %w", o.err)
			case o.failed:
				return fmt.Errorf("control: %w: %s", errControl, failedTest(o.output))
			}
			return nil
		})
		s.controls[key] = control
	}
	s.mu.Unlock()
	return control()
}

// testPackage is the package of the tests that the mutation names.
func (m mutation) testPackage() string { return cmp.Or(m.pkg, "./"+filepath.Dir(m.file)) }

// canBeFoundBy reports whether there is anything to run for the mutation.
func (m mutation) canBeFoundBy(by []string) bool {
	return m.tests != "" || slices.Contains(by, byNemesis)
}

// What looks for mutations, see settings.By.
const (
	byTests   = "tests"
	byNemesis = "nemesis"
)

func (r result) verdict() string {
	if r.err != nil {
		return "ERROR: " + r.err.Error()
	}
	return cmp.Or(r.foundBy, "SURVIVED")
}

// table is the results in Markdown.
func (rs results) table() string {
	out := table.NewWriter()
	out.AppendHeader(table.Row{"guard removed", "file", "found by", "message"})
	for _, r := range rs {
		foundBy, message := cmp.Or(r.foundBy, "**nothing**"), r.message
		if r.err != nil {
			lines := strings.Split(r.err.Error(), "\n")
			foundBy, message = "**error**", lines[0]
		}
		var files []string
		for _, e := range r.edits() {
			files = append(files, "`"+e.file+"`")
		}
		out.AppendRow(table.Row{r.name, strings.Join(files, ", "), foundBy, message})
	}
	return out.RenderMarkdown()
}

var errNotFound = errors.New("not every mutation was found")

// err returns an error unless every mutation was found.
func (rs results) err() error {
	survived, failed := 0, 0
	for _, r := range rs {
		switch {
		case r.err != nil:
			failed++
		case r.foundBy == "":
			survived++
		}
	}
	if survived+failed == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d survived, %d could not be tested", errNotFound, survived, failed)
}
