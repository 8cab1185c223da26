package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/holdfast-dev/holdfast/client"
)

// A change of a sold order is an order of its own: the same passes settle it. More seats cost a PaymentIntent, which is
// captured if and only if the booking has changed. Fewer seats need none: Holdfast makes a part of a payment due with the
// change, and giveBack returns it.

var (
	errUnderWay    = errors.New("another change of this order is under way")
	errNoChange    = errors.New("the order can't be changed so")
	errTooMuch     = errors.New("no payment of the order has so much left: give back fewer seats at once")
	errNoSuchOrder = errors.New("there is no such order")
)

// change saves the change and makes the first pass over it. A form that is sent twice is one change.
func (s *shop) change(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<14)
	seats, err := strconv.ParseInt(r.PostFormValue("seats"), 10, 64)
	c := order{
		ID: r.PostFormValue("change"), Of: r.PathValue("id"), Seats: seats, PaymentMethod: r.PostFormValue("payment_method"),
		CreatedAt: time.Now(), State: open,
	}
	if err != nil || seats < 1 || seats > 10 || !cartPattern.MatchString(c.ID) || !cartPattern.MatchString(c.Of) ||
		!methodPattern.MatchString(c.PaymentMethod) {
		http.Error(w, "The form is not complete.", http.StatusUnprocessableEntity)
		return
	}
	switch err := s.createChange(r.Context(), &c); {
	case errors.Is(err, errNoSuchOrder):
		http.NotFound(w, r)
		return
	case errors.Is(err, errUnderWay), errors.Is(err, errNoChange), errors.Is(err, errTooMuch):
		http.Error(w, err.Error(), http.StatusConflict)
		return
	case err != nil:
		logError("A change can't be saved", err)
		http.Error(w, "The shop can't change orders at the moment. Nothing was charged.", http.StatusServiceUnavailable)
		return
	}
	s.passFor(r, c.ID)
	http.Redirect(w, r, "/orders/"+c.ID, http.StatusSeeOther)
}

// createChange saves a change that is new, unless another one of its order is open: a change names all seats that the booking
// should have, and was paid for by the seats that it had.
func (s *shop) createChange(ctx context.Context, c *order) error {
	defer s.lock(c.Of)()
	if _, err := s.load(c.ID); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	of, err := s.load(c.Of)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (of.State != sold || of.Of != "") {
		return errNoSuchOrder
	}
	if err != nil {
		return err
	}
	if err := s.requireNoChange(c.Of); err != nil {
		return err
	}
	b, err := s.holdfast.InEvent(of.EventID).GetBooking(ctx, of.BookingID)
	if err != nil {
		return err
	}
	if b.Status != "CONFIRMED" || b.Seats == c.Seats {
		return errNoChange
	}
	c.EventID, c.BookingID, c.From, c.Name, c.Email = of.EventID, of.BookingID, b.Seats, of.Name, of.Email
	if c.Seats < c.From {
		if c.RefundOf, err = s.paymentWith(ctx, c.BookingID, -c.amount()); err != nil {
			return err
		}
	}
	return s.save(c)
}

func (s *shop) requireNoChange(id string) error {
	files, err := fs.ReadDir(s.orders.FS(), open)
	if err != nil {
		return err
	}
	for _, file := range files {
		other, isOrder := strings.CutSuffix(path.Base(file.Name()), ".json")
		if !isOrder {
			continue
		}
		o, err := s.load(other)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it has just ended
		case err != nil:
			return err
		case o.Of == id && o.State == open:
			return errUnderWay
		}
	}
	return nil
}

// paymentWith returns the first payment of a booking that has an amount left to give back.
func (s *shop) paymentWith(ctx context.Context, bookingID string, amount int64) (id string, err error) {
	for p, err := range s.holdfast.ListPayments(ctx, client.PaymentFilter{BookingID: &bookingID, Status: new("ACCEPTED")}) {
		if err != nil {
			return "", err
		}
		if p.Provider == provider && p.Amount != nil && *p.Amount-refundsOf(p) >= amount {
			return p.ID, nil
		}
	}
	return "", errTooMuch
}

// refundsOf is the sum of the parts of a payment that went back, or have to.
func refundsOf(p client.Payment) (sum int64) {
	for _, part := range p.Refunds {
		sum += part.Amount
	}
	return sum
}

// returnSeats changes a booking to fewer seats. Without an answer it is asked again, with the same key.
func (s *shop) returnSeats(ctx context.Context, o *order) error {
	_, err := s.holdfast.InEvent(o.EventID).ChangeBookingSeats(ctx, o.BookingID, client.BookingChange{
		Wish: client.Wish{Seats: o.Seats}, Refund: &client.PartialRefund{Amount: -o.amount(), PaymentID: o.RefundOf}, IdempotencyKey: o.ID,
	})
	if refused(err) {
		return s.end(o, string(client.CodeOf(err)))
	}
	if err != nil {
		return err
	}
	o.State = sold
	return s.save(o)
}

// addSeats changes a booking to more seats, for an amount that is on hold. It returns why Holdfast has refused that, if it
// has, and an error if the outcome is unknown. A refusal is not final: it leaves nothing, so an earlier request that is
// still on its way may be carried out. sell makes it final.
func (s *shop) addSeats(ctx context.Context, o *order, charge client.Charge) (refusal string, err error) {
	_, err = s.holdfast.InEvent(o.EventID).ChangeBookingSeats(ctx, o.BookingID, client.BookingChange{
		Wish: client.Wish{Seats: o.Seats}, Payment: &charge, IdempotencyKey: o.ID,
	})
	if refused(err) {
		return string(client.CodeOf(err)), nil
	}
	return "", err
}

// undo ends a change whose intent is canceled. The booking may have the seats: Stripe cancels an authorization that is not
// captured for seven days. Then they go back, and the part that is due is noted as void by giveBack.
func (s *shop) undo(ctx context.Context, o *order, intent *stripe.PaymentIntent) error {
	for p, err := range s.holdfast.ListPayments(ctx, client.PaymentFilter{Reference: &intent.ID, Provider: new(provider)}) {
		if err != nil {
			return err
		}
		if p.Status != "ACCEPTED" || refundsOf(p) > 0 { // never sold, cancelled since, or undone
			continue
		}
		_, err = s.holdfast.InEvent(o.EventID).ChangeBookingSeats(ctx, o.BookingID, client.BookingChange{
			Wish: client.Wish{Seats: o.From}, Refund: &client.PartialRefund{Amount: intent.Amount, PaymentID: p.ID}, IdempotencyKey: o.ID + "-undo",
		})
		if err != nil && !refused(err) { // refused: the booking or the event was cancelled, and the whole payment is due
			return err
		}
	}
	return s.end(o, o.reasonOr("the authorization was cancelled"))
}
