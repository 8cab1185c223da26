package chaos_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// finalState is the documents at the end of a round.
type finalState struct {
	events   map[string]finalEvent
	locks    []finalLock
	bookings map[holdfast.ID][]finalBooking // by lock
	blocked  map[holdfast.ID]seatSet        // by event
	payments []finalPayment
	entries  map[string]finalEntry // of waiting lists
}

type finalEvent struct {
	ID        holdfast.ID `bson:"_id"`
	Total     int64       `bson:"totalSeats"`
	Available int64       `bson:"availableSeats"`
	PerUser   int64       `bson:"maxSeatsPerUser"`
	Status    string      `bson:"status"`

	OrphanRule   string `bson:"orphanRule"`
	BlockedSeats int64  `bson:"blockedSeats"`

	Plan     holdfast.ID        `bson:"seatingPlanId"`
	Sections []capacityDocument `bson:"sections"`
}

// capacityDocument is the capacity of a section of general admission in an event.
type capacityDocument struct {
	Key      string `bson:"key"`
	Capacity int64  `bson:"capacity"`
}

type finalLock struct {
	ID        holdfast.ID `bson:"_id"`
	EventID   holdfast.ID `bson:"eventId"`
	Seats     int64       `bson:"seats"`
	Status    string      `bson:"status"`
	ExpiresAt time.Time   `bson:"expiresAt"`
	CreatedAt time.Time   `bson:"createdAt"`
	Key       string      `bson:"idempotencyKey"`
	EndedBy   string      `bson:"endedBy"`
	UpdatedAt time.Time   `bson:"updatedAt"`
	UserID    holdfast.ID `bson:"userId"` // zero: the venue's
	SeatIDs   []string    `bson:"seatIds"`
	Section   string      `bson:"section"`
	BookingID holdfast.ID `bson:"bookingId"`
	EntryID   holdfast.ID `bson:"waitlistEntryId"` // of an offer
	ShopData  shopData    `bson:",inline"`
}

// isNext reports whether the lock is of a booking that had another one: no client has made it, and it is not an offer.
func (l finalLock) isNext() bool { return l.Key == "" && l.EntryID.IsZero() }

func (l finalLock) places() places { return places{seatsOf(l.SeatIDs...), l.Section} }

type finalBooking struct {
	ID        holdfast.ID `bson:"_id"`
	LockID    holdfast.ID `bson:"seatLockId"`
	Status    string      `bson:"status"`
	Window    time.Time   `bson:"paymentExpiresAt"`
	UpdatedAt time.Time   `bson:"updatedAt"`
	CreatedAt time.Time   `bson:"createdAt"`
	Late      bool        `bson:"late"`
	Customer  customerOf  `bson:",inline"`
	Seats     seatsHad    `bson:",inline"`
	ShopData  shopData    `bson:",inline"`
	Internal  struct {
		Payments []holdfast.ListedPayment `bson:"payments"`
	} `bson:"internal"`
}

// customerOf is the customer that a document names.
type customerOf struct {
	User   holdfast.ID `bson:"userId"`
	Holder string      `bson:"holder"`
}

// seatsHad are the seats that a document names.
type seatsHad struct {
	Seats   int64    `bson:"seats"`
	SeatIDs []string `bson:"seatIds"`
	Section string   `bson:"section"`
}

func (s seatsHad) equals(o seatsHad) bool {
	return s.Seats == o.Seats && slices.Equal(s.SeatIDs, o.SeatIDs) && s.Section == o.Section
}

type finalPayment struct {
	ID              holdfast.ID `bson:"_id"`
	BookingID       holdfast.ID `bson:"bookingId"`
	EventID         holdfast.ID `bson:"eventId"`
	Reference       string      `bson:"reference"`
	Status          string      `bson:"status"`
	Reason          string      `bson:"reason"`
	RefundReference string      `bson:"refundReference"`
	Amount          *int64      `bson:"amount"`

	Refunds []holdfast.Refund `bson:"refunds"`
}

// number is that of the reference among those of its booking; 0: it is none that a client had.
func (p finalPayment) number() int {
	for n := 1; n < saleReference; n++ {
		if p.Reference == referenceOf(p.BookingID.String(), n) {
			return n
		}
	}
	if strings.HasPrefix(p.Reference, salePrefix) {
		return saleReference
	}
	return 0
}

func (p finalPayment) sumOfParts() (sum int64) {
	for _, r := range p.Refunds {
		sum += r.Amount
	}
	return sum
}

func (p finalPayment) reason() paymentReason {
	if p.Status == "ACCEPTED" {
		return accepted
	}
	return reasonsByName[p.Reason]
}

// lockState is a lock with its live booking in the words of the model.
func (f finalState) lockState(l finalLock) lockState {
	s := lockState{status: l.Status[0], seats: l.Seats, places: l.places(), expires: l.ExpiresAt.UnixMilli()}
	for _, b := range f.bookings[l.ID] {
		if b.Status == "INITIATED" || b.Status == "PAYMENT_PENDING" || b.Status == "CONFIRMED" {
			s.booking = b.Status[0]
		}
	}
	return s
}

// dueAt is the earliest time at which a sweep may end a lock: its own expiry, or the end of
// the payment window of the booking that was expired with it, or that a late payment has confirmed since.
func (l finalLock) dueAt(bookings []finalBooking) time.Time {
	due := l.ExpiresAt
	for _, b := range bookings {
		hasEnded := b.Status == "EXPIRED" || b.Late
		if hasEnded && !b.Window.IsZero() && b.Window.Before(due) && l.EndedBy != "lock-expiry" && l.EndedBy != "reclaim" {
			due = b.Window
		}
	}
	return due
}

// readFinalState reads the documents of the clients' events.
func (c *clients) readFinalState(env *testenv.Env) (final finalState, err error) {
	var eventIDs []holdfast.ID
	for _, e := range c.events {
		eventIDs = append(eventIDs, parseID(c.t, e.id))
	}
	events, err := findAll[finalEvent](env, "events", bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: eventIDs}}}})
	if err != nil {
		return final, err
	}
	final.events, final.bookings = map[string]finalEvent{}, map[holdfast.ID][]finalBooking{}
	for _, e := range events {
		final.events[e.ID.String()] = e
	}
	ofEvents := bson.D{{Key: "eventId", Value: bson.D{{Key: "$in", Value: eventIDs}}}}
	locks, err := findAll[finalLock](env, "seatlocks", ofEvents)
	if err != nil {
		return final, err
	}
	final.blocked = map[holdfast.ID]seatSet{}
	for _, l := range locks {
		switch {
		case !l.UserID.IsZero():
			final.locks = append(final.locks, l)
		case l.Status == "BLOCKED":
			final.blocked[l.EventID] |= l.places().named
		}
	}
	bookings, err := findAll[finalBooking](env, "bookings", ofEvents)
	for _, b := range bookings {
		final.bookings[b.LockID] = append(final.bookings[b.LockID], b)
	}
	if err == nil {
		final.payments, err = findAll[finalPayment](env, "payments", ofEvents)
	}
	if err == nil {
		final.entries, err = readEntries(env, ofEvents)
	}
	return final, err
}

func findAll[T any](env *testenv.Env, collection string, filter bson.D) (found []T, err error) {
	cursor, err := env.DB.Collection(collection).Find(context.Background(), filter)
	if err == nil {
		err = cursor.All(context.Background(), &found)
	}
	return found, err
}
