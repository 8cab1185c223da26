package chaos_test

// refuses reports whether the hall may answer with the code.
func (s hallState) refuses(m move, r reply) bool {
	switch m.deed {
	case doLock:
		return s.locks[m.lock].status == 0 && s.refusesSeats(m, r)
	case doMisuse:
		return r.code == "IDEMPOTENCY_KEY_REUSED" && s.locks[m.lock].status != 0
	case doResize:
		return r.code == "CAPACITY_BELOW_TAKEN" && m.seats < s.total-s.free
	case doSale:
		return r.code == "EVENT_NOT_ON_SALE" && s.sale == "CANCELLED"
	case doExtend, doRelease, doBook:
		l := s.locks[m.lock]
		switch r.code {
		case "LOCK_EXPIRED":
			return l.status == 'E' || (l.status == 'A' && r.dueBy(l.expires))
		case "LOCK_RELEASED":
			return l.status == 'R' && m.deed != doRelease
		case "LOCK_CONSUMED":
			return l.status == 'C' && m.deed != doBook
		case "EVENT_NOT_ON_SALE":
			return s.sale == "CANCELLED" && l.status == 'A' && m.deed != doRelease
		}
	case doPay, doConfirm, doCancel:
		i, open, found := s.lockOf(m.booking)
		if !found {
			return false
		}
		l := s.locks[i]
		switch r.code {
		case "BOOKING_EXPIRED":
			return open && l.booking != 'C' && l.bookingDue(r)
		case "BOOKING_CANCELLED":
			return !open && m.deed != doCancel
		case "BOOKING_CONFIRMED":
			return open && l.booking == 'C' && m.deed == doPay
		case "BOOKING_NOT_PAYABLE":
			return open && l.booking == 'I' && m.deed == doConfirm
		case "EVENT_NOT_ON_SALE":
			return open && s.sale == "CANCELLED" && l.booking != 'C' && m.deed != doCancel
		}
	}
	return false
}

func (s hallState) refusesSeats(m move, r reply) bool {
	switch r.code {
	case "SEATS_UNAVAILABLE":
		for _, l := range s.locks { // a due lock would have been reclaimed
			if l.status == 'A' && r.passed(l.expires) {
				return false
			}
		}
		return s.free < m.seats && r.available == s.free
	case "SEAT_LIMIT_REACHED":
		most := s.holds(m.user, func(expires int64) bool { return expires+tolerance > r.called })
		return s.perUser > 0 && most+m.seats > s.perUser
	case "EVENT_NOT_ON_SALE":
		return s.sale != "ON_SALE"
	}
	return false
}
