package chaos_test

// mayRefuse reports whether an event in this state may refuse an operation with this code.
func (s eventState) mayRefuse(in opInput, out opOutput) bool {
	switch in.op {
	case opLock:
		return s.locks[in.lock].status == 0 && s.mayRefuseLock(in, out)
	case opSell:
		return s.locks[in.lock].status == 0 && s.mayRefuseSale(in, out)
	case opAlter:
		return s.mayRefuseAlteration(in, out)
	case opTransfer:
		return s.mayRefuseTransfer(in, out)
	case opPart:
		return s.mayRefusePart(in, out)
	case opReuseKey:
		if in.booking != "" {
			return out.code == "IDEMPOTENCY_KEY_REUSED"
		}
		return out.code == "IDEMPOTENCY_KEY_REUSED" && s.locks[in.lock].status != 0
	case opResize:
		return out.code == "CAPACITY_BELOW_TAKEN" && in.seats < s.total-s.free
	case opSetHall:
		_, possible := s.inHall(in)
		return out.code == "CAPACITY_BELOW_TAKEN" && !possible
	case opChange:
		return s.mayRefuseChange(in, out)
	case opBlock:
		if out.code == misfit {
			return !s.fits(in.wish)
		}
		return out.code == "SEATS_UNAVAILABLE" && s.fits(in.wish) && s.mayRefuseNamed(in, out, noLock, s.blocked)
	case opUnblock:
		return out.code == misfit && !s.fits(in.wish)
	case opSetStatus:
		return out.code == "EVENT_NOT_ON_SALE" && s.saleStatus == "CANCELLED"
	case opExtend, opRelease, opBook:
		return s.mayRefuseLockChange(in, out)
	case opPay, opConfirm, opCancel:
		return s.mayRefuseBookingChange(in, out)
	}
	return false
}

func (s eventState) mayRefuseLock(in opInput, out opOutput) bool {
	switch out.code {
	case "SEATS_UNAVAILABLE", "SEATS_NOT_ADJACENT", "SEAT_ORPHANED", misfit:
		return s.mayRefuseSeats(in, out, noLock)
	case "SEAT_LIMIT_REACHED":
		most := s.heldBy(in.user, func(expires int64) bool { return expires+tolerance > out.called })
		return s.perUser > 0 && most+in.seats > s.perUser
	case "EVENT_NOT_ON_SALE":
		return s.saleStatus != "ON_SALE" || out.mayHavePassed(s.closesAt)
	case "SALE_NOT_OPEN":
		return s.saleStatus == "ON_SALE" && s.mayBeTooEarly(out)
	}
	return false
}

func (s eventState) mayRefuseLockChange(in opInput, out opOutput) bool {
	l := s.locks[in.lock]
	switch out.code {
	case "LOCK_EXPIRED":
		return l.asked() == 'E' || (l.status == 'A' && out.mayHavePassed(l.expires))
	case "BOOKING_EXPIRED":
		return l.status == 'A' && l.booking != 0 && in.op != opRelease && out.mayHavePassed(l.window)
	case "LOCK_RELEASED":
		return l.asked() == 'R' && in.op != opRelease
	case "LOCK_CONSUMED":
		return l.asked() == 'C' && in.op != opBook
	case "EVENT_NOT_ON_SALE":
		return s.saleStatus == "CANCELLED" && l.status == 'A' && in.op != opRelease
	}
	return false
}

func (s eventState) mayRefuseBookingChange(in opInput, out opOutput) bool {
	i, open, found := s.findBooking(in.booking)
	if !found {
		return false
	}
	l := s.locks[i]
	switch out.code {
	case "BOOKING_EXPIRED":
		return open && l.booking != 'C' && l.bookingMayBeDue(out)
	case "BOOKING_CANCELLED":
		return !open && in.op != opCancel
	case "BOOKING_CONFIRMED":
		return open && l.booking == 'C' && in.op == opPay
	case "BOOKING_NOT_PAYABLE":
		return open && l.booking == 'I' && in.op == opConfirm
	case "EVENT_NOT_ON_SALE":
		return open && s.saleStatus == "CANCELLED" && l.booking != 'C' && in.op != opCancel
	}
	return false
}
