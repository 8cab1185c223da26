package inventory_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// generator draws stores and commands. IDs of new documents rise.
type generator struct {
	*rapid.T
	store *store
	rules inventory.Rules
	last  int // number of the last document
	known int // number of the last document that callers know
	// corrupted: other software has left documents that contradict each other.
	corrupted bool
}

func draw[V any](g *generator, what string, choices ...V) V {
	return rapid.SampledFrom(choices).Draw(g.T, what)
}

func (g *generator) number(what string, from, to int) int {
	return rapid.IntRange(from, to).Draw(g.T, what)
}

func (g *generator) next() int {
	g.last++
	return g.last
}

// newGenerator draws an event with locks and bookings, and the operator's limits.
func newGenerator(t *rapid.T, corrupted bool) *generator {
	g := &generator{T: t, store: newStore(int64(rapid.IntRange(0, 9).Draw(t, "totalSeats"))), rules: theRules, corrupted: corrupted}
	g.rules.MaxSeatsPerLock = draw(g, "MaxSeatsPerLock", int64(0), 0, 0, 3)
	g.rules.MaxLocksPerUser = draw(g, "MaxLocksPerUser", int64(0), 0, 0, 2)
	e := g.store.event
	const onSale = holdfast.OnSale
	e.Status = draw(g, "status", onSale, onSale, onSale, onSale, holdfast.Closed, holdfast.Cancelled, "PLANNED")
	e.MaxSeatsPerUser = draw(g, "maxSeatsPerUser", int64(0), 0, 0, 4)
	g.latePayments()
	g.saleTimes()
	for range g.number("locks", 0, 5) {
		g.lock()
	}
	if draw(g, "another event's lock", false, true) {
		g.store.withLock(500, 3, "ACTIVE", begin, keyedBy(keyed(500, 3, "k1")), func(l *inventory.Lock) { l.EventID = otherID })
	}
	g.known = g.last
	taken := g.store.taken()
	e.AvailableSeats, e.Oversold = max(0, e.TotalSeats-taken), max(0, taken-e.TotalSeats)
	if corrupted {
		e.AvailableSeats += int64(draw(g, "drift", 0, 0, -1, 1, 3))
		e.Oversold += int64(draw(g, "oversold", 0, 0, 0, -1, 2))
	}
	if draw(g, "missing", 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) == 1 {
		g.store.event = nil
	}
	return g
}

// lock draws a lock, and perhaps its booking.
func (g *generator) lock() {
	n := g.next()
	status := draw(g, "lock status", "ACTIVE", "ACTIVE", "CONSUMED", "EXPIRED", holdfast.LockReleased)
	g.store.withLock(n, int64(draw(g, "lock seats", 1, 2, 3, 1)), status, g.time("lock expiry"), func(l *inventory.Lock) {
		made := g.request(n)
		l.UserID, l.Holder, l.Key, l.RequestHash = made.UserID, made.Holder, made.Key, draw(g, "hash", made.Hash(), "")
		l.Revision, l.ShopData = draw[int64](g, "revision", 0, 3), made.ShopData
		if l.Key != "" && len(g.store.ofEvent(func(o *inventory.Lock) bool { return o.UserID == l.UserID && o.Key == l.Key })) > 0 {
			l.Key = ""
		}
	})
	lock := g.store.locks[lockID(n)]
	choices := map[holdfast.LockStatus][]holdfast.BookingStatus{
		"ACTIVE": {"", "INITIATED", "PAYMENT_PENDING", "EXPIRED"}, "CONSUMED": {"CONFIRMED"},
		"EXPIRED": {"", "EXPIRED", "EXPIRED", "PAYMENT_PENDING"}, "RELEASED": {"", "CANCELLED", "INITIATED"},
	}[status]
	if g.corrupted {
		choices = append([]holdfast.BookingStatus{""}, holdfast.BookingStatuses()...)
	}
	booking := draw(g, "booking", choices...)
	if booking == "" {
		return
	}
	window := g.time("window")
	if booking == holdfast.BookingInitiated {
		window = time.Time{}
	}
	g.store.withBooking(n, booking, window)
	b := g.store.bookings[bookingID(n)]
	b.UserID, b.Holder, b.EventID, b.Seats, b.ShopData = lock.UserID, lock.Holder, lock.EventID, lock.Seats, g.shopData()
	g.paid(b)
	if g.corrupted && draw(g, "no lock", 0, 0, 0, 0, 1) == 1 {
		delete(g.store.locks, lock.ID)
	}
}

// saleTimes draws when the event's sale starts and ends: mostly at no time, and at times it never sells.
func (g *generator) saleTimes() {
	g.store.event.SaleStartsAt, g.store.event.SaleEndsAt = g.saleTime("sale starts"), g.saleTime("sale ends")
}

// saleTime draws a time that the clock of a test reaches within a few batches, or none.
func (g *generator) saleTime(what string) time.Time {
	if draw(g, what, false, false, false, true) {
		return g.store.now.Add(minutes(draw(g, what+" in", -10, 0, 1, 5, 6, 12)))
	}
	return time.Time{}
}

// time draws a time near the database's clock, equal to it or far ahead of it.
func (g *generator) time(what string) time.Time {
	return g.store.now.Add(minutes(draw(g, what, 0, -20, -5, 3, 10, 10, 30, 119, 121)))
}

func (g *generator) until(what string) holdfast.Until {
	switch draw(g, what, "none", "none", "duration", "time") {
	case "duration":
		return holdfast.Until{For: minutes(draw(g, what+" for", 1, 5, 120, 121, 1500))}
	case "time":
		return holdfast.Until{At: g.time(what + " at")}
	default:
		return holdfast.Until{}
	}
}

type customer struct {
	id     ID
	holder string
}

// customer draws a user or a holder. One user has the ID of the holder.
func (g *generator) customer() customer {
	guest := holdfast.HolderID("guest")
	return draw(g, "customer", customer{id: alice}, customer{id: bob}, customer{id: userID(3)}, customer{guest, "guest"}, customer{id: guest})
}

func (g *generator) request(n int) inventory.Acquire {
	c := acquire(n, int64(g.number("seats", 1, 4)))
	who := g.customer()
	c.UserID, c.Holder, c.Key = who.id, who.holder, draw(g, "key", "", "", "k1", "k2")
	c.Until, c.ShopData = g.until("lock time"), g.shopData()
	return c
}

// shopData draws data of a shop; usually none.
func (g *generator) shopData() holdfast.ShopData {
	return draw(g, "shop data", holdfast.ShopData{}, holdfast.ShopData{}, holdfast.ShopData{},
		holdfast.ShopData{Reference: "order"}, holdfast.ShopData{Metadata: map[string]string{"a": "1"}},
		holdfast.ShopData{Reference: "cart", Metadata: map[string]string{"a": "", "b": "2"}})
}

func (g *generator) shopDataChange() (c holdfast.ShopDataChange) {
	c.Reference = draw(g, "reference", nil, nil, new(""), new("order"))
	c.WithoutMetadata = draw(g, "without metadata", false, false, false, true)
	for _, key := range []string{"a", "b"} {
		if draw(g, "changes "+key, false, true) {
			if c.Metadata == nil {
				c.Metadata = map[string]*string{}
			}
			c.Metadata[key] = draw(g, key, nil, new("1"), new("3"))
		}
	}
	if draw(g, "adds many", 0, 0, 0, 0, 1) == 1 {
		c.Metadata = map[string]*string{}
		for i := range holdfast.MaxMetadata {
			c.Metadata[fmt.Sprint("k", i)] = new("")
		}
	}
	return c
}

// queued draws a command that goes through the event's queue.
func (g *generator) queued() inventory.Command {
	switch draw(g, "command",
		"acquire", "acquire", "acquire", "release", "cancel", "change", "late", "late", "booking", "booking", "transfer", "sell") {
	case "late":
		return g.late()
	case "booking":
		return g.changeBooking(holdfast.Wish{}, int64(g.number("seats", 1, 4)))
	case "transfer":
		return g.transfer()
	case "sell":
		return g.sell(g.request(g.next()))
	case "release":
		return inventory.Release{LockID: g.lockID()}
	case "cancel":
		id := g.bookingID()
		c := inventory.Cancel{BookingID: id, LockID: lockID(999)}
		if b := g.store.bookings[id]; b != nil {
			c.LockID = b.LockID
		}
		return c
	case "change":
		return g.change()
	default:
		c := g.request(g.next())
		c.Abandoned = draw(g, "abandoned", false, false, false, false, true)
		return c
	}
}

func (g *generator) change() inventory.ChangeEvent {
	var c inventory.ChangeEvent
	switch draw(g, "change", "seats", "seats", "status", "limit", "name", "late payments", "start", "end", "shop data") {
	case "start":
		c.SaleStartsAt = pointer(g.saleTime("new start"))
	case "end":
		c.SaleEndsAt = pointer(g.saleTime("new end"))
	case "shop data":
		c.ShopData = g.shopDataChange()
	case "late payments":
		return g.lateSetting()
	case "seats":
		c.TotalSeats = pointer(int64(g.number("new totalSeats", 0, 12)))
	case "status":
		c.Status = pointer(draw(g, "new status", holdfast.OnSale, holdfast.OnSale, holdfast.Closed, holdfast.Cancelled))
	case "limit":
		c.MaxSeatsPerUser = pointer(draw(g, "new limit", int64(0), 0, 3))
	case "name":
		c.Name = pointer("Another name")
	}
	return c
}

// claim draws a command that does not write the event.
func (g *generator) claim() inventory.Command {
	who := g.customer()
	request := holdfast.BookingRequest{
		UserID: who.id, Holder: who.holder, EventID: eventID, LockID: g.lockID(), Window: g.until("window"), ShopData: g.shopData(),
	}
	if lock := g.store.locks[request.LockID]; lock != nil && draw(g, "owner", true, true, true, false) {
		request.UserID, request.Holder = lock.UserID, lock.Holder
	}
	window := holdfast.Until{For: minutes(draw(g, "window for", 1, 10, 1500))}
	switch draw(g, "claim", "extend", "book", "book", "pay", "confirm", "confirm", "confirm", "refund", "consume sold", "repair",
		"update", "update", "refund part", "refund part", "refunded part") {
	case "refund part":
		return g.refundPart()
	case "refunded part":
		return g.refundedPart()
	case "update":
		change := g.shopDataChange()
		if draw(g, "update", "lock", "booking") == "lock" {
			return inventory.UpdateLock{LockID: request.LockID, Change: change}
		}
		return inventory.UpdateBooking{BookingID: g.bookingID(), Change: change}
	case "extend":
		return inventory.Extend{LockID: request.LockID, Until: window}
	case "book":
		return inventory.Book{BookingRequest: request, BookingID: bookingID(g.next())}
	case "pay":
		return inventory.Pay{BookingID: g.bookingID(), Window: window}
	case "confirm":
		return g.confirm()
	case "refund":
		return g.refund()
	case "consume sold":
		return inventory.ConsumeSold{LockID: request.LockID, RunID: "recovery-1"}
	default:
		return inventory.Repair{RunID: "recovery-1"}
	}
}

// swept draws a sweep.
func (g *generator) swept() inventory.Command {
	n := g.number("sweep size", 0, 3)
	if draw(g, "sweep", "locks", "bookings") == "locks" {
		c := inventory.ExpireLocks{Run: lockRun, UpTo: draw(g, "up to", 0, 0, 5)}
		for range n {
			c.LockIDs = append(c.LockIDs, g.lockID())
		}
		return c
	}
	c := inventory.ExpireBookings{Run: bookingRun, ByLock: draw(g, "by lock", false, true)}
	for range n {
		ref := inventory.BookingRef{Booking: g.bookingID()}
		if b := g.store.bookings[ref.Booking]; b != nil {
			ref.Lock = b.LockID
		}
		c.Bookings = append(c.Bookings, ref)
	}
	return c
}

// lockID draws a lock, which may be missing.
func (g *generator) lockID() ID {
	if offers := g.store.offers(); len(offers) > 0 && draw(g, "an offer", false, true) {
		return draw(g, "offer", offers...).ID
	}
	return lockID(g.document("lock"))
}

func (g *generator) bookingID() ID { return bookingID(g.document("booking")) }

// document draws the number of a document; at times, of a missing one.
func (g *generator) document(what string) int {
	const missing = 999
	if n := g.number(what, 0, g.known); n > 0 {
		return n
	}
	return missing
}
