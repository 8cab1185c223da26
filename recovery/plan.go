package recovery

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Plan has the findings of a pass. During a sale they may be out of date at once.
type Plan struct {
	SoldLocks      []holdfast.ID          // ACTIVE locks of CONFIRMED bookings: they become CONSUMED
	EndedSales     []inventory.BookingRef // CONFIRMED, and the lock has ended: reported
	OrphanConsumed []holdfast.ID          // CONSUMED locks without a CONFIRMED booking: reported
	DoubleSales    []holdfast.ID          // locks with several CONFIRMED bookings: reported
	StaleLocks     int64                  // due: they expire
	StaleBookings  int64                  // due: they expire
	Initiated      int64                  // bookings: counted
	Drifts         []inventory.Correction // counters that are corrected
	PoisonLocks    int64                  // their seats are no whole number ≥ 1: reported
	PoisonEvents   []holdfast.ID          // their totalSeats is no whole number ≥ 0: reported
	Foreign        int64                  // events and users whose _id is no ObjectID, up to 100 each: reported
	Uncountable    []holdfast.ID          // their locks have too many seats to add up: reported
	WrongMaps      []holdfast.ID          // seated events whose map does not agree with their locks: corrected
	DoubleSeats    int64                  // seats that several locks have: reported
	FirstDoubles   []DoubleSeat           // the first ones of each event, in the order of the events
	UnplacedLocks  int64                  // their seats are in no place of the plan: reported
	UnreadSeats    []holdfast.ID          // events whose seating plan can't be read: reported
	LostPlans      []holdfast.ID          // events without a seating plan, but with locks of its seats: reported
	WrongTotals    []holdfast.ID          // events whose totalSeats is not what their seating plan has: reported
	Overfull       []holdfast.ID          // events with a section of general admission of which more is taken than it has: reported
	Oversold       int64                  // events with seats taken beyond their total: reported
	EventsMeasured int64
	BrokenSeals    []holdfast.ID // sealed events that other software changed: unsealed, and measured
	Sealed         int64         // events that are not measured, unless all are
}

// DoubleSeat is a seat that several locks have.
type DoubleSeat struct {
	EventID holdfast.ID
	SeatID  string
}

// Plan reads everything that a pass reads, and changes nothing.
func (r *Recovery) Plan(ctx context.Context) (Plan, error) { return r.plan(ctx, false) }

// PlanAll is Plan for a pass over all events, sealed or not.
func (r *Recovery) PlanAll(ctx context.Context) (Plan, error) { return r.plan(ctx, true) }

func (r *Recovery) plan(ctx context.Context, all bool) (p Plan, err error) {
	reads := &pass{Recovery: r, all: all}
	if err := reads.findBrokenSeals(ctx); err != nil {
		return p, err
	}
	p.BrokenSeals = reads.broken
	if p.Sealed, err = r.store().SealedCount(ctx); err != nil {
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
	addCounters := oneAtATime(func(page counterPlan) error {
		p.EventsMeasured += int64(page.events)
		p.PoisonEvents = append(p.PoisonEvents, page.poisonEvents...)
		p.Uncountable = append(p.Uncountable, page.uncountable...)
		for _, poison := range page.poisonLocks {
			p.PoisonLocks += poison.Count
		}
		for _, c := range page.corrections {
			p.Drifts = append(p.Drifts, c)
		}
		return page.err
	})
	if err := reads.planCounters(ctx, addCounters); err != nil {
		return p, err
	}
	if err := reads.planMaps(ctx, &p, addCounters); err != nil {
		return p, err
	}
	events, users, err := r.findForeign(ctx, &foreignTurns{})
	if err != nil {
		return p, err
	}
	p.Foreign = int64(len(events) + len(users))
	if p.Oversold, err = r.store().OversoldEvents(ctx); err != nil {
		return p, err
	}
	p.Initiated, err = r.store().CountBookings(ctx, holdfast.BookingInitiated, 0)
	return p, err
}

// salesPlan has the contradictions between sales and locks in a page.
type salesPlan struct {
	page                   store.EventPage
	sold, orphans, doubles []holdfast.ID // locks
	ended                  []inventory.BookingRef
}

// planSales compares CONFIRMED bookings with their locks, and CONSUMED locks with their
// bookings, several pages at a time; handle is called for each page with contradictions.
//
// A booking of other software may name a sealed event, whose sales are not compared, and the lock of
// another event. So the due locks, which a sweep would end, are looked up by themselves. A sold one
// among them may be in two pages.
func (p *pass) planSales(ctx context.Context, handle func(salesPlan) error) error {
	if p.scope == store.Unsealed {
		err := p.soldAmong(ctx, p.store().EachDueLock, func(sold []holdfast.ID) error { return handle(salesPlan{sold: sold}) })
		if err != nil {
			return err
		}
	}
	done := p.progress("Comparing CONFIRMED bookings with their locks", 0)
	err := eachPage(ctx, func(ctx context.Context, work func(func() error)) error {
		compare := func(page store.EventPage) func(sales []inventory.BookingRef) error {
			return func(sales []inventory.BookingRef) error {
				work(func() error {
					defer done(ctx, len(sales))
					active, ended, err := p.store().ActiveSales(ctx, sales)
					if err != nil || len(active)+len(ended) == 0 {
						return err
					}
					plan := salesPlan{page: page, ended: ended}
					for _, sale := range active {
						plan.sold = append(plan.sold, sale.Lock)
					}
					return handle(plan)
				})
				return ctx.Err()
			}
		}
		if !p.anySealed {
			return p.store().EachSale(ctx, idPageSize, compare(store.EventPage{}))
		}
		if err := p.store().EachUnnamedSale(ctx, idPageSize, compare(store.EventPage{})); err != nil {
			return err
		}
		return p.eachEventPage(ctx, func(page store.EventPage) error {
			return p.store().EachSaleOf(ctx, page, idPageSize, compare(page))
		})
	})
	if err != nil {
		return err
	}
	done = p.progress("Comparing CONSUMED locks with their bookings", 0)
	return eachPage(ctx, func(ctx context.Context, work func(func() error)) error {
		compare := func(page store.EventPage) func(lockIDs []holdfast.ID) error {
			return func(lockIDs []holdfast.ID) error {
				work(func() error {
					defer done(ctx, len(lockIDs))
					orphans, doubles, err := p.store().OrphanConsumed(ctx, lockIDs)
					if err != nil || len(orphans)+len(doubles) == 0 {
						return err
					}
					return handle(salesPlan{page: page, orphans: orphans, doubles: doubles})
				})
				return ctx.Err()
			}
		}
		if !p.anySealed {
			return p.store().EachLock(ctx, holdfast.LockConsumed, idPageSize, compare(store.EventPage{}))
		}
		return p.eachEventPage(ctx, func(page store.EventPage) error {
			return p.store().EachLockOf(ctx, page, holdfast.LockConsumed, idPageSize, compare(page))
		})
	})
}

// soldAmong calls handle with the sold ones of some ACTIVE locks.
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
	events       int
	poisonLocks  []store.PoisonLocks
	poisonEvents []holdfast.ID
	uncountable  []holdfast.ID
	corrections  map[holdfast.ID]inventory.Correction
	drifts       map[holdfast.ID]inventory.EventWrite // the corrections that are subtracted
	err          error                                // the suspects could not be measured
	suspects     []holdfast.ID
}

// planCounters compares the counters of unseated events with their locks, several pages at a time; handle is
// called for each page. Those of seated events are compared with their maps.
func (p *pass) planCounters(ctx context.Context, handle func(counterPlan) error) error {
	total, err := p.store().EventCount(ctx, p.scope)
	if err != nil {
		return err
	}
	done := p.progress("Checking counters", total)
	return eachPage(ctx, func(ctx context.Context, work func(func() error)) error {
		return p.eachEventPage(ctx, func(page store.EventPage) error {
			if page.Len() > 0 {
				work(func() error {
					defer done(ctx, page.Len())
					found, err := p.store().AuditUnseated(ctx, page)
					if err != nil {
						return err
					}
					plan, err := p.measure(ctx, page, found)
					if err != nil {
						return err
					}
					return handle(plan)
				})
			}
			return ctx.Err()
		})
	})
}

// planCounter is planCounters for one event, seated or not.
func (p *pass) planCounter(ctx context.Context, id holdfast.ID, handle func(counterPlan) error) error {
	page := store.PageOf(id)
	found, err := p.store().Audit(ctx, page)
	if err != nil {
		return err
	}
	plan, err := p.measure(ctx, page, found)
	if err != nil {
		return err
	}
	plan.events = 0 // it was counted with its page
	return handle(plan)
}

// measure plans the corrections of a page. Seats may have moved between the two reads of the audit, so the events
// that did not agree are measured again, in one snapshot.
func (p *pass) measure(ctx context.Context, page store.EventPage, found store.Audit) (counterPlan, error) {
	plan := counterPlan{
		events: page.Len(), poisonLocks: found.PoisonLocks, uncountable: found.Uncountable, suspects: found.Suspects,
		corrections: map[holdfast.ID]inventory.Correction{}, drifts: map[holdfast.ID]inventory.EventWrite{},
	}
	if len(found.Suspects) == 0 {
		return plan, nil
	}
	states, err := p.store().Measure(ctx, found.Suspects)
	if err != nil {
		plan.err = err
		return plan, ctx.Err()
	}
	for _, s := range states {
		repair, result := p.Pipeline.Preview(s, inventory.Repair{RunID: p.runID})
		switch {
		case errors.Is(result.Err, inventory.ErrNoTotal):
			plan.poisonEvents = append(plan.poisonEvents, s.Event.ID)
		case result.Correction != nil:
			plan.corrections[s.Event.ID] = *result.Correction
			if repair.Event.Drift != nil {
				plan.drifts[s.Event.ID] = *repair.Event
			}
		}
	}
	return plan, nil
}
