package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// claim is what a command gets of what it wished for.
type claim struct {
	LockSeats
	places []seating.Place // of numbered seats
}

// had is what a lock has so far, if it exchanges its seats: they are free in the map, and restored in the
// counter.
type had struct {
	seats   int64
	places  []seating.Place // numbered
	section int             // of general admission
	general int64           // so much was freed in the section
}

// take claims seats for a wish: it takes them from the counter and, in a seated event, from the map.
// Due locks that are in the way end first. If claimed is false, the result is a refusal, or the command is
// undecided. A lock that is to have no more seats than it had fits an oversold event too, and a section of general
// admission in which more is taken than it has.
func (d *decision) take(w wished, old had, key UserKey) (c claim, result Result, claimed bool) {
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
		if result = d.makeRoom(w, old, key, func() int64 { return d.counter.available }); isDecided(result) {
			return c, result, false
		}
		d.counter.acquire(w.seats)
	} else {
		d.counter.takeAgain(w.seats)
	}
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

// isDecided reports whether a step of a command has its result: a refusal, or none in this batch.
func isDecided(r Result) bool { return r.Err != nil || r.Undecided }

// makeRoom reclaims due locks, soonest expiry first, until the seats of a wish are available. Its result is empty if
// they are.
func (d *decision) makeRoom(w wished, old had, key UserKey, available func() int64) Result {
	for available() < w.seats {
		if d.state.Due == nil {
			d.needs.Due, d.needs.Reclaim = MaxReclaim, true
			return d.refuse(d.tooFewFor(w, old, available()), key)
		}
		if !d.reclaim() {
			if d.mayHaveMoreDue() {
				d.deferRest = true
				return Result{Undecided: true}
			}
			return d.refuse(d.tooFewFor(w, old, available()), key)
		}
	}
	return Result{}
}

// tooFewFor refuses a wish of an event that has too few seats. Named seats may be free in the map all the same: a lock
// of other software that does not say where its seats are counts in the event alone. Then each seat is refused that
// the lock does not have already.
func (d *decision) tooFewFor(w wished, old had, available int64) *holdfast.Error {
	if w.named == nil {
		return tooFew(w.seats, available)
	}
	others := slices.DeleteFunc(slices.Clone(w.named), func(p seating.Place) bool { return slices.Contains(old.places, p) })
	return holdfast.Refuse(holdfast.CodeSeatsUnavailable, "Fewer seats are available than requested.").
		With(holdfast.SeatsUnavailable{Requested: w.seats, Available: available, Unavailable: d.seatIDs(others)})
}

// mayHaveMoreDue reports whether locks may be due that were not read.
func (d *decision) mayHaveMoreDue() bool { return len(*d.state.Due) >= MaxReclaim || d.madeDue }

func tooFew(requested, available int64) *holdfast.Error {
	return holdfast.Refuse(holdfast.CodeSeatsUnavailable, "Fewer seats are available than requested.").
		With(holdfast.SeatsUnavailable{Requested: requested, Available: available})
}

// tooFewOfAKind refuses a pick, which is of one category and one section, and has as many accessible seats as it asks for.
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

// holdersOf finds the due locks that have some of the places, and the places that are not available. known is
// false if the locks have to be read first: unavailable has what it is if they are not due.
func (d *decision) holdersOf(places []seating.Place) (holders []DueLock, unavailable []seating.Place, known bool) {
	known = true
	for i, p := range places {
		if !d.state.Seats.Taken(p) {
			continue
		}
		unavailable = slices.Grow(unavailable, len(places)-i)
		id := d.state.Seats.Hall().Seat(p).ID
		holder, read := d.state.Holders[id]
		switch {
		case !read:
			d.needHolder(id)
			unavailable, known = append(unavailable, p), false
		case holder == nil || holder.Sold || d.hasEnded(holder.ID):
			unavailable = append(unavailable, p) // another command of this batch has it, if that lock has ended
		case d.rivals[id] > 1: // other locks have it too
			unavailable = append(unavailable, p)
		case !slices.ContainsFunc(holders, func(h DueLock) bool { return h.ID == holder.ID }):
			holders = append(holders, *holder)
		}
	}
	return holders, unavailable, known
}

// needHolder notes that the due lock of a seat is needed. Many customers of a batch often want the same few seats.
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

// pickBest picks the best available seats. All due locks of the event end before a refusal, and before
// seats that are not together are picked.
func (d *decision) pickBest(w seating.Wish, key UserKey) ([]seating.Place, Result) {
	w.Settled = d.state.Due != nil && len(d.due) == 0 && !d.mayHaveMoreDue()
	answer := d.state.Seats.Best(w, nil)
	if answer.Outcome == seating.SettleFirst {
		if d.state.Due == nil {
			d.needs.Due, d.needs.Reclaim = MaxReclaim, true
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

// takePlaces takes free seats in the map.
func (d *decision) takePlaces(places []seating.Place) {
	for _, p := range places {
		d.state.Seats.Take(p)
	}
}

// giveBack returns a lock's seats to the event, if the event exists. A lock of other software may not
// say where its seats are, or name seats that the plan does not have: they count in the event alone. general is
// how much of general admission was freed.
func (d *decision) giveBack(seats int64, seatIDs []string, section string) (general int64) {
	if d.state.Event == nil || !d.ensureSeats() {
		return 0
	}
	d.restore(seats)
	if !d.isSeated() {
		return 0
	}
	d.freePlaces(seatIDs)
	if n := generalSection(d.state.Seats.Hall(), section); n >= 0 {
		general = min(seats, d.state.Seats.TakenGeneral(n))
		d.state.Seats.AddGeneral(n, -general)
	}
	return general
}

func (d *decision) freePlaces(seatIDs []string) {
	for n, id := range seatIDs {
		if p, found := d.state.Seats.Hall().Find(id); found && !d.othersHave(id, seatIDs[:n]) {
			d.state.Seats.Free(p)
		}
	}
}

// writeMaps plans the write of the maps of the sections that this decision has changed. If these are most of the
// hall, it writes all: one field costs MongoDB less time than many.
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
