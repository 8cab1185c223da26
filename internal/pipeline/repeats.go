package pipeline

import (
	"hash/maphash"
	"sync"
)

// maxKeys bounds the keys of one generation of repeats. Two generations are kept.
const maxKeys = 1 << 15

// repeats remembers the idempotency keys of this process's latest requests. A request whose key is in use fails its
// transaction, so it should not share a transaction with other events. repeats keeps hashes: if two keys have the
// same hash, a request does not share although it could.
type repeats struct {
	seed maphash.Seed

	mu               sync.Mutex
	recent, previous map[uint64]struct{}
}

func newRepeats() *repeats {
	return &repeats{seed: maphash.MakeSeed(), recent: map[uint64]struct{}{}}
}

// note notes a request of a user, and reports whether it was noted before.
func (r *repeats) note(user ID, key string) (before bool) {
	h := maphash.Comparable(r.seed, struct {
		user ID
		key  string
	}{user, key})
	r.mu.Lock()
	defer r.mu.Unlock()
	_, isRecent := r.recent[h]
	_, wasPrevious := r.previous[h]
	if len(r.recent) >= maxKeys {
		r.recent, r.previous = map[uint64]struct{}{}, r.recent
	}
	r.recent[h] = struct{}{}
	return isRecent || wasPrevious
}
