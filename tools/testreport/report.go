package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	slowestTests = 10
	lastLines    = 30 // of a failed test's output, repeated at the end
	maxLineBytes = 16 << 20
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// timing is how long a test took.
type timing struct {
	name    string
	seconds float64
}

type report struct {
	out io.Writer

	passed, failed, skipped int
	brokenPackages          int // they failed, or did not build

	failures []string // the name of each failed test or package, and the end of its output

	tests   []timing
	parents map[string]bool             // tests with subtests, by name
	output  map[string]*strings.Builder // of the tests and packages that have not ended, by name
}

func newReport(out io.Writer) *report {
	return &report{out: out, parents: map[string]bool{}, output: map[string]*strings.Builder{}}
}

// read reads events, and prints what failed and a line per package. It copies lines
// that are not events.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			r.printf("%s\n", lines.Text())
			continue
		}
		r.add(e)
	}
	for _, rest := range r.output { // of tests that did not end, for example because of a panic
		r.printf("%s", rest)
	}
	return lines.Err()
}

func (r *report) add(e event) {
	name := e.Package
	if e.Test != "" {
		name += " " + e.Test
	}
	switch e.Action {
	case "output", "build-output":
		if r.output[name] == nil {
			r.output[name] = &strings.Builder{}
		}
		r.output[name].WriteString(e.Output)
	case "build-fail":
		r.brokenPackages++
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(name, e)
		} else {
			r.endTest(name, e)
		}
		delete(r.output, name)
	}
}

func (r *report) endPackage(name string, e event) {
	switch e.Action {
	case "fail":
		r.brokenPackages++
		r.keepFailure(name)
		r.printOutput(name)
		r.printf("FAIL  %s  %.1fs\n", name, e.Elapsed)
	case "pass": // a package without tests is skipped
		r.printf("ok    %s  %.1fs\n", name, e.Elapsed)
	}
}

func (r *report) endTest(name string, e event) {
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		r.printOutput(name)
	default:
		r.failed++
		r.keepFailure(name)
		r.printOutput(name)
	}
	for i, c := range name {
		if c == '/' {
			r.parents[name[:i]] = true
		}
	}
	r.tests = append(r.tests, timing{name: name, seconds: e.Elapsed})
}

// summarize prints the slowest tests and the counts. A test with subtests is not among the
// slowest tests, because its time includes the subtests.
func (r *report) summarize() {
	leaves := slices.DeleteFunc(slices.Clone(r.tests), func(t timing) bool { return r.parents[t.name] })
	slices.SortFunc(leaves, func(a, b timing) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), strings.Compare(a.name, b.name))
	})
	r.printf("\nSlowest tests:\n")
	for _, t := range leaves[:min(slowestTests, len(leaves))] {
		r.printf("%8.1fs  %s\n", t.seconds, t.name)
	}
	r.printf("\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}

// keepFailure keeps the end of a failed test's output, in which its reasons are.
func (r *report) keepFailure(name string) {
	var end []string
	if text := r.output[name]; text != nil {
		end = slices.Collect(strings.Lines(text.String()))
	}
	r.failures = append(r.failures, name+"\n"+strings.Join(end[max(0, len(end)-lastLines):], ""))
}

// printFailures repeats what failed, so that it is at the end of a long run.
func (r *report) printFailures() {
	for _, failure := range r.failures {
		r.printf("\nFAILED %s", failure)
	}
}

func (r *report) ok() bool { return r.passed > 0 && r.failed+r.skipped+r.brokenPackages == 0 }

func (r *report) printOutput(name string) {
	if text := r.output[name]; text != nil {
		r.printf("%s", text)
	}
}

func (r *report) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.out, format, args...) // there is no other place to report a failure
}
