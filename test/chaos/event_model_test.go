package chaos_test

import (
	"slices"

	"github.com/anishathalye/porcupine"
)

// The model of an event that executes one operation at a time: which outputs it may give for
// an input, and which state follows. A history is linearizable if some order of its operations
// is possible in this model.

// operation is the kind of a request.
type operation string

const (
	opLock      operation = "lock"
	opExtend    operation = "extend"
	opRelease   operation = "release"
	opBook      operation = "book"
	opPay       operation = "pay"
	opConfirm   operation = "confirm"
	opCancel    operation = "cancel"
	opResize    operation = "resize"
	opSetStatus operation = "set status" // closes or opens the sale
	opSetLimit  operation = "set limit"  // seats per user; seats 0 removes it
	opReuseKey  operation = "reuse key"  // locks with the key of another request
	opChange    operation = "change seats"
	opBlock     operation = "block"
	opUnblock   operation = "unblock"
	opSetRule   operation = "set orphan rule"
	opSetHall   operation = "set hall" // another plan, other capacities, or both
	opRefund    operation = "refund"   // of a payment that was refused; no part of the event's history
	opNote      operation = "note"     // changes a reference or metadata; no part of the event's history

	// After the sale.
	opSell     operation = "sell at once"
	opAlter    operation = "change booking" // the seats of a booking, and the money that moves with them
	opTransfer operation = "transfer"
	opPart     operation = "refund part" // of a payment
	opPartDone operation = "note part"   // that was refunded; no part of the event's history

	// Of waiting lists, which the model does not know.
	opJoin    operation = "join"
	opDecline operation = "decline"
	opLeave   operation = "leave"
	opSetList operation = "set waiting list"
	// These are not requests. opExpire is a lock that a sweep or a reclaim expired; opReadBlocks is how many
	// blocked seats an answer has; opReadFinal reads the documents at the end.
	opExpire     operation = "expire"
	opReadBlocks operation = "read blocks"
	opEndSale    operation = "end sale"    // a lock that the job event-cancel ended
	opEndBooking operation = "end booking" // an open booking of an expired lock that the job event-cancel ended
	opReadFinal  operation = "read final state"
)

// changesEvent reports whether an operation changes the event itself. Such a request has no key:
// each of its attempts may take effect.
func (o operation) changesEvent() bool {
	return slices.Contains([]operation{opResize, opSetStatus, opSetLimit, opBlock, opUnblock, opSetRule, opSetHall, opSetList}, o)
}

// isRepeatable reports whether each attempt may take effect.
func (in opInput) isRepeatable() bool {
	return in.op.changesEvent() || in.op == opChange || in.op == opAlter && !in.hasKey
}

// isOnce reports whether one attempt at most takes effect, by an idempotency key of the booking.
func (in opInput) isOnce() bool { return in.op == opTransfer || in.op == opAlter && in.hasKey }

// opInput is one request. Times are Unix milliseconds.
type opInput struct {
	op            operation
	event         int
	lock          int // the number of the lock, by its key
	booking       string
	reference     int // the number of the booking's reference, from 1; 0: none; usedElsewhere: that of another booking
	user          int
	seats         int64
	wish          wish   // of an event with a hall; to block and unblock, its named seats
	refuse        bool   // orphans, of opSetRule
	hall          *hall  // whose plan opSetHall gives the event; nil: it keeps its own
	capacity      int64  // that opSetHall gives the standing section; 0: none
	until         int64  // the expiry or the payment window that is requested, 0 for none
	saleStatus    string // of opSetStatus
	note          string // the key of metadata that opNote adds
	indeterminate bool   // It had no definite answer: it was executed at some time, or never.
	certain       bool   // It had no definite answer, but a later one says that it was executed.
	hasKey        bool   // Of opAlter: it has an idempotency key.
	part          int64  // the amount of the part that is refunded; 0: none
	partOf        int    // the number of the reference of that payment; 0: the booking's first one
	final         eventState
}

// opOutput is a definite answer.
type opOutput struct {
	code      string // "" if the operation was executed
	id        string
	replayed  bool
	available int64
	expires   int64
	status    string
	reason    paymentReason // of the payment of a refused confirmation; 0: the answer has none
	payment   string        // its ID
	user      int           // that a booking has after it was sold or changed
	seatAnswer
	// The operation took place between these two times, in Unix milliseconds.
	called, returned int64
}

type lockState struct {
	status  byte // the first letter of its status; 0 if there is no lock yet
	booking byte // the first letter of its live booking's status; 0 for none
	user    int
	seats   int64
	places  places
	// reclaimed: a request for one of its seats has expired it. Then opExpire changes nothing.
	reclaimed bool
	expires   int64
	window    int64
	id        string // of the booking; "" while no client knows it
	refs      references
	// left is the lock with the key, once the booking has another one. Requests see that one; all other fields are of the
	// booking's present lock.
	left leftLock
	// parts are the sums of the parts that were refunded of the payments, by the number of their reference less 1.
	parts [maxReferences]int64
}

// leftLock is a lock that was left for another one: EXPIRED by a late payment, or RELEASED by a transfer.
type leftLock struct {
	status byte // 0: the lock was not left
	seats  int64
	places places
}

type eventState struct {
	total, free, perUser int64
	saleStatus           string
	locks                []lockState
	cancelled            []cancelledBooking

	hall           *hall // nil: the event is unseated
	capacity       int64 // of the standing section
	blocked        seatSet
	refusesOrphans bool
	// These never change: whether it accepts late payments, and when its sale opens and closes; 0: it is open at any time.
	acceptsLate       bool
	opensAt, closesAt int64
}

// newEventState is an event on sale without locks.
func newEventState(total, perUser int64, locks int) eventState {
	return eventState{total: total, free: total, perUser: perUser, saleStatus: "ON_SALE", locks: make([]lockState, locks)}
}

type cancelledBooking struct {
	id   string
	lock int
}

// tolerance is how far apart the clocks of one machine may seem, in milliseconds: times are
// cut to whole milliseconds.
const tolerance = 2

// mayHavePassed reports whether a time may have passed when the answer came.
func (o opOutput) mayHavePassed(at int64) bool { return at != 0 && o.returned+tolerance >= at }

// hadPassed reports whether a time had passed when the request was sent.
func (o opOutput) hadPassed(at int64) bool { return at != 0 && o.called > at+tolerance }

// asked is the status that requests for the lock see.
func (l lockState) asked() byte {
	if l.left.status != 0 {
		return l.left.status
	}
	return l.status
}

// leave gives the booking another lock; to is the status of the one that it leaves.
func (l lockState) leave(to byte) lockState {
	if l.left.status == 0 {
		l.left = leftLock{to, l.seats, l.places}
	}
	return l
}

func (l lockState) holdsSeats() bool { return l.status == 'A' || l.status == 'C' }

// bookingMayBeDue reports whether an open booking's time may have passed.
func (l lockState) bookingMayBeDue(o opOutput) bool {
	return l.status == 'E' || o.mayHavePassed(l.expires) || o.mayHavePassed(l.window)
}

func (l lockState) bookingWasDue(o opOutput) bool {
	return o.hadPassed(l.expires) || o.hadPassed(l.window)
}

// eventModel is the model for porcupine, of an event that begins with a state.
func eventModel(begin eventState) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{begin} },
		Step: func(state, input, output any) []any {
			return state.(eventState).step(input.(opInput), output.(opOutput))
		},
		Equal:             func(a, b any) bool { return a.(eventState).equal(b.(eventState)) },
		DescribeOperation: func(input, output any) string { return describeOperation(input.(opInput), output.(opOutput)) },
		DescribeState:     func(state any) string { return state.(eventState).String() },
	}
	return model.ToModel()
}

// step returns the states that may follow; none if the output is not possible.
func (s eventState) step(in opInput, out opOutput) (next []any) {
	if in.op == opConfirm && in.reference != 0 {
		return s.confirm(in, out)
	}
	if !in.indeterminate && out.code != "" {
		if s.mayRefuse(in, out) {
			next = append(next, s)
		}
		return next
	}
	if after, possible := s.execute(in, out); possible {
		next = append(next, after)
	}
	if in.indeterminate && !in.certain {
		next = append(next, s)
	}
	return next
}

func (s eventState) equal(o eventState) bool {
	return s.total == o.total && s.free == o.free && s.perUser == o.perUser && s.saleStatus == o.saleStatus &&
		s.hall == o.hall && s.capacity == o.capacity && s.blocked == o.blocked && s.refusesOrphans == o.refusesOrphans &&
		slices.Equal(s.locks, o.locks) && slices.Equal(s.cancelled, o.cancelled)
}

// withLock is the state with one lock changed.
func (s eventState) withLock(i int, l lockState) eventState {
	s.locks = slices.Clone(s.locks)
	s.locks[i] = l
	return s
}

// findBooking finds a booking's lock; open is false if the booking is cancelled.
func (s eventState) findBooking(booking string) (lock int, open, found bool) {
	for i, l := range s.locks {
		if l.id == booking && booking != "" {
			return i, true, true
		}
	}
	for _, c := range s.cancelled {
		if c.id == booking {
			return c.lock, false, true
		}
	}
	return 0, false, false
}

// release ends a lock and its booking.
func (s eventState) release(i int) eventState {
	l := s.locks[i]
	if l.id != "" && l.booking != 0 {
		s.cancelled = append(slices.Clip(s.cancelled), cancelledBooking{l.id, i})
	}
	s.free += l.seats
	l.status, l.booking, l.id, l.window = 'R', 0, "", 0
	return s.withLock(i, l)
}

// mayBeOpen reports whether the sale may have been open, by its times, when an operation took place.
func (s eventState) mayBeOpen(o opOutput) bool {
	return (s.opensAt == 0 || o.mayHavePassed(s.opensAt)) && !o.hadPassed(s.closesAt)
}

// mayBeTooEarly reports whether the sale may not have been open yet.
func (s eventState) mayBeTooEarly(o opOutput) bool {
	return s.opensAt != 0 && o.called < s.opensAt+tolerance
}

// execute returns the state after an operation; possible is false if the state allows no
// such output.
func (s eventState) execute(in opInput, out opOutput) (after eventState, possible bool) {
	switch in.op {
	case opLock:
		return s.lock(in, out)
	case opExtend, opRelease, opBook:
		return s.changeLock(in, out)
	case opPay, opConfirm, opCancel:
		return s.changeBooking(in, out)
	case opResize:
		taken := s.total - s.free
		s.free, s.total = in.seats-taken, in.seats
		return s, s.free >= 0
	case opSetLimit:
		s.perUser = in.seats
		return s, true
	case opSetStatus:
		possible = s.saleStatus != "CANCELLED" || in.saleStatus == "CANCELLED"
		s.saleStatus = in.saleStatus
		return s, possible
	case opChange:
		return s.changeSeats(in, out)
	case opSell:
		return s.sellAtOnce(in, out)
	case opAlter:
		return s.alterBooking(in, out)
	case opTransfer:
		return s.transfer(in, out)
	case opPart:
		return s.refundPart(in, out)
	case opBlock, opUnblock:
		return s.changeBlocks(in, out)
	case opReadBlocks:
		return s, out.blocked == s.blocked.count()
	case opSetRule:
		s.refusesOrphans = in.refuse
		return s, true
	case opSetHall:
		return s.setHall(in, out)
	case opExpire:
		l := s.locks[in.lock]
		if l.reclaimed {
			l.reclaimed = false
			return s.withLock(in.lock, l), true
		}
		mayBeDue := out.mayHavePassed(l.expires) || (l.booking != 0 && out.mayHavePassed(l.window))
		if l.status != 'A' || !mayBeDue {
			return s, false
		}
		l.status = 'E'
		s.free += l.seats
		return s.withLock(in.lock, l), true
	case opEndSale:
		return s.endSale(in.lock)
	case opEndBooking:
		return s.endBooking(in.lock)
	case opReadFinal:
		return s, s.matches(in.final)
	}
	return s, false
}

// heldBy sums a user's seats; counts decides by the expiry which ACTIVE locks are included.
func (s eventState) heldBy(user int, counts func(expires int64) bool) (n int64) {
	for _, l := range s.locks {
		if l.user == user && (l.status == 'C' || (l.status == 'A' && counts(l.expires))) {
			n += l.seats
		}
	}
	return n
}

func (s eventState) lock(in opInput, out opOutput) (eventState, bool) {
	l := s.locks[in.lock]
	if l.status != 0 {
		statuses := map[byte]string{'A': "ACTIVE", 'C': "CONSUMED", 'E': "EXPIRED", 'R': "RELEASED"}
		is := l.leave(l.status).left
		return s, in.indeterminate || (out.replayed && out.status == statuses[is.status] && out.seats == is.seats && out.places == is.places)
	}
	least := s.heldBy(in.user, func(expires int64) bool { return expires > out.returned+tolerance })
	if (out.replayed && !in.indeterminate) || s.saleStatus != "ON_SALE" || !s.mayBeOpen(out) {
		return s, false
	}
	if s.perUser > 0 && least+in.seats > s.perUser {
		return s, false
	}
	s, granted, possible := s.grant(in, out, noLock)
	if !possible || s.free < in.seats || out.seats != in.seats || out.places != granted {
		return s, false
	}
	s.free -= in.seats
	return s.withLock(in.lock, lockState{status: 'A', user: in.user, seats: in.seats, places: granted, expires: out.expires}), true
}

func (s eventState) changeLock(in opInput, out opOutput) (eventState, bool) {
	l := s.locks[in.lock]
	if in.op == opRelease && l.asked() == 'R' {
		return s, true
	}
	if in.op == opBook && l.asked() == 'C' && !in.indeterminate {
		return s.withBookingID(in.lock, out.id)
	}
	if l.status != 'A' || out.hadPassed(l.expires) || (in.op != opRelease && out.hadPassed(l.window)) {
		return s, false
	}
	switch in.op {
	case opExtend:
		l.expires = max(l.expires, in.until)
		return s.withLock(in.lock, l), s.saleStatus != "CANCELLED" && (in.indeterminate || out.expires == l.expires)
	case opRelease:
		return s.release(in.lock), true
	}
	if l.booking != 0 {
		if in.indeterminate {
			return s, true
		}
		return s.withBookingID(in.lock, out.id)
	}
	l.booking, l.id = 'I', out.id
	if in.until != 0 {
		l.booking, l.window, l.expires = 'P', in.until, max(l.expires, in.until)
	}
	return s.withLock(in.lock, l), s.saleStatus != "CANCELLED"
}

// withBookingID is the state after a client has received the ID of a lock's live booking.
func (s eventState) withBookingID(i int, id string) (eventState, bool) {
	l := s.locks[i]
	if l.id == "" {
		l.id = id
		return s.withLock(i, l), l.booking != 0
	}
	return s, l.id == id
}

func (s eventState) changeBooking(in opInput, out opOutput) (eventState, bool) {
	i, open, found := s.findBooking(in.booking)
	if !found {
		return s, false
	}
	if !open {
		return s, in.op == opCancel
	}
	l := s.locks[i]
	if l.booking == 'C' {
		if in.op == opCancel {
			s = s.release(i)
			l = s.locks[i]
			l.refs = l.refs.returned('b')
			return s.withLock(i, l), true
		}
		return s, in.op == opConfirm
	}
	if l.status != 'A' || l.bookingWasDue(out) {
		return s, false
	}
	switch {
	case in.op == opCancel:
		return s.release(i), true
	case s.saleStatus == "CANCELLED" && (in.op == opConfirm || l.booking == 'I'):
		return s, false
	case in.op == opPay && l.booking == 'I':
		l.booking, l.window, l.expires = 'P', in.until, max(l.expires, in.until)
	case in.op == opConfirm && l.booking == 'P':
		l.booking, l.status = 'C', 'C'
	case in.op == opConfirm:
		return s, false
	}
	return s.withLock(i, l), true
}

// matches compares the state with the documents at the end.
func (s eventState) matches(final eventState) bool {
	if s.free != final.free || s.total != final.total || s.perUser != final.perUser || s.saleStatus != final.saleStatus {
		return false
	}
	if s.hall != final.hall || s.capacity != final.capacity || s.blocked != final.blocked || s.refusesOrphans != final.refusesOrphans {
		return false
	}
	for i, l := range s.locks {
		d := final.locks[i]
		if l.refs.sorted() != d.refs.sorted() || l.parts != d.parts || l.left != d.left || l.holdsSeats() && l.user != d.user {
			return false
		}
		if l.status != d.status || (l.holdsSeats() && (l.seats != d.seats || l.places != d.places)) || (l.status == 'C') != (d.booking == 'C') {
			return false
		}
		if l.status == 'A' && (l.expires != d.expires || l.booking != d.booking) {
			return false
		}
	}
	return true
}
