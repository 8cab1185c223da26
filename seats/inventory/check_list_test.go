package inventory_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// withList opens the waiting list, and puts an entry for one seat into it for each of the users.
func (s *store) withList(users ...ID) *store {
	s.event.Waitlist = holdfast.Waitlist{Status: holdfast.WaitlistOpen, OfferSeconds: 60, Fit: holdfast.WaitlistSkips, HasBegun: true}
	for i, user := range users {
		wish := holdfast.EntryWish{Seats: 1}
		s.event.List.Seq++
		s.event.List.Waiting++
		s.entries[entryID(i)] = &inventory.Entry{
			WaitlistEntry: holdfast.WaitlistEntry{
				ID: entryID(i), EventID: eventID, UserID: user, EntryWish: wish, Status: holdfast.EntryWaiting,
			},
			Seq: s.event.List.Seq, Wish: wish.Text(),
		}
	}
	return s
}

func TestCheckList_SaysWhichOffersWereMissed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare  func(*store)
		together []inventory.Command // in the same batch
		want     inventory.ListCheck
	}{
		"seats are free and nothing is due": {
			prepare: func(s *store) { s.withLock(1, 1, holdfast.LockActive, in(minutes(5))) },
			want:    inventory.ListCheck{Offers: 1, Missed: 1},
		},
		"the check is due": {
			prepare: func(s *store) { s.event.List.CheckAt = in(-3 * time.Second) },
			want:    inventory.ListCheck{Offers: 2, Late: 3 * time.Second},
		},
		"the check is soon": {
			prepare: func(s *store) { s.event.List.CheckAt = in(time.Second) },
			want:    inventory.ListCheck{Offers: 2},
		},
		"a lock is due": {
			prepare: func(s *store) { s.withLock(1, 2, holdfast.LockActive, in(-minutes(1))) },
			want:    inventory.ListCheck{Offers: 2},
		},
		"another command gives seats back": {
			prepare:  func(s *store) { s.withLock(1, 2, holdfast.LockActive, in(minutes(5))) },
			together: []inventory.Command{inventory.ChangeSeats{LockID: lockID(1), Seats: 1}},
			want:     inventory.ListCheck{Offers: 1},
		},
		"nothing is free": {
			prepare: func(s *store) { s.withLock(1, 2, holdfast.LockActive, in(minutes(5))) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(2).withList(alice, bob)
			c.prepare(s)
			p := &pipeline{store: s, rules: theRules}
			replies := p.batch(t, append(c.together, inventory.CheckList{UpTo: 10})...)
			got := replies[len(replies)-1]
			if got.Err != nil || got.List != c.want || got.MoreOffers {
				t.Errorf("the result is %+v, %v", got.List, got.Err)
			}
		})
	}
}

// The setting of the list stays open, so that whoever joins later waits again. Entries end also if none is counted.
func TestCloseList_EndsTheEntriesThatWait(t *testing.T) {
	t.Parallel()
	for _, isCounted := range []bool{true, false} {
		s := newStore(1).withList(alice, bob).withLock(1, 1, holdfast.LockActive, in(minutes(5)))
		if !isCounted {
			s.event.List.Waiting = 0
		}
		p := &pipeline{store: s, rules: theRules}
		p.batch(t, inventory.CloseList{})
		if l := s.event.List; l.Waiting != 0 || !l.Closing || !l.CheckAt.Equal(begin) || s.event.Waitlist.Status != holdfast.WaitlistOpen {
			t.Errorf("the list is %+v, %s", l, s.event.Waitlist.Status)
		}
		p.batch(t, inventory.CloseList{}) // nothing is left for it
		first := p.batch(t, inventory.CheckList{UpTo: 1})[0]
		last := p.batch(t, inventory.CheckList{UpTo: 2})[0]
		if first.List.Closed != 1 || !first.MoreOffers || last.List.Closed != 1 || last.MoreOffers {
			t.Errorf("%+v, then %+v", first.Result, last.Result)
		}
		for id, e := range s.entries {
			if e.Status != holdfast.EntryClosed {
				t.Errorf("entry %s is %s", id, e.Status)
			}
		}
		if l := s.event.List; l.Epoch != 1 || l.Closing || !l.CheckAt.IsZero() {
			t.Errorf("the list is %+v", l)
		}
	}
}

func TestRecountList_MakesTheOffersThatWereNotSeen(t *testing.T) {
	t.Parallel()
	s := newStore(1).withList(alice, bob)
	s.event.List.Waiting, s.event.List.Seq = 0, 1
	p := &pipeline{store: s, rules: theRules, hold: true}
	old := inventory.RecountList{Revision: s.event.Revision + 1, Waiting: 2, LastSeq: 2}
	if plan, results, needs := inventory.Decide(s.load(inventory.Needs{Event: true}), []inventory.Command{old}, theRules); !plan.IsEmpty() ||
		!needs.None() || results[0].WrongList {
		t.Errorf("a number of another revision is taken: %+v", plan)
	}
	if r := p.batch(t, inventory.RecountList{Revision: s.event.Revision, Waiting: 2, LastSeq: 2, RunID: "run"})[0]; !r.WrongList {
		t.Errorf("the result is %+v", r.Result)
	}
	if l := s.event.List; l.Waiting != 1 || l.Seq != 2 || s.entries[entryID(0)].Status != holdfast.EntryOffered {
		t.Errorf("the list is %+v, the first entry %s", l, s.entries[entryID(0)].Status)
	}
}
