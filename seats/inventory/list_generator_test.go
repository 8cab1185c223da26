package inventory_test

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// listGenerator draws events that are nearly sold out, with a waiting list, and commands.
type listGenerator struct{ *seatGenerator }

// newUnseatedListGenerator draws a store of an unseated event.
func newUnseatedListGenerator(t *rapid.T) *listGenerator {
	total := int64(rapid.IntRange(1, 6).Draw(t, "totalSeats"))
	g := &listGenerator{&seatGenerator{generator: &generator{T: t, store: newStore(total), rules: theRules}, seats: []string{"A1", "A2"}}}
	for left := total; left > 0; {
		n := min(left, int64(g.number("seats of a lock", 1, 3)))
		left -= n
		g.put(func(number int, status holdfast.LockStatus, expires time.Time) {
			g.store.withLock(number, n, status, expires)
		})
	}
	g.begin()
	return g
}

// newListGenerator draws a store of an event with a small hall.
func newListGenerator(t *rapid.T) *listGenerator {
	g := &listGenerator{&seatGenerator{generator: &generator{T: t, rules: theRules}}}
	g.small = true
	plan := g.hall()
	g.store = newSeated(t, plan, g.otherHall(plan), g.otherHall(plan))
	g.refresh()
	seats := slices.Clone(g.seats)
	for len(seats) > 0 {
		n := min(len(seats), g.number("seats of a lock", 1, 3))
		g.fill(seats[:n]...)
		seats = seats[n:]
	}
	if pit := g.store.seats.model.Section(standing); pit != nil {
		for range pit.Capacity {
			g.fill(standing)
		}
	}
	g.store.event.Seating.OrphanRule = draw(g.generator, "orphanRule", holdfast.OrphansRefused, holdfast.OrphansAllowed)
	g.store.event.Seating.AccessiblePolicy = draw(g.generator, "accessiblePolicy", holdfast.AccessibleReserved, holdfast.AccessibleOpen)
	g.begin()
	return g
}

// fill draws a lock of the seats, or leaves them free.
func (g *listGenerator) fill(seats ...string) {
	g.put(func(number int, status holdfast.LockStatus, expires time.Time) {
		if status == holdfast.LockConsumed && seats[0] != standing && g.oneOf("block", 4) {
			status = holdfast.LockBlocked
		}
		g.store.withSeats(g.T, number, status, expires, seats...)
	})
}

// put draws a lock that takes seats, perhaps with its booking, or none.
func (g *listGenerator) put(put func(number int, status holdfast.LockStatus, expires time.Time)) {
	if g.oneOf("free", 8) {
		return
	}
	n := g.next()
	put(n, draw(g.generator, "lock status", "ACTIVE", "ACTIVE", holdfast.LockConsumed), g.time("lock expiry"))
	lock := g.store.locks[lockID(n)]
	if lock.Status == holdfast.LockBlocked {
		return
	}
	who := g.customer()
	lock.UserID, lock.Holder = who.id, who.holder
	status, window := holdfast.BookingConfirmed, g.time("window")
	if lock.Status == holdfast.LockActive {
		if status = draw(g.generator, "booking", "", "", "PAYMENT_PENDING", holdfast.BookingInitiated); status == "" {
			return
		}
	}
	if status == holdfast.BookingInitiated {
		window = time.Time{}
	}
	g.store.withBooking(n, status, window)
	b := g.store.bookings[bookingID(n)]
	b.UserID, b.Holder, b.Seats, b.SeatIDs, b.Section = lock.UserID, lock.Holder, lock.Seats, lock.SeatIDs, lock.Section
	g.paid(b)
}

// begin draws the settings, the rules and entries, some of customers who have too much already. The job has to look at them.
func (g *listGenerator) begin() {
	e := g.store.event
	e.Oversold, e.AvailableSeats = 0, e.TotalSeats-g.store.taken()
	e.Waitlist = holdfast.Waitlist{
		Status: draw(g.generator, "waitlist", "OPEN", "OPEN", "OPEN", holdfast.WaitlistPaused), HasBegun: true,
		OfferSeconds: draw[int64](g.generator, "waitlistOfferSeconds", 60, 300, 3600),
		Fit:          draw(g.generator, "waitlistFit", holdfast.WaitlistSkips, holdfast.WaitlistStrict),
	}
	g.rules.MaxSeatsPerLock = draw(g.generator, "MaxSeatsPerLock", int64(0), 0, 0, 3)
	g.rules.MaxLocksPerUser = draw(g.generator, "MaxLocksPerUser", int64(0), 0, 1, 2)
	e.MaxSeatsPerUser = draw(g.generator, "maxSeatsPerUser", int64(0), 0, 3, 5)
	g.latePayments()
	if g.oneOf("times of the sale", 3) {
		g.saleTimes()
	}
	g.known = g.last
	for n := range draw(g.generator, "entries", 0, 0, 1, 2, 4) {
		c := g.join()
		open := g.store.listed(func(e *inventory.Entry) bool { return e.UserID == c.UserID })
		if len(open) > 0 || c.Section == standing && c.HasChoice() {
			continue
		}
		g.store.entries[c.EntryID] = &inventory.Entry{Seq: int64(n + 1), Wish: c.Text(), WaitlistEntry: holdfast.WaitlistEntry{
			ID: c.EntryID, EventID: eventID, UserID: c.UserID, Holder: c.Holder, EntryWish: c.EntryWish, Status: holdfast.EntryWaiting,
			CreatedAt: begin, ShopData: c.ShopData,
		}}
		e.Waitlist.Waiting = int64(len(g.store.entries))
		e.List = inventory.List{Seq: int64(n + 1), Waiting: e.Waitlist.Waiting, CheckAt: begin}
	}
}

// listed draws a command of the event's queue.
func (g *listGenerator) listed() inventory.Command {
	switch draw(g.generator, "listed", "join", "join", "join", "decline", "leave", "release", "release", "check", "waiter", "other", "other",
		"other") {
	case "join":
		return g.join()
	case "decline":
		return inventory.Decline{EntryID: g.entryID()}
	case "leave":
		return inventory.Leave{EntryID: g.entryID()}
	case "release":
		return inventory.Release{LockID: g.lockID()}
	case "check":
		return inventory.CheckList{UpTo: 2}
	case "waiter": // takes seats while waiting for others
		c := g.request(g.next())
		if e := g.store.entries[g.entryID()]; e != nil {
			c.UserID, c.Holder = e.UserID, e.Holder
		}
		return c
	default:
		c := g.queued()
		if _, isSetting := c.(inventory.ChangeEvent); isSetting { // it is decided alone
			return g.join()
		}
		return c
	}
}

func (g *listGenerator) join() inventory.Join {
	n := g.next()
	c := inventory.Join{EntryID: entryID(n)}
	who := g.customer()
	if g.oneOf("another customer", 2) {
		who = customer{id: userID(10 + g.number("customer", 0, 5))}
	}
	c.EventID, c.UserID, c.Holder, c.ShopData = eventID, who.id, who.holder, g.shopData()
	c.Abandoned = g.oneOf("abandoned", 20)
	c.Seats = int64(draw(g.generator, "seats", 1, 1, 2, 2, 3))
	if g.store.seats == nil {
		return c
	}
	if pit := g.store.seats.model.Section(standing); pit != nil && g.oneOf("standing", 3) {
		c.Section = standing
		return c
	}
	w, _ := g.best()
	c.Categories, c.Section, c.Accessible = w.Best.Categories, w.Best.Section, min(w.Best.Accessible, c.Seats)
	if w.Best.Required {
		c.Adjacent = holdfast.AdjacentRequired
	}
	return c
}

func (g *listGenerator) entryID() ID {
	all := g.store.listed(func(*inventory.Entry) bool { return true })
	if len(all) == 0 || g.oneOf("unknown entry", 20) {
		return entryID(999)
	}
	return draw(g.generator, "entry", all...).ID
}

// listSetting draws a change of the event.
func (g *listGenerator) listSetting() inventory.ChangeEvent {
	var c inventory.ChangeEvent
	const open = holdfast.WaitlistOpen
	switch draw(g.generator, "list setting", "waitlist", "waitlist", "fit", "seconds", "cap", "other", "other", "plan") {
	case "cap":
		c.MaxSeatsPerUser = pointer(draw[int64](g.generator, "new maxSeatsPerUser", 0, 1, 2, 3))
	case "waitlist":
		c.Waitlist = pointer(draw(g.generator, "new waitlist", open, open, holdfast.WaitlistPaused, holdfast.WaitlistClosed))
	case "fit":
		c.WaitlistFit = pointer(draw(g.generator, "new fit", holdfast.WaitlistSkips, holdfast.WaitlistStrict))
	case "seconds":
		c.OfferSeconds = pointer(draw[int64](g.generator, "new seconds", 60, 600))
	case "plan":
		if g.store.seats != nil {
			return g.newHall()
		}
		c.TotalSeats = pointer(int64(g.number("new totalSeats", 0, 12)))
	default:
		return g.setting()
	}
	return c
}

// job draws what the job of the waiting lists does.
func (g *listGenerator) job() inventory.Command {
	return inventory.CheckList{UpTo: g.number("entries to close", 1, 3)}
}

// cancelledSale ends some locks of a cancelled event.
func (g *listGenerator) cancelledSale() inventory.Command {
	c := inventory.CancelSale{Run: inventory.Run{By: holdfast.EndedByEventCancel, ID: "event-cancel-1"}}
	if g.store.event.Status != holdfast.Cancelled {
		return inventory.CheckList{UpTo: 2}
	}
	for range g.number("locks to end", 1, 3) {
		if id := g.lockID(); !slices.Contains(c.LockIDs, id) {
			c.LockIDs = append(c.LockIDs, id)
		}
	}
	return c
}
