package chaos_test

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// nemesisReport sums up all rounds.
type nemesisReport struct {
	rounds, requests, refusals, indeterminate, undecided int
	states                                               int // committed states that were checked
	archived                                             int // events
	told                                                 int // changes, page by page
	webhooks                                             int // changes, to an endpoint
	replayed, buried                                     int // deliveries to it that were planned again; buried: that were DEAD
	streams, resets, observed                            int // by subscribers
	notes                                                int // changes of references and metadata
	halls                                                hallReport
	payments                                             paymentReport
	afterSale                                            afterSaleReport
	lists                                                waitlistReport
	faults                                               map[string]int
	slowestExpiry                                        time.Duration // until everything due was expired
}

// paymentReport counts what became of payments, and what ended with its event's sale.
type paymentReport struct {
	accepted                                             int // answers
	late, refunded                                       int
	tooLate, gone, limited, closed, cancelled, duplicate int // refused, by reason
	ended                                                int // locks that the job event-cancel released
}

func (r *paymentReport) add(final finalState) {
	counters := map[string]*int{"late": &r.tooLate, "seats_gone": &r.gone, "limit": &r.limited, "not_on_sale": &r.closed,
		"booking_cancelled": &r.cancelled, "event_cancelled": &r.cancelled, "duplicate": &r.duplicate}
	for _, p := range final.payments {
		if n := counters[p.Reason]; n != nil {
			*n++
		}
		if p.Status == "REFUNDED" {
			r.refunded++
		}
	}
	for _, l := range final.locks {
		if l.Key == "" {
			r.late++
		}
		if l.EndedBy == "event-cancel" {
			r.ended++
		}
	}
}

// minimums asks that payments came in time, late and too late, and for each reason that is not rare.
func (r paymentReport) minimums(rounds int) []minimum {
	return []minimum{{"accepted payments", r.accepted, rounds}, {"late payments", r.late, rounds}, {"refunds", r.refunded, rounds},
		{"payments too late", r.tooLate, rounds / 2}, {"payments without seats", r.gone, rounds / 20},
		{"payments of cancelled bookings", r.cancelled, rounds}, {"duplicate payments", r.duplicate, rounds / 2},
		{"locks ended with the sale", r.ended, rounds / 4}}
}

// afterSaleReport counts what clients did after the sale, and sales at once.
type afterSaleReport struct {
	sales, altered, paid, parts, transfers, repeats int // granted
	refused, used                                   int // used: with a payment reference that was used
}

func (r *afterSaleReport) add(inv invocation) {
	isOfBooking := inv.op == opSell || inv.op == opAlter || inv.op == opTransfer
	switch {
	case inv.code == "PAYMENT_REFERENCE_USED":
		r.used++
	case isOfBooking && inv.code != "":
		r.refused++
	case isOfBooking && inv.replayed:
		r.repeats++
	case inv.code != "":
	case inv.op == opSell:
		r.sales++
	case inv.op == opAlter:
		r.altered++
		if inv.reference > 0 {
			r.paid++
		}
		if inv.part > 0 {
			r.parts++
		}
	case inv.op == opTransfer:
		r.transfers++
	case inv.op == opPart:
		r.parts++
	}
}

func (r afterSaleReport) minimums(rounds int) []minimum {
	return []minimum{{"sales at once", r.sales, rounds}, {"changed bookings", r.altered, rounds}, {"transfers", r.transfers, rounds / 2},
		{"changes with a payment", r.paid, rounds / 4}, {"refunded parts", r.parts, rounds / 4}, {"repeats", r.repeats, rounds / 2},
		{"refused changes", r.refused, rounds}, {"used payment references", r.used, rounds / 8}}
}

// waitlistReport counts what lists did.
type waitlistReport struct {
	joined, offered, accepted, declined, expired, left, closed int
	passedOver                                                 int // offers that went to a later entry, since the first one does not fit
	together                                                   int // offers of seats that several locks had given back
	races                                                      int // transactions with offers in which others got seats, too
	states                                                     int // committed states of lists with entries that wait
	requests                                                   int // of clients, also of those who pass by
}

func (r *waitlistReport) addRound(result roundResult) {
	l := result.listed
	r.joined, r.offered, r.accepted, r.declined = r.joined+l.joined, r.offered+l.offered, r.accepted+l.accepted, r.declined+l.declined
	r.expired, r.left, r.closed, r.passedOver = r.expired+l.expired, r.left+l.left, r.closed+l.closed, r.passedOver+l.passedOver
	r.together, r.races, r.states = r.together+l.together, r.races+l.races, r.states+l.states
	r.requests += len(result.lists.history)
}

func (r waitlistReport) String() string {
	return fmt.Sprintf("%d states, %d asked, %d joined, %d offered, %d accepted, %d declined, %d expired, %d left, %d closed, "+
		"%d passed over, %d of several locks, %d races", r.states, r.requests, r.joined, r.offered, r.accepted, r.declined, r.expired, r.left,
		r.closed, r.passedOver, r.together, r.races)
}

// minimums asks that entries went through each transition.
func (r waitlistReport) minimums(rounds int) []minimum {
	return []minimum{{"joined entries", r.joined, 2 * rounds}, {"offers", r.offered, rounds}, {"accepted offers", r.accepted, rounds / 15},
		{"declined offers", r.declined, rounds / 4}, {"expired offers", r.expired, rounds / 15}, {"left entries", r.left, rounds / 2},
		{"closed entries", r.closed, rounds / 4}}
}

// hallReport counts what clients did in halls.
type hallReport struct {
	named, picked, standing, changed, blocks, plans, capacities int // granted
	taken, apart, orphaned, misfits, tooSmall                   int // refused
}

func (r *hallReport) add(inv invocation) {
	counters := map[string]*int{"SEATS_UNAVAILABLE": &r.taken, "SEATS_NOT_ADJACENT": &r.apart, "SEAT_ORPHANED": &r.orphaned,
		misfit: &r.misfits, "CAPACITY_BELOW_TAKEN": &r.tooSmall}
	n := counters[inv.code]
	if inv.code == "" {
		switch {
		case inv.op == opBlock:
			n = &r.blocks
		case inv.op == opSetHall && inv.hall != nil:
			n = &r.plans
		case inv.op == opSetHall:
			n = &r.capacities
		case inv.op == opChange:
			n = &r.changed
		case inv.op == opLock && inv.wish.named != 0:
			n = &r.named
		case inv.op == opLock && inv.wish.best:
			n = &r.picked
		case inv.op == opLock:
			n = &r.standing
		}
	}
	if n != nil {
		*n++
	}
}

// minimums asks that each kind of request was granted, and refused for each reason that is not rare.
func (r hallReport) minimums(rounds int) []minimum {
	return []minimum{{"named locks", r.named, 3 * rounds}, {"picks", r.picked, 2 * rounds}, {"changes of seats", r.changed, rounds},
		{"locks of standing places", r.standing, rounds / 2}, {"blocks", r.blocks, rounds / 4}, {"taken seats", r.taken, rounds},
		{"orphaned seats", r.orphaned, rounds / 4}, {"changed plans", r.plans, rounds}, {"capacities too small", r.tooSmall, rounds / 8}}
}

// roundResult is what one round adds to the report.
type roundResult struct {
	*clients
	lists        *clients
	listed       waitlistReport
	subscribers  []*subscriber
	follower     *changesFollower
	final        finalState
	webhooks     int
	replayed     int
	buried       int
	faults       []clusterFault
	archived     int
	expiredAfter time.Duration
	states       int
}

// String is parsed by scripts/chaos: each number is followed by the word for its unit.
func (r nemesisReport) String() string {
	var names []string
	total := 0
	for name, n := range r.faults {
		names = append(names, fmt.Sprintf("%s %d", name, n))
		total += n
	}
	slices.Sort(names)
	return fmt.Sprintf("%d rounds, %d faults, %d requests, %d refusals, %d indeterminate answers, %d committed states, %d events archived, "+
		"%d changes told, %d webhooks, %d replayed, %d of them dead, %d states observed by subscribers in %d streams with %d resets, %d notes, "+
		"everything due expired within %v, %d undecided histories; "+
		"in halls %d named locks, %d picks, %d standing, %d changes of seats, %d blocks, %d plans, %d capacities, "+
		"and as refused %d taken, %d apart, %d orphaned, %d misfits, %d too small; "+
		"of payments %d accepted, %d late, %d refunded, %d too late, %d without seats, %d above limits, %d closed, %d cancelled, "+
		"%d duplicates, and %d locks ended with the sale; after it %d sold at once, %d changed, %d of them paid, %d parts, %d transferred, "+
		"%d repeated, %d refused, %d with a used payment; of waiting lists %v (%s)",
		r.rounds, total, r.requests, r.refusals, r.indeterminate, r.states, r.archived,
		r.told, r.webhooks, r.replayed, r.buried, r.observed, r.streams, r.resets, r.notes, r.slowestExpiry.Round(time.Millisecond), r.undecided,
		r.halls.named, r.halls.picked, r.halls.standing, r.halls.changed, r.halls.blocks,
		r.halls.plans, r.halls.capacities,
		r.halls.taken, r.halls.apart, r.halls.orphaned, r.halls.misfits, r.halls.tooSmall,
		r.payments.accepted, r.payments.late, r.payments.refunded, r.payments.tooLate, r.payments.gone, r.payments.limited,
		r.payments.closed, r.payments.cancelled, r.payments.duplicate, r.payments.ended,
		r.afterSale.sales, r.afterSale.altered, r.afterSale.paid, r.afterSale.parts, r.afterSale.transfers, r.afterSale.repeats,
		r.afterSale.refused, r.afterSale.used, r.lists,
		strings.Join(names, ", "))
}

func (r *nemesisReport) add(result roundResult) {
	r.rounds++
	r.requests, r.notes = r.requests+len(result.history), r.notes+len(result.notes)
	r.indeterminate += result.indeterminate + result.lists.indeterminate
	r.lists.addRound(result)
	r.undecided += result.undecided
	r.states += result.states
	r.archived += result.archived
	r.told += len(result.follower.told)
	r.webhooks += result.webhooks
	r.replayed += result.replayed
	r.buried += result.buried
	r.payments.add(result.final)
	r.slowestExpiry = max(r.slowestExpiry, result.expiredAfter)
	for _, inv := range result.history {
		if inv.code != "" {
			r.refusals++
		}
		r.afterSale.add(inv)
		if inv.op == opConfirm && inv.reference != 0 && inv.code == "" {
			r.payments.accepted++
		}
		if result.events[inv.event].hall != nil {
			r.halls.add(inv)
		}
	}
	if r.faults == nil {
		r.faults = map[string]int{}
	}
	for _, f := range result.faults {
		r.faults[f.name]++
	}
	for _, s := range result.subscribers {
		r.streams, r.resets, r.observed = r.streams+s.streams, r.resets+s.resets, r.observed+len(s.observed)
	}
}

// minimum is a number that a storm must reach to prove something.
type minimum struct {
	what      string
	got, want int
}

// minimums are what so many rounds must have.
func (r nemesisReport) minimums(rounds int) []minimum {
	return slices.Concat([]minimum{{"requests", r.requests, 50 * rounds}, {"archived events", r.archived, rounds / 2},
		{"told changes", r.told, 50 * rounds}, {"webhooks", r.webhooks, 50 * rounds}, {"replayed deliveries", r.replayed, rounds},
		{"dead deliveries", r.buried, rounds / 4}, {"streams", r.streams, 6 * rounds}, {"observed states", r.observed, 6 * rounds},
		{"notes", r.notes, 5 * rounds}},
		r.halls.minimums(rounds), r.payments.minimums(rounds), r.afterSale.minimums(rounds), r.lists.minimums(rounds))
}

// missing tells what is less than so many rounds must have.
func (r nemesisReport) missing(rounds int) []string {
	var missing []string
	for _, m := range r.minimums(rounds) {
		if m.got < m.want {
			missing = append(missing, fmt.Sprintf("%d of %d %s", m.got, m.want, m.what))
		}
	}
	return missing
}
