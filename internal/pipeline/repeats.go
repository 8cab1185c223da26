package pipeline

import (
	"hash/maphash"
	"sync"
)

// maxKeys is how many keys a generation of repeats has. Two are kept.
const maxKeys = 1 << 15

// repeats tells which requests this process has had lately, by their idempotency keys. A request whose key is in use
// fails its transaction, so that it had better not share one. It keeps hashes: where two are equal, a request goes
// without sharing.
type repeats struct {
	seed maphash.Seed

	mu             sync.Mutex
	recent, former map[uint64]struct{}
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
	_, isFormer := r.former[h]
	if len(r.recent) >= maxKeys {
		r.recent, r.former = map[uint64]struct{}{}, r.recent
	}
	r.recent[h] = struct{}{}
	return isRecent || isFormer
}
