package recovery

import (
	"bytes"
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Plan has the findings of a pass. During a sale they may be out of date at once.
type Plan struct {
	SoldLocks      []holdfast.ID          // ACTIVE locks of CONFIRMED bookings, which become CONSUMED
	EndedSales     []inventory.BookingRef // CONFIRMED, and the lock has ended: reported
	OrphanConsumed []holdfast.ID          // CONSUMED locks without a CONFIRMED booking, which are only reported
	DoubleSales    []holdfast.ID          // locks with several CONFIRMED bookings, which are only reported
	StaleLocks     int64                  // the number of due locks, which expire
	StaleBookings  int64                  // the number of due bookings, which expire
	Initiated      int64                  // the number of INITIATED bookings, which are only counted
	Drifts         []inventory.Correction // counters that are corrected
	WrongMaps      []holdfast.ID          // seated events whose map does not agree with their locks; it is corrected
	DoubleSeats    int64                  // the number of seats that several locks have, which are only reported
	FirstDoubles   []DoubleSeat           // the first such seats of each event, in the order of the events
	UnplacedLocks  int64                  // locks whose seats are not in the plan, which are only reported
	UnreadSeats    []holdfast.ID          // events whose seating plan can't be read, which are only reported
	LostPlans      []holdfast.ID          // events without a seating plan that have locks of its seats, which are only reported
	WrongTotals    []holdfast.ID          // events whose totalSeats differs from their seating plan, which are only reported
	// sections of general admission of which more is taken than they have, which are only reported
	OversoldSections []OversoldSection
	WrongLists       []store.CountedList // waiting lists whose number of waiting entries is wrong; it is corrected
	WrongOffers      []store.WrongOffer  // entries that don't agree with their lock, which are only reported
	Oversold         int64               // the number of events with seats taken beyond their total, which are only reported
	EventsMeasured   int64
	Archived         int64 // events that are not measured, unless all are
}

// OversoldSection is a section of general admission of which Seats more are taken than it has.
type OversoldSection struct {
	EventID holdfast.ID
	Section string // its key
	Seats   int64
}

// DoubleSeat is a seat that several locks have.
type DoubleSeat struct {
	EventID holdfast.ID
	SeatID  string
}

// Plan reads everything that a pass reads, and changes nothing.
func (r *Recovery) Plan(ctx context.Context) (Plan, error) { return r.plan(ctx, store.NotArchived) }

// PlanAll is Plan for a pass over all events, archived or not.
func (r *Recovery) PlanAll(ctx context.Context) (Plan, error) { return r.plan(ctx, store.AllEvents) }

func (r *Recovery) plan(ctx context.Context, scope store.Scope) (p Plan, err error) {
	reads := &pass{Recovery: r, scope: scope}
	if err := reads.widen(ctx); err != nil {
		return p, err
	}
	if p.Archived, err = r.store().ArchivedCount(ctx); err != nil {
		return p, err
	}
	err = reads.planSales(ctx, oneAtATime(func(page salesPlan) error {
		p.SoldLocks, p.EndedSales = append(p.SoldLocks, page.sold...), append(p.EndedSales, page.ended...)
		p.OrphanConsumed = append(p.OrphanConsumed, page.orphans...)
		p.DoubleSales = append(p.DoubleSales, page.doubles...)
		return nil
	}))
	slices.SortFunc(p.SoldLocks, func(a, b holdfast.ID) int { return bytes.Compare(a[:], b[:]) })
	p.SoldLocks = slices.Compact(p.SoldLocks)
	if err != nil {
		return p, err
	}
	if p.StaleLocks, err = r.store().CountDueLocks(ctx, 0); err != nil {
		return p, err
	}
	if p.StaleBookings, err = r.store().CountDueBookings(ctx); err != nil {
		return p, err
	}
	err = reads.planCounters(ctx, oneAtATime(func(page counterPlan) error {
		p.EventsMeasured += int64(page.events)
		for _, c := range page.corrections {
			p.Drifts = append(p.Drifts, c)
		}
		return page.err
	}))
	if err != nil {
		return p, err
	}
	if err := reads.planMaps(ctx, &p); err != nil {
		return p, err
	}
	if err := reads.planLists(ctx, &p); err != nil {
		return p, err
	}
	if p.Oversold, err = r.store().OversoldEvents(ctx); err != nil {
		return p, err
	}
	p.Initiated, err = r.store().CountBookings(ctx, holdfast.BookingInitiated, 0)
	return p, err
}

// salesPlan has the contradictions between the sales and the locks of a page.
type salesPlan struct {
	sold, orphans, doubles []holdfast.ID // locks
	ended                  []inventory.BookingRef
}

// planSales compares CONFIRMED bookings with their locks, and CONSUMED locks with their bookings, several pages at a
// time. It calls handle for each page with contradictions.
// It looks up the due locks separately, because a sweep would end them and the sales of archived events are not
// compared. A sold lock among them may be in two pages.
func (p *pass) planSales(ctx context.Context, handle func(salesPlan) error) error {
	err := p.soldAmong(ctx, p.store().EachDueLock, func(sold []holdfast.ID) error { return handle(salesPlan{sold: sold}) })
	if err != nil {
		return err
	}
	done := p.progress("Comparing CONFIRMED bookings with their locks", 0)
	err = eachPage(ctx, func(ctx context.Context, work func(func() error)) error {
		compare := func(sales []inventory.BookingRef) error {
			work(func() error {
				defer done(ctx, len(sales))
				active, ended, err := p.store().ActiveSales(ctx, sales)
				if err != nil || len(active)+len(ended) == 0 {
					return err
				}
				plan := salesPlan{ended: ended}
				for _, sale := range active {
					plan.sold = append(plan.sold, sale.Lock)
				}
				return handle(plan)
			})
			return ctx.Err()
		}
		if p.scope == store.NotArchived {
			if err := p.store().EachUnnamedSale(ctx, idPageSize, compare); err != nil {
				return err
			}
		}
		return p.eachScope(ctx, func(eventIDs []holdfast.ID) error { return p.store().EachSale(ctx, eventIDs, idPageSize, compare) })
	})
	if err != nil {
		return err
	}
	done = p.progress("Comparing CONSUMED locks with their bookings", 0)
	return eachPage(ctx, func(ctx context.Context, work func(func() error)) error {
		compare := func(lockIDs []holdfast.ID) error {
			work(func() error {
				defer done(ctx, len(lockIDs))
				orphans, doubles, err := p.store().OrphanConsumed(ctx, lockIDs)
				if err != nil || len(orphans)+len(doubles) == 0 {
					return err
				}
				return handle(salesPlan{orphans: orphans, doubles: doubles})
			})
			return ctx.Err()
		}
		return p.eachScope(ctx, func(eventIDs []holdfast.ID) error {
			return p.store().EachLock(ctx, eventIDs, holdfast.LockConsumed, idPageSize, compare)
		})
	})
}

// eachScope calls handle with the events of the pass, page by page. If these are all events, it calls handle once
// with nil: documents that name an event which does not exist are then compared too.
func (p *pass) eachScope(ctx context.Context, handle func([]holdfast.ID) error) error {
	if p.scope == store.AllEvents {
		return handle(nil)
	}
	return p.store().EachEvent(ctx, p.scope, eventPageSize, func(page store.EventPage) error { return handle(page.IDs) })
}

// soldAmong calls handle with those of the given ACTIVE locks that are sold.
func (p *pass) soldAmong(
	ctx context.Context, eachLock func(context.Context, int, func([]holdfast.ID) error) error, handle func([]holdfast.ID) error,
) error {
	return eachPage(ctx, func(ctx context.Context, work func(func() error)) error {
		return eachLock(ctx, idPageSize, func(lockIDs []holdfast.ID) error {
			work(func() error {
				sold, err := p.store().SoldLocks(ctx, lockIDs)
				if err != nil || len(sold) == 0 {
					return err
				}
				return handle(sold)
			})
			return ctx.Err()
		})
	})
}

// counterPlan is a page of events whose counters were compared with their locks.
type counterPlan struct {
	events      int
	corrections map[holdfast.ID]inventory.Correction
	drifts      map[holdfast.ID]inventory.EventWrite // the corrections that are subtracted
	err         error                                // set if the suspects could not be measured
	suspects    []holdfast.ID
}

// planCounters compares the counters of unseated events with their locks, several pages at a time. It calls handle
// for each page. The counters of seated events are compared with their maps.
func (p *pass) planCounters(ctx context.Context, handle func(counterPlan) error) error {
	total, err := p.store().EventCount(ctx, p.scope)
	if err != nil {
		return err
	}
	done := p.progress("Checking counters", total)
	return eachPage(ctx, func(ctx context.Context, work func(func() error)) error {
		return p.store().EachEvent(ctx, p.scope, eventPageSize, func(page store.EventPage) error {
			work(func() error {
				defer done(ctx, len(page.IDs))
				suspects, err := p.store().Audit(ctx, page)
				if err != nil {
					return err
				}
				plan, err := p.measure(ctx, page, suspects)
				if err != nil {
					return err
				}
				return handle(plan)
			})
			return ctx.Err()
		})
	})
}

// measure plans the corrections of a page. Seats may have moved between the two reads of the audit, so it measures
// the events that did not agree again, in one snapshot.
func (p *pass) measure(ctx context.Context, page store.EventPage, suspects []holdfast.ID) (counterPlan, error) {
	plan := counterPlan{
		events: len(page.IDs), suspects: suspects,
		corrections: map[holdfast.ID]inventory.Correction{}, drifts: map[holdfast.ID]inventory.EventWrite{},
	}
	if len(suspects) == 0 {
		return plan, nil
	}
	states, err := p.store().Measure(ctx, suspects)
	if err != nil {
		plan.err = err
		return plan, ctx.Err()
	}
	for _, s := range states {
		repair, result := p.Pipeline.Preview(withoutList(s), inventory.Repair{RunID: p.runID})
		if result.Correction != nil {
			plan.corrections[s.Event.ID] = *result.Correction
			// Seats that a correction frees are offered to the waiting list, so the event is corrected by itself.
			if repair.Event.Drift != nil && s.Event.List.Waiting == 0 {
				plan.drifts[s.Event.ID] = *repair.Event
			}
		}
	}
	return plan, nil
}
