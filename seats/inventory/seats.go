package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// claim has the seats that a command gets for its wish.
type claim struct {
	LockSeats
	places []seating.Place // of numbered seats
}

// previousSeats are the present seats of a lock that exchanges its seats: they are free in the map, and restored in
// the counter.
type previousSeats struct {
	seats   int64
	places  []seating.Place // numbered
	section int             // of general admission
	general int64           // the number of seats that were freed in the section
}

// claimSeats claims seats for a wish: it subtracts them from the counter and, in a seated event, marks them in the
// map. It first ends the due locks that have them. If claimed is false, the result is a refusal, or the command is
// undecided. A lock that is to have no more seats than before is possible even if the event is oversold, or if more
// is taken of its section of general admission than the section has.
func (d *decision) claimSeats(w wished, old previousSeats, key UserKey) (c claim, result Result, claimed bool) {
	c.Seats = w.seats
	switch {
	case w.named != nil:
		c.places, result = d.pickNamed(w, old.places, key)
	case w.best != nil:
		c.places, result = d.pickBest(*w.best, key)
	case w.general:
		if w.section != old.section || w.seats > old.general {
			result = d.makeRoom(w, old, key, func() int64 { return d.state.Seats.AvailableIn(w.section) })
		}
		c.Section = d.state.Seats.Hall().Sections()[w.section].Key
	}
	if isDecided(result) {
		return c, result, false
	}
	if w.seats > old.seats {
		if result = d.makeRoom(w, old, key, d.available); isDecided(result) {
			return c, result, false
		}
	}
	d.counter.restore(-w.seats)
	d.countedBy = d.command
	if w.general {
		d.state.Seats.AddGeneral(w.section, w.seats)
	}
	if c.places != nil {
		c.SeatIDs = d.seatIDs(c.places)
		d.takePlaces(c.places)
	}
	return c, Result{}, true
}

// isDecided reports whether a step of a command has a result: a refusal, or undecided in this batch.
func isDecided(r Result) bool { return r.Err != nil || r.Undecided }

// makeRoom reclaims due locks, soonest expiry first, until the seats of a wish are available. The result is empty if
// they are.
func (d *decision) makeRoom(w wished, old previousSeats, key UserKey, available func() int64) Result {
	for available() < w.seats {
		switch {
		case d.reclaim():
		case d.state.Due == nil:
			d.needs.Due = MaxReclaim
			return d.refuse(d.tooFewFor(w, old, available()), key)
		case d.mayHaveMoreDue():
			d.deferRest = true
			return Result{Undecided: true}
		default:
			return d.refuse(d.tooFewFor(w, old, available()), key)
		}
	}
	return Result{}
}

// tooFewFor refuses a wish because the event has too few seats. Named seats may still be free in the map: a lock
// that does not say where its seats are counts in the event alone. Then every seat is refused that the lock does not
// have already.
func (d *decision) tooFewFor(w wished, old previousSeats, available int64) *holdfast.Error {
	if w.named == nil {
		return tooFew(w.seats, available)
	}
	others := slices.DeleteFunc(slices.Clone(w.named), func(p seating.Place) bool { return slices.Contains(old.places, p) })
	return holdfast.Refuse(holdfast.CodeSeatsUnavailable, "Fewer seats are available than requested.").
		With(holdfast.SeatsUnavailable{Requested: w.seats, Available: available, Unavailable: d.seatIDs(others)})
}

// mayHaveMoreDue reports whether there may be due locks that were not read.
func (d *decision) mayHaveMoreDue() bool { return len(*d.state.Due) >= MaxReclaim || d.madeDue }

func tooFew(requested, available int64) *holdfast.Error {
	return holdfast.Refuse(holdfast.CodeSeatsUnavailable, "Fewer seats are available than requested.").
		With(holdfast.SeatsUnavailable{Requested: requested, Available: available})
}

// tooFewOfAKind refuses a pick, which is in one category and one section, and has as many accessible seats as it
// asks for.
func tooFewOfAKind(w seating.Wish, available int64) *holdfast.Error {
	requested := int64(w.Seats)
	if available < requested {
		return tooFew(requested, available)
	}
	refusal := holdfast.Refuse(holdfast.CodeSeatsUnavailable, "Enough seats are available, but not in one category of one section.")
	if w.Accessible > 0 {
		refusal = holdfast.Refuse(holdfast.CodeSeatsUnavailable,
			"Enough seats are available, but not with %d accessible ones in one category of one section.", w.Accessible)
	}
	return refusal.With(holdfast.SeatsUnavailable{Requested: requested, Available: available})
}

// pickNamed makes sure that named seats are free, and ends the due locks that have them.
func (d *decision) pickNamed(w wished, old []seating.Place, key UserKey) ([]seating.Place, Result) {
	places := w.named
	holders, unavailable, known := d.holdersOf(places)
	if !known {
		return nil, d.refuse(seatsTaken(places, d.seatIDs(unavailable)), key)
	}
	if slices.ContainsFunc(unavailable, d.isMadeDue) { // the next batch can end its lock
		d.deferRest = true
		return nil, Result{Undecided: true}
	}
	if len(unavailable) > 0 {
		return nil, d.refuse(seatsTaken(places, d.seatIDs(unavailable)), key)
	}
	if d.event.Seating.OrphanRule == holdfast.OrphansRefused && !w.mayOrphan {
		if orphans := d.state.Seats.Orphans(places, old, d.opensAccessible()); len(orphans) > 0 {
			return nil, d.refuse(holdfast.Refuse(holdfast.CodeSeatOrphaned, "The seats would leave a single seat between them and others.").
				With(holdfast.SeatOrphaned{Orphans: d.seatIDs(orphans)}), key)
		}
	}
	for _, holder := range holders {
		d.expire(holder, holdfast.EndedByReclaim, "")
	}
	return places, Result{}
}

func seatsTaken(places []seating.Place, unavailable []string) *holdfast.Error {
	n := int64(len(places))
	return holdfast.Refuse(holdfast.CodeSeatsUnavailable, "Not all of the seats are available.").
		With(holdfast.SeatsUnavailable{Requested: n, Available: n - int64(len(unavailable)), Unavailable: unavailable})
}

// holdersOf finds the due locks that have some of the places, and the places that are not available. known is false
// if the locks have to be read first: unavailable then has the places that are unavailable if their locks are not
// due.
func (d *decision) holdersOf(places []seating.Place) (holders []Lock, unavailable []seating.Place, known bool) {
	known = true
	for i, p := range places {
		if !d.state.Seats.Taken(p) {
			continue
		}
		unavailable = slices.Grow(unavailable, len(places)-i)
		id := d.state.Seats.Hall().Seat(p).ID
		holder, read := d.holderOf(id)
		switch {
		case !read:
			d.needHolder(id)
			unavailable, known = append(unavailable, p), false
		case holder == nil || d.hasEnded(holder.ID):
			unavailable = append(unavailable, p) // if its lock has ended, another command of this batch has the place
		case !slices.ContainsFunc(holders, func(h Lock) bool { return h.ID == holder.ID }):
			holders = append(holders, *holder)
		}
	}
	return holders, unavailable, known
}

// holderOf returns the due lock of a seat, or nil if there is none. read is false if it has to be read first. If it was
// read for one of several commands, the next batches may need others of the event, so some are read too.
func (d *decision) holderOf(seatID string) (holder *Lock, read bool) {
	holder, read = d.state.Holders[seatID]
	if isRead := d.state.Due != nil || d.state.SomeDue != nil; holder != nil && d.commands > 1 && !isRead {
		d.needs.Due = MaxReclaim
	}
	if read || d.state.Due != nil || d.state.Held || len(d.state.SomeDue) == 0 {
		return holder, read
	}
	if d.someHolders == nil {
		d.someHolders = make(map[string]*Lock, len(d.state.SomeDue))
		for i := range d.state.SomeDue {
			for _, id := range d.state.SomeDue[i].SeatIDs {
				if _, isInTwo := d.someHolders[id]; isInTwo { // after the end of one of them, the other would have it
					d.someHolders[id] = nil
				} else {
					d.someHolders[id] = &d.state.SomeDue[i]
				}
			}
		}
	}
	holder, read = d.someHolders[seatID]
	return holder, read
}

// needHolder adds the due lock of a seat to the needs. Many customers of a batch often want the same few seats.
func (d *decision) needHolder(seatID string) {
	const compared = 16 // bounds the search
	if list := d.needs.Holders; !slices.Contains(list[max(0, len(list)-compared):], seatID) {
		d.needs.Holders = append(list, seatID)
	}
}

// isMadeDue reports whether a new lock of this batch, which is due at once, has the place.
func (d *decision) isMadeDue(p seating.Place) bool {
	id := d.state.Seats.Hall().Seat(p).ID
	return d.madeDue && slices.ContainsFunc(d.plan.Acquired, func(l holdfast.Lock) bool {
		return l.Status == holdfast.LockActive && !l.ExpiresAt.IsZero() && l.Due(d.state.Now) && slices.Contains(l.SeatIDs, id)
	})
}

// hasEnded reports whether this batch has ended a lock.
func (d *decision) hasEnded(id ID) bool {
	changed, ok := d.locks[id]
	return ok && changed.Status != holdfast.LockActive
}

// pickBest picks the best available seats. It ends all due locks of the event before it refuses, and before it picks
// seats that are not together.
func (d *decision) pickBest(w seating.Wish, key UserKey) ([]seating.Place, Result) {
	w.Settled = w.Settled || d.state.Due != nil && len(d.due) == 0 && !d.mayHaveMoreDue()
	answer := d.state.Seats.Best(w, nil)
	if answer.Outcome == seating.SettleFirst {
		if d.state.Due == nil {
			d.needs.Due = MaxReclaim
			return nil, d.refuse(tooFew(int64(w.Seats), 0), key)
		}
		for d.reclaim() {
			continue
		}
		if d.mayHaveMoreDue() {
			d.deferRest = true
			return nil, Result{Undecided: true}
		}
		w.Settled = true
		answer = d.state.Seats.Best(w, nil)
	}
	switch answer.Outcome {
	case seating.NotTogether:
		return nil, d.refuse(holdfast.Refuse(holdfast.CodeSeatsNotAdjacent, "Enough seats are available, but not together.").
			With(holdfast.SeatsNotAdjacent{Longest: answer.Longest}), key)
	case seating.Unavailable:
		return nil, d.refuse(tooFewOfAKind(w, answer.Available), key)
	default:
		return answer.Places, Result{}
	}
}

// takePlaces marks free seats as taken in the map.
func (d *decision) takePlaces(places []seating.Place) {
	for _, p := range places {
		d.state.Seats.Take(p)
	}
}

// returnSeats returns a lock's seats to the event, if the event exists. A lock may not say where its seats are, or
// may name seats that the plan does not have: those count in the event alone. general is the number of seats that
// were freed in general admission.
func (d *decision) returnSeats(seats int64, seatIDs []string, section string) (general int64) {
	if d.state.Event == nil || !d.ensureSeats() || !d.ensureCounter() {
		return 0
	}
	if d.isSeated() {
		d.freePlaces(seatIDs)
		if n := generalSection(d.state.Seats.Hall(), section); n >= 0 {
			general = min(seats, d.state.Seats.TakenGeneral(n))
			d.state.Seats.AddGeneral(n, -general)
		}
	}
	d.countedBy, d.ifUnchanged = d.command, true
	d.counter.restore(seats)
	d.freed()
	d.ensureCounter() // if more seats are returned than were taken, the counter was wrong before
	return general
}

func (d *decision) freePlaces(seatIDs []string) {
	for _, id := range seatIDs {
		if p, found := d.state.Seats.Hall().Find(id); found {
			d.state.Seats.Free(p)
		}
	}
}

// writeMaps plans the write of the maps of the sections that this decision has changed. If these are most of the
// hall, it writes all maps: one field costs MongoDB less time than many.
func (d *decision) writeMaps(w *EventWrite) {
	if d.state.Seats == nil {
		return
	}
	all, changed := d.state.Seats.Hall().Sections(), d.state.Seats.Changed(d.mark)
	w.AllMaps = w.AllMaps || 2*len(changed) > len(all)
	for n := range all {
		_, isChanged := slices.BinarySearch(changed, n)
		switch {
		case !w.AllMaps && !isChanged:
		case all[n].GeneralAdmission():
			w.Maps = append(w.Maps, SectionMap{Section: n, Taken: d.state.Seats.TakenGeneral(n)})
		default:
			w.Maps = append(w.Maps, SectionMap{Section: n, Bits: d.state.Seats.Bytes(nil, n)})
		}
	}
}
