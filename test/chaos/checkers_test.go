package chaos_test

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The checkers of a round. Each violation begins with the checker's name. Checkers that watch
// while the round runs are in invocation_test.go, workload_test.go and stream_checker_test.go.

// check compares the history with the documents at the end.
func (c *clients) check(env *testenv.Env) finalState {
	final := c.checkDocuments(env)
	if final.events != nil {
		for event := range c.events {
			c.checkLinearizability(event, final)
		}
	}
	return final
}

// checkDocuments is check without the model of an event, which does not know waiting lists.
func (c *clients) checkDocuments(env *testenv.Env) finalState {
	final, err := c.readFinalState(env)
	if err != nil {
		c.violation("documents", "%v", err)
		return final
	}
	for _, v := range testenv.Violations(c.t, env.DB.Database) {
		c.violation("invariants", "%s", v)
	}
	told := c.readTold(env)
	c.transfers = transfersOf(told)
	final.beforeNotes(told)
	c.checkAnswers(final)
	c.checkShopData(final)
	c.checkPayments(final)
	c.checkTimes(final)
	c.checkSales(final)
	c.checkAfterSale(told, final)
	c.checkChanges(told, final)
	return final
}

// checkAnswers: acknowledged locks and bookings exist, refused ones do not, and clients know all
// locks.
func (c *clients) checkAnswers(final finalState) {
	lockByKey, exists := map[string]finalLock{}, map[string]bool{}
	for id := range final.entries {
		exists[id] = true
	}
	for _, l := range final.locks {
		exists[l.ID.String()] = true
		for _, b := range final.bookings[l.ID] {
			exists[b.ID.String()] = true
		}
		if l.Key == "" { // a late payment or a transfer has made it, or it is an offer
			if l.isNext() {
				c.checkNextLock(l, final)
			}
			continue
		}
		if other, twice := lockByKey[l.Key]; twice {
			c.violation("idempotency", "key %s made the locks %s and %s", l.Key, l.ID, other.ID)
		}
		lockByKey[l.Key] = l
	}
	answered := map[string]string{} // the lock's ID by key, "" if it was refused
	for _, inv := range c.history {
		if inv.op == opRefund {
			continue
		}
		if inv.op == opSell {
			l := lockByKey[inv.key]
			if inv.code == "" && l.BookingID.String() != inv.id {
				c.violation("acknowledged", "the sale of key %s was answered with booking %s, but its lock is %+v", inv.key, inv.id, l)
			}
			if answered[inv.key] == "" {
				answered[inv.key] = ""
				if inv.code == "" {
					answered[inv.key] = l.ID.String()
				}
			}
		}
		if inv.code == "" && inv.id != "" && !inv.op.changesEvent() && !exists[inv.id] {
			c.violation("acknowledged", "%s of %s was answered with %s, which does not exist", inv.op, inv.target, inv.id)
		}
		if inv.op != opLock {
			continue
		}
		if before, known := answered[inv.key]; known && before != inv.id && before != "" && inv.id != "" {
			c.violation("idempotency", "key %s was answered with the locks %s and %s", inv.key, before, inv.id)
		}
		answered[inv.key] = cmp.Or(answered[inv.key], inv.id)
	}
	for key, l := range lockByKey {
		switch id, known := answered[key]; {
		case known && id == "":
			c.violation("refused", "key %s was refused, but lock %s exists and is %s", key, l.ID, l.Status)
		case id != l.ID.String():
			c.violation("idempotency", "key %s was answered with %q, but lock %s exists", key, id, l.ID)
		}
	}
}

// checkNextLock: a lock without a key has the seats of a booking that a late payment has confirmed, or that was transferred. It
// may have been transferred since.
func (c *clients) checkNextLock(l finalLock, final finalState) {
	bookings := final.bookings[l.ID]
	wasLeft := l.Status == "RELEASED" && l.EndedBy == "transfer" && !l.BookingID.IsZero()
	if len(bookings) == 0 && wasLeft {
		return
	}
	transfers, isMade := 0, false
	if len(bookings) == 1 {
		transfers = c.transfers[bookings[0].ID]
		isMade = (bookings[0].Late || transfers > 0) && l.BookingID == bookings[0].ID
	}
	if !isMade || bookings[0].Status != "CONFIRMED" && bookings[0].Status != "CANCELLED" {
		c.violation("documents", "no client made lock %s, and it is of no late payment and %d transfers: %+v %+v", l.ID, transfers, l, bookings)
	}
}

// checkTimes: nothing was expired before its time or confirmed after it, and nothing that is
// due is left.
func (c *clients) checkTimes(final finalState) {
	now := time.Now()
	late := c.lateBookings(final)
	for _, l := range final.locks {
		if l.Status == "ACTIVE" && l.ExpiresAt.Before(now.Add(-expiryTimeout)) {
			c.violation("expired in time", "lock %s was due at %v and is still ACTIVE", l.ID, l.ExpiresAt)
		}
		if (l.Status == "EXPIRED") != (l.EndedBy != "" && l.EndedBy != "api" && l.EndedBy != "event-cancel" && l.EndedBy != "transfer") {
			c.violation("documents", "lock %s is %s, but was ended by %q", l.ID, l.Status, l.EndedBy)
		}
		bookings := final.bookings[l.ID]
		if b, isLate := late[l.ID]; isLate { // it has another lock now
			bookings = append(slices.Clip(bookings), b)
		}
		if due := l.dueAt(bookings); l.Status == "EXPIRED" && l.UpdatedAt.Before(due.Add(-tolerance*time.Millisecond)) {
			c.violation("time", "lock %s was due at %v but was expired at %v by %s", l.ID, due, l.UpdatedAt, l.EndedBy)
		}
		for _, b := range final.bookings[l.ID] {
			c.checkBookingTimes(l, b)
		}
	}
}

// checkSales: no lock was made before its event's sale opened or after it closed, by the database's clock, but for late payments,
// transfers and sales at once.
func (c *clients) checkSales(final finalState) {
	sales := map[holdfast.ID]*eventOnSale{}
	for _, e := range c.events {
		sales[parseID(c.t, e.id)] = e
	}
	isSale := c.saleKeys()
	for _, l := range final.locks {
		e, made := sales[l.EventID], l.CreatedAt.UnixMilli()
		if isFree := l.isNext() || isSale[l.Key]; !isFree && (made < e.opensAt || e.closesAt != 0 && made >= e.closesAt) {
			c.violation("sale", "lock %s was made at %s, but the sale was open from %s to %s",
				l.ID, formatMillis(made), formatMillis(e.opensAt), formatMillis(e.closesAt))
		}
	}
}

func (c *clients) checkBookingTimes(l finalLock, b finalBooking) {
	// A confirmation writes the lock's date by the clock of the write; the booking's is that of the decision. A sale at once has
	// no window, and a transfer is later.
	isMoved := c.transfers[b.ID] > 0
	if (b.Late || isMoved) != l.isNext() {
		c.violation("documents", "booking %s is late: %t, transferred: %t, but its lock is %+v", b.ID, b.Late, isMoved, l)
	}
	hasWindow := !b.Late && !isMoved && !c.saleKeys()[l.Key]
	if b.Status == "CONFIRMED" && hasWindow && !l.UpdatedAt.Before(b.Window.Add(tolerance*time.Millisecond)) {
		c.violation("time", "booking %s was confirmed at %v, but its payment window ended at %v", b.ID, l.UpdatedAt, b.Window)
	}
	if b.Status == "EXPIRED" && l.Status == "ACTIVE" {
		c.violation("expired in time", "booking %s is EXPIRED, but its lock %s still holds seats", b.ID, l.ID)
	}
	if (b.Status == "INITIATED" || b.Status == "PAYMENT_PENDING") && l.Status != "ACTIVE" {
		c.violation("expired in time", "booking %s is %s, but its lock %s is %s", b.ID, b.Status, l.ID, l.Status)
	}
}

// lateBookings are the bookings that a late payment has confirmed, by the lock that they had before.
func (c *clients) lateBookings(final finalState) map[holdfast.ID]finalBooking {
	earlier := map[string]holdfast.ID{}
	for _, inv := range c.history {
		if inv.op == opBook && inv.code == "" {
			earlier[inv.id] = parseID(c.t, inv.target)
		}
	}
	late := map[holdfast.ID]finalBooking{}
	for _, bookings := range final.bookings {
		for _, b := range bookings {
			if b.Late {
				late[earlier[b.ID.String()]] = b
			}
		}
	}
	return late
}

// checkReads reads every event from both APIs: the answers agree with the documents.
func (c *clients) checkReads(final finalState) {
	for i, api := range c.apis {
		for _, event := range c.events {
			if i == 0 {
				c.checkMoney(api, event, final)
			}
			ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
			e, err := api.GetEvent(ctx, event.id)
			cancel()
			if want := final.events[event.id]; err != nil || e.AvailableSeats != want.Available || e.TotalSeats != want.Total {
				c.violation("documents", "%s answers %+v %v for event %s, but the document is %+v", apiNames[i], e, err, event.id, want)
			}
			if event.hall != nil {
				c.checkMapAt(apiNames[i], api, event, final)
			}
		}
	}
}
