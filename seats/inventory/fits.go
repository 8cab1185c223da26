package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// This file has what fits: the wishes of entries, and claims of others while all free seats are kept for entries.

// fits reports whether what is free fits the wish of an entry.
func (d *decision) fits(e *Entry) bool {
	if d.list.unfit[e.Wish] {
		return false
	}
	if w := d.wishOf(e); w.seats > 0 && !d.isTooMany(w.seats) && d.fitsWish(w) {
		return true
	}
	if d.list.unfit == nil {
		d.list.unfit = map[string]bool{}
	}
	d.list.unfit[e.Wish] = true
	return false
}

// isTooMany reports whether no customer may hold so many seats.
func (d *decision) isTooMany(seats int64) bool {
	perUser, perLock := d.event.MaxSeatsPerUser, d.rules.MaxSeatsPerLock
	return perUser > 0 && seats > perUser || perLock > 0 && seats > perLock
}

// fitsWish reports whether what is free fits a wish, without further due locks.
func (d *decision) fitsWish(w wished) bool {
	switch {
	case d.available() < w.seats:
		return false
	case w.general:
		return d.state.Seats.AvailableIn(w.section) >= w.seats
	case w.best != nil:
		best := *w.best
		best.Settled = true
		return d.state.Seats.Best(best, nil).Granted()
	default:
		return true
	}
}

// wishOf returns what an entry waits for in terms of the hall. It has no seats if the hall does not have them any more.
func (d *decision) wishOf(e *Entry) wished {
	w, known := d.list.wishes[e.Wish]
	if !known {
		var refusal *holdfast.Error
		if w, refusal = d.entryInHall(d.inPresentPlan(e.EntryWish)); refusal != nil {
			w = wished{}
		}
		if w.best != nil {
			w.best.Settled = true // due locks end before offers
		}
		if d.list.wishes == nil {
			d.list.wishes = map[string]wished{}
		}
		d.list.wishes[e.Wish] = w
	}
	return w
}

// inPresentPlan returns a wish without the categories that the event's plan does not have any more, unless it would have none then.
func (d *decision) inPresentPlan(w holdfast.EntryWish) holdfast.EntryWish {
	if !d.isSeated() {
		return w
	}
	present := slices.DeleteFunc(slices.Clone(w.Categories), func(key string) bool {
		_, found := d.state.Seats.Hall().FindCategory(key)
		return !found
	})
	if len(present) > 0 {
		w.Categories = present
	}
	return w
}

// isKept refuses a claim by somebody else while all free seats are kept for entries.
func (d *decision) isKept(w wished) *holdfast.Error {
	if !d.list.holds {
		return nil
	}
	return d.tooFewFor(w, previousSeats{}, 0)
}

// ownOnly turns a wish into one for the caller's own seats alone, or refuses it. It is for the time in which all free seats are kept
// for entries.
func (d *decision) ownOnly(w wished, old previousSeats) (wished, *holdfast.Error) {
	isOwn := w.seats <= old.seats
	switch {
	case w.general:
		isOwn = w.section == old.section && w.seats <= old.seats
	case w.named != nil:
		isOwn = !slices.ContainsFunc(w.named, func(p seating.Place) bool { return !slices.Contains(old.places, p) })
	case w.best != nil:
		best := *w.best
		best.Settled = true
		answer := d.onlyFree(old.places).Best(best, nil)
		if isOwn = answer.Granted(); isOwn {
			w.named, w.best, w.mayOrphan = answer.Places, nil, true
		}
	}
	if isOwn {
		return w, nil
	}
	return w, d.tooFewFor(w, old, 0)
}

// onlyFree returns an occupancy of the hall in which nothing but the given places is free.
func (d *decision) onlyFree(places []seating.Place) *seating.Occupancy {
	full := d.state.Seats.Clone()
	for n, section := range full.Hall().Sections() {
		for i := range section.Seats {
			full.Take(seating.Place{Section: n, Seat: i})
		}
	}
	for _, p := range places {
		full.Free(p)
	}
	return full
}
