package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// wished is a wish in terms of the event's hall.
type wished struct {
	seats     int64
	named     []seating.Place // in plan order; nil: no named seats
	best      *seating.Wish
	general   bool // general admission
	section   int  // for general admission
	mayOrphan bool // the orphan rule is for a choice of seats: not for the venue, nor for seats that are paid for
}

// isSeated reports whether the event has a seating plan.
func (d *decision) isSeated() bool { return !d.event.Seating.PlanID.IsZero() }

// ensureSeats makes sure that the map of a seated event is known. It returns false if it has to be
// read first.
func (d *decision) ensureSeats() bool {
	if d.isSeated() && d.state.Seats == nil {
		d.needs.Seats = true
		return false
	}
	return true
}

// inHall finds what a wish asks for in the event's hall, and refuses a wish that does not match the hall. The map
// must be known.
func (d *decision) inHall(seats int64, w holdfast.Wish) (wished, *holdfast.Error) {
	switch {
	case !d.isSeated() && w.IsZero():
		return wished{seats: seats}, nil
	case !d.isSeated():
		return wished{}, holdfast.RefuseInput(w.Field(), "The event has no seating plan. Give the number of seats alone.")
	case len(w.SeatIDs) > 0:
		return d.namedInHall(seats, w)
	case w.Best != nil:
		return d.bestInHall(seats, *w.Best)
	case w.Section != "":
		section := generalSection(d.state.Seats.Hall(), w.Section)
		if section < 0 {
			return wished{}, holdfast.RefuseInput("body.section", "The plan has no such section of general admission.")
		}
		return wished{seats: seats, general: true, section: section}, nil
	default:
		return wished{}, holdfast.RefuseInput(w.Field(),
			"The event has a seating plan. Ask for seatIds, bestAvailable, or a section with seats.")
	}
}

func (d *decision) namedInHall(seats int64, w holdfast.Wish) (wished, *holdfast.Error) {
	places, refusal := d.places(w.SeatIDs)
	if refusal != nil {
		return wished{}, refusal
	}
	accessible := int64(0)
	for _, p := range places {
		if d.state.Seats.Hall().Seat(p).Accessible {
			accessible++
		}
	}
	if !d.opensAccessible() && accessible != w.Accessible {
		return wished{}, holdfast.RefuseInput("body.accessibleSeats",
			"%d of the seats are accessible. They are taken only as asked for: give their number.", accessible)
	}
	return wished{seats: seats, named: places}, nil
}

// places finds seats in the hall, in plan order. It refuses a seat that the plan does not have, and one that is
// named twice.
func (d *decision) places(seatIDs []string) ([]seating.Place, *holdfast.Error) {
	hall := d.state.Seats.Hall()
	places := make([]seating.Place, 0, len(seatIDs))
	var place seating.Place
	for i, id := range seatIDs {
		var found bool
		if place, found = hall.FindAfter(place, []byte(id)); !found {
			return nil, holdfast.RefuseInput("body.seatIds", "The plan does not have seat number %d of the list.", i+1)
		}
		places = append(places, place)
	}
	slices.SortFunc(places, seating.Place.Compare)
	for i := 1; i < len(places); i++ {
		if places[i] == places[i-1] {
			return nil, holdfast.RefuseInput("body.seatIds", "A seat is named twice. Name each seat once.")
		}
	}
	return places, nil
}

func (d *decision) bestInHall(seats int64, b holdfast.BestAvailable) (wished, *holdfast.Error) {
	hall := d.state.Seats.Hall()
	wish := seating.Wish{
		Seats: int(seats), Section: seating.AnySection, Accessible: int(b.Accessible), Required: b.Required, Open: d.opensAccessible(),
	}
	if b.Section != "" {
		section, found := hall.FindSection(b.Section)
		if !found || hall.Sections()[section].GeneralAdmission() {
			return wished{}, holdfast.RefuseInput("body.bestAvailable.section", "The plan has no such section with rows.")
		}
		wish.Section = section
	}
	for i, key := range b.Categories {
		category, found := hall.FindCategory(key)
		if !found {
			return wished{}, holdfast.RefuseInput("body.bestAvailable.categories", "The plan does not have category number %d of the list.", i+1)
		}
		if !slices.Contains(wish.Categories, category) { // a category that is named twice counts once
			wish.Categories = append(wish.Categories, category)
		}
	}
	return wished{seats: seats, best: &wish}, nil
}

// opensAccessible reports whether accessible seats are sold like any other.
func (d *decision) opensAccessible() bool {
	return d.event.Seating.AccessiblePolicy == holdfast.AccessibleOpen
}

// seatIDs returns the IDs of seats.
func (d *decision) seatIDs(places []seating.Place) []string {
	ids := make([]string, len(places))
	for i, p := range places {
		ids[i] = d.state.Seats.Hall().Seat(p).ID
	}
	return ids
}
