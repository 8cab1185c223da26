package chaos_test

// The part of the event's model that knows what happens after a sale: changes of a booking's seats, transfers, sales at once, and
// parts of payments that are refunded.

// amountOf is the amount of the payment with a reference of a booking, by its number; 0: it has none.
func amountOf(reference int) int64 {
	const amount = 1000
	if reference == saleReference || reference%2 == 1 {
		return amount
	}
	return 0
}

// bookingStatuses are the statuses of a live booking.
var bookingStatuses = map[byte]string{'I': "INITIATED", 'P': "PAYMENT_PENDING", 'C': "CONFIRMED"}

// isAnswered reports whether an answer has a booking as it is now. Of one that may have expired, anything goes.
func (s eventState) isAnswered(i int, open bool, out opOutput) bool {
	l := s.locks[i]
	switch {
	case !open:
		return out.status == "CANCELLED"
	case l.booking != 'C' && l.bookingMayBeDue(out):
		return true
	}
	return out.status == bookingStatuses[l.booking] && out.user == l.user && out.seats == l.seats && out.places == l.places
}

// sellAtOnce makes a lock with a CONFIRMED booking. The times of the sale don't matter, and whether it is CLOSED.
func (s eventState) sellAtOnce(in opInput, out opOutput) (after eventState, possible bool) {
	if s.locks[in.lock].status != 0 {
		i, open, found := s.findBooking(out.id)
		return s, in.indeterminate || found && i == in.lock && out.replayed && s.isAnswered(i, open, out)
	}
	least := s.heldBy(in.user, func(expires int64) bool { return expires > out.returned+tolerance })
	switch {
	case out.replayed && !in.indeterminate, s.saleStatus == "CANCELLED", in.reference == usedElsewhere,
		s.perUser > 0 && least+in.seats > s.perUser:
		return s, false
	}
	s, granted, possible := s.grant(in, out, noLock)
	if !possible || s.free < in.seats {
		return s, false
	}
	s.free -= in.seats
	l := lockState{status: 'C', booking: 'C', user: in.user, seats: in.seats, places: granted, id: out.id}
	if in.reference != 0 {
		l.refs = l.refs.accept(in.reference)
	}
	s = s.withLock(in.lock, l)
	return s, in.indeterminate || s.isAnswered(in.lock, true, out)
}

func (s eventState) mayRefuseSale(in opInput, out opOutput) bool {
	switch out.code {
	case "PAYMENT_REFERENCE_USED":
		return in.reference == usedElsewhere
	case "EVENT_NOT_ON_SALE":
		return s.saleStatus == "CANCELLED"
	case "SALE_NOT_OPEN":
		return false
	}
	return s.mayRefuseLock(in, out)
}

// isAsWished reports whether a booking has the seats that a change asks for.
func (s eventState) isAsWished(in opInput, l lockState) bool {
	w := in.wish
	switch {
	case l.seats != in.seats || !s.fits(w):
		return false
	case s.hall == nil:
		return true
	case w.isStanding():
		return l.places.section == w.section
	case w.best:
		return l.places.named != 0 && w.keeps(s.hall, l.places.named)
	}
	return l.places.named == w.named
}

// alterBooking replaces the seats of a booking, accepts an additional payment, and makes a part of a payment due.
func (s eventState) alterBooking(in opInput, out opOutput) (after eventState, possible bool) {
	i, open, found := s.findBooking(in.booking)
	if out.replayed && !in.indeterminate || !found || !open {
		return s, found && out.replayed && s.isAnswered(i, open, out)
	}
	l := s.locks[i]
	if l.booking != 'C' && (l.status != 'A' || l.bookingWasDue(out)) {
		return s, false
	}
	if s.isAsWished(in, l) {
		isOwn := in.reference == 0 || in.reference > 0 && l.refs[in.reference-1] != 0
		return s, isOwn && (in.indeterminate || s.isAnswered(i, true, out))
	}
	if in.reference != 0 && !s.mayBePaid(in, l) || in.part > 0 && l.refundable(in) < in.part {
		return s, false
	}
	if s.saleStatus == "CANCELLED" || in.seats > l.seats && (s.saleStatus != "ON_SALE" || !s.mayBeOpen(out)) {
		return s, false
	}
	isHeld := func(expires int64) bool { return expires > out.returned+tolerance }
	least := s.heldBy(l.user, isHeld)
	if l.status == 'C' || isHeld(l.expires) {
		least -= l.seats
	}
	if s.perUser > 0 && in.seats > l.seats && least+in.seats > s.perUser {
		return s, false
	}
	s, granted, possible := s.grant(in, out, i)
	s.free += l.seats - in.seats
	if !possible || s.free < 0 {
		return s, false
	}
	l.seats, l.places = in.seats, granted
	if in.part > 0 {
		l.parts[l.partOf(in)-1] += in.part
	}
	if in.reference > 0 {
		l.refs = l.refs.accept(in.reference)
	}
	s = s.withLock(i, l)
	return s, in.indeterminate || s.isAnswered(i, true, out)
}

// mayBePaid reports whether the reference of a change can be that of an additional payment.
func (s eventState) mayBePaid(in opInput, l lockState) bool {
	return l.booking == 'C' && in.reference > 0 && l.refs[in.reference-1] == 0
}

// partOf is the number of the reference of the payment of which a part is refunded; 0: there is none.
func (l lockState) partOf(in opInput) int {
	if in.partOf == 0 {
		return l.refs.first()
	}
	return in.partOf
}

// refundable is how much of the payment can be refunded by a change of the booking.
func (l lockState) refundable(in opInput) int64 {
	of := l.partOf(in)
	if l.booking != 'C' || of == 0 || !l.refs[of-1].isAccepted() {
		return 0
	}
	return amountOf(of) - l.parts[of-1]
}

func (s eventState) mayRefuseAlteration(in opInput, out opOutput) bool {
	i, open, found := s.findBooking(in.booking)
	if !found {
		return false
	}
	l := s.locks[i]
	isSold, isWished := l.booking == 'C', s.isAsWished(in, l)
	switch {
	case out.code == "BOOKING_CANCELLED", out.code == "BOOKING_EXPIRED":
		return s.mayRefuseBookingChange(in, out)
	case !open || !isSold && (l.status != 'A' || l.bookingWasDue(out)):
		return false
	case out.code == misfit && (isWished && in.reference != 0 || !isWished && in.part > 0 && l.refundable(in) < in.part):
		return true
	case isWished:
		return false
	}
	switch out.code {
	case "BOOKING_NOT_PAYABLE":
		return !isSold && in.reference != 0
	case "PAYMENT_REFERENCE_USED":
		return isSold && in.reference != 0 && !s.mayBePaid(in, l)
	case "SEAT_LIMIT_REACHED":
		most := s.heldBy(l.user, func(expires int64) bool { return expires+tolerance > out.called })
		return s.perUser > 0 && in.seats > l.seats && most-l.seats+in.seats > s.perUser
	case "EVENT_NOT_ON_SALE":
		return s.saleStatus == "CANCELLED" || in.seats > l.seats && (s.saleStatus != "ON_SALE" || out.mayHavePassed(s.closesAt))
	case "SALE_NOT_OPEN":
		return s.saleStatus == "ON_SALE" && in.seats > l.seats && s.mayBeTooEarly(out)
	}
	return s.mayRefuseSeats(in, out, i)
}

// transfer gives a CONFIRMED booking, in another lock, to another customer.
func (s eventState) transfer(in opInput, out opOutput) (after eventState, possible bool) {
	i, open, found := s.findBooking(in.booking)
	if out.replayed && !in.indeterminate || !found || !open {
		return s, found && out.replayed && s.isAnswered(i, open, out)
	}
	l := s.locks[i]
	if l.booking != 'C' {
		return s, false
	}
	if l.user != in.user {
		least := s.heldBy(in.user, func(expires int64) bool { return expires > out.returned+tolerance })
		if s.saleStatus == "CANCELLED" || s.perUser > 0 && least+l.seats > s.perUser {
			return s, false
		}
		l = l.leave('R')
		l.user = in.user
		s = s.withLock(i, l)
	}
	return s, in.indeterminate || s.isAnswered(i, true, out)
}

func (s eventState) mayRefuseTransfer(in opInput, out opOutput) bool {
	i, open, found := s.findBooking(in.booking)
	if !found {
		return false
	}
	l := s.locks[i]
	isOthers := open && l.booking == 'C' && l.user != in.user
	switch out.code {
	case "BOOKING_NOT_PAYABLE":
		return open && l.booking != 'C' && l.status == 'A' && !l.bookingWasDue(out)
	case "EVENT_NOT_ON_SALE":
		return isOthers && s.saleStatus == "CANCELLED"
	case "SEAT_LIMIT_REACHED":
		most := s.heldBy(in.user, func(expires int64) bool { return expires+tolerance > out.called })
		return isOthers && s.perUser > 0 && most+l.seats > s.perUser
	case "BOOKING_CANCELLED", "BOOKING_EXPIRED":
		return s.mayRefuseBookingChange(in, out)
	}
	return false
}

// refundPart makes a part of a payment due, also of one that is due as a whole. The model does not know what was refunded
// as a whole.
func (s eventState) refundPart(in opInput, out opOutput) (after eventState, possible bool) {
	i, _, found := s.findBooking(in.booking)
	if !found || out.replayed && !in.indeterminate {
		return s, found
	}
	l := s.locks[i]
	if l.refs[in.reference-1] == 0 || l.parts[in.reference-1]+in.part > amountOf(in.reference) {
		return s, false
	}
	l.parts[in.reference-1] += in.part
	return s.withLock(i, l), true
}

func (s eventState) mayRefusePart(in opInput, out opOutput) bool {
	i, _, found := s.findBooking(in.booking)
	if !found || out.code != misfit {
		return false
	}
	l, n := s.locks[i], in.reference-1
	return l.refs[n] != 0 && (!l.refs[n].isAccepted() || l.parts[n]+in.part > amountOf(in.reference))
}
