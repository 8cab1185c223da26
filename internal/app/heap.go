package app

import "os"

// heapReserve is memory that is reserved and never used, so it is not resident. Go's garbage collector begins when the heap
// has doubled since the last collection, and counts the reserve: of a small heap, it collects several times less often. At
// full load up to as much more memory holds garbage.
const heapReserve = 64 << 20

var reserved []byte

// ReserveHeap makes the garbage collector work less, unless the operator has set it up by GOGC or GOMEMLIMIT.
func ReserveHeap() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		reserved = make([]byte, heapReserve)
	}
}
