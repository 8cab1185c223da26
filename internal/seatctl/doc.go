// Package seatctl implements the commands of the operators' tool. It accesses the
// database directly, with the same settings as the API and the workers. Commands
// that change something acquire the jobs' leases, so that they do not overlap with
// the scheduled runs.
//
// The exit codes are for scripts: 0 no findings, 1 the command failed, 2 wrong
// usage, 3 findings that a person must look at.
package seatctl
