// Command mutate checks the checkers: it removes guards from copies of Holdfast, one at a time,
// and runs the fault tests against each copy until a checker finds a violation.
//
//	scripts/chaos mutations [FLAGS]
//
// It prints a table in Markdown: each guard, its file, the checker or the test that failed, and
// the message. A mutation that no test finds has survived, and makes the command fail.
package main
