package seats

import (
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// Report counts the seats of an event by their state, at one snapshot and by the database's clock. It reads all locks that
// take seats. It refuses with EVENT_NOT_FOUND.
func (s *Service) Report(ctx context.Context, eventID ID) (holdfast.EventReport, error) {
	var c counter
	err := s.store.EachSeatLock(ctx, eventID, c.begin, c.add)
	return c.report, err
}

// counter counts the seats of locks.
type counter struct {
	report holdfast.EventReport
	hall   *seating.Hall // nil if the event is unseated
}

// begin counts the seats of an event without locks.
func (c *counter) begin(event holdfast.Event, free *seating.Occupancy) error {
	*c = counter{report: holdfast.EventReport{EventID: event.ID, SeatCounts: holdfast.SeatCounts{Total: event.TotalSeats},
		Waiting: event.Waitlist.Waiting}}
	if free == nil {
		return nil
	}
	c.hall = free.Hall()
	keys := c.hall.Categories()
	c.report.Categories = make([]holdfast.CategoryCounts, len(keys))
	for n, key := range keys {
		c.report.Categories[n].Key = key
	}
	for n, section := range c.hall.Sections() {
		total := free.Capacity(n)
		c.report.Sections = append(c.report.Sections, holdfast.SectionCounts{
			Key: section.Key, Category: keys[section.Category], SeatCounts: holdfast.SeatCounts{Total: total},
		})
		for _, seat := range section.Seats {
			c.report.Categories[seat.Category].Total++
		}
		if section.GeneralAdmission() {
			c.report.Categories[section.Category].Total += total
		}
	}
	return nil
}

// add counts the seats of a lock.
func (c *counter) add(lock holdfast.Lock, state holdfast.SeatState) {
	isOffer := state == holdfast.SeatLocked && !lock.EntryID.IsZero()
	count(&c.report.SeatCounts, isOffer, state, lock.Seats)
	if c.hall == nil {
		return
	}
	for _, id := range lock.SeatIDs {
		if at, found := c.hall.Find(id); found {
			c.addIn(at.Section, c.hall.Seat(at).Category, isOffer, state, 1)
		}
	}
	if n, found := generalAdmission(c.hall, lock); found {
		c.addIn(n, c.hall.Sections()[n].Category, isOffer, state, lock.Seats)
	}
}

func (c *counter) addIn(section, category int, isOffer bool, state holdfast.SeatState, n int64) {
	count(&c.report.Sections[section].SeatCounts, isOffer, state, n)
	count(&c.report.Categories[category].SeatCounts, isOffer, state, n)
}

// count counts n seats that have a state. Those of an offer of the waiting list are counted apart.
func count(in *holdfast.SeatCounts, isOffer bool, state holdfast.SeatState, n int64) {
	if isOffer {
		in.Offered += n
		return
	}
	in.Add(state, n)
}

// generalAdmission finds the section of general admission that a lock has seats in.
func generalAdmission(hall *seating.Hall, lock holdfast.Lock) (section int, found bool) {
	if len(lock.SeatIDs) > 0 {
		return 0, false
	}
	section, found = hall.FindSection(lock.Section)
	return section, found && hall.Sections()[section].GeneralAdmission()
}
