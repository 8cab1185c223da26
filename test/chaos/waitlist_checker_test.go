package chaos_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// waitlistChecker is the part of streamChecker that knows waiting lists. It holds invariant 11 in every committed state: while
// offers are made, no entry that waits fits what is free, and no transaction has given others what an entry fits that waited before
// it. It also checks that entries follow their locks in the same transaction, the order of the offers, the number of entries that
// wait, and that each transition of an entry is told once.
//
// A transaction decides its requests in an order that its documents do not show. So a seat counts as one that was free when a
// request got it only if no order says otherwise: seats that a lock has given back while it was changed may have come back after
// that. See room.
type waitlistChecker struct {
	mu      sync.Mutex // openOffers is called while the stream is followed
	hallOf  func(plan holdfast.ID) *hall
	events  map[holdfast.ID]*listEvent
	offers  map[holdfast.ID]int // locks that an entry got
	changed map[holdfast.ID]*listChange
	report  waitlistReport
}

// listChange is what the current transaction has changed of an event.
type listChange struct {
	before    listDocument
	locks     map[holdfast.ID]*lockChange
	entries   map[holdfast.ID]*entryChange
	told      map[holdfast.ID][]string // changes of entries
	hasRules  bool                     // a change of the event itself
	isWritten bool                     // the event
}

type lockChange struct {
	before, after listLock
	statuses      []string // that it got, in their order
}

type entryChange struct {
	before, after listEntry
	statuses      []string
}

func newWaitlistChecker() *waitlistChecker {
	return &waitlistChecker{
		hallOf: func(holdfast.ID) *hall { return nil }, events: map[holdfast.ID]*listEvent{}, offers: map[holdfast.ID]int{},
		changed: map[holdfast.ID]*listChange{},
	}
}

// event is an event; it is made when one of its documents is seen first.
func (w *waitlistChecker) event(id holdfast.ID) *listEvent {
	if w.events[id] == nil {
		w.events[id] = &listEvent{locks: map[holdfast.ID]listLock{}, entries: map[holdfast.ID]listEntry{}}
	}
	return w.events[id]
}

// change is what the current transaction changes of an event.
func (w *waitlistChecker) change(event holdfast.ID) *listChange {
	if w.changed[event] == nil {
		w.changed[event] = &listChange{
			before: w.event(event).listDocument, locks: map[holdfast.ID]*lockChange{}, entries: map[holdfast.ID]*entryChange{},
			told: map[holdfast.ID][]string{},
		}
	}
	return w.changed[event]
}

// apply applies a change of a document.
func (w *waitlistChecker) apply(id holdfast.ID, change changeEvent) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	fields := change.FullDocument
	if change.Operation == "update" {
		fields = change.Update.Fields
	}
	switch change.Namespace.Collection {
	case "events":
		w.change(id).isWritten = true
		return w.event(id).apply(change)
	case "seatlocks":
		return w.applyLock(id, fields, change.Update.Removed)
	case "waitlist":
		return w.applyEntry(id, fields)
	case "changes":
		return w.applyTold(fields)
	}
	return nil
}

func (w *waitlistChecker) applyLock(id holdfast.ID, fields bson.Raw, removed []string) error {
	before, known := listLock{}, false
	for _, e := range w.events { // a lock that takes no seats is not kept; it never changes its seats again
		if before, known = e.locks[id]; known {
			break
		}
	}
	after := before
	after.SeatIDs = slices.Clone(before.SeatIDs)
	if slices.Contains(removed, "seatIds") {
		after.SeatIDs = nil
	}
	if slices.Contains(removed, "section") {
		after.Section = ""
	}
	if err := unmarshalFields(fields, &after); err != nil {
		return err
	}
	if !known && after.Event.IsZero() { // a change of a lock that has ended
		return nil
	}
	e, c := w.event(after.Event), w.change(after.Event)
	delete(e.locks, id)
	if after.takesSeats() {
		e.locks[id] = after
	}
	l := c.locks[id]
	if l == nil {
		l = &lockChange{before: before}
		c.locks[id] = l
	}
	l.after, l.statuses = after, append(l.statuses, after.Status)
	return nil
}

func (w *waitlistChecker) applyEntry(id holdfast.ID, fields bson.Raw) error {
	before := listEntry{}
	for _, e := range w.events {
		if found, known := e.entries[id]; known {
			before = found
			break
		}
	}
	after := before
	if err := unmarshalFields(fields, &after); err != nil {
		return err
	}
	c := w.change(after.Event)
	w.event(after.Event).entries[id] = after
	if c.entries[id] == nil {
		c.entries[id] = &entryChange{before: before}
	}
	change := c.entries[id]
	if after.Status != before.Status {
		change.statuses = append(change.statuses, after.Status)
	}
	change.after = after
	return nil
}

// applyTold learns a record of changes.
func (w *waitlistChecker) applyTold(fields bson.Raw) error {
	var record struct {
		Event holdfast.ID `bson:"eventId"`
		Items []struct {
			Type  string `bson:"type"`
			Entry *struct {
				ID     holdfast.ID `bson:"_id"`
				Status string      `bson:"status"`
			} `bson:"entry"`
		} `bson:"items"`
	}
	if err := unmarshalFields(fields, &record); err != nil || record.Event.IsZero() {
		return err
	}
	c := w.change(record.Event)
	for _, item := range record.Items {
		if strings.HasPrefix(item.Type, "event.c") { // changed or cancelled
			c.hasRules = true
		}
		if item.Entry != nil {
			c.told[item.Entry.ID] = append(c.told[item.Entry.ID], item.Type+" "+item.Entry.Status)
		}
	}
	return nil
}

func unmarshalFields(fields bson.Raw, to any) error {
	if len(fields) == 0 {
		return nil
	}
	return bson.Unmarshal(fields, to)
}

func (w *waitlistChecker) forget(id holdfast.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.events, id)
	delete(w.offers, id)
	for _, e := range w.events {
		delete(e.locks, id)
		delete(e.entries, id)
	}
}

// checkTransaction checks the states that the current transaction has left.
func (w *waitlistChecker) checkTransaction() (violations []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, c := range w.changed {
		e := w.events[id]
		if e == nil || e.Internal.List == (listState{}) && len(e.entries) == 0 {
			continue
		}
		var found []string
		found = append(found, w.checkEntries(e, c)...)
		found = append(found, e.checkCount(c)...)
		h := w.hallOf(e.Plan)
		if e.Plan.IsZero() == (h == nil) {
			found = append(found, e.checkOffers(h, c)...)
		}
		w.report.add(e, c)
		slices.Sort(found)
		for _, v := range found {
			violations = append(violations, fmt.Sprintf("event %s was committed, but %s", id, v))
		}
	}
	clear(w.changed)
	return violations
}

// entryTransitions are the transitions of an entry, from and to.
var entryTransitions = map[[2]string]bool{
	{"", "WAITING"}: true, {"WAITING", "OFFERED"}: true, {"WAITING", "LEFT"}: true, {"WAITING", "CLOSED"}: true,
	{"OFFERED", "ACCEPTED"}: true, {"OFFERED", "DECLINED"}: true, {"OFFERED", "EXPIRED"}: true, {"OFFERED", "LEFT"}: true,
	{"OFFERED", "CLOSED"}: true,
}

// toldAs is the change that tells that an entry has got a status.
var toldAs = map[string]string{
	"WAITING": "waitlist.joined WAITING", "OFFERED": "waitlist.offered OFFERED", "ACCEPTED": "waitlist.accepted ACCEPTED",
	"DECLINED": "waitlist.declined DECLINED", "EXPIRED": "waitlist.expired EXPIRED", "LEFT": "waitlist.left LEFT",
	"CLOSED": "waitlist.closed CLOSED",
}

// endOf is the status of a lock whose entry gets a status.
var endOf = map[string]string{
	"ACCEPTED": "CONSUMED", "DECLINED": "RELEASED", "EXPIRED": "EXPIRED", "LEFT": "RELEASED", "CLOSED": "RELEASED",
}

// checkEntries: entries go through transitions that are allowed, each of which is told once, and follow their locks.
func (w *waitlistChecker) checkEntries(e *listEvent, c *listChange) (violations []string) {
	wrong := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	for id, change := range c.entries {
		status, want := change.before.Status, []string{}
		for _, next := range change.statuses {
			if !entryTransitions[[2]string{status, next}] {
				wrong("entry %s went from %q to %s", id, status, next)
			}
			status, want = next, append(want, toldAs[next])
		}
		if !slices.Equal(c.told[id], want) {
			wrong("entry %s became %v, but told was %q", id, change.statuses, c.told[id])
		}
		delete(c.told, id)
		if before := change.before.Lock; !before.IsZero() && change.after.Lock != before {
			wrong("entry %s had the offer %s, and now %s", id, before, change.after.Lock)
		}
		if v := change.follows(c.locks[change.after.Lock]); v != "" {
			wrong("entry %s %s", id, v)
		}
	}
	for id, told := range c.told {
		wrong("entry %s did not change, but told was %q", id, told)
	}
	for id, l := range c.locks {
		if l.after.Entry.IsZero() {
			continue
		}
		if l.before.Status == "" {
			if w.offers[l.after.Entry]++; w.offers[l.after.Entry] > 1 {
				wrong("entry %s got the offer %s, and is not without one", l.after.Entry, id)
			}
			if v := e.checkOffer(l.after, w.hallOf(e.Plan), c); v != "" {
				wrong("offer %s %s", id, v)
			}
		}
		entry, exists := c.entries[l.after.Entry]
		hasEnded := l.before.Status == "ACTIVE" && l.after.Status != "ACTIVE"
		if (l.before.Status == "" || hasEnded) && (!exists || entry.after.Lock != id) {
			wrong("offer %s went from %q to %s, but its entry %s did not follow", id, l.before.Status, l.after.Status, l.after.Entry)
		}
	}
	return violations
}

// follows says how an entry does not follow its lock, of which the transaction has changed what l says; nil: nothing.
func (e entryChange) follows(l *lockChange) string {
	for i, status := range e.statuses {
		hadOffer := e.before.Status == "OFFERED" || slices.Contains(e.statuses[:i], "OFFERED")
		switch want := endOf[status]; {
		case status == "OFFERED" && (l == nil || l.before.Status != "" || l.statuses[0] != "ACTIVE"):
			return fmt.Sprintf("was offered, but its lock is %+v", l)
		case want == "" || !hadOffer:
		case l == nil || l.before.Status != "ACTIVE" && l.before.Status != "" || !slices.Contains(l.statuses, want):
			return fmt.Sprintf("became %s, but its lock is %+v", status, l)
		case (status == "CLOSED") != (l.after.EndedBy == "event-cancel") && want == "RELEASED":
			return fmt.Sprintf("became %s, but its lock was ended by %q", status, l.after.EndedBy)
		}
	}
	return ""
}

// checkOffer says what is wrong with a new offer.
func (e *listEvent) checkOffer(l listLock, h *hall, c *listChange) string {
	entry, exists := e.entries[l.Entry]
	lasts := l.ExpiresAt.Sub(l.CreatedAt)
	switch {
	case !exists || entry.User != l.User || entry.Seats != l.Seats:
		return fmt.Sprintf("is %+v, but its entry is %+v", l, entry)
	case c.hasRules: // they may have changed before the offer or after it
	case h != nil && entry.Section == standing && l.Section != standing, h == nil && (l.Section != "" || len(l.SeatIDs) > 0),
		h != nil && entry.Section != standing && !entry.wish().keeps(h, seatsOf(l.SeatIDs...)):
		return fmt.Sprintf("has %v %q, but wished was %+v", l.SeatIDs, l.Section, entry)
	case l.Status == "ACTIVE" && lasts != e.offerTime():
		return fmt.Sprintf("lasts %v, and not %v", lasts, e.offerTime())
	}
	return ""
}

// checkCount: the event's number of entries that wait is right, a closed list has none, the order of new entries is that of their
// transactions, and a customer has one open entry at most.
func (e *listEvent) checkCount(c *listChange) (violations []string) {
	list := e.Internal.List
	waiting := int64(len(e.waiting()))
	if list.Waiting != waiting || e.Waitlist != "OPEN" && e.Waitlist != "PAUSED" && waiting > 0 {
		violations = append(violations, fmt.Sprintf("its list is %s with %d entries that wait, but they are %d",
			e.Waitlist, list.Waiting, waiting))
	}
	for id, change := range c.entries {
		if change.before.Status != "" {
			continue
		}
		if seq := change.after.Internal.Seq; seq <= c.before.Internal.List.Seq || seq > list.Seq || change.after.Internal.Epoch > list.Epoch {
			violations = append(violations, fmt.Sprintf("entry %s is number %d of epoch %d, where the last one was %d, and is %d of epoch %d",
				id, seq, change.after.Internal.Epoch, c.before.Internal.List.Seq, list.Seq, list.Epoch))
		}
		for other, o := range e.entries {
			isOpen := o.waits(list) || o.Status == "OFFERED"
			if other != id && isOpen && o.User == change.after.User && o.Holder == change.after.Holder && change.after.waits(list) {
				violations = append(violations, fmt.Sprintf("entry %s was made while its customer has %s, which is %s", id, other, o.Status))
			}
		}
	}
	return violations
}
