package main

import (
	"fmt"
	"strings"
	"testing"
)

func runReport(t *testing.T, lines ...string) (out string, ok bool) {
	t.Helper()
	var b strings.Builder
	r := newReport(&b)
	if err := r.read(strings.NewReader(strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}
	r.summarize()
	return b.String(), r.ok()
}

func ended(action, pkg, test string, seconds float64) string {
	return fmt.Sprintf(`{"Action":%q,"Package":%q,"Test":%q,"Elapsed":%v}`, action, pkg, test, seconds)
}

func output(pkg, test, text string) string {
	return fmt.Sprintf(`{"Action":"output","Package":%q,"Test":%q,"Output":%q}`, pkg, test, text)
}

func TestReport_FailsUnlessEveryTestRanAndPassed(t *testing.T) {
	t.Parallel()
	passed := []string{ended("pass", "a", "Test1", 1), ended("pass", "a", "", 2)}
	for name, c := range map[string]struct {
		lines []string
		want  bool
	}{
		"passed":         {lines: passed, want: true},
		"no tests":       {lines: []string{ended("skip", "a", "", 0)}},
		"failed test":    {lines: append(passed, ended("fail", "a", "Test2", 1))},
		"skipped test":   {lines: append(passed, ended("skip", "a", "Test2", 1))},
		"failed package": {lines: append(passed, ended("fail", "b", "", 1))},
		"failed build":   {lines: append(passed, `{"Action":"build-fail","ImportPath":"b"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, ok := runReport(t, c.lines...); ok != c.want {
				t.Error(out)
			}
		})
	}
}

func TestReport_PrintsTheOutputOfFailuresOnly(t *testing.T) {
	t.Parallel()
	out, _ := runReport(t, "not an event",
		output("a", "Test1", "good\n"), ended("pass", "a", "Test1", 1),
		output("a", "Test2", "bad\n"), ended("fail", "a", "Test2", 1),
		output("a", "Test3", "unfinished\n"),
		ended("fail", "a", "", 1))
	for text, want := range map[string]bool{"not an event": true, "good": false, "bad": true, "unfinished": true, "FAIL  a  1.0s": true} {
		t.Run(text, func(t *testing.T) {
			if strings.Contains(out, text) != want {
				t.Errorf("printed: %v\n%s", !want, out)
			}
		})
	}
}

func TestReport_RepeatsTheEndOfWhatFailed(t *testing.T) {
	t.Parallel()
	lines := []string{output("a", "Test1", "good\n"), ended("pass", "a", "Test1", 1)}
	for i := range 100 {
		lines = append(lines, output("a", "Test2", fmt.Sprintf("line %d\n", i)))
	}
	var b strings.Builder
	r := newReport(&b)
	if err := r.read(strings.NewReader(strings.Join(append(lines, ended("fail", "a", "Test2", 1)), "\n"))); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	r.printFailures()
	want := "\nFAILED a Test2\n"
	for i := 70; i < 100; i++ {
		want += fmt.Sprintf("line %d\n", i)
	}
	if b.String() != want {
		t.Error(b.String())
	}
}

// The slowest ten tests are in order of time; tests with subtests are not listed.
func TestReport_PrintsTheTimes(t *testing.T) {
	t.Parallel()
	lines := []string{ended("pass", "a", "Test/sub", 50), ended("pass", "a", "Test", 99)}
	for i := range 12 {
		lines = append(lines, ended("pass", "b", fmt.Sprintf("Test%d", i), float64(i)))
	}
	out, _ := runReport(t, lines...)
	want := "\nSlowest tests:\n    50.0s  a Test/sub\n    11.0s  b Test11\n"
	if !strings.HasPrefix(out, want) || strings.Contains(out, "Test2\n") ||
		!strings.Contains(out, "Test3\n") || strings.Contains(out, "99.0s") {
		t.Error(out)
	}
}
