package app

import "os"

// heapReserve is the number of bytes that ReserveHeap returns.
const heapReserve = 64 << 20

// ReserveHeap returns memory that nothing writes to, so it is not resident. While the caller keeps it, the garbage collector
// runs less often, because it starts when the heap, including the reserve, has doubled since the last collection. In return up
// to this much more memory may hold garbage. It returns nil if the operator has set GOGC or GOMEMLIMIT.
func ReserveHeap() (reserve []byte) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, heapReserve)
}
