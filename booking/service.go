package booking

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// Service keeps the bookings of one database. Its methods are safe for use by
// many goroutines.
type Service struct {
	db     *mongodb.DB
	seats  *seats.Service
	limits Limits

	observe Observer
}

// Observer hears what operators must know of. Nil functions are not called.
type Observer struct {
	// PaidAndRefused: a refused confirmation carried a payment reference.
	PaidAndRefused func()
}

// New returns the bookings of db, on the locks of inventory.
func New(db *mongodb.DB, inventory *seats.Service, limits Limits, observe Observer) *Service {
	return &Service{db: db, seats: inventory, limits: limits, observe: observe}
}

// Get returns a booking in its present state, or CodeNotFound.
func (s *Service) Get(ctx context.Context, id ID) (Booking, error) {
	return mongodb.Surely(ctx, s.db, mongodb.Absence, func(ctx context.Context) (Booking, error) {
		b, err := s.get(ctx, id)
		return b, mongodb.Translate(err)
	})
}

// Filter narrows a list; zero fields don't.
type Filter struct {
	EventID, UserID ID
	Status          Status
}

// List lists bookings by ID, and the token of the next page.
func (s *Service) List(ctx context.Context, f Filter, page mongodb.Page) ([]Booking, string, error) {
	filter, indexed := seats.ListFilter(f.EventID, f.UserID, string(f.Status), Statuses)
	docs, next, err := mongodb.List(ctx, s.bookings(), filter, indexed, page, func(d bookingDoc) ID { return d.ID })
	if err != nil {
		return nil, "", err
	}
	bookings := make([]Booking, 0, len(docs))
	for _, d := range docs {
		bookings = append(bookings, d.booking())
	}
	return bookings, next, nil
}

// Request asks for a booking on a lock. Window zero: INITIATED, to be paid for
// later.
type Request struct {
	UserID, EventID, LockID ID
	Window                  seats.Until
}

// Create makes the booking of a live lock, and moves the lock's expiry to the
// end of the payment window if that is later. made is false where the lock has
// its booking already, which is then returned.
//
// It refuses with seats.CodeLockNotFound (also where the lock is another user's
// or event's), the codes of an ended lock, seats.CodeNotOnSale where the event
// is cancelled, or fault.CodeInvalid for a window beyond the cap.
func (s *Service) Create(ctx context.Context, r Request) (b Booking, made bool, err error) {
	if err := s.checkWindow(r.Window); err != nil {
		return Booking{}, false, err
	}
	done, err := mongodb.Surely(ctx, s.db, mongodb.Refusal, func(ctx context.Context) (creation, error) { return s.createOnce(ctx, r) })
	return done.Booking, done.made, err
}

// creation is a booking, and whether it was made or found.
type creation struct {
	Booking
	made bool
}

func (s *Service) createOnce(ctx context.Context, r Request) (creation, error) {
	id := ids.New()
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (creation, error) {
		lock, err := s.seats.Claim(ctx, r.LockID)
		if err != nil {
			return creation{}, err
		}
		if lock.UserID != r.UserID || lock.EventID != r.EventID {
			return creation{}, seats.LockNotFound()
		}
		if b, found, err := s.ofLock(ctx, lock); err != nil || found {
			return creation{b, false}, err
		}
		if err := lock.Ended(lock.Now); err != nil {
			return creation{}, s.seats.RefuseDue(ctx, lock.Lock, err)
		}
		if err := s.seats.CheckNotCancelled(ctx, lock.EventID); err != nil {
			return creation{}, err
		}
		b, err := s.create(ctx, id, lock, r.Window)
		return creation{b, true}, err
	})
}

// ofLock is the booking that a repeated request is answered with: the live one
// of a live lock, or the CONFIRMED one of a sold lock.
func (s *Service) ofLock(ctx context.Context, lock seats.Claim) (Booking, bool, error) {
	if ended := lock.Ended(lock.Now); ended != nil && !fault.Is(ended, seats.CodeLockConsumed) {
		return Booking{}, false, nil
	}
	statuses := live
	if lock.Status == seats.Consumed {
		statuses = []Status{Confirmed}
	}
	found, err := s.find(ctx, mongodb.And(mongodb.Is("seatLockId", lock.ID), mongodb.In("status", statuses)))
	if err != nil || len(found) == 0 {
		return Booking{}, false, err
	}
	return found[0], true, nil
}

func (s *Service) create(ctx context.Context, id ID, lock seats.Claim, window seats.Until) (Booking, error) {
	b := Booking{
		ID: id, UserID: lock.UserID, EventID: lock.EventID, LockID: lock.ID, Seats: lock.Seats,
		Status: Initiated, CreatedAt: lock.Now, UpdatedAt: lock.Now,
	}
	if !window.IsZero() {
		ends, err := s.limits.window(window, lock.Now, lock.Now)
		if err != nil {
			return Booking{}, err
		}
		b.Status, b.PaymentExpiresAt = Pending, ends
	}
	if _, err := s.seats.Attach(ctx, lock.Lock, id, b.PaymentExpiresAt); err != nil {
		return Booking{}, err
	}
	_, err := s.bookings().InsertOne(ctx, insertOf(b))
	return b, err
}

func (s *Service) checkWindow(w seats.Until) error {
	switch {
	case w.For < 0:
		return fault.Invalid("body.paymentTtlSeconds", "A duration is above 0.")
	case w.For > 0 && !w.At.IsZero():
		return fault.Invalid("body.paymentTtlSeconds", "Give paymentExpiresAt or paymentTtlSeconds, not both.")
	case w.For > s.limits.MaxPaymentTTL:
		return fault.Invalid("body.paymentTtlSeconds", "A payment window lasts %v at most.", s.limits.MaxPaymentTTL)
	default:
		return nil
	}
}
