// Command testreport reads the output of go test -json. It prints the output of the
// tests that failed and a line per package, then the testing time of each package,
// the slowest tests, and the number of tests that passed, failed and were skipped.
//
// It fails if a test failed or was skipped, or if no test ran: a test must not skip
// because a server is missing.
package main

import (
	"fmt"
	"os"
)

func main() {
	r := newReport(os.Stdout)
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	r.summarize()
	if !r.ok() {
		os.Exit(1)
	}
}
