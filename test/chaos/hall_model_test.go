package chaos_test

import "fmt"

// The part of the event's model that knows seats. Where all seats are alike, only their number counts.
//
// A hall's history is checked as a whole and not seat by seat: what the best seats are depends on all of them,
// and a change takes seats that other locks give back.

// places are the numbered seats of a lock, or the section of its standing ones.
type places struct {
	named   seatSet
	section string
}

func (p places) String() string { return p.named.String() + p.section }

// seatAnswer is what an answer says of seats: those of a lock, or why it was refused.
type seatAnswer struct {
	seats int64
	places
	requested            int64
	unavailable, orphans seatSet
	longest              int64
	blocked              int64 // seats of the event
	event                hallAnswer
}

// String has all fields: it is not that of the places.
func (a seatAnswer) String() string {
	return fmt.Sprintf("%d seats %v requested %d unavailable %v orphans %v longest %d blocked %d event %v",
		a.seats, a.places, a.requested, a.unavailable, a.orphans, a.longest, a.blocked, a.event)
}

const noLock = -1

// own is the lock whose seats count as free.
func (s eventState) own(lock int) lockState {
	if lock == noLock {
		return lockState{}
	}
	return s.locks[lock]
}

// freeSeats are the numbered seats that no lock has, except the own one.
func (s eventState) freeSeats(own int) seatSet {
	free := s.hall.all &^ s.blocked
	for i, l := range s.locks {
		if i != own && l.holdsSeats() {
			free &^= l.places.named
		}
	}
	return free
}

// freeStanding is how many more seats a section of general admission has, with those of the own lock.
func (s eventState) freeStanding(section string, own int) int64 {
	free := s.capacity
	for i, l := range s.locks {
		if i != own && l.holdsSeats() && l.places.section == section {
			free -= l.seats
		}
	}
	return free
}

// hasDue reports whether a lock was due when the request was sent. Reclaims end such locks first.
func (s eventState) hasDue(out opOutput, own int) bool {
	for i, l := range s.locks {
		if i != own && l.status == 'A' && out.hadPassed(l.expires) {
			return true
		}
	}
	return false
}

// grant finds what a wish gets, and expires the due locks that have it. The caller compares the number of
// seats.
func (s eventState) grant(in opInput, out opOutput, own int) (after eventState, granted places, possible bool) {
	w := in.wish
	switch {
	case s.hall == nil:
		return s, places{}, true
	case !s.fits(w):
		return s, places{}, false
	case w.isStanding():
		return s, places{section: w.section}, s.freeStanding(w.section, own) >= in.seats
	case w.best:
		if own != noLock && w.keeps(s.hall, s.own(own).places.named) {
			return s, s.own(own).places, true
		}
		pick := s.hall.pick(w, s.freeSeats(own))
		if pick.first != 0 {
			return s, places{named: pick.first}, true
		}
		return s, places{named: pick.last}, pick.last != 0 && !s.hasDue(out, own)
	}
	if own != noLock && s.own(own).places.named == w.named {
		return s, s.own(own).places, true
	}
	if s.refusesOrphans && s.hall.orphansOf(w.named, s.freeSeats(own)) != 0 {
		return s, places{}, false
	}
	after, possible = s.reclaim(w.named, out, own)
	return after, places{named: w.named}, possible && s.blocked&w.named == 0
}

// reclaim expires the locks that have some of the seats; they must be due. A sweep may have expired them
// before instead: then opExpire has come first.
func (s eventState) reclaim(seats seatSet, out opOutput, own int) (after eventState, possible bool) {
	for i, l := range s.locks {
		if i == own || !l.holdsSeats() || l.places.named&seats == 0 {
			continue
		}
		if l.status != 'A' || !out.mayHavePassed(l.expires) {
			return s, false
		}
		l.status, l.reclaimed = 'E', true
		s.free += l.seats
		s = s.withLock(i, l)
	}
	return s, true
}

// changeSeats replaces the seats of a lock by all that is wished for.
func (s eventState) changeSeats(in opInput, out opOutput) (eventState, bool) {
	l := s.locks[in.lock]
	if l.status != 'A' || out.hadPassed(l.expires) || l.booking != 0 {
		return s, false
	}
	if s.saleStatus == "CANCELLED" || in.seats > l.seats && (s.saleStatus != "ON_SALE" || !s.mayBeOpen(out)) {
		return s, false
	}
	least := s.heldBy(l.user, func(expires int64) bool { return expires > out.returned+tolerance })
	if l.expires > out.returned+tolerance {
		least -= l.seats
	}
	if s.perUser > 0 && in.seats > l.seats && least+in.seats > s.perUser {
		return s, false
	}
	s, granted, possible := s.grant(in, out, in.lock)
	s.free += l.seats - in.seats
	if !possible || s.free < 0 {
		return s, false
	}
	if !in.indeterminate && (out.seats != in.seats || out.places != granted || out.expires != l.expires) {
		return s, false
	}
	l.seats, l.places = in.seats, granted
	return s.withLock(in.lock, l), true
}

// changeBlocks blocks all of the seats, or unblocks those that are blocked. The answer tells how many are blocked
// after the whole transaction, which may have other changes of blocks: see opReadBlocks.
func (s eventState) changeBlocks(in opInput, out opOutput) (after eventState, possible bool) {
	seats, possible := in.wish.named, s.fits(in.wish)
	if in.op == opUnblock {
		s.free += (seats & s.blocked).count()
		s.blocked &^= seats
	} else {
		var canBeHad bool
		s, canBeHad = s.reclaim(seats&^s.blocked, out, noLock)
		possible = possible && canBeHad
		s.free -= (seats &^ s.blocked).count()
		s.blocked |= seats
	}
	return s, possible && s.free >= 0
}

// mayRefuseSeats: the refusal says why the seats could not be had.
func (s eventState) mayRefuseSeats(in opInput, out opOutput, own int) bool {
	w := in.wish
	switch {
	case s.hall == nil:
		return out.code == "SEATS_UNAVAILABLE" && !s.hasDue(out, own) && s.free+s.own(own).seats < in.seats &&
			out.available == s.free+s.own(own).seats
	case out.code == misfit || !s.fits(w):
		return out.code == misfit && !s.fits(w)
	case w.isStanding():
		free := s.freeStanding(w.section, own)
		return out.code == "SEATS_UNAVAILABLE" && !s.hasDue(out, own) && free < in.seats && out.available == free &&
			out.requested == in.seats
	case w.best:
		return s.mayRefuseBest(in, out, own)
	case out.code == "SEAT_ORPHANED":
		orphans := s.hall.orphansOf(w.named, s.freeSeats(own))
		_, canBeHad := s.reclaim(w.named, out, own)
		return s.refusesOrphans && canBeHad && s.blocked&w.named == 0 && orphans != 0 && orphans == out.orphans
	default:
		n := w.named.count()
		return out.code == "SEATS_UNAVAILABLE" && s.mayRefuseNamed(in, out, own, 0) && out.requested == n &&
			out.available == n-out.unavailable.count()
	}
}

func (s eventState) mayRefuseBest(in opInput, out opOutput, own int) bool {
	w := in.wish
	pick := s.hall.pick(w, s.freeSeats(own))
	if pick.first != 0 || pick.last != 0 || s.hasDue(out, own) || (own != noLock && w.keeps(s.hall, s.own(own).places.named)) {
		return false
	}
	switch out.code {
	case "SEATS_NOT_ADJACENT":
		return w.required && pick.enough && out.longest == pick.longest
	case "SEATS_UNAVAILABLE":
		return (!w.required || !pick.enough) && out.available == pick.available && out.requested == in.seats
	}
	return false
}

// mayRefuseNamed: the seats that the answer has as unavailable were taken, and not by a due lock; the other
// ones were free, had by a due lock, or are of no interest.
func (s eventState) mayRefuseNamed(in opInput, out opOutput, own int, except seatSet) bool {
	taken, mayBe := s.blocked, s.blocked
	for i, l := range s.locks {
		if i == own || !l.holdsSeats() {
			continue
		}
		if l.status != 'A' || !out.mayHavePassed(l.expires) {
			taken |= l.places.named
		}
		if l.status != 'A' || !out.hadPassed(l.expires) {
			mayBe |= l.places.named
		}
	}
	named := in.wish.named &^ except
	return out.unavailable != 0 && out.unavailable&^(named&mayBe) == 0 && named&taken&^out.unavailable == 0
}

// mayRefuseChange reports whether a change of a lock's seats may be refused with this code.
func (s eventState) mayRefuseChange(in opInput, out opOutput) bool {
	l := s.locks[in.lock]
	switch out.code {
	case "LOCK_EXPIRED", "LOCK_RELEASED", "LOCK_CONSUMED":
		return s.mayRefuseLockChange(in, out)
	case "LOCK_HAS_BOOKING":
		return l.status == 'A' && l.booking != 0
	case "SEAT_LIMIT_REACHED":
		most := s.heldBy(l.user, func(expires int64) bool { return expires+tolerance > out.called })
		return l.status == 'A' && s.perUser > 0 && in.seats > l.seats && most-l.seats+in.seats > s.perUser
	case "EVENT_NOT_ON_SALE":
		isOver := s.saleStatus != "ON_SALE" || out.mayHavePassed(s.closesAt)
		return l.status == 'A' && (s.saleStatus == "CANCELLED" || isOver && in.seats > l.seats)
	case "SALE_NOT_OPEN":
		return l.status == 'A' && s.saleStatus == "ON_SALE" && in.seats > l.seats && s.mayBeTooEarly(out)
	}
	return l.status == 'A' && l.booking == 0 && s.mayRefuseSeats(in, out, in.lock)
}
