package inventory_test

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// batches carries out a batch, and then what it left undecided.
func (p *pipeline) batches(t *testing.T, commands ...inventory.Command) []reply {
	t.Helper()
	results := p.batch(t, commands...)
	for i := range results {
		if results[i].Undecided {
			copy(results[i:], p.batches(t, commands[i:]...))
			break
		}
	}
	return results
}

// remembering is a pipeline that remembers the event and its map.
func remembering(s *store) *pipeline {
	return &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event), seats: s.seats.occupancy()}
}

// A lock may be due as soon as it is made. Its seats are free for the next request all the same.
func TestDecide_SeatsOfALockThatIsDueAtOnce(t *testing.T) {
	for name, c := range map[string]inventory.Command{
		"named": named(2, "A1"), "block": block(2, "A1"), "best": best(2, 1, holdfast.BestAvailable{}),
	} {
		for memory, pipelineOf := range map[string]func(*store) *pipeline{
			"read":       func(s *store) *pipeline { return &pipeline{store: s, rules: theRules} },
			"remembered": remembering,
		} {
			t.Run(name+" "+memory, func(t *testing.T) {
				s := newSeated(t, hallOf("A1"))
				dueAtOnce := named(1, "A1")
				dueAtOnce.Until = holdfast.Until{At: begin}
				for _, r := range pipelineOf(s).batches(t, dueAtOnce, c) {
					wantCode(t, r, "")
				}
				s.wantLock(t, 1, holdfast.LockExpired)
				s.wantTaken(t, "A1")
			})
		}
	}
}

// What the refusal of another request still has to read does not keep the venue's request from its answer.
func TestBlock_BesideARefusalThatIsProvedLater(t *testing.T) {
	for name, row := range map[string]struct {
		command inventory.Command
		blocked int64
		taken   string
	}{
		"block":                   {block(9, "A3"), 2, "A1 A2 A3 A4"},
		"unblock":                 {unblock("A2"), 0, "A1 A4"},
		"block of a blocked seat": {block(9, "A2"), 1, "A1 A2 A4"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "A1").blocks(t, 2, "A2")
			results := remembering(s).batches(t, named(7, "A1"), row.command, named(8, "A4"))
			wantCode(t, results[0], holdfast.CodeSeatsUnavailable)
			wantCode(t, results[1], "")
			wantCode(t, results[2], "")
			if got := results[1].Event.Seating.BlockedSeats; got != row.blocked {
				t.Errorf("answers %d blocked seats, want %d", got, row.blocked)
			}
			s.wantTaken(t, row.taken)
		})
	}
}

func TestUnblock_InTheBatchOfItsBlock(t *testing.T) {
	for _, row := range []struct{ blocked, lifted, taken string }{{"A1 A2", "A2 A1", ""}, {"A1 A2", "A1", "A2"}, {"A1", "A2", "A1"}} {
		s := newSeated(t, hallOf("A1 A2 A3"))
		p := &pipeline{store: s, rules: theRules}
		for _, r := range p.batches(t, block(1, row.blocked), unblock(row.lifted)) {
			wantCode(t, r, "")
		}
		s.wantTaken(t, row.taken)
	}
}

// A block of other software may count other than the seats that it names: what it has counted comes back.
func TestUnblock_OfABlockThatCountsOtherSeats(t *testing.T) {
	for _, row := range []struct {
		counts                   int64
		lifted, taken            string
		left, blocked, available int64 // of the lock, the event, the counter
	}{
		{3, "A1 A2", "", 0, 0, 7},
		{3, "A1", "A2", 1, 1, 6},
		{1, "A1 A2", "", 0, 0, 7},
	} {
		s := newSeated(t, hallOf("A1 A2 A3")).blocks(t, 1, "A1 A2")
		s.locks[lockID(1)].Seats = row.counts
		s.event.Seating.BlockedSeats, s.event.AvailableSeats = row.counts, 7-row.counts
		r := s.one(t, unblock(row.lifted))
		wantCode(t, r, "")
		s.wantTaken(t, row.taken)
		s.wantCounter(t, row.available, 0)
		lock := s.locks[lockID(1)]
		if r.Event.Seating.BlockedSeats != row.blocked || lock.Status == holdfast.LockBlocked && lock.Seats != row.left {
			t.Errorf("%+v: %d blocked, the lock is %+v", row, r.Event.Seating.BlockedSeats, lock)
		}
	}
}

// Blocks that another command of the batch makes up for in number are told all the same, once.
func TestBlock_IsToldWhateverTheirNumber(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3")).blocks(t, 1, "A1")
	p := &pipeline{store: s, rules: theRules}
	p.batches(t, unblock("A1"), block(2, "A2"))
	if !slices.Equal(p.plan.Told, []holdfast.ChangeType{holdfast.ChangeSeatsBlocked}) || p.plan.ToldBy != 1 {
		t.Errorf("told %v of command %d", p.plan.Told, p.plan.ToldBy)
	}
}

// A sold-out event is told to be of the command that took the last seats.
func TestChanges_SoldOutIsOfTheLastSale(t *testing.T) {
	s := newStore(3)
	p := &pipeline{store: s, rules: theRules}
	p.batch(t, acquire(1, 5), acquire(2, 1), acquire(3, 2), acquire(4, 1))
	told := p.plan.EventChanges(s.event.Event)
	if !slices.Contains(told, holdfast.ChangeEventSoldOut) || p.plan.CountedBy != 2 {
		t.Errorf("told %v of command %d, want that of command 2", told, p.plan.CountedBy)
	}
}

// No customer can name a lock of the venue, whether it is lifted or not.
func TestBlock_IsNotFoundByItsID(t *testing.T) {
	for name, c := range map[string]inventory.Command{
		"release": inventory.Release{LockID: lockID(1)}, "extend": extend, "change": changeTo(named(0, "A3")),
		"book": inventory.Book{BookingRequest: holdfast.BookingRequest{EventID: eventID, LockID: lockID(1)}, BookingID: bookingID(1)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3")).blocks(t, 1, "A1 A2")
			p := &pipeline{store: s, rules: theRules}
			wantCode(t, s.one(t, c), "LOCK_NOT_FOUND")
			if name != "extend" && name != "book" { // those are decided alone
				wantCode(t, p.batch(t, unblock("A1"), c)[1], "LOCK_NOT_FOUND")
			}
			wantCode(t, s.one(t, unblock("A1 A2")), "")
			wantCode(t, s.one(t, c), "LOCK_NOT_FOUND")
			s.wantTaken(t, "")
		})
	}
}

func TestBlock_SaysHowManySeatsItAskedFor(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3")).holds(t, 1, "A1").blocks(t, 2, "A2")
	wantDetails(t, s.one(t, block(3, "A3 A1 A2")), "SEATS_UNAVAILABLE", unavailable(3, 1, "A1"))
}
