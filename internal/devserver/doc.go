// Package devserver finds, fetches and runs the servers that development and
// tests need: a mongod as a replica set of one, and a redis-server.
//
// A server listens on a free port of loopback only. It ends with the process that
// started it, even if that process is killed: a shell between the two reads from
// a pipe, and ends the server when the pipe closes.
//
// The package is for development and tests only. If no mongod is on the path, it
// fetches version 6.0.27, which no longer gets security fixes. Use MongoDB 8.0 in
// production.
package devserver
