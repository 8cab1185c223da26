// Command mutate checks the checkers: it takes guards out of copies of Holdfast,
// one at a time, and runs the proof against each copy until a checker tells of it.
//
//	scripts/chaos mutations [NAME…]
//
// A mutation that no checker finds is told as one that lives, and makes the
// command fail. What it prints is the table of docs/proof.md.
package main
