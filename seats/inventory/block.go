package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// Block removes all of the given seats from sale for the venue, or none. Seats that are blocked already stay
// blocked.
type Block struct {
	SeatIDs []string
	LockID  ID // of the venue's lock to be made
}

func (c Block) decide(d *decision) Result {
	if made := d.state.Locks[c.LockID]; made != nil { // by an earlier commit, which was not answered
		return d.eventResult()
	}
	places, result, ready := d.placesToBlock(c.SeatIDs)
	if !ready {
		return result
	}
	wanted := slices.DeleteFunc(slices.Clone(places), func(p seating.Place) bool {
		return d.state.Seats.Taken(p) && d.block(p) != nil
	})
	if len(d.needs.Blocks) > 0 {
		return Result{}
	}
	if len(wanted) == 0 {
		return d.eventResult()
	}
	claimed, result, ok := d.claimSeats(wished{seats: int64(len(wanted)), named: wanted, mayOrphan: true}, previousSeats{}, UserKey{})
	if !ok {
		if details, ok := holdfast.DetailsOf[holdfast.SeatsUnavailable](result.Err); ok {
			details.Requested = int64(len(places))
			result.Err = holdfast.Refuse(holdfast.CodeSeatsUnavailable, "Not all of the seats are available.").With(details)
		}
		if result.Err != nil {
			return d.refuseFirmly(result.Err)
		}
		return result
	}
	d.acquire(holdfast.Lock{
		ID: c.LockID, EventID: d.event.ID, Seats: claimed.Seats, SeatIDs: claimed.SeatIDs, Status: holdfast.LockBlocked,
	}, 0)
	d.event.Seating.BlockedSeats += claimed.Seats
	d.movesBlocks, d.eventBy = true, d.command
	return d.eventResult()
}

// Unblock puts the venue's seats on sale again. Seats that are not blocked stay unchanged.
type Unblock struct{ SeatIDs []string }

func (c Unblock) decide(d *decision) Result {
	places, result, ready := d.placesToBlock(c.SeatIDs)
	if !ready {
		return result
	}
	freed := map[ID]map[string]bool{}
	var blocks []*Lock
	for _, p := range places {
		block := d.block(p)
		if block == nil {
			continue
		}
		if freed[block.ID] == nil {
			blocks, freed[block.ID] = append(blocks, block), map[string]bool{}
		}
		freed[block.ID][d.state.Seats.Hall().Seat(p).ID] = true
	}
	if len(d.needs.Blocks) > 0 {
		return Result{}
	}
	if slices.ContainsFunc(blocks, d.isNew) { // a lock must not be written twice in one transaction
		d.deferRest = true
		return Result{Undecided: true}
	}
	for _, block := range blocks {
		var ids, rest []string
		for _, id := range block.SeatIDs {
			if freed[block.ID][id] {
				ids = append(ids, id)
			} else {
				rest = append(rest, id)
			}
		}
		left := int64(len(rest))
		write := LockWrite{To: holdfast.LockBlocked, Guard: AtRevision, Seats: &LockSeats{Seats: left, SeatIDs: rest}}
		if len(rest) == 0 {
			write = LockWrite{To: holdfast.LockReleased, Guard: AtRevision, EndedBy: holdfast.EndedByAPI}
		}
		d.returnSeats(block.Seats-left, ids, "")
		d.write(*block, write)
		d.event.Seating.BlockedSeats -= block.Seats - left
		d.movesBlocks, d.eventBy = true, d.command
	}
	return d.eventResult()
}

// isNew reports whether this batch creates the lock.
func (d *decision) isNew(lock *Lock) bool {
	return slices.ContainsFunc(d.plan.Acquired, func(l holdfast.Lock) bool { return l.ID == lock.ID })
}

// placesToBlock finds seats, once the event, its map and its counter are known. If ready is false, the result is a
// refusal, or the decision has to read something first.
func (d *decision) placesToBlock(seatIDs []string) (places []seating.Place, result Result, ready bool) {
	switch {
	case !d.ensureEvent():
		return nil, d.refuse(holdfast.NotFound(holdfast.CodeEventNotFound), UserKey{}), false
	case !d.isSeated():
		return nil, d.refuseFirmly(holdfast.RefuseInput("body.seatIds", "The event has no seating plan.")), false
	case !d.ensureSeats() || !d.ensureCounter():
		return nil, Result{}, false
	case d.deferRest:
		return nil, Result{Undecided: true}, false
	}
	places, refusal := d.places(seatIDs)
	if refusal != nil {
		return nil, d.refuseFirmly(refusal), false
	}
	return places, Result{}, true
}

// block returns the venue's lock on a place, as this decision has left it. It is nil if there is none, or if it has
// to be read first.
func (d *decision) block(p seating.Place) *Lock {
	id := d.state.Seats.Hall().Seat(p).ID
	for i := range d.plan.Acquired {
		if made := &d.plan.Acquired[i]; made.Status == holdfast.LockBlocked && slices.Contains(made.SeatIDs, id) {
			return &Lock{Lock: *made}
		}
	}
	block, read := d.state.Blocks[id]
	switch {
	case !read:
		d.needs.Blocks = append(d.needs.Blocks, id)
		return nil
	case block == nil:
		return nil
	}
	changed, isChanged := d.locks[block.ID]
	switch {
	case !isChanged:
		return block
	case changed.Status != holdfast.LockBlocked || !slices.Contains(changed.SeatIDs, id):
		return nil
	default:
		return &changed
	}
}

// eventResult returns the event as this decision has left it.
func (d *decision) eventResult() Result {
	event := d.event.Event
	return Result{Event: &event}
}
