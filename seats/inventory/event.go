package inventory

import (
	"github.com/holdfast-dev/holdfast"
)

// ChangeEvent changes an event, also during a sale. Taken seats stay taken.
type ChangeEvent struct{ holdfast.EventChange }

func (c ChangeEvent) decide(d *decision) Result {
	if !d.ensureEvent() {
		return d.refuse(holdfast.NotFound(holdfast.CodeEventNotFound), UserKey{})
	}
	if c.Status != nil && *c.Status != holdfast.Cancelled && d.event.Status == holdfast.Cancelled {
		return d.refuse(holdfast.Refuse(holdfast.CodeEventNotOnSale, "The event is cancelled, which is final."), UserKey{})
	}
	if refusal := d.fitsSeating(c.EventChange); refusal != nil {
		return d.refuse(refusal, UserKey{})
	}
	if refusal := c.CheckSale(d.event.Event); refusal != nil {
		return d.refuse(refusal, UserKey{})
	}
	shopData, changesShopData, refusal := c.ShopData.Of(d.event.ShopData, "body")
	if refusal != nil {
		return d.refuse(refusal, UserKey{})
	}
	if !changesShopData && c.NamesShopDataAlone() {
		unchanged := d.event.Event
		return Result{Event: &unchanged}
	}
	if c.TotalSeats != nil {
		if !d.ensureCounter() {
			return Result{}
		}
		taken := d.counter.taken()
		if *c.TotalSeats < taken && *c.TotalSeats != d.counter.total {
			return d.refuse(tooSmall(taken, "More seats are taken than the capacity asked for."), UserKey{})
		}
		d.counter = counterOf(*c.TotalSeats, taken)
	}
	if refusal, known := c.changeHall(d); !known {
		return Result{}
	} else if refusal != nil {
		return d.refuse(refusal, UserKey{})
	}
	d.ifUnchanged, d.changesEvent, d.eventBy = true, true, d.command
	write := d.writeOfEvent()
	c.changeList(d)
	write.change(c.EventChange, &d.event)
	if changesShopData {
		write.ShopData, d.event.ShopData = &shopData, shopData
	}
	after := d.event.Event
	return Result{Event: &after}
}

// changeList ends the entries that wait if the change closes the list or cancels the event, or if the sale has ended: a later end
// does not open it for them again. It is before the change.
func (c ChangeEvent) changeList(d *decision) {
	if d.event.List.Waiting > 0 && d.state.Now.IsZero() { // whether the sale has ended, and when the job has to look
		d.needs.Event = true
		return
	}
	closes := c.Waitlist != nil && *c.Waitlist == holdfast.WaitlistClosed
	cancels := c.Status != nil && *c.Status == holdfast.Cancelled
	if closes || cancels || d.event.List.Waiting > 0 && d.event.HasSold(d.state.Now) {
		d.closeEntries()
	} else if end := d.event.SaleEndsAt; d.event.List.Waiting > 0 && !end.IsZero() {
		d.plan.endBefore(end)
	}
	d.list.wishes = nil // the plan and its rules may change
	d.freed()
}

// fitsSeating refuses a change that is not possible for an event with a seating plan, or for one without.
func (d *decision) fitsSeating(c holdfast.EventChange) *holdfast.Error {
	switch {
	case d.isSeated() && c.TotalSeats != nil:
		return holdfast.RefuseInput("body.totalSeats", "The event has the seats of its seating plan.")
	case !d.isSeated() && c.SeatingPlanID != nil:
		return holdfast.RefuseInput("body.seatingPlanId", "The event has no seating plan, and can't get one.")
	case !d.isSeated() && len(c.Sections) > 0:
		return holdfast.RefuseInput("body.sections", "The event has no seating plan.")
	default:
		return nil
	}
}

// writeOfEvent returns the planned write of the event. It creates one if there is none.
func (d *decision) writeOfEvent() *EventWrite {
	if d.plan.Event == nil {
		d.plan.Event = &EventWrite{}
	}
	return d.plan.Event
}

// change adds a change to the write, after earlier changes of the batch, and applies it to e.
func (w *EventWrite) change(c holdfast.EventChange, e *Event) {
	if c.Name != nil {
		w.Fields.Name, e.Name = c.Name, *c.Name
	}
	if c.TotalSeats != nil {
		w.Fields.TotalSeats, e.TotalSeats = c.TotalSeats, *c.TotalSeats
	}
	if c.EventDate != nil {
		w.Fields.EventDate, e.EventDate = c.EventDate, *c.EventDate
	}
	if c.Status != nil {
		w.Fields.Status, e.Status = c.Status, *c.Status
	}
	if c.MaxSeatsPerUser != nil {
		w.Fields.MaxSeatsPerUser, e.MaxSeatsPerUser = c.MaxSeatsPerUser, *c.MaxSeatsPerUser
	}
	if c.Waitlist != nil {
		w.Fields.Waitlist, e.Waitlist.Status = c.Waitlist, *c.Waitlist
		e.Waitlist.HasBegun = e.Waitlist.HasBegun || *c.Waitlist != holdfast.WaitlistClosed
	}
	if c.OfferSeconds != nil {
		w.Fields.OfferSeconds, e.Waitlist.OfferSeconds = c.OfferSeconds, *c.OfferSeconds
	}
	if c.WaitlistFit != nil {
		w.Fields.WaitlistFit, e.Waitlist.Fit = c.WaitlistFit, *c.WaitlistFit
	}
	if c.SaleStartsAt != nil {
		w.Fields.SaleStartsAt, e.SaleStartsAt = c.SaleStartsAt, *c.SaleStartsAt
	}
	if c.SaleEndsAt != nil {
		w.Fields.SaleEndsAt, e.SaleEndsAt = c.SaleEndsAt, *c.SaleEndsAt
	}
	if c.OrphanRule != nil {
		w.Fields.OrphanRule, e.Seating.OrphanRule = c.OrphanRule, *c.OrphanRule
	}
	if c.LatePayments != nil {
		w.Fields.LatePayments, e.LatePayments.Policy = c.LatePayments, *c.LatePayments
	}
	if c.LateSeconds != nil {
		w.Fields.LateSeconds, e.LatePayments.Seconds = c.LateSeconds, *c.LateSeconds
	}
	if c.AccessiblePolicy != nil {
		w.Fields.AccessiblePolicy, e.Seating.AccessiblePolicy = c.AccessiblePolicy, *c.AccessiblePolicy
	}
}

// RepairSeats compares the map and the counter of a seated event with its locks, and corrects them. Seats that several
// locks have stay taken.
type RepairSeats struct{ RunID string }

func (c RepairSeats) decide(d *decision) Result {
	if d.state.Union == nil {
		d.needs.Union, d.needs.Seats = true, true
		return Result{}
	}
	if !d.ensureEvent() {
		return Result{Err: holdfast.NotFound(holdfast.CodeEventNotFound)}
	}
	if !d.isSeated() || !d.ensureSeats() {
		return Result{}
	}
	union := d.state.Union
	result := Result{Corrected: d.state.Seats.Become(union.Seats), Union: union, WrongTotal: union.Seats.Total() != d.event.TotalSeats}
	d.state.Taken = &union.Taken
	d.ensureCounter()
	if available, oversold := d.split(); available != d.event.AvailableSeats || oversold != d.event.Oversold {
		result.Correction = &Correction{EventID: d.event.ID, Before: d.event.AvailableSeats, After: available, Oversold: oversold}
	}
	result.WrongMap = result.Corrected > 0 || d.event.Seating.BlockedSeats != union.Blocked
	if result.WrongMap || result.Correction != nil {
		d.freed()
		d.event.Seating.BlockedSeats, d.ifUnchanged = union.Blocked, true
		d.plan.Event = &EventWrite{RunID: c.RunID, AllMaps: union.NoMap, Raise: d.state.Now.UnixMilli() - d.event.Revision}
	}
	return result
}

// Repair compares the event's counter with its locks, and corrects it if it is wrong. A drift is subtracted while
// the sale continues. If the transaction holds the event, the counter is replaced. A seated event is repaired with its
// map.
type Repair struct{ RunID string }

func (c Repair) decide(d *decision) Result {
	if d.state.Taken == nil {
		d.needs.Taken = true
		return Result{}
	}
	if !d.ensureEvent() {
		return Result{Err: holdfast.NotFound(holdfast.CodeEventNotFound)}
	}
	if d.isSeated() {
		return RepairSeats(c).decide(d)
	}
	drift := d.event.Drift(*d.state.Taken)
	available, oversold := split(counterOf(d.event.TotalSeats, *d.state.Taken).left, 0)
	result := Result{
		Event:      &d.event.Event,
		Correction: &Correction{EventID: d.event.ID, Before: d.event.AvailableSeats, After: available, Oversold: oversold},
	}
	switch {
	case drift == 0 && d.event.Valid():
		return Result{}
	case d.event.Oversold >= 0 && !d.state.Held && d.event.List.Waiting == 0:
		d.plan.Event = &EventWrite{RunID: c.RunID, Drift: &Drift{Amount: drift, Repairs: d.event.Repairs}}
	default:
		d.plan.Event = &EventWrite{RunID: c.RunID}
		d.ensureCounter()
		d.freed()
	}
	return result
}
