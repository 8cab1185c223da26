// Package peers lets the API processes of a deployment sell one hot event together: they send its commands to one of
// them, its owner, so that they share that process's transactions. Without it each process commits its own clients' few
// commands, and the transactions of twenty processes conflict.
//
//	client ─► A ─ Forward ─► owner ─► its queue ─► one transaction for the clients of all processes
//	client ─► B ─ Forward ───┘
//
// What is forwarded is a command that A has authenticated and checked. The owner carries it out as its own, and never
// forwards it again. Correctness does not depend on which process that is, or on whether the processes agree about it: the
// transaction alone makes a seat safe. So each process decides by itself:
//
//	question              decided by
//	which events          the process's own commits and attempts: they meet commits of other processes (routes)
//	which is the owner    a hash of the event and of each process that shows a heartbeat (owner)
//	for how long          the owner's answers: as long as several processes have commands for the event (routes)
//	events not seen yet   whether many others are forwarded: then no load balancer routes by event (routes)
//
// What can go wrong, and what happens then:
//
//	case                                             then
//	there is no session with the owner               the process carries the command out itself
//	the owner does not take it, because it stops     the process carries the command out itself
//	the session ends before the answer, or the       the process carries the command out itself, in a transaction that
//	owner says nothing for 2 s                       finds what the owner has done; a change of seats is not repeated:
//	                                                 OUTCOME_UNKNOWN
//	the caller gives up                              the owner is told, and treats the command like one of its own
//	                                                 callers' that gave up
//	the owner's heartbeat ends                       it gets nothing new; what it has it may answer
//
// Before the owner commits what it does for other processes, it asks each of them which callers still wait, after it has
// written the event (client.Waiting, and askRemotes in package pipeline). A process that does not say so within half a second, or
// whose session has ended, waits for nothing any more: it carries its commands out itself.
//
// Each process has a key of its own, made at its start. Its heartbeat in the database names its address and the
// SHA-256 of its certificate. Processes connect by TLS, and each accepts the other only with that certificate: a process
// that can't write to the database can neither send commands nor receive any.
package peers
