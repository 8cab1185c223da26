package inventory_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Bookings change after their sale: they get other seats and other customers, their payments are refunded in parts, and clients
// repeat their requests. Answers and documents are those of the model. A command that is decided again after its own
// commit changes nothing. Of each payment, what is kept, due and refunded is together its amount.
func TestDecide_AfterTheSaleAgreesWithTheModel(t *testing.T) {
	for _, row := range []struct {
		name     string
		draw     func(*rapid.T) *seatGenerator
		remember bool
	}{
		{"of a hall", newSeatGenerator, false},
		{"of a hall that is remembered", newSeatGenerator, true},
		{"of an unseated event", newUnseatedGenerator, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range sets {
				rapid.Check(t, func(t *rapid.T) { changeAfterSales(row.draw(t), row.remember) })
			}
		})
	}
}

// sets are the sets of a hundred histories, by default.
const sets = 4

func changeAfterSales(g *seatGenerator, remember bool) {
	if g.store.event != nil && g.oneOf("limit", 2) {
		g.store.event.MaxSeatsPerUser = int64(g.number("seats of a customer", 3, 6))
	}
	r := &afterSale{
		hallComparison: &hallComparison{
			pipeline: &pipeline{store: g.store, rules: g.rules, remember: remember},
			model:    seatModelOf(g.store, g.rules, nil),
		},
		refunded: map[ID]int64{},
	}
	for id, p := range g.store.payments {
		_, r.refunded[id] = parts(p)
	}
	for range g.number("sales", 1, 3) {
		g.known = g.last
		r.queue(g, g.sell(g.request(g.next())))
	}
	for range g.number("steps", 1, 12) {
		r.step(g)
	}
}

type afterSale struct {
	*hallComparison

	history  []inventory.Command // of the event's queue
	parts    []inventory.Command // that were asked for by hand
	refunded map[ID]int64        // what the shop has refunded of a payment
}

func (r *afterSale) step(g *seatGenerator) {
	const day = 24 * 60
	r.store.now = r.store.now.Add(minutes(draw(g.generator, "minutes pass", 0, 0, 0, 1, 12, day)))
	r.model.now, g.known = r.store.now, g.last
	g.refresh()
	if r.remember {
		r.recall(g)
	}
	switch draw(g.generator, "kind",
		"queue", "queue", "queue", "queue", "money", "money", "money", "money", "settle", "settle", "claim", "cancel event") {
	case "cancel event":
		r.cancelEvent(g)
	case "money":
		r.direct(g, r.money(g))
	case "settle":
		r.settleAgain(g)
	case "claim":
		r.direct(g, g.claim())
	default:
		var batch []inventory.Command
		for range g.number("commands", 1, 4) {
			batch = append(batch, r.command(g))
		}
		r.queue(g, batch...)
	}
	r.checkSums(g)
}

// cancelEvent ends some of what a cancelled event has.
func (r *afterSale) cancelEvent(g *seatGenerator) {
	if r.store.event == nil || r.store.event.Status != holdfast.Cancelled && !g.oneOf("cancel the event", 4) {
		return
	}
	r.hold, r.settling = false, false
	r.run(g.T, inventory.ChangeEvent{EventChange: holdfast.EventChange{Status: new(holdfast.Cancelled)}})
	c := inventory.CancelSale{Run: inventory.Run{By: holdfast.EndedByEventCancel, ID: "event-cancel-1"}}
	for n := range g.last {
		b := r.store.bookings[bookingID(n)]
		switch draw(g.generator, "names", "lock", "booking", "nothing") {
		case "lock":
			c.LockIDs = append(c.LockIDs, lockID(n))
		case "booking":
			if b != nil {
				c.Bookings = append(c.Bookings, inventory.BookingRef{Booking: b.ID, Lock: draw(g.generator, "its lock", b.LockID, b.LockID, lockID(n))})
			}
		}
	}
	r.hold = true
	r.run(g.T, c)
}

// queue carries out a batch, which clients may repeat later.
func (r *afterSale) queue(g *seatGenerator, batch ...inventory.Command) {
	r.hold, r.settling = g.oneOf("hold", 4), false
	r.run(g.T, batch...)
	r.history = append(r.history, batch...)
}

// command draws a command of the event's queue, or one that was asked for before.
func (r *afterSale) command(g *seatGenerator) inventory.Command {
	if len(r.history) > 0 && g.oneOf("again", 4) {
		return g.again(draw(g.generator, "request", r.history...))
	}
	switch draw(g.generator, "command", "change", "change", "change", "transfer", "cancel", "sell", "any") {
	case "change":
		w, seats := g.wish()
		return g.changeBooking(w, seats)
	case "transfer":
		return g.transfer()
	case "cancel":
		id := g.saleID()
		c := inventory.Cancel{BookingID: id, LockID: lockID(999)}
		if b := r.store.bookings[id]; b != nil {
			c.LockID = b.LockID
		}
		return c
	case "sell":
		return g.sell(g.request(g.next()))
	default:
		return g.queued()
	}
}

// again is the request of a command, which a client sends again: its key and its content are the same.
func (g *seatGenerator) again(command inventory.Command) inventory.Command {
	lockOf := func(booking, otherwise ID) ID {
		if b := g.store.bookings[booking]; b != nil {
			return b.LockID
		}
		return otherwise
	}
	switch c := command.(type) {
	case inventory.ChangeBooking:
		c.Request.ID, c.RefundID, c.LockID = commandID(g.next()), partID(g.next()), lockOf(c.BookingID, c.LockID)
		return c
	case inventory.Transfer:
		c.Request.ID, c.NewLockID, c.LockID = commandID(g.next()), lockID(g.next()), lockOf(c.BookingID, c.LockID)
		return c
	case inventory.Sell:
		c.LockID, c.BookingID = lockID(g.next()), bookingID(g.next())
		return c
	case inventory.RefundPart:
		c.PartID = partID(g.next())
		return c
	case inventory.Acquire:
		c.LockID = lockID(g.next())
		return c
	case inventory.Block:
		c.LockID = lockID(g.next())
		return c
	case inventory.Confirm:
		c.LockID = lockID(g.next())
		return c
	default:
		return c
	}
}

// money draws a refund, of a part or of a whole payment.
func (r *afterSale) money(g *seatGenerator) inventory.Command {
	switch draw(g.generator, "money", "part", "part", "refunded part", "refunded part", "refund", "again") {
	case "part":
		return g.refundPart()
	case "refunded part":
		return g.refundedPart()
	case "refund":
		return g.refund()
	default:
		if len(r.parts) == 0 {
			return g.refundPart()
		}
		return g.again(draw(g.generator, "earlier part", r.parts...))
	}
}

// direct carries out a command that does not use the event's queue, and notes what the shop has refunded.
func (r *afterSale) direct(g *seatGenerator, c inventory.Command) {
	before := copies(r.store.payments)
	r.hold, r.settling = false, false
	r.run(g.T, c)
	if _, isPart := c.(inventory.RefundPart); isPart {
		r.parts = append(r.parts, c)
	}
	for id, p := range r.store.payments {
		was := before[id]
		switch c := c.(type) {
		case inventory.RefundedPart:
			for i, part := range was.Refunds {
				if part.Status == holdfast.RefundDue && p.Refunds[i].Status == holdfast.RefundDone && part.ID == c.PartID {
					r.refunded[id] += part.Amount
				}
			}
		case inventory.Refund:
			if was.Status == holdfast.PaymentRefundDue && p.Status == holdfast.PaymentRefunded && p.Amount != nil {
				_, done := parts(was)
				r.refunded[id] += *p.Amount - done
			}
		}
	}
}

// checkSums: of each payment, what is kept, due and refunded is together its amount.
func (r *afterSale) checkSums(g *seatGenerator) {
	for id, p := range r.store.payments {
		due, known := p.AmountDue()
		if known != (p.Amount != nil) {
			g.Fatalf("of the payment %+v, %d are due: %v", p, due, known)
		}
		if !known {
			continue
		}
		kept := int64(0)
		if p.Status == holdfast.PaymentAccepted {
			partsDue, partsDone := parts(p)
			kept = *p.Amount - partsDue - partsDone
		}
		if kept < 0 || due < 0 || kept+due+r.refunded[id] != *p.Amount {
			g.Fatalf("of the payment %+v, %d are kept, %d due, and %d were refunded", p, kept, due, r.refunded[id])
		}
	}
}

// settleAgain decides commands again that were committed, as if the commit had not been answered.
func (r *afterSale) settleAgain(g *seatGenerator) {
	var committed []inventory.Command
	for _, c := range slices.Concat(r.history, r.parts) {
		if r.isCommitted(c) {
			committed = append(committed, c)
		}
	}
	if len(committed) == 0 {
		return
	}
	before := r.store.clone()
	for range g.number("settled", 1, 3) {
		c := draw(g.generator, "command to settle", committed...)
		_, isDirect := c.(inventory.RefundPart)
		r.hold, r.settling = !isDirect, !isDirect
		results := r.batch(g.T, c)
		if results[0].Err != nil || results[0].Undecided {
			g.Fatalf("%s was committed, and is answered with %v", described(c), results[0].Err)
		}
		if diff := r.store.differs(before); diff != "" {
			g.Fatalf("%s was committed, and decided again it changes the %s", described(c), diff)
		}
	}
}

// isCommitted reports whether a command has written something that shows that it was carried out.
func (r *afterSale) isCommitted(command inventory.Command) bool {
	done := func(of inventory.OfBooking) bool {
		b := r.store.bookings[of.BookingID]
		return b != nil && !of.Abandoned && slices.ContainsFunc(b.Done, func(d holdfast.DoneRequest) bool { return d.ID == of.Request.ID })
	}
	switch c := command.(type) {
	case inventory.ChangeBooking:
		return done(c.OfBooking)
	case inventory.Transfer:
		return done(c.OfBooking)
	case inventory.Sell:
		return r.store.locks[c.LockID] != nil
	case inventory.RefundPart:
		p := r.store.payments[c.PaymentID]
		return p != nil && slices.ContainsFunc(p.Refunds, func(part holdfast.Refund) bool { return part.ID == c.PartID })
	default:
		return false
	}
}

// differs names what differs between two stores, but for the revisions of the event.
func (s *store) differs(from *store) string {
	is, was := s.clone(), from.clone()
	for _, e := range []*inventory.Event{is.event, was.event} {
		if e != nil {
			e.Revision, e.SweptAtRev, e.SeenAt, e.UpdatedAt = 0, nil, time.Time{}, time.Time{}
		}
	}
	switch {
	case !reflect.DeepEqual(is.event, was.event):
		return "event"
	case !reflect.DeepEqual(is.locks, was.locks):
		return "locks"
	case !reflect.DeepEqual(is.bookings, was.bookings):
		return "bookings"
	case !reflect.DeepEqual(is.payments, was.payments):
		return "payments"
	case is.seats != nil && (!reflect.DeepEqual(is.seats.bits, was.seats.bits) || !reflect.DeepEqual(is.seats.general, was.seats.general)):
		return "map"
	default:
		return ""
	}
}
