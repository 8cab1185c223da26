// Command testreport reads the output of go test -json. It prints the output of
// failed tests and a line per package. Then it prints the slowest tests, and how many tests passed, failed and were skipped.
//
// With the argument "failures" it prints only the names of what failed, each with the end of its output.
//
// It fails if a test failed or was skipped, or if no test ran: a test must not skip
// because a server is missing.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
)

func main() {
	onlyFailures := slices.Equal(os.Args[1:], []string{"failures"})
	out := io.Writer(os.Stdout)
	if onlyFailures {
		out = io.Discard
	}
	r := newReport(out)
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	if onlyFailures {
		r.out = os.Stdout
		r.printFailures()
	} else {
		r.summarize()
	}
	if !r.ok() {
		os.Exit(1)
	}
}
