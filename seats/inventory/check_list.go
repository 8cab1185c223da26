package inventory

import (
	"time"

	"github.com/holdfast-dev/holdfast"
)

// CheckList does what is due for a waiting list: it ends the entries of a list that has closed, UpTo of them at a time, and makes
// offers. Result.MoreOffers says that it has to be repeated. Result.List says what it has done.
type CheckList struct{ UpTo int }

// ListCheck is what the transaction of a CheckList has done.
type ListCheck struct {
	Offers int // that it has made
	Closed int // the entries that it has closed
	// Late is how long after List.CheckAt the offers were made; 0 if that time had not come.
	Late time.Duration
	// Missed is how many of the offers an earlier transaction should have made: nothing was due and nothing was freed. It is known
	// only if the transaction had no other command.
	Missed int
}

func (c CheckList) decide(d *decision) Result {
	if !d.ensureEvent() {
		return Result{Err: holdfast.NotFound(holdfast.CodeEventNotFound)}
	}
	if d.state.Now.IsZero() {
		d.needs.Event = true
		return Result{}
	}
	if d.event.List.Closing {
		if d.state.ToClose == nil {
			d.needs.ToClose = c.UpTo
			return Result{}
		}
		for _, e := range *d.state.ToClose {
			if _, changed := d.list.entries[e.ID]; !changed { // by another check of this batch
				d.writeEntry(e, EntryWrite{To: holdfast.EntryClosed})
				d.list.closed++
			}
		}
		d.event.List.Closing = len(*d.state.ToClose) >= c.UpTo
	}
	d.list.looked = true
	d.freed()
	return Result{checksList: true}
}

// checkedList adds to the result of a CheckList what the whole batch has done.
func (d *decision) checkedList(r *Result) {
	r.MoreOffers = d.list.more || d.event.List.Closing
	r.List = ListCheck{Offers: d.list.made, Closed: d.list.closed}
	now, at := d.state.Now, d.state.Event.List.CheckAt
	switch {
	case at.IsZero() || at.After(now.Add(retryPassedOver)):
		if d.commands == 1 && !d.ends() {
			r.List.Missed = d.list.made
		}
	case !at.After(now):
		r.List.Late = now.Sub(at)
	}
}

// CloseList ends the entries that wait, so that the event can be archived. The setting of the list stays as it is. The documents of
// the entries follow by CheckList.
type CloseList struct{ Revision int64 } // of the event when it was found to be over; if it has changed, nothing is done

func (c CloseList) decide(d *decision) Result {
	if !d.ensureEvent() {
		return Result{Err: holdfast.NotFound(holdfast.CodeEventNotFound)}
	}
	if d.state.Now.IsZero() {
		d.needs.Event = true
		return Result{}
	}
	if d.event.Revision != c.Revision {
		return Result{}
	}
	d.closeEntries()
	d.ifUnchanged = true
	return Result{}
}

// RecountList corrects the number of entries that wait. It does nothing if the event has changed since they were counted.
type RecountList struct {
	Revision int64 // of the event, when they were counted
	Waiting  int64 // the WAITING entries of the list's epoch
	LastSeq  int64 // their highest place in the order
	RunID    string
}

func (c RecountList) decide(d *decision) Result {
	if !d.ensureEvent() {
		return Result{Err: holdfast.NotFound(holdfast.CodeEventNotFound)}
	}
	l := &d.event.List
	if d.event.Revision != c.Revision || l.Waiting == c.Waiting && l.Seq >= c.LastSeq {
		return Result{}
	}
	if d.state.Now.IsZero() {
		d.needs.Event = true
		return Result{}
	}
	d.writeOfEvent().RunID = c.RunID
	l.Waiting, l.Seq, d.ifUnchanged = c.Waiting, max(l.Seq, c.LastSeq), true
	d.freed()
	return Result{WrongList: true}
}
