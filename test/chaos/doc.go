// Package chaos holds the fault tests: they start real processes, inject faults and check
// that the guarantees hold. It contains no code of the product.
//
// Words, as in Jepsen and porcupine:
//
//   - The cluster is what the test starts: a replica set of MongoDB, a Redis, APIs and workers.
//   - Clients send requests to the APIs. A generator makes the operations of one client; all of
//     them together are the workload.
//   - The nemesis injects faults. The fault schedule says which faults run in which round.
//   - A proxy is in front of a server and can lose packets.
//   - The history is the list of all operations with their inputs, outputs and times. An
//     operation without a definite answer is indeterminate: it may have been executed or not.
//   - Checkers compare the history and the documents with the guarantees and with a model, and
//     report violations.
//
// The questions, and the files that answer them:
//
//	nemesis_test.go            Do the guarantees hold under faults? (processes; every checker)
//	history_test.go            Is the history of two engines in one process linearizable?
//	service_model_test.go      Do the services answer as a sequential model does? (no faults)
//	recovery_killed_test.go    Is a recovery that was killed completed by the next one?
//	process_crash_test.go      Does anything acknowledged get lost when processes are killed?
//	sales_killed_test.go       Is each sale at once made once when the API that makes it is killed?
//	waitlist_killed_test.go    Does each entry of a waiting list get one offer when the API that makes it is killed?
//	webhooks_killed_test.go    Is every change told, in order, when the process that tells is killed or frozen?
//	leader_test.go             Is each job run by one worker, also when the leader fails?
//	boot_test.go               Is recovery run once when several processes boot?
//	redis_outage_test.go       What do workers do without Redis?
//	stop_*_test.go             Does a process stop in time, and does it lose nothing?
//	overload_*_test.go         Is the API available under overload, and after it?
//	stream_load_test.go        Can thousands subscribe to one event while it sells?
package chaos
