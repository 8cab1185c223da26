package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var errExit = errors.New("exit status 1")

// Only a test that failed finds a mutation, not a command that failed.
func TestJudge_ACommandThatDidNotGetToItsTestsFindsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		output  string
		err     error
		stopped bool
		failed  bool
		wantErr error
	}{
		"passed":              {output: "=== RUN   TestA\n--- PASS: TestA (0.00s)\nok\n"},
		"failed":              {output: "=== RUN   TestA\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tp\t0.1s\n", err: errExit, failed: true},
		"panicked":            {output: "=== RUN   TestA\npanic: no\n\ngoroutine 1\nFAIL\tp\t0.1s\n", err: errExit, failed: true},
		"hung":                {output: "=== RUN   TestA\npanic: test timed out after 1s\nFAIL\tp\t1.1s\n", err: errExit, failed: true},
		"stopped":             {output: "=== RUN   TestA\n", err: errExit, stopped: true, wantErr: errStopped},
		"killed":              {output: "=== RUN   TestA\nsignal: killed\nFAIL\tp\t0.1s\n", err: errExit, wantErr: errExit},
		"server missing":      {output: "", err: errExit, wantErr: errNoTests},
		"server failed":       {output: "no mongod on the path\n", err: errExit, wantErr: errNoTests},
		"does not compile":    {output: "# p\na.go:1: no\nFAIL\tp [build failed]\n", err: errExit, wantErr: errNoTests},
		"no test matches":     {output: "ok  \tp\t0.1s [no tests to run]\n", wantErr: errNoTests},
		"failed before tests": {output: "panic: in TestMain\nFAIL\tp\t0.1s\n", err: errExit, wantErr: errNoTests},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := judge(c.output, c.err, c.stopped)
			if o.failed != c.failed || !errors.Is(o.err, c.wantErr) || (c.wantErr == nil) != (o.err == nil) {
				t.Errorf("failed %t, %v; want %t, %v", o.failed, o.err, c.failed, c.wantErr)
			}
		})
	}
}

// repository is a module with one guard, a test of it, and a nemesis.
var repository = map[string]string{
	"go.mod": "module m\n\ngo 1.24\n",
	"a.go":   "package m\n\nfunc sell(free int) bool {\n\treturn free > 0 && free < 100\n}\n",
	"a_test.go": `package m

import "testing"

func TestSell_NeedsASeat(t *testing.T) {
	if sell(0) {
		t.Error("sold")
	}
}
`,
	"chaos/chaos_test.go": `package chaos

import (
	"os"
	"strings"
	"testing"
)

func TestNemesis(t *testing.T) {
	text, _ := os.ReadFile("../a.go")
	switch {
	case strings.Contains(string(text), "free < 200"):
		t.Error("[API killed] time: too late")
	case strings.Contains(string(text), "free < 300"):
		t.Error("no server")
	}
}
`,
}

// newRepository writes the files of repository, and others over them.
func newRepository(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "chaos"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, from := range []map[string]string{repository, files} {
		for name, text := range from {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	init := exec.CommandContext(t.Context(), "git", "init", "-q", dir)
	if output, err := init.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return dir
}

var (
	testSettings = settings{By: []string{byTests, byNemesis}, Seeds: []uint64{1}, Rounds: 1, Limit: time.Minute, Workers: 2}

	foundByTest    = mutation{name: "a", from: "free > 0", to: "free >= 0", file: "a.go", tests: "Sell"}
	foundByNemesis = mutation{name: "b", from: "free < 100", to: "free < 200", file: "a.go", tests: "Sell"}
	notFound       = mutation{name: "c", from: "free < 100", to: "free < 101", file: "a.go", tests: "Sell"}
	noServer       = mutation{name: "d", from: "free < 100", to: "free < 300", file: "a.go"}
	doesNotCompile = mutation{name: "e", from: "free < 100", to: "free <", file: "a.go", tests: "Sell"}
)

// A mutation is found by a failed test or by a violation. Whatever else fails is an error, and no
// mutation is found by it.
func TestSearch_TellsFoundFromSurvivedFromNotTested(t *testing.T) {
	t.Parallel()
	rs, err := newSearch(testSettings, newRepository(t, nil), "",
		[]mutation{foundByTest, foundByNemesis, notFound, noServer, doesNotCompile}).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"`TestSell_NeedsASeat` in `.`", "nemesis, seed 1: *time*", "SURVIVED", "ERROR: ", "ERROR: "} {
		if got := rs[i].verdict(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", rs[i].name, got, want)
		}
	}
	if !errors.Is(rs[3].err, errNoViolation) {
		t.Errorf("a nemesis that fails without a violation: %v", rs[3].err)
	}
	if err := rs.err(); err == nil || !strings.Contains(err.Error(), "1 survived, 2 could not be tested") {
		t.Errorf("the command's error is %v", err)
	}
	if text := rs.table(); strings.Count(text, "**nothing**") != 1 || strings.Count(text, "**error**") != 2 {
		t.Errorf("the table is %s", text)
	}
}

// Of two guards each is enough: only a mutation of both is found.
func TestSearch_RemovesTwoGuards(t *testing.T) {
	t.Parallel()
	root := newRepository(t, map[string]string{
		"a.go": "package m\n\nfunc sell(free int) bool { return free > 0 && isLeft(free) }\n",
		"b.go": "package m\n\nfunc isLeft(seats int) bool { return seats > 0 }\n",
	})
	one := mutation{name: "one", from: "free > 0", to: "true", file: "a.go", tests: "Sell"}
	both := one
	both.name, both.also = "both", edit{from: "seats > 0", to: "true", file: "b.go"}
	rs, err := newSearch(testSettings, root, "", []mutation{one, both}).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rs[0].verdict() != "SURVIVED" || rs[1].foundBy != "`TestSell_NeedsASeat` in `.`" {
		t.Errorf("one guard: %s; both: %s", rs[0].verdict(), rs[1].verdict())
	}
	if text := rs.table(); !strings.Contains(text, "| both | `a.go`, `b.go` |") {
		t.Errorf("the table is %s", text)
	}
	if both.also.from = "no guard"; both.check(root) == nil {
		t.Error("a second guard that is not there was accepted")
	}
}

// Without the program that starts the servers, no test runs and nothing is found.
func TestSearch_WithoutServersFindsNothing(t *testing.T) {
	t.Parallel()
	rs, err := newSearch(testSettings, newRepository(t, nil), filepath.Join(t.TempDir(), "devserver"),
		[]mutation{foundByTest, noServer}).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if !errors.Is(r.err, errNoTests) || r.foundBy != "" {
			t.Errorf("%s: %s", r.name, r.verdict())
		}
	}
}

// Tests that fail, or do not compile, without a mutation find nothing.
func TestSearch_RequiresThatTheControlPasses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		test    string
		wantErr error
	}{
		"fails":            {"package m\n\nimport \"testing\"\n\nfunc TestSell_Fails(t *testing.T) { t.Error(\"always\") }\n", errControl},
		"does not compile": {"package m\n\nfunc TestSell_(t *T) {}\n", errNoTests},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := newRepository(t, map[string]string{"b_test.go": c.test})
			rs, err := newSearch(testSettings, root, "", []mutation{foundByTest}).run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !errors.Is(rs[0].err, c.wantErr) || rs[0].foundBy != "" {
				t.Errorf("%s, want %v", rs[0].verdict(), c.wantErr)
			}
		})
	}
}
