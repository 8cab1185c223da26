// Command mutate checks the tests: it removes guards from copies of Holdfast, one at a time, and
// runs tests against each copy until one of them finds the mutation.
//
//	scripts/chaos mutations [FLAGS]
//
// Where each of two guards is enough, a mutation removes both. Each mutation names the tests that
// find it; they run first, because they take seconds. If they find nothing, or if a mutation names
// none, the nemesis runs until a checker finds a violation. --by=nemesis checks the checkers: it
// runs the nemesis for every mutation.
//
// Only a failed test or a checker's violation finds a mutation. A command that fails otherwise, for
// a server that does not start or a test that does not compile, is an error. Each command first
// runs without a mutation, as a control, and must pass.
//
// The command prints a table in Markdown: each guard, its file, the checker or the test that
// failed, and the message. A mutation that nothing finds has survived. It
// makes the command fail, and so does an error.
package main
