package chaos_test

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// The part of waitlistChecker that knows who may get seats.

// taken is what a transaction has done with seats.
type taken struct {
	offered  map[holdfast.ID]room // by entry
	byOthers room                 // customers without an offer, and offers that have grown
	// givenBack came back while a lock was changed, which may have been after others got theirs. What locks that have ended gave
	// back came before that.
	givenBack room
	lost      map[holdfast.ID]int64 // seats that a customer's locks have no more
	isGranted bool                  // a lock was granted, so the sale was open when the transaction was decided
	ended     int                   // locks that gave all seats back
}

// seatsTaken is what the transaction has done with seats.
func (c *listChange) seatsTaken() taken {
	t := taken{offered: map[holdfast.ID]room{}, lost: map[holdfast.ID]int64{}}
	for id, l := range c.locks {
		before, after := roomOf(l.before), roomOf(l.after)
		gained, lost := after.beyond(before), before.beyond(after)
		t.lost[l.before.User] += max(0, takenOf(l.before)-takenOf(l.after))
		if !l.after.takesSeats() {
			if l.before.takesSeats() {
				t.ended++
			}
			continue
		}
		t.givenBack = t.givenBack.plus(lost)
		switch {
		case l.after.Status == "BLOCKED" || c.isSuccessor(id, l): // the venue, and whose seats they were before
		case l.before.Status == "" && !l.after.Entry.IsZero():
			t.offered[l.after.Entry] = gained
		default:
			t.byOthers = t.byOthers.plus(gained)
		}
		t.isGranted = t.isGranted || l.before.Status == "" && l.statuses[0] == "ACTIVE"
	}
	return t
}

func takenOf(l listLock) int64 {
	if l.takesSeats() && l.Status != "BLOCKED" {
		return l.Seats
	}
	return 0
}

// isSuccessor reports whether a new lock has the seats of a lock that the transaction has ended for it: by a late payment whose lock
// nothing had ended, or by a transfer.
func (c *listChange) isSuccessor(id holdfast.ID, l *lockChange) bool {
	for other, o := range c.locks {
		isLeft := o.after.EndedBy == "late-payment" || o.after.EndedBy == "transfer"
		if other != id && l.before.Status == "" && isLeft && o.before.takesSeats() && !o.after.takesSeats() &&
			o.after.Booking == l.after.Booking && !l.after.Booking.IsZero() && o.before.Seats == l.after.Seats {
			return true
		}
	}
	return false
}

// checkOffers holds invariant 11, before and after the transaction. h is nil for an event without numbered seats.
func (e *listEvent) checkOffers(h *hall, c *listChange) (violations []string) {
	t := c.seatsTaken()
	isTimed := !e.StartsAt.IsZero() || !e.EndsAt.IsZero()
	if !e.makesOffers(e.UpdatedAt) || isTimed && !t.isGranted { // The sale may have begun after the decision.
		return nil
	}
	free, isStrict := e.free(h), e.Fit == "STRICT"
	hadRules := !c.hasRules && e.hasRulesOf(c.before)
	wasOpen := hadRules && c.before.makesOffers(e.UpdatedAt)
	if hadRules && c.before.hasMore() && e.hasMore() && !t.byOthers.isEmpty() && t.givenBack.isEmpty() {
		violations = append(violations, fmt.Sprintf("others got %v while offers were to be made", t.byOthers))
	}
	for n, id := range e.waiting() {
		entry := e.entries[id]
		if e.isCapped(entry, t.lost[entry.User]) {
			continue
		}
		if !e.hasMore() && free.fits(h, entry) {
			violations = append(violations, fmt.Sprintf("entry %s, which waits in place %d of a %s list, fits what is free: %+v, %v",
				id, n+1, e.Fit, entry, free))
		}
		if change, isChanged := c.entries[id]; wasOpen && (!isChanged || change.before.Status != "") {
			violations = append(violations, e.passedOver(h, id, t, free)...)
		}
		if isStrict {
			break
		}
	}
	return violations
}

// isCapped reports whether a limit of the customer may keep an entry from an offer. lost is what the customer's locks have no more.
func (e *listEvent) isCapped(entry listEntry, lost int64) bool {
	return e.PerUser > 0 && e.held(entry.User)+lost+entry.Seats > e.PerUser
}

// passedOver: an entry that waited before the transaction and waits after it, and that no limit keeps from an offer, did not fit what
// others and later entries got. The first one of a STRICT list keeps all of it.
func (e *listEvent) passedOver(h *hall, id holdfast.ID, t taken, free room) (violations []string) {
	entry := e.entries[id]
	got := t.byOthers
	var later []holdfast.ID
	for other, offered := range t.offered {
		if e.entries[other].Internal.Seq > entry.Internal.Seq {
			got, later = got.plus(offered), append(later, other)
		}
	}
	if got.isEmpty() {
		return nil
	}
	if e.Fit == "STRICT" {
		return []string{fmt.Sprintf("the first entry %s waits, and others got %v, with the later entries %v", id, got, later)}
	}
	if could := free.plus(got).without(t.givenBack); could.fits(h, entry) {
		return []string{fmt.Sprintf("entry %s waits and fits what others got, with the later entries %v: %+v, %v of %v",
			id, later, entry, got, could)}
	}
	return nil
}

// add counts what a transaction has done.
func (r *waitlistReport) add(e *listEvent, c *listChange) {
	counters := map[string]*int{"WAITING": &r.joined, "OFFERED": &r.offered, "ACCEPTED": &r.accepted, "DECLINED": &r.declined,
		"EXPIRED": &r.expired, "LEFT": &r.left, "CLOSED": &r.closed}
	t := c.seatsTaken()
	if e.Internal.List.Waiting > 0 {
		r.states++
	}
	for id, change := range c.entries {
		for _, status := range change.statuses {
			if n := counters[status]; n != nil {
				*n++
			}
		}
		if _, isOffered := t.offered[id]; isOffered {
			if waiting := e.waiting(); len(waiting) > 0 && e.entries[waiting[0]].Internal.Seq < change.after.Internal.Seq {
				r.passedOver++
			}
			if t.ended > 1 && len(t.offered) < t.ended {
				r.together++
			}
		}
	}
	if len(t.offered) > 0 && !t.byOthers.isEmpty() {
		r.races++
	}
}

// know tells which halls plans are of.
func (w *waitlistChecker) know(plans map[*hall]string) {
	halls := map[string]*hall{}
	for h, plan := range plans {
		halls[plan] = h
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hallOf = func(plan holdfast.ID) *hall { return halls[plan.String()] }
}

// takeReport returns what was counted so far, and begins again.
func (w *waitlistChecker) takeReport() (r waitlistReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, w.report = w.report, waitlistReport{}
	return r
}

// openOffers are what an event's list owes at rest: offers to entries that fit, and documents of a list that was closed.
func (w *waitlistChecker) openOffers(id holdfast.ID) (open []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.events[id]
	if e == nil {
		return nil
	}
	list := e.Internal.List
	for id, entry := range e.entries {
		if entry.Status == "WAITING" && !entry.waits(list) {
			open = append(open, fmt.Sprintf("entry %s is WAITING, but its list was closed", id))
		}
	}
	if list.Closing || e.hasMore() {
		open = append(open, fmt.Sprintf("its list is %+v", list))
	}
	h := w.hallOf(e.Plan)
	if !e.makesOffers(time.Now()) || !e.Plan.IsZero() && h == nil {
		return open
	}
	for _, id := range e.waiting() {
		entry := e.entries[id]
		isCapped := e.isCapped(entry, 0)
		if !isCapped && e.free(h).fits(h, entry) {
			open = append(open, fmt.Sprintf("entry %s waits, and fits what is free: %+v", id, entry))
		}
		if e.Fit == "STRICT" && !isCapped {
			break
		}
	}
	return open
}
