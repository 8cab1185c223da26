// Package seatctl is the commands of the operators' tool. It works on the database
// itself, as the API and the workers do, by the same settings; what changes
// something goes through the jobs' leases, so that it never runs beside them.
//
// Its exit codes are for scripts: 0 all is well, 1 it failed, 2 it was called
// wrongly, 3 there is something for people to look at.
package seatctl
