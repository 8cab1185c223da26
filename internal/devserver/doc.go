// Package devserver finds, fetches and runs the servers that development and
// tests need: a mongod as a replica set of one, and a redis-server.
//
// It guarantees that a server listens on loopback only, on a free port, and
// ends with the process that started it, even if that one is killed: a shell
// between the two holds the reading end of a pipe and ends the server when the
// pipe closes.
//
// It is for development and tests only. The mongod that it fetches where none
// is on the path is 6.0.24, which its makers no longer mend; run MongoDB 8.0
// for customers.
package devserver
