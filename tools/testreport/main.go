// Command testreport reads the output of go test -json. It prints the output of
// failed tests and a line per package. Then it prints the slowest tests, and how many tests passed, failed and were skipped.
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
