package inventory_test

import (
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

// A lock may be due as soon as it is made. Its seats are free for the next request all the same.
func TestDecide_SeatsOfALockThatIsDueAtOnce(t *testing.T) {
	for name, c := range map[string]inventory.Command{
		"named": named(2, "A1"), "block": block(2, "A1"), "best": best(2, 1, holdfast.BestAvailable{}),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1"))
			dueAtOnce := named(1, "A1")
			dueAtOnce.Until = holdfast.Until{At: begin}
			p := &pipeline{store: s, rules: theRules}
			for _, r := range p.batches(t, dueAtOnce, c) {
				wantCode(t, r, "")
			}
			s.wantLock(t, 1, holdfast.LockExpired)
			s.wantTaken(t, "A1")
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
