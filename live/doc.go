// Package live tells many listeners what events have left to sell, as it changes.
//
// One stream of changes of MongoDB feeds a process, whatever the number of
// listeners; it begins with the first of them. What changes within Pace is told
// together, so that a hot sale costs a listener some messages a second. Messages
// hold the whole state: who is slow gets the newest and misses only what is past.
//
// IDs rise, and are the same in every process. Who comes back with the last ID
// gets what came since, or a reset where that is not known any more.
//
// It promises nothing about seats: by the time that a state is read it is past.
package live
