// Command bench measures the engine beside simpler ways of doing the same work,
// in one run on one machine, and proves the invariants after each measurement.
//
// Every scenario is a table of sides. Each side takes its turn in every round,
// so that whatever else the machine does meets all of them; a figure is the
// median of the rounds, with the least and the most. scripts/bench runs it.
package main
