package inventory_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The waiting list of a store.

// waiting are the WAITING entries of the list as it is now, first ones first.
func (s *store) waiting() []*inventory.Entry {
	return s.listed(func(e *inventory.Entry) bool {
		return e.Status == holdfast.EntryWaiting && e.Epoch == s.event.List.Epoch
	})
}

// listed are the entries of the event that match, in order.
func (s *store) listed(match func(*inventory.Entry) bool) (found []*inventory.Entry) {
	for _, e := range s.entries {
		if e.EventID == eventID && !s.corrupt[e.ID] && match(e) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *inventory.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return found
}

// loadList reads entries.
func (s *store) loadList(n inventory.Needs, state *inventory.State) {
	state.Entries = map[ID]*inventory.Entry{}
	for _, id := range n.Entries {
		if state.Entries[id] = copyOf(s.entries[id]); s.corrupt[id] {
			state.Entries[id] = nil
		}
	}
	if s.event == nil {
		return
	}
	state.OpenOf = map[ID][]inventory.Entry{}
	for _, user := range n.OpenOf {
		state.OpenOf[user] = valuesOf(s.listed(func(e *inventory.Entry) bool { return e.UserID == user && e.Status.IsOpen() }))
	}
	if state.HeadsUpTo = n.Heads; n.Heads > 0 {
		known := map[string]bool{}
		for _, e := range s.waiting() {
			if e.Seats <= n.Heads && !known[e.Wish] {
				known[e.Wish] = true
				state.Heads = append(state.Heads, *copyOf(e))
			}
		}
		slices.SortFunc(state.Heads, func(a, b inventory.Entry) int { return cmp.Compare(a.Wish, b.Wish) }) // as an index has them
	}
	if n.Waiting > 0 {
		found := valuesOf(slices.DeleteFunc(s.waiting(), func(e *inventory.Entry) bool {
			return len(n.WaitingOf) > 0 && !slices.Contains(n.WaitingOf, e.Wish)
		}))
		state.WaitingIsAll = len(found) <= n.Waiting
		state.Waiting, state.WaitingOf = found[:min(len(found), n.Waiting)], n.WaitingOf
	}
	if n.ToClose > 0 {
		found := valuesOf(s.listed(func(e *inventory.Entry) bool {
			return e.Status == holdfast.EntryWaiting && e.Epoch != s.event.List.Epoch
		}))
		state.ToClose = pointer(found[:min(len(found), n.ToClose)])
	}
}

func valuesOf(entries []*inventory.Entry) []inventory.Entry {
	values := make([]inventory.Entry, 0, len(entries))
	for _, e := range entries {
		values = append(values, *e)
	}
	return values
}

// writeEntries carries out the part of a plan that is about entries.
func (s *store) writeEntries(p inventory.Plan) error {
	for _, w := range p.Entries {
		e := s.entries[w.ID]
		switch {
		case !w.From.MayBecome(w.To):
			return fmt.Errorf("entry %s is to go from %s to %s", w.ID, w.From, w.To)
		case e == nil || e.Status != w.From || e.Revision != w.Revision:
			return errStale
		case e.EventID != w.EventID:
			return fmt.Errorf("entry %s is of event %s, and written as %+v", w.ID, e.EventID, w)
		}
		setEntry(e, w)
	}
	for i := range p.NewEntries {
		e := p.JoinedAt(i, s.now)
		if s.entries[e.ID] != nil {
			return fmt.Errorf("entry %s is made twice", e.ID)
		}
		if p.Event == nil || p.Event.List == nil || e.Seq > p.Event.List.Seq || e.Epoch != p.Event.List.Epoch {
			return fmt.Errorf("entry %+v is made with the write %+v of the event", e, p.Event)
		}
		e.Position = 0 // it is not stored
		s.entries[e.ID] = &inventory.Entry{WaitlistEntry: e.WaitlistEntry, Seq: e.Seq, Epoch: e.Epoch, Wish: e.Wish}
	}
	return nil
}

func setEntry(e *inventory.Entry, w inventory.EntryWrite) {
	e.Status, e.Revision, e.UpdatedAt = w.To, e.Revision+1, w.UpdatedAt
	if !w.LockID.IsZero() {
		e.LockID = w.LockID
	}
}

// checkEntryChanges compares the changes of entries that a plan tells with its writes: one for each.
func (s *store) checkEntryChanges(p inventory.Plan, now *store) error {
	var told, want []inventory.Change
	for _, c := range p.Changes {
		if c.Joined > 0 {
			e := p.JoinedAt(c.Joined-1, now.now)
			c.Joined, c.Entry = 0, &e.WaitlistEntry
		}
		if c.Entry != nil {
			if c.Type == holdfast.ChangeEntryOffered && c.By != inventory.ByWaitlist {
				return fmt.Errorf("the change %+v is by %d", c, c.By)
			}
			c.By = 0
			told = append(told, c)
		}
	}
	states := copies(s.entries)
	for _, w := range p.Entries {
		e := states[w.ID]
		setEntry(e, w)
		what := map[holdfast.EntryStatus]holdfast.ChangeType{
			"OFFERED": "holdfast.waitlist.offered", "ACCEPTED": "holdfast.waitlist.accepted", "DECLINED": "holdfast.waitlist.declined",
			"EXPIRED": "holdfast.waitlist.expired", "LEFT": "holdfast.waitlist.left", "CLOSED": "holdfast.waitlist.closed",
		}[e.Status]
		want = append(want, inventory.Change{Type: what, Revision: e.Revision, Entry: pointer(e.WaitlistEntry)})
	}
	for i := range p.NewEntries {
		e := p.JoinedAt(i, now.now)
		want = append(want, inventory.Change{Type: "holdfast.waitlist.joined", Entry: &e.WaitlistEntry})
	}
	return sameChanges(told, want, func(c inventory.Change) string { return fmt.Sprint(c.Entry.ID, c.Revision) })
}

// checkList compares the states before and after a transaction by what the contract says of entries.
func (s *store) checkList(t rapid.TB, before *store) {
	t.Helper()
	offers := map[ID]ID{}
	for _, l := range s.locks {
		if other, twice := offers[l.EntryID]; twice && !l.EntryID.IsZero() {
			t.Errorf("entry %s got two offers, %s and %s", l.EntryID, other, l.ID)
		}
		offers[l.EntryID] = l.ID
	}
	for id, was := range before.entries {
		is := s.entries[id]
		if is == nil {
			t.Fatalf("entry %s is gone", id)
		}
		isSame := is.UserID == was.UserID && is.Holder == was.Holder && is.Seq == was.Seq && is.Wish == was.Wish && is.Epoch == was.Epoch
		if !isSame || is.Status != was.Status && !entryMoves[was.Status][is.Status] {
			t.Errorf("entry %s went from %+v to %+v", id, was, is)
		}
	}
	for id, is := range s.entries {
		was := cmp.Or(before.entries[id], &inventory.Entry{})
		lock := s.locks[is.LockID]
		switch {
		case is.Status == was.Status: // what becomes of the seats afterwards does not matter
		case is.LockID.IsZero():
			if is.Status == "OFFERED" || is.Status == "ACCEPTED" || is.Status == "EXPIRED" || is.Status == "DECLINED" {
				t.Errorf("entry %s is %s without a lock", id, is.Status)
			}
		case lock == nil || lock.EntryID != id:
			t.Errorf("entry %s is %s with the lock %+v", id, is.Status, lock)
		case lock.Status != lockOfEntry[is.Status]:
			t.Errorf("entry %s is %s, and its lock %s", id, is.Status, lock.Status)
		}
		if is.Status == "OFFERED" && (lock == nil || lock.Status != "ACTIVE") {
			t.Errorf("entry %s is OFFERED, and its lock %+v", id, lock)
		}
	}
	for id, l := range s.locks {
		if e := s.entries[l.EntryID]; !l.EntryID.IsZero() && l.Status == "ACTIVE" && (e == nil || e.Status != "OFFERED" || e.LockID != id) {
			t.Errorf("lock %s is an offer, and its entry %+v", id, e)
		}
	}
	if s.event != nil && s.event.List.Waiting != int64(len(s.waiting())) {
		t.Errorf("the list says %+v, and %d entries wait", s.event.List, len(s.waiting()))
	}
	seqs := map[int64]bool{}
	for _, e := range s.entries {
		if seqs[e.Seq] || e.Seq > s.event.List.Seq {
			t.Errorf("entry %+v is not the only one in its place, of the list %+v", e, s.event.List)
		}
		seqs[e.Seq] = true
	}
}

// The pairs that the contract lists, and the lock of an entry when it gets a status.
var (
	entryMoves = map[holdfast.EntryStatus]map[holdfast.EntryStatus]bool{
		"WAITING": {"OFFERED": true, "LEFT": true, "CLOSED": true},
		"OFFERED": {"ACCEPTED": true, "DECLINED": true, "EXPIRED": true, "LEFT": true, "CLOSED": true},
	}
	lockOfEntry = map[holdfast.EntryStatus]holdfast.LockStatus{
		"OFFERED": "ACTIVE", "ACCEPTED": "CONSUMED", "EXPIRED": "EXPIRED", "DECLINED": "RELEASED", "LEFT": "RELEASED", "CLOSED": "RELEASED",
	}
)

// offers are the locks that entries got, in any state, by ID.
func (s *store) offers() (found []*inventory.Lock) {
	for _, l := range s.locks {
		if !l.EntryID.IsZero() {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b *inventory.Lock) int { return bytes.Compare(a.EntryID[:], b.EntryID[:]) })
	return found
}
