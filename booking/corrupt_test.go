package booking_test

import (
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A booking whose lock or payment is corrupt is not changed, and a charge leaves nothing. Once the document is
// corrected, the same requests succeed.
func TestCorrupt_LockOrPaymentLeavesTheBookingAsItIs(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	late := holdfast.LatePaymentsAccepted
	corrupt := bson.D{{Key: "updatedAt", Value: "yesterday"}}
	for name, policy := range map[string]holdfast.EventChange{
		"late payments are refused": {}, "late payments are accepted": {LatePayments: &late},
	} {
		t.Run(name, func(t *testing.T) {
			event := w.Event(10)
			if _, err := w.Seats.UpdateEvent(w.Ctx(), event, policy); err != nil {
				t.Fatal(err)
			}
			b := bookingIn(t, w, event, "PAYMENT_PENDING")
			w.Set("seatlocks", b.LockID, corrupt)
			charge := holdfast.Charge{Reference: "of " + b.ID.String()}
			_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge)
			wantCode(t, err, holdfast.CodeUnavailable)
			_, err = w.Bookings.PayBooking(w.Ctx(), b.ID, testenv.Soon())
			wantCode(t, err, holdfast.CodeUnavailable)
			_, err = w.Bookings.CancelBooking(w.Ctx(), b.ID)
			wantCode(t, err, holdfast.CodeUnavailable)
			n, err := w.DB.Collection("payments").CountDocuments(w.Ctx(), bson.D{{Key: "bookingId", Value: b.ID}})
			if err != nil || n != 0 {
				t.Errorf("%d payments, %v", n, err)
			}
			w.Command(bson.D{{Key: "update", Value: "seatlocks"}, {Key: "updates", Value: bson.A{bson.D{
				{Key: "q", Value: bson.D{{Key: "_id", Value: b.LockID}}}, {Key: "u", Value: bson.D{{Key: "$unset", Value: corrupt}}}}}}})
			confirmed, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge)
			if err != nil || confirmed.Status != holdfast.BookingConfirmed {
				t.Fatal(confirmed, err)
			}

			w.Set("payments", confirmed.Payments[0].ID, bson.D{{Key: "amount", Value: "5"}})
			_, err = w.Bookings.CancelBooking(w.Ctx(), b.ID)
			wantCode(t, err, holdfast.CodeUnavailable)
			other := bookingIn(t, w, event, "PAYMENT_PENDING")
			_, err = w.Bookings.ConfirmBooking(w.Ctx(), other.ID, charge)
			wantCode(t, err, holdfast.CodeUnavailable)
			if kept := w.Booking(b.ID); kept.Status != holdfast.BookingConfirmed || w.Lock(b.LockID).Status != holdfast.LockConsumed {
				t.Errorf("%+v", kept)
			}
		})
	}
}

// A payment has the reference as a symbol, which MongoDB's unique index treats as its text, but no decision finds it. No
// plan can be written: the confirm ends long before its time is over, and says so.
func TestConfirm_EndsIfNoPlanCanBeWritten(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	b := bookingIn(t, w, w.Event(10), "PAYMENT_PENDING")
	w.Insert("payments", bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "reference", Value: bson.Symbol("paid")}, {Key: "part", Value: ""},
	})
	began := time.Now()
	_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "paid"})
	wantCode(t, err, holdfast.CodeUnavailable)
	if took := time.Since(began); !errors.Is(err, store.ErrUnusable) || took > 10*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	if status := w.Booking(b.ID).Status; status != holdfast.BookingPending {
		t.Errorf("the booking is %s", status)
	}
}

// One of several payments of a booking is corrupt: what would change that payment is refused, and nothing else.
func TestCorrupt_OnePaymentAmongSeveral(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	b := sell(w, w.Event(10), paid(seatsOf(2, holdfast.Wish{}), charge("first", 100)))
	for n, reference := range []string{"second", "third"} {
		var err error
		change := holdfast.BookingChange{Seats: int64(n + 3), Payment: charge(reference, 50)}
		if b, _, err = w.Bookings.ChangeBooking(w.Ctx(), b.ID, change); err != nil {
			t.Fatal(err)
		}
	}
	first, second := b.Payments[0].ID, b.Payments[1].ID
	w.Set("payments", second, bson.D{{Key: "amount", Value: "50"}})
	partOf := func(id holdfast.ID) error {
		_, _, err := w.Bookings.RefundPart(w.Ctx(), id, 1, "")
		return err
	}
	change := func(seats int64, refund holdfast.ID) error {
		c := holdfast.BookingChange{Seats: seats}
		if !refund.IsZero() {
			c.Refund = &holdfast.PartRequest{Amount: 1, PaymentID: refund}
		}
		_, _, err := w.Bookings.ChangeBooking(w.Ctx(), b.ID, c)
		return err
	}
	for _, row := range []struct {
		name string
		do   func() error
		want holdfast.Code
	}{
		{"cancel", func() error { _, err := w.Bookings.CancelBooking(w.Ctx(), b.ID); return err }, holdfast.CodeUnavailable},
		{"give a part of it back", func() error { return change(1, second) }, holdfast.CodeUnavailable},
		{"a part of it", func() error { return partOf(second) }, holdfast.CodePaymentNotFound},
		{"confirm with it", func() error {
			_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge("second", 50))
			return err
		}, holdfast.CodeUnavailable},
		{"confirm with the first", func() error {
			_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge("first", 100))
			return err
		}, ""},
		{"a part of the first", func() error { return partOf(first) }, ""},
		{"give a part of the first back", func() error { return change(5, first) }, ""},
		{"other seats", func() error { return change(2, holdfast.ID{}) }, ""},
		{"transfer", func() error {
			_, _, err := w.Bookings.TransferBooking(w.Ctx(), b.ID, holdfast.BookingTransfer{Holder: "guest"})
			return err
		}, ""},
	} {
		before := w.Booking(b.ID)
		wantCode(t, row.do(), row.want)
		if after := w.Booking(b.ID); row.want != "" && after.Revision != before.Revision || after.Status != holdfast.BookingConfirmed {
			t.Errorf("%s: the booking was %+v, and is %+v", row.name, before, after)
		}
	}
	w.Set("payments", second, bson.D{{Key: "amount", Value: int64(50)}})
	wantCancelled(t, w, b.ID, map[holdfast.ID]int64{first: 100, second: 50, b.Payments[2].ID: 50})
}

// A booking whose own fields are of another type is corrupt: it is not found, and its payments and seats stay as they are.
func TestCorrupt_BookingWithAnotherListOfPayments(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	for name, wrong := range map[string]bson.E{
		"payments": {Key: "internal.payments", Value: "none"}, "a payment": {Key: "internal.payments.0", Value: "paid"},
		"a status": {Key: "internal.payments.0.status", Value: "PAID"}, "an amount": {Key: "internal.payments.0.amount", Value: -1},
		"what was done": {Key: "internal.done", Value: bson.A{bson.D{{Key: "at", Value: "now"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := sell(w, eventID, paid(seatsOf(1, holdfast.Wish{}), charge(name, 100)))
			good, err := w.DB.Collection("bookings").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: b.ID}}).Raw()
			if err != nil {
				t.Fatal(err)
			}
			w.Set("bookings", b.ID, bson.D{wrong})
			_, err = w.Bookings.GetBooking(w.Ctx(), b.ID)
			wantCode(t, err, holdfast.CodeBookingNotFound)
			_, err = w.Bookings.CancelBooking(w.Ctx(), b.ID)
			wantCode(t, err, holdfast.CodeBookingNotFound)
			_, _, err = w.Bookings.ChangeBooking(w.Ctx(), b.ID, holdfast.BookingChange{Seats: 2})
			wantCode(t, err, holdfast.CodeBookingNotFound)
			sold := holdfast.BookingFilter{EventID: &eventID, Status: holdfast.BookingConfirmed}
			list, _, err := w.Bookings.ListBookings(w.Ctx(), sold, holdfast.Page{})
			if err != nil || len(list) > 0 {
				t.Errorf("listed %+v, %v", list, err)
			}
			if _, _, err = w.Bookings.RefundPart(w.Ctx(), b.Payments[0].ID, 10, ""); err != nil {
				t.Error(err)
			}
			w.Set("bookings", b.ID, bson.D{{Key: "internal", Value: good.Lookup("internal")}})
			wantCancelled(t, w, b.ID, map[holdfast.ID]int64{b.Payments[0].ID: 100})
		})
	}
}

// What is refunded of a payment is also in the list of its booking. While the booking is corrupt, it can't be noted.
func TestCorrupt_ARefundWaitsForItsBooking(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	for name, refund := range map[string]func(id, part holdfast.ID) (holdfast.Payment, error){
		"all of it": func(id, _ holdfast.ID) (holdfast.Payment, error) {
			return w.Bookings.RefundPayment(w.Ctx(), id, "back")
		},
		"its last part": func(id, part holdfast.ID) (holdfast.Payment, error) {
			return w.Bookings.RefundedPart(w.Ctx(), id, part, "back")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := sell(w, eventID, paid(seatsOf(1, holdfast.Wish{}), charge(name, 100)))
			p, _, err := w.Bookings.RefundPart(w.Ctx(), b.Payments[0].ID, 100, "")
			if err == nil {
				_, err = w.Bookings.CancelBooking(w.Ctx(), b.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			w.Set("bookings", b.ID, bson.D{{Key: "paymentReference", Value: 5}})
			_, err = refund(p.ID, p.Refunds[0].ID)
			wantCode(t, err, holdfast.CodeUnavailable)
			wantDue(t, payment(w, p.ID), holdfast.PaymentRefundDue, 100)
			w.Set("bookings", b.ID, bson.D{{Key: "paymentReference", Value: name}})
			if p, err = refund(p.ID, p.Refunds[0].ID); err != nil {
				t.Error(err)
			}
			wantDue(t, p, holdfast.PaymentRefunded, 0)
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}
