package chaos_test

import (
	"slices"
)

// The part of the event's model that knows payments: which confirmations are possible, and what became of a booking's
// references.

// The references that a client has for one booking: the first ones for confirmations, further ones for changes of a booking
// that was sold, and the last one for a booking that is sold at once.
const (
	confirmReferences = 3
	saleReference     = 6
	maxReferences     = saleReference

	usedElsewhere = -1
)

// paymentReason is why a reference has to go back. accepted and added mean that it has not: the booking is CONFIRMED with the
// reference. 0: the reference has left no payment.
type paymentReason byte

const (
	accepted paymentReason = 'A' // the booking's first one
	added    paymentReason = 'a'
)

func (r paymentReason) isAccepted() bool { return r == accepted || r == added }

var reasonsByName = map[string]paymentReason{
	"late": 'l', "seats_gone": 's', "limit": 'm', "not_on_sale": 'n', "lock_ended": 'k', "booking_cancelled": 'b', "event_cancelled": 'c',
	"duplicate": 'd',
}

// codesByReason are the codes that a confirmation may have been refused with. The refusal of the same reference
// later has the same code.
var codesByReason = map[paymentReason][]string{
	'l': {"BOOKING_EXPIRED"}, 's': {"BOOKING_EXPIRED"}, 'm': {"BOOKING_EXPIRED"}, 'n': {"BOOKING_EXPIRED"}, 'b': {"BOOKING_CANCELLED"},
	'c': {"EVENT_NOT_ON_SALE", "BOOKING_CANCELLED", "BOOKING_EXPIRED"}, 'd': {"BOOKING_CONFIRMED"},
}

// references are the payments of a booking, by the number of their reference less 1.
type references [maxReferences]paymentReason

func (r references) with(reference int, to paymentReason) references {
	r[reference-1] = to
	return r
}

// returned are the references after the booking was cancelled.
func (r references) returned(why paymentReason) references {
	for i := range r {
		if r[i].isAccepted() {
			r[i] = why
		}
	}
	return r
}

// accept is what the references are after a further payment.
func (r references) accept(reference int) references {
	if r.first() == 0 {
		return r.with(reference, accepted)
	}
	return r.with(reference, added)
}

// first is the number of the booking's first accepted payment; 0: it has none.
func (r references) first() int { return slices.Index(r[:], accepted) + 1 }

// sorted does not tell the first accepted payment from others.
func (r references) sorted() references {
	for i := range r {
		if r[i] == added {
			r[i] = accepted
		}
	}
	return r
}

// confirmation is a possible outcome of a confirmation.
type confirmation struct {
	codes  []string // one of these; none: it was confirmed
	reason paymentReason
	after  eventState
}

func (c confirmation) agrees(out opOutput) bool {
	if out.reason != c.reason {
		return false
	}
	if out.code == "" {
		return len(c.codes) == 0
	}
	return slices.Contains(c.codes, out.code)
}

// confirm returns the states that may follow a confirmation with a reference.
func (s eventState) confirm(in opInput, out opOutput) (next []any) {
	for _, c := range s.confirmations(in, out) {
		if in.indeterminate || c.agrees(out) {
			next = append(next, c.after)
		}
	}
	if in.indeterminate {
		next = append(next, s)
	}
	return next
}

// confirmations are the outcomes that are possible. A reference that was refused stays refused.
func (s eventState) confirmations(in opInput, out opOutput) (all []confirmation) {
	i, open, found := s.findBooking(in.booking)
	if !found {
		return nil
	}
	before := s.locks[i].refs[in.reference-1]
	if before.isAccepted() {
		return []confirmation{{after: s}}
	}
	fresh := s.firstConfirmations(i, open, in.reference, out)
	if before == 0 {
		return fresh
	}
	for _, c := range fresh {
		switch {
		case len(c.codes) == 0:
			c.codes = []string{"PAYMENT_REFUND_DUE"}
		case c.reason != 0:
			c.codes = codesByReason[before]
		}
		if c.reason = before; c.codes[0] == "BOOKING_NOT_PAYABLE" {
			c.reason = 0
		}
		c.after = s
		all = append(all, c)
	}
	return all
}

// firstConfirmations are the possible outcomes for a reference that is new.
func (s eventState) firstConfirmations(i int, open bool, reference int, out opOutput) (all []confirmation) {
	l := s.locks[i]
	refuse := func(code string, why paymentReason) {
		after := l
		after.refs = l.refs.with(reference, why)
		all = append(all, confirmation{[]string{code}, why, s.withLock(i, after)})
	}
	isInTime := l.status == 'A' && !l.bookingWasDue(out)
	switch {
	case !open && s.saleStatus == "CANCELLED":
		refuse("BOOKING_CANCELLED", 'c')
	case !open:
		refuse("BOOKING_CANCELLED", 'b')
	case l.booking == 'C':
		refuse("BOOKING_CONFIRMED", 'd')
	case isInTime && l.booking == 'I':
		all = append(all, confirmation{[]string{"BOOKING_NOT_PAYABLE"}, 0, s})
	case isInTime && s.saleStatus == "CANCELLED":
		refuse("EVENT_NOT_ON_SALE", 'c')
	case isInTime:
		all = append(all, confirmation{after: s.sell(i, reference)})
	}
	switch {
	case !open || l.booking == 'C' || !l.bookingMayBeDue(out):
	case l.booking == 'I' || !s.acceptsLate:
		refuse("BOOKING_EXPIRED", 'l')
	case s.saleStatus == "CANCELLED":
		refuse("BOOKING_EXPIRED", 'c')
	case s.saleStatus != "ON_SALE":
		refuse("BOOKING_EXPIRED", 'n')
	default:
		mayBeBelow, mayBeAbove := s.lateLimit(i, out)
		if mayBeAbove {
			refuse("BOOKING_EXPIRED", 'm')
		}
		if after, possible := s.takeAgain(i, out); possible && mayBeBelow {
			all = append(all, confirmation{after: after.sellLate(i, reference)})
		}
		if mayBeBelow && s.mayBeGone(i, out) {
			refuse("BOOKING_EXPIRED", 's')
		}
	}
	return all
}

// sell confirms the booking of a lock.
func (s eventState) sell(i, reference int) eventState {
	l := s.locks[i]
	l.booking, l.status, l.refs = 'C', 'C', l.refs.accept(reference)
	return s.withLock(i, l)
}

// sellLate confirms a booking that has expired. Its seats are in a new lock, which the model keeps in the place of the
// expired one.
func (s eventState) sellLate(i, reference int) eventState {
	return s.withLock(i, s.locks[i].leave('E')).sell(i, reference)
}

// lateLimit reports whether a late payment may be within the limit of the customer's seats, and above it. The seats of
// a lock that is not due count already.
func (s eventState) lateLimit(i int, out opOutput) (mayBeBelow, mayBeAbove bool) {
	l := s.locks[i]
	if s.perUser == 0 {
		return true, false
	}
	others := func(counts func(expires int64) bool) int64 {
		n := s.heldBy(l.user, counts)
		if l.status == 'A' && counts(l.expires) {
			n -= l.seats
		}
		return n
	}
	least := others(func(expires int64) bool { return expires > out.returned+tolerance })
	most := others(func(expires int64) bool { return expires+tolerance > out.called })
	counts := l.status == 'A' && l.expires+tolerance > out.called
	countsSurely := l.status == 'A' && l.expires > out.returned+tolerance
	return counts || least+l.seats <= s.perUser, !countsSurely && most+l.seats > s.perUser
}

// takeAgain gives the booking of an expired lock its seats again. The orphan rule is not for seats that are paid for.
func (s eventState) takeAgain(i int, out opOutput) (after eventState, possible bool) {
	l := s.locks[i]
	switch {
	case l.status == 'A': // It has them still.
		return s, true
	case s.hall == nil:
		possible = true
	case l.places.section != "":
		possible = s.freeStanding(l.places.section, noLock) >= l.seats
	case l.places.named&^s.hall.all == 0 && s.blocked&l.places.named == 0:
		s, possible = s.reclaim(l.places.named, out, i)
	}
	s.free -= l.seats
	return s, possible && s.free >= 0
}

// mayBeGone reports whether the seats of an expired lock may be taken, and not by locks that were due.
func (s eventState) mayBeGone(i int, out opOutput) bool {
	l := s.locks[i]
	switch {
	case l.status == 'A':
		return false
	case s.hall == nil:
		return s.free < l.seats && !s.hasDue(out, noLock)
	case l.places.section != "":
		return s.freeStanding(l.places.section, noLock) < l.seats && !s.hasDue(out, noLock)
	case l.places.named&^s.hall.all != 0 || s.blocked&l.places.named != 0:
		return true
	}
	return slices.ContainsFunc(s.locks, func(o lockState) bool {
		return o.holdsSeats() && o.places.named&l.places.named != 0 && (o.status != 'A' || !out.hadPassed(o.expires))
	})
}

// endSale ends a lock of an event that was cancelled, and its booking.
func (s eventState) endSale(i int) (after eventState, possible bool) {
	if s.saleStatus != "CANCELLED" || !s.locks[i].holdsSeats() {
		return s, false
	}
	s = s.release(i)
	l := s.locks[i]
	l.refs = l.refs.returned('c')
	return s.withLock(i, l), true
}

// endBooking cancels the open booking of a lock that has expired, in an event that was cancelled.
func (s eventState) endBooking(i int) (after eventState, possible bool) {
	l := s.locks[i]
	if s.saleStatus != "CANCELLED" || l.status != 'E' || l.booking == 0 || l.booking == 'C' {
		return s, false
	}
	if l.id != "" {
		s.cancelled = append(slices.Clip(s.cancelled), cancelledBooking{l.id, i})
	}
	l.booking, l.id, l.window = 0, "", 0
	return s.withLock(i, l), true
}
