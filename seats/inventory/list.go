package inventory

import (
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Entry is an entry of the waiting list as it was read.
type Entry struct {
	holdfast.WaitlistEntry
	Revision int64
	Seq      int64  // its place in the order of the event's entries
	Epoch    int64  // of the list: see List
	Wish     string // EntryWish.Text of what it waits for
}

// List is the state of an event's waiting list.
type List struct {
	Seq int64 // of the last entry that was made. Each of them writes the event, so this is the order of their transactions.
	// Epoch is raised when the list closes. An entry that waits and is of an earlier epoch counts as CLOSED; its document follows.
	Epoch   int64
	Closing bool  // entries of earlier epochs may still wait
	Waiting int64 // the WAITING entries of this epoch
	Holds   bool  // see holdfast.Waitlist
	// CheckAt is when the job of the waiting lists has to look at the event; the zero time means never.
	CheckAt time.Time
}

// same reports whether two states are equal.
func (l List) same(o List) bool {
	isSame := l.CheckAt.Equal(o.CheckAt)
	l.CheckAt, o.CheckAt = time.Time{}, time.Time{}
	return isSame && l == o
}

// NewEntry is an entry that a plan makes. Its times are that of the write.
type NewEntry struct {
	holdfast.WaitlistEntry
	Seq, Epoch int64
	Wish       string
}

// EntryWrite changes an entry that has the status From and the revision, and raises the revision.
type EntryWrite struct {
	ID, EventID ID
	From, To    holdfast.EntryStatus
	Revision    int64     // a guard: the entry has not changed since it was read
	LockID      ID        // unchanged if it is zero
	UpdatedAt   time.Time // of the decision
	RunID       string
}

// ByWaitlist stands for the index of a command, in changes that the list makes by itself: its offers.
const ByWaitlist = -1
