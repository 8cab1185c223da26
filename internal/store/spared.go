package store

import (
	"sync"
	"time"
)

// RejectedLocksError says that MongoDB rejected the change of a lock because of a document. Nothing was
// written.
type RejectedLocksError struct {
	IDs   []ID // one of these locks
	cause error
}

func (e RejectedLocksError) Error() string { return "a lock can't be changed: " + e.cause.Error() }

// Unwrap returns the driver's error.
func (e RejectedLocksError) Unwrap() error { return e.cause }

// spared remembers, by event, due locks that MongoDB refused to end, and until when reclaims leave them
// to the sweeps, which report them. A lock without a time is one of several of which one was refused.
type spared struct {
	mu     sync.Mutex
	until  map[ID]map[ID]time.Time
	number int // at least as many as are remembered
}

const (
	// maxSpared bounds the locks that are remembered. A lock that is forgotten is refused once more.
	maxSpared = 10_000
	// A lock that was refused is tried again after a while: it may have been repaired. So are, earlier,
	// those that were given up together.
	refusedFor = 10 * time.Minute
	givenUpFor = time.Minute
)

// Spare remembers that MongoDB refused to end one of some due locks of an event. If there is one, or
// all are given up, no reclaim tries them for a while. Otherwise the next one tells which it is.
func (s *Store) Spare(eventID ID, lockIDs []ID, all bool) {
	s.spared.mu.Lock()
	defer s.spared.mu.Unlock()
	if s.spared.number += len(lockIDs); s.spared.until == nil || s.spared.number > maxSpared {
		s.spared.until, s.spared.number = map[ID]map[ID]time.Time{}, len(lockIDs)
	}
	locks := s.spared.until[eventID]
	if locks == nil {
		locks = map[ID]time.Time{}
		s.spared.until[eventID] = locks
	}
	var until time.Time
	if now := s.db.Clock()(); len(lockIDs) == 1 {
		until = now.Add(refusedFor)
	} else if all {
		until = now.Add(givenUpFor)
	}
	for _, id := range lockIDs {
		if until.After(locks[id]) || locks[id].IsZero() {
			locks[id] = until
		}
	}
}

// refused are the locks of an event that no reclaim tries now.
func (s *spared) refused(eventID ID, now time.Time) (ids []ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, until := range s.until[eventID] {
		if now.Before(until) {
			ids = append(ids, id)
		}
	}
	return ids
}

// has reports whether a lock is written by a statement of its own.
func (s *spared) has(eventID, lockID ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.until[eventID][lockID]
	return has
}
