package store

import "sync"

// RejectedLocksError says that MongoDB rejected the change of a lock because of a document. Nothing was
// written.
type RejectedLocksError struct {
	IDs   []ID // one of these locks
	cause error
}

func (e RejectedLocksError) Error() string { return "a lock can't be changed: " + e.cause.Error() }

// Unwrap returns the driver's error.
func (e RejectedLocksError) Unwrap() error { return e.cause }

// spared remembers, by event, due locks that MongoDB refused to end. Reclaims leave them to the sweeps,
// which report them.
type spared struct {
	mu     sync.Mutex
	locks  map[ID]map[ID]isRefused
	number int // at least as many as are remembered
}

// isRefused says of a lock that its change was refused. It is false if that was one of several.
type isRefused bool

// maxSpared bounds the locks that are remembered. A lock that is forgotten is refused once more.
const maxSpared = 10_000

// Spare remembers that MongoDB refused to end one of some due locks of an event. If there is one, or
// all are to be spared, no reclaim tries them again. Otherwise the next one tells which it is.
func (s *Store) Spare(eventID ID, lockIDs []ID, all bool) {
	s.spared.mu.Lock()
	defer s.spared.mu.Unlock()
	if s.spared.number += len(lockIDs); s.spared.locks == nil || s.spared.number > maxSpared {
		s.spared.locks, s.spared.number = map[ID]map[ID]isRefused{}, len(lockIDs)
	}
	locks := s.spared.locks[eventID]
	if locks == nil {
		locks = map[ID]isRefused{}
		s.spared.locks[eventID] = locks
	}
	for _, id := range lockIDs {
		locks[id] = locks[id] || isRefused(all || len(lockIDs) == 1)
	}
}

// refused are the locks of an event that no reclaim tries again.
func (s *spared) refused(eventID ID) (ids []ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, is := range s.locks[eventID] {
		if is {
			ids = append(ids, id)
		}
	}
	return ids
}

// has reports whether a lock is written by a statement of its own.
func (s *spared) has(eventID, lockID ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.locks[eventID][lockID]
	return has
}
