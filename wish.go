package holdfast

import (
	"fmt"
	"slices"
	"strconv"
)

// Wish says which seats of a seated event are asked for, in one of three forms: named seats, the best
// available ones, or general admission in a section. A zero Wish names none, as for an unseated event.
type Wish struct {
	SeatIDs []string // 1 to MaxNamedSeats, in any order
	// Accessible is how many of the named seats are accessible: these are taken only as asked for.
	Accessible int64
	Best       *BestAvailable
	Section    string // key, for general admission
}

// BestAvailable leaves the choice of seats to the engine.
type BestAvailable struct {
	Categories []string // keys, the preferred one first; nil: all, in the plan's order
	Section    string   // key of the only section; "": any
	Accessible int64    // how many of the seats are accessible, exactly
	Required   bool     // adjacent seats, or none
}

// IsZero reports whether the wish names no seats.
func (w Wish) IsZero() bool {
	return len(w.SeatIDs) == 0 && w.Best == nil && w.Section == ""
}

// Clone returns a copy that shares nothing with the wish.
func (w Wish) Clone() Wish {
	w.SeatIDs = slices.Clone(w.SeatIDs)
	if w.Best != nil {
		best := *w.Best
		best.Categories = slices.Clone(best.Categories)
		w.Best = &best
	}
	return w
}

// Count checks the form of a wish for a number of seats, and returns that number. For named seats it may be
// given as 0.
func (w Wish) Count(seats int64) (int64, error) {
	most := int64(MaxSeats)
	switch {
	case w.forms() > 1, len(w.SeatIDs) > 0 && seats != 0 && seats != int64(len(w.SeatIDs)):
		return 0, RefuseInput("body", "Give one of: seats; seatIds; bestAvailable; a section with seats.")
	case len(w.SeatIDs) > MaxNamedSeats:
		return 0, RefuseInput("body.seatIds", "At most %d seats can be named.", MaxNamedSeats)
	case len(w.SeatIDs) > 0:
		seats = int64(len(w.SeatIDs))
	case w.Best != nil:
		most = MaxNamedSeats
	}
	if seats < 1 || seats > most {
		return 0, RefuseInput("body.seats", "Between 1 and %d seats can be locked.", most)
	}
	if a := w.accessible(); a < 0 || a > seats {
		field := "body.accessibleSeats"
		if w.Best != nil {
			field = "body.bestAvailable.accessibleSeats"
		}
		return 0, RefuseInput(field, "Of the seats, 0 to all can be accessible.")
	}
	return seats, nil
}

// forms is the number of forms that the wish has.
func (w Wish) forms() (n int) {
	for _, has := range []bool{len(w.SeatIDs) > 0, w.Best != nil, w.Section != ""} {
		if has {
			n++
		}
	}
	return n
}

func (w Wish) accessible() int64 {
	if w.Best != nil {
		return w.Best.Accessible
	}
	return w.Accessible
}

// Field is the part of a request that has the wish.
func (w Wish) Field() string {
	switch {
	case len(w.SeatIDs) > 0:
		return "body.seatIds"
	case w.Best != nil:
		return "body.bestAvailable"
	case w.Section != "":
		return "body.section"
	default:
		return "body.seats"
	}
}

// appendCanonical appends what is different for different wishes. The order of named seats makes no difference.
// A hot event has thousands of named wishes a second, so they are not formatted by reflection.
func (w Wish) appendCanonical(text []byte) []byte {
	if w.Best == nil {
		text = append(text, '[')
		for i, id := range w.sortedIDs() {
			if i > 0 {
				text = append(text, ' ')
			}
			text = strconv.AppendQuote(text, id)
		}
		text = strconv.AppendInt(append(text, "]|"...), w.Accessible, 10)
		return strconv.AppendQuote(append(text, '|'), w.Section)
	}
	return fmt.Appendf(text, "best|%q|%q|%d|%t", w.Best.Categories, w.Best.Section, w.Best.Accessible, w.Best.Required)
}

// sortedIDs are the named seats in alphabetical order: the wish's own slice if it is sorted.
func (w Wish) sortedIDs() []string {
	if slices.IsSorted(w.SeatIDs) {
		return w.SeatIDs
	}
	return slices.Sorted(slices.Values(w.SeatIDs))
}
