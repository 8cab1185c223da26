package chaos_test

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// toldRecord is a record of changes.
type toldRecord struct {
	Seq   int64      `bson:"seq"`
	At    time.Time  `bson:"at"`
	Items []toldItem `bson:"items"`
}

type toldItem struct {
	Type    string       `bson:"type"`
	Rev     int64        `bson:"rev"`
	Lock    *toldLock    `bson:"lock"`
	Booking *toldBooking `bson:"booking"`
	Payment *struct {
		ID      holdfast.ID       `bson:"_id"`
		Status  string            `bson:"status"`
		Refunds []holdfast.Refund `bson:"refunds"`
	} `bson:"payment"`
	Previous *bookingBefore `bson:"previous"`

	seq int64
	at  time.Time
}

type toldBooking struct {
	ID       holdfast.ID              `bson:"_id"`
	LockID   holdfast.ID              `bson:"seatLockId"`
	Status   string                   `bson:"status"`
	Payments []holdfast.ListedPayment `bson:"payments"`
	Customer customerOf               `bson:",inline"`
	Seats    seatsHad                 `bson:",inline"`
	ShopData shopData                 `bson:",inline"`
}

// bookingBefore is what a change has replaced.
type bookingBefore struct {
	Customer customerOf `bson:",inline"`
	Seats    seatsHad   `bson:",inline"`
}

func (b bookingBefore) equals(o bookingBefore) bool {
	return b.Customer == o.Customer && b.Seats.equals(o.Seats)
}

func (b toldBooking) before() bookingBefore { return bookingBefore{b.Customer, b.Seats} }

type toldLock struct {
	ID        holdfast.ID `bson:"_id"`
	Seats     int64       `bson:"seats"`
	Status    string      `bson:"status"`
	ExpiresAt time.Time   `bson:"expiresAt"`
	SeatIDs   []string    `bson:"seatIds"`
	Section   string      `bson:"section"`
	ShopData  shopData    `bson:",inline"`
}

// readTold reads the changes of locks, bookings and payments.
func (c *clients) readTold(env *testenv.Env) map[holdfast.ID][]toldItem {
	for numbered := 1; numbered > 0; {
		var err error
		if numbered, err = env.Changes.Number(context.Background()); err != nil {
			c.violation("changes", "numbering: %v", err)
			return nil
		}
	}
	var eventIDs []holdfast.ID
	for _, e := range c.events {
		eventIDs = append(eventIDs, parseID(c.t, e.id))
	}
	records, err := findAll[toldRecord](env, changes.Collection, bson.D{{Key: "eventId", Value: bson.D{{Key: "$in", Value: eventIDs}}}})
	if err != nil {
		c.violation("changes", "%v", err)
		return nil
	}
	told := map[holdfast.ID][]toldItem{}
	for _, r := range records {
		for _, item := range r.Items {
			item.seq, item.at = r.Seq, r.At
			switch {
			case item.Lock != nil:
				told[item.Lock.ID] = append(told[item.Lock.ID], item)
			case item.Booking != nil:
				told[item.Booking.ID] = append(told[item.Booking.ID], item)
			case item.Payment != nil:
				told[item.Payment.ID] = append(told[item.Payment.ID], item)
			}
		}
	}
	return told
}

// checkChanges: each committed change of a lock, a booking or a payment has its record, once, in the order of its revisions,
// and nothing else has one.
func (c *clients) checkChanges(told map[holdfast.ID][]toldItem, final finalState) {
	for _, l := range final.locks {
		last := c.checkOrder("lock", l.ID, told[l.ID])
		is := toldLock{l.ID, l.Seats, l.Status, l.ExpiresAt, l.SeatIDs, l.Section, l.ShopData}
		if last == nil || !last.Lock.equals(is) {
			c.violation("changes", "lock %s is %+v, but told was %+v", l.ID, is, told[l.ID])
		}
		delete(told, l.ID)
		for _, b := range final.bookings[l.ID] {
			last := c.checkOrder("booking", b.ID, told[b.ID])
			if last == nil || last.Booking.Status != b.Status || !last.Booking.ShopData.equals(b.ShopData) {
				c.violation("changes", "booking %s is %s with %+v, but told was %+v", b.ID, b.Status, b.ShopData, told[b.ID])
			}
			delete(told, b.ID)
		}
	}
	for _, p := range final.payments {
		if last := c.checkOrder("payment", p.ID, told[p.ID]); last == nil || last.Payment.Status != p.Status {
			c.violation("changes", "payment %s is %s, but told was %+v", p.ID, p.Status, told[p.ID])
		}
		delete(told, p.ID)
	}
	for id, items := range told {
		c.violation("changes", "%s does not exist, but told was %+v", id, items)
	}
}

func (l toldLock) equals(o toldLock) bool {
	return l.ID == o.ID && l.Seats == o.Seats && l.Status == o.Status && l.ExpiresAt.Equal(o.ExpiresAt) &&
		slices.Equal(l.SeatIDs, o.SeatIDs) && l.Section == o.Section && l.ShopData.equals(o.ShopData)
}

// checkOrder returns the last change; nil: there is none.
func (c *clients) checkOrder(kind string, id holdfast.ID, items []toldItem) (last *toldItem) {
	sortTold(items)
	for i := range items {
		switch item := &items[i]; {
		case item.seq < 1, last == nil && !isFirstOf(kind, item.Type),
			last != nil && (item.Rev <= last.Rev || item.seq == last.seq && kind == "lock"):
			c.violation("changes", "%s %s: told was %+v", kind, id, items)
			return &items[len(items)-1]
		default:
			last = item
		}
	}
	return last
}

// sortTold sorts changes of one subject. One transaction may change a booking or a payment several times, and tells a lock once.
func sortTold(items []toldItem) {
	slices.SortStableFunc(items, func(a, b toldItem) int { return cmp.Compare(a.seq, b.seq) })
}

// isFirstOf reports whether a subject's first change may be of a type.
func isFirstOf(kind, what string) bool {
	if kind == "payment" {
		return what == "payment.accepted" || what == "payment.refund_due"
	}
	return what == kind+".created" || kind == "booking" && what == "booking.confirmed" // sold at once
}
