package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// testRun is tests of one package, run with environment variables.
type testRun struct {
	pkg, tests string
	env        []string
	timeout    time.Duration
	failFast   bool
}

// outcome is how a testRun ended. err says that it tells nothing about the code: the command did
// not get to its tests, or was stopped.
type outcome struct {
	output string
	failed bool
	err    error
}

// buildTimeout is added to a testRun's timeout.
const buildTimeout = 5 * time.Minute

// runTests runs tests in a copy.
func (s *search) runTests(ctx context.Context, dir string, r testRun) outcome {
	ctx, cancel := context.WithTimeout(ctx, r.timeout+buildTimeout)
	defer cancel()
	args := []string{"go", "test", "-v", "-count=1", "-vet=off", "-timeout", r.timeout.String(), "-run", r.tests, r.pkg}
	if r.failFast {
		args = slices.Insert(args, 2, "-failfast")
	}
	if s.devserver != "" {
		args = append([]string{s.devserver, "with"}, args...)
	}
	test := exec.CommandContext(ctx, args[0], args[1:]...)
	test.Dir, test.Env = dir, append(goEnvironment(), r.env...)
	test.Cancel = func() error { return test.Process.Signal(syscall.SIGTERM) }
	test.WaitDelay = 30 * time.Second
	text, err := test.CombinedOutput()
	return judge(string(text), errors.Join(err, ctx.Err()), ctx.Err() != nil)
}

var (
	errNoTests = errors.New("the command did not get to its tests")
	errStopped = errors.New("the tests were stopped")

	noTests     = regexp.MustCompile(`\[(build failed|setup failed|no tests to run|no test files)\]`)
	testBegan   = regexp.MustCompile(`(?m)^=== RUN `)
	failure     = regexp.MustCompile(`--- FAIL: (\S+)`)
	crash       = regexp.MustCompile(`(?m)^(panic|fatal error): `)
	packageEnds = regexp.MustCompile(`(?m)^FAIL\t\S+\t[0-9.]+s$`)
)

// judge decides by the output of go test -v, and by the error of the command, whether a test
// failed. A command that fails has failed a test only if its output says so.
func judge(output string, err error, stopped bool) outcome {
	o := outcome{output: output}
	switch {
	case stopped:
		o.err = fmt.Errorf("%w: %w", errStopped, err)
	case noTests.MatchString(output) || !testBegan.MatchString(output):
		o.err = errors.Join(fmt.Errorf("%w: %s", errNoTests, lastLine(output)), err)
	case err == nil:
	case packageEnds.MatchString(output) && (failure.MatchString(output) || crash.MatchString(output)):
		o.failed = true
	default:
		o.err = fmt.Errorf("no test failed, but the command did: %w: %s", err, lastLine(output))
	}
	return o
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// failedTest returns the test that failed, by its whole name.
func failedTest(text string) string {
	found := failure.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return "the tests, which ended early,"
	}
	return found[len(found)-1][1]
}

var (
	violation = regexp.MustCompile(`_test\.go:\d+: \[[^]]*\] ([a-z ]+): ([^\n]*)`)
	undecided = regexp.MustCompile(`requests\) was not decided`)
	// variable matches IDs and names of files, which differ from run to run.
	variable = regexp.MustCompile(`\b[0-9a-f]{24}\b|history-\S+`)
)

// violations returns the checkers that found a violation in a test's output, and the message of
// the first one. Without a violation it returns the output's end.
func violations(text string) (checkers, message string) {
	found := violation.FindAllStringSubmatch(text, -1)
	if len(found) == 0 && undecided.MatchString(text) {
		return "linearizability", "a history was not decided in time"
	}
	if len(found) == 0 {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		return "", strings.Join(lines[max(0, len(lines)-4):], "; ")
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
