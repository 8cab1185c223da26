package app

import "os"

// heapReserve is the size of what ReserveHeap returns.
const heapReserve = 64 << 20

// ReserveHeap returns memory that nothing writes to, so it is not resident. While the caller keeps it, the garbage collector
// works less: it begins when the heap has doubled since the last collection, and counts the reserve. Up to as much more memory
// then holds garbage. It returns nil if the operator has set GOGC or GOMEMLIMIT.
func ReserveHeap() (reserve []byte) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, heapReserve)
}
