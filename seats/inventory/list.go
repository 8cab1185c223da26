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

// closeList plans the state of the list after the batch, if the batch writes the event or has looked at the list.
func (d *decision) closeList() {
	if d.state.Event == nil || !d.event.Waitlist.HasBegun || !d.list.looked && !d.moves() {
		return
	}
	now, l := d.state.Now, &d.event.List
	if !now.IsZero() && l.Waiting > 0 && d.event.HasSold(now) {
		d.closeEntries()
	}
	l.Holds = d.list.holds && l.Waiting > 0
	at := d.nextCheck()
	if isSoon := at.After(now) && !at.After(now.Add(retryPassedOver)); isSoon && l.CheckAt.After(now) && l.CheckAt.Before(at) {
		at = l.CheckAt // a list that is looked at again and again is not written each time
	}
	if !now.IsZero() {
		l.CheckAt = at
	}
	d.ifUnchanged = d.ifUnchanged || l.Waiting > 0 || !l.same(d.state.Event.List)
}

// nextCheck returns when the job has to look at the list; the zero time means never.
func (d *decision) nextCheck() (at time.Time) {
	now, e := d.state.Now, &d.event
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if e.List.Closing || d.list.more {
		return now
	}
	if e.List.Waiting == 0 {
		return at
	}
	if !e.SaleEndsAt.IsZero() {
		sooner(e.SaleEndsAt)
	}
	if e.Waitlist.Status != holdfast.WaitlistOpen || e.Status != holdfast.OnSale {
		return at
	}
	switch {
	case now.Before(e.SaleStartsAt):
		sooner(e.SaleStartsAt)
	case d.list.passedOver:
		sooner(now.Add(retryPassedOver))
	case !d.list.looked && !e.List.CheckAt.IsZero(): // why is not known
		sooner(e.List.CheckAt)
	}
	return at
}

// closeEntries ends the entries that wait. They count as CLOSED from the write on; their documents follow.
func (d *decision) closeEntries() {
	if l := &d.event.List; d.event.Waitlist.HasBegun && (l.Waiting > 0 || !l.Closing) { // entries may wait although none is counted
		l.Epoch, l.Closing, l.Waiting, l.Holds = l.Epoch+1, true, 0, false
	}
}
