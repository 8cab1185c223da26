package seatctl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// seatsCmd shows which seats of an event are taken.
type seatsCmd struct {
	Event   string   `arg:"" help:"ID of an event with a seating plan."`
	Section []string `sep:"none" placeholder:"KEY" help:"Key of a section: show only this one. Can be repeated."`
	Map     *bool    `negatable:"" help:"Show a map of the seats, the default on a terminal; --no-map for a list."`
}

// Help is printed by --help.
func (c *seatsCmd) Help() string {
	return "On a terminal, or with --map, each seat is a character of a map. The rows of a large hall are shown of the sections that are " +
		"named; without a name, its sections are counted. Elsewhere, or with --no-map, the sections are counted, and with --section each " +
		"seat that is taken is listed with its lock."
}

func (c *seatsCmd) run(ctx context.Context, s *session) (int, error) {
	event, err := parseID("EVENT", &c.Event)
	if err != nil {
		return exitUsage, err
	}
	if s.out.format == formatJSON && c.Map != nil && *c.Map {
		return exitUsage, errors.New("a map is text: leave --map out, or --output json")
	}
	read, err := s.Store.SeatLocks(ctx, *event)
	switch {
	case err != nil:
		return exitFailed, err
	case read.Free == nil:
		return exitFailed, fmt.Errorf("the event has no seating plan; seatctl locks --event %s lists its locks", event)
	}
	h := newHoldings(read)
	if err := h.checkSections(c.Section); err != nil {
		return exitFailed, err
	}
	switch {
	case c.showsMap(s):
		err = s.printMap(h, c.Section)
	case len(c.Section) == 0:
		err = s.printSections(h.sections)
	default:
		err = s.printHolders(h, c.Section)
	}
	if err != nil {
		return exitFailed, err
	}
	return s.reportContradictions(h, read)
}

// showsMap reports whether a map is asked for, or else is what a person wants to see. What scripts read is no map.
func (c *seatsCmd) showsMap(s *session) bool {
	if c.Map != nil {
		return *c.Map
	}
	return s.term.is && s.out.format == formatTable
}

// holderLine is a seat that a lock takes, or its share of general admission.
type holderLine struct {
	Section   string `json:"section"`
	Row       string `json:"row,omitempty"`
	SeatID    string `json:"seatId,omitempty"`
	Label     string `json:"label,omitempty"`
	Seats     int64  `json:"seats"`
	State     string `json:"state"`
	LockID    string `json:"lockId"`
	BookingID string `json:"bookingId,omitempty"`
	UserID    string `json:"userId,omitempty"`
	ExpiresAt string `json:"expiresAt,omitempty"`

	at seating.Place
}

// sectionLine counts what is taken of a section.
type sectionLine struct {
	Section   string `json:"section"`
	Total     int64  `json:"total"`
	Available int64  `json:"available"`
	Held      int64  `json:"held"`
	Due       int64  `json:"due"` // of those held: a sweep gives them back
	Sold      int64  `json:"sold"`
	Blocked   int64  `json:"blocked"`
}

func (l *sectionLine) add(state string, n int64) {
	switch state {
	case stateDue:
		l.Due += n
		l.Held += n
	case stateHeld:
		l.Held += n
	case stateSold:
		l.Sold += n
	case stateBlocked:
		l.Blocked += n
	}
}

// holdings are the locks of a seated event by section.
type holdings struct {
	taken    *seating.Occupancy
	sections []sectionLine
	lines    []holderLine
	doubles  int
	unplaced []holdfast.ID // locks that do not say where all their seats are
}

func newHoldings(read store.SeatLocks) *holdings {
	hall := read.Free.Hall()
	h := &holdings{taken: read.Free, sections: make([]sectionLine, len(hall.Sections()))}
	for n, section := range hall.Sections() {
		h.sections[n] = sectionLine{Section: section.Key, Total: h.taken.Capacity(n)}
	}
	for _, lock := range read.Locks {
		h.add(lock, lockState(lock, read.Now))
	}
	for n := range h.sections {
		h.sections[n].Available = h.taken.AvailableIn(n)
	}
	slices.SortStableFunc(h.lines, func(a, b holderLine) int { return a.at.Compare(b.at) })
	return h
}

func (h *holdings) add(lock holdfast.Lock, state string) {
	hall, isPlaced := h.taken.Hall(), len(lock.SeatIDs) == int(lock.Seats) && lock.Seats > 0
	line := holderLine{
		State: state, LockID: lock.ID.String(), BookingID: formatID(lock.BookingID), UserID: formatID(lock.UserID), ExpiresAt: expiryOf(lock),
	}
	for _, id := range lock.SeatIDs {
		at, found := hall.Find(id)
		if !found {
			isPlaced = false
			continue
		}
		if !h.taken.Take(at) {
			h.doubles++
		}
		line.at, line.SeatID, line.Seats = at, id, 1
		line.Section, line.Row, line.Label = hall.Sections()[at.Section].Key, hall.Row(at).Label, hall.Seat(at).Label
		h.lines = append(h.lines, line)
		h.sections[at.Section].add(state, 1)
	}
	if n, found := hall.FindSection(lock.Section); found && hall.Sections()[n].GeneralAdmission() && len(lock.SeatIDs) == 0 {
		isPlaced = lock.Seats > 0
		h.taken.AddGeneral(n, lock.Seats)
		line.at, line.Section, line.Seats = seating.Place{Section: n}, lock.Section, lock.Seats
		h.lines = append(h.lines, line)
		h.sections[n].add(state, lock.Seats)
	}
	if !isPlaced {
		h.unplaced = append(h.unplaced, lock.ID)
	}
}

// printSections prints a line for each section, and for all of them.
func (s *session) printSections(sections []sectionLine) error {
	all := sectionLine{Section: "all"}
	for _, l := range sections {
		all.Total += l.Total
		all.Available += l.Available
		all.Held += l.Held
		all.Due += l.Due
		all.Sold += l.Sold
		all.Blocked += l.Blocked
	}
	columns := []any{"section", "total", "available", "held", "of them due", "sold", "blocked"}
	return printRows(s.out, append(sections, all), columns, func(l sectionLine) []any {
		return []any{l.Section, l.Total, l.Available, l.Held, l.Due, l.Sold, l.Blocked}
	})
}

// checkSections refuses sections that the hall does not have.
func (h *holdings) checkSections(keys []string) error {
	for _, key := range keys {
		if _, found := h.taken.Hall().FindSection(key); !found {
			return fmt.Errorf("the event has no section %q; without --section, all of them are listed", key)
		}
	}
	return nil
}

// printHolders prints a line for each seat of some sections that is taken, in plan order.
func (s *session) printHolders(h *holdings, sections []string) error {
	lines := slices.DeleteFunc(slices.Clone(h.lines), func(l holderLine) bool { return !slices.Contains(sections, l.Section) })
	columns := []any{"section", "row", "seat", "seats", "state", "lock", "booking", "user", "expires at"}
	return printRows(s.out, lines, columns, func(l holderLine) []any {
		return []any{l.Section, l.Row, l.SeatID, l.Seats, l.State, l.LockID, l.BookingID, l.UserID, l.ExpiresAt}
	})
}

// reportContradictions says what is wrong with what was printed: recovery repairs the map, and an operator the
// locks of other software.
func (s *session) reportContradictions(h *holdings, read store.SeatLocks) (int, error) {
	var texts []string
	switch n := len(h.unplaced); {
	case n == 1:
		texts = append(texts, fmt.Sprintf("lock %s does not say where all its seats are, and counts in the event alone", h.unplaced[0]))
	case n > 1:
		texts = append(texts, fmt.Sprintf("%d locks do not say where all their seats are, and count in the event alone, such as %s",
			n, h.unplaced[0]))
	}
	switch {
	case h.doubles == 1:
		texts = append(texts, "a lock takes a seat that is in a lock already; seatctl doctor names them")
	case h.doubles > 1:
		texts = append(texts, fmt.Sprintf("%d times, a lock takes a seat that is in a lock already; seatctl doctor names them", h.doubles))
	}
	if read.Stored == nil || read.Stored.Become(h.taken) != 0 {
		texts = append(texts, "the event's map of seats does not agree with its locks; run seatctl recover")
	}
	var err error
	for _, text := range texts {
		_, printErr := fmt.Fprintln(s.errs, visible(text)+".")
		err = errors.Join(err, printErr)
	}
	if len(texts) > 0 {
		return exitFindings, err
	}
	return exitOK, err
}
