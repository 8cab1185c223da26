// Command bench compares the engine with simpler ways of doing the same work,
// in one run on one machine, and checks the invariants after each measurement.
//
// A scenario is a table of variants: the engine, and the baselines to compare it
// with. Every variant runs once in each round, so that other load on the machine
// affects all of them; a figure is the median of the rounds, with the minimum and
// the maximum. With -against, the program compares two builds of itself instead:
// see compare.go. scripts/bench builds and runs it.
package main
