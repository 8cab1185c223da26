package inventory_test

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
)

// checkCommit compares the states before and after a transaction by the invariants of
// the contract. Documents of other software that break one may stay as they are, but the
// transaction breaks none.
func (s *store) checkCommit(t rapid.TB, before *store) {
	t.Helper()
	s.checkCounter(t, before)
	s.checkSeats(t)
	for id, was := range before.locks {
		is := s.locks[id]
		if is == nil {
			t.Fatalf("lock %s is gone", id)
		}
		isSold := was.Status == holdfast.LockConsumed && before.sales(id) > 0 // its booking may change
		changeable := was.Status == holdfast.LockActive || was.Status == holdfast.LockBlocked || isSold
		isAnothers := is.UserID != was.UserID || is.Holder != was.Holder
		if is.Seats != was.Seats && !changeable || isAnothers || is.EventID != was.EventID || is.Key != was.Key {
			t.Errorf("lock %s became another one: %+v, it was %+v", id, is.Lock, was.Lock)
		}
		if is.Status != was.Status && !lockMoves[was.Status][is.Status] {
			t.Errorf("lock %s went from %s to %s", id, was.Status, is.Status)
		}
		if is.ExpiresAt.Before(was.ExpiresAt) || was.Status == holdfast.LockBlocked && !is.ExpiresAt.Equal(was.ExpiresAt) {
			t.Errorf("lock %s was shortened", id)
		}
		isLate := s.ends[id].by == holdfast.EndedByLatePayment // of its booking, see checkLate
		if is.Status == holdfast.LockExpired && was.Status != is.Status && !was.Due(s.now) && was.BookingID.IsZero() && !isLate {
			t.Errorf("lock %s expired before its time", id)
		}
	}
	for id, was := range before.bookings {
		if is := s.bookings[id]; is.Status != was.Status && !bookingMoves[was.Status][is.Status] {
			t.Errorf("booking %s went from %s to %s", id, was.Status, is.Status)
		}
	}
	s.checkSales(t, before)
	s.checkAfterSale(t, before)
	s.checkPayments(t, before)
	s.checkList(t, before)
}

// The pairs that the contract lists.
var (
	lockMoves = map[holdfast.LockStatus]map[holdfast.LockStatus]bool{
		"ACTIVE":   {"CONSUMED": true, "RELEASED": true, "EXPIRED": true},
		"CONSUMED": {"RELEASED": true},
		"BLOCKED":  {"RELEASED": true},
	}
	bookingMoves = map[holdfast.BookingStatus]map[holdfast.BookingStatus]bool{
		"INITIATED":       {"PAYMENT_PENDING": true, "CANCELLED": true, "EXPIRED": true},
		"PAYMENT_PENDING": {"CONFIRMED": true, "CANCELLED": true, "EXPIRED": true},
		"CONFIRMED":       {"CANCELLED": true},
		"EXPIRED":         {"CONFIRMED": true}, // by a late payment, see checkSales
	}
)

// checkCounter: the counter's drift from the locks does not change unless the counter
// was repaired, and the counter is valid after it was written.
func (s *store) checkCounter(t rapid.TB, before *store) {
	t.Helper()
	if s.event == nil {
		return
	}
	is, was := s.event.Drift(s.taken()), before.event.Drift(before.taken())
	if is != 0 && is != was {
		t.Errorf("the counter drifted by %d, before by %d: %+v, taken %d", is, was, s.event.Event, s.taken())
	}
	moved := s.event.AvailableSeats != before.event.AvailableSeats || s.event.Oversold != before.event.Oversold
	if (moved || before.event.Valid()) && !s.event.Valid() {
		t.Errorf("the counter %+v was committed", s.event.Event)
	}
	isRight := before.isSplitRight()
	if s.event.Oversold > before.event.Oversold && isRight && is == was && s.event.TotalSeats == before.event.TotalSeats {
		t.Errorf("%d seats more were sold than there are", s.event.Oversold-before.event.Oversold)
	}
	if (isRight || moved && is == 0) && !s.isSplitRight() {
		t.Errorf("the counter %+v was committed, and sections have %d seats too many", s.event.Event, s.beyond())
	}
}

// beyond is how much of general admission is taken in the map beyond the capacities.
func (s *store) beyond() (n int64) {
	if s.seats != nil {
		for section, taken := range s.seats.general {
			n += max(0, taken-s.seats.model.Sections[section].Capacity)
		}
	}
	return n
}

// isSplitRight reports whether the counter is valid, and oversold has what sections have too many.
func (s *store) isSplitRight() bool {
	e, beyond := s.event, s.beyond()
	return e.Valid() && e.Oversold >= beyond && (e.AvailableSeats == 0 || e.Oversold == beyond)
}

// checkSales: the lock of a CONFIRMED booking is CONSUMED and vice versa, a lock has at
// most one live booking, and no booking was confirmed after its time.
func (s *store) checkSales(t rapid.TB, before *store) {
	t.Helper()
	live, wasLive := s.liveBookings(), before.liveBookings()
	for id, lock := range s.locks {
		if n := len(live[id]); n > 1 && n > len(wasLive[id]) {
			t.Errorf("lock %s has %d live bookings", id, n)
		}
		if was := before.locks[id]; lock.Status == holdfast.LockConsumed && (was == nil || was.Status != lock.Status) && s.sales(id) == 0 {
			t.Errorf("lock %s was consumed without a CONFIRMED booking", id)
		}
		if was := before.locks[id]; was != nil && was.Status == holdfast.LockConsumed && !takes(lock) && s.sales(id) > 0 {
			t.Errorf("lock %s was %s and sold, and is %s", id, was.Status, lock.Status)
		}
	}
	for id, b := range s.bookings {
		was := before.bookings[id]
		if b.Status != holdfast.BookingConfirmed || (was != nil && was.Status == b.Status) {
			continue
		}
		if lock := s.locks[b.LockID]; lock == nil || lock.Status != holdfast.LockConsumed {
			t.Errorf("booking %s was confirmed, its lock is %+v", id, lock)
		}
		if was != nil && b.Late && !was.Late {
			s.checkLate(t, before, was, b)
			continue
		}
		if was == nil {
			s.checkSoldAtOnce(t, before, b)
			continue
		}
		if before.locks[was.LockID].Due(s.now) || (!was.PaymentExpiresAt.IsZero() && !was.PaymentExpiresAt.After(s.now)) {
			t.Errorf("booking %s was confirmed after its time", id)
		}
	}
}

// checkLate: a late payment confirms a booking that has expired, in a new lock that has the previous one's seats, reference
// and metadata. Whether the event accepts it depends on the commands before it in the batch, so the model checks that.
func (s *store) checkLate(t rapid.TB, before *store, was, is *holdfast.Booking) {
	t.Helper()
	previous, next := before.locks[was.LockID], s.locks[is.LockID]
	isDue := was.PaymentExpiresAt.Before(s.now) || was.PaymentExpiresAt.Equal(s.now) || previous == nil || previous.Due(s.now)
	if was.Status != holdfast.BookingExpired && (was.Status != holdfast.BookingPending || !isDue) {
		t.Errorf("booking %s was confirmed late, and was %s until %v", is.ID, was.Status, was.PaymentExpiresAt)
	}
	if before.locks[is.LockID] != nil || next == nil || next.Status != holdfast.LockConsumed || next.BookingID != is.ID {
		t.Errorf("booking %s was confirmed late in the lock %+v", is.ID, next)
	}
	if ended := s.locks[was.LockID]; ended != nil && next != nil {
		has := next.Seats == ended.Seats && next.Section == ended.Section && slices.Equal(next.SeatIDs, ended.SeatIDs) &&
			next.SameShopData(ended.ShopData)
		if takes(ended) || !has {
			t.Errorf("booking %s was confirmed late with %+v, and its previous lock is %+v", is.ID, next.Lock, ended.Lock)
		}
	}
}

// checkSoldAtOnce: a sale makes a lock and its booking together, which have the same seats, customer and time.
func (s *store) checkSoldAtOnce(t rapid.TB, before *store, b *holdfast.Booking) {
	t.Helper()
	lock := s.locks[b.LockID]
	if before.locks[b.LockID] != nil || lock == nil {
		t.Errorf("booking %s was sold with the lock %+v", b.ID, lock)
		return
	}
	isSame := lock.BookingID == b.ID && lock.UserID == b.UserID && lock.Holder == b.Holder && lock.Seats == b.Seats &&
		lock.Section == b.Section && slices.Equal(lock.SeatIDs, b.SeatIDs) && lock.SameShopData(b.ShopData)
	if !isSame || !lock.ExpiresAt.Equal(b.PaymentExpiresAt) || b.Late {
		t.Errorf("the booking %+v was sold with the lock %+v", b, lock.Lock)
	}
}

// checkAfterSale: only an open or CONFIRMED booking gets other seats, and its lock has the same ones. Only a CONFIRMED booking
// gets another customer: in a new lock, which has the seats of the previous one.
func (s *store) checkAfterSale(t rapid.TB, before *store) {
	t.Helper()
	for id, was := range before.bookings {
		is, lock := s.bookings[id], s.locks[s.bookings[id].LockID]
		isChanged := is.Seats != was.Seats || is.Section != was.Section || !slices.Equal(is.SeatIDs, was.SeatIDs)
		hasSeats := lock != nil && lock.Seats == is.Seats && lock.Section == is.Section && slices.Equal(lock.SeatIDs, is.SeatIDs)
		if isChanged && (!isLive(was.Status) || !hasSeats) {
			t.Errorf("the booking %+v became %+v with the lock %+v", was, is, lock)
		}
		if isSameCustomer := is.UserID == was.UserID && is.Holder == was.Holder; isSameCustomer {
			if was.LockID != is.LockID && (!is.Late || was.Late) || was.Late && !is.Late {
				t.Errorf("booking %s went from %+v to %+v", id, was, is)
			}
			continue
		}
		previous := s.locks[was.LockID]
		isNew := lock != nil && before.locks[is.LockID] == nil && lock.UserID == is.UserID && lock.Holder == is.Holder &&
			lock.BookingID == id && lock.Key == "" && lock.Status == holdfast.LockConsumed
		hasEnded := previous.Status == holdfast.LockReleased && s.ends[was.LockID].by == holdfast.EndedByTransfer && previous.BookingID != ID{}
		isSold := is.Status == holdfast.BookingConfirmed && (was.Status == is.Status || was.Status == holdfast.BookingPending)
		if !isSold || !isNew || !hasEnded || is.Late != was.Late {
			t.Errorf("booking %s was transferred from %+v to %+v, in the lock %+v; its previous one is %+v", id, was, is, lock, previous)
			continue
		}
		if lock.Seats != previous.Seats || lock.Section != previous.Section || !slices.Equal(lock.SeatIDs, previous.SeatIDs) ||
			!lock.SameShopData(previous.ShopData) {
			t.Errorf("booking %s was transferred with %+v, and its previous lock has %+v", id, lock.Lock, previous.Lock)
		}
	}
}

func (s *store) liveBookings() map[ID][]ID {
	live := map[ID][]ID{}
	for id, b := range s.bookings {
		if isLive(b.Status) {
			live[b.LockID] = append(live[b.LockID], id)
		}
	}
	return live
}

// sales counts the CONFIRMED bookings of the lock.
func (s *store) sales(lock ID) (n int) {
	for _, b := range s.bookings {
		if b.LockID == lock && b.Status == holdfast.BookingConfirmed {
			n++
		}
	}
	return n
}
