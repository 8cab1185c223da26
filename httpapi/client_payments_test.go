package httpapi_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

func TestClient_RecordsPayments(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, user := s.createSale(t)
	if event.LatePayments != client.LatePaymentsRefused || event.LatePaymentSeconds != 86_400 {
		t.Errorf("%+v", event)
	}
	book := func(until time.Time) client.Booking {
		t.Helper()
		lock, err := s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 1})
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.CreateBooking(ctx, client.BookingRequest{LockID: lock.ID, EventID: event.ID, UserID: user.ID, PaymentExpiresAt: until})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	sold, late := book(time.Now().Add(time.Hour)), book(time.Now().Add(-time.Hour))
	charge := client.Charge{Reference: "r", Provider: "acme", Part: "1", Amount: new(int64(4200)), Currency: "EUR"}
	for range 2 {
		if b, err := s.ConfirmBookingWith(ctx, sold.ID, charge); err != nil || b.Status != "CONFIRMED" || b.Late {
			t.Errorf("%+v, %v", b, err)
		}
	}
	var refusal *client.Error
	_, err := s.ConfirmBooking(ctx, late.ID, "late")
	if !client.Is(err, client.BookingExpired) || !errors.As(err, &refusal) || refusal.Payment == nil ||
		refusal.Payment.Status != "REFUND_DUE" || refusal.Payment.Reason != "late" {
		t.Fatalf("%+v", err)
	}
	var listed []client.Payment
	for p, err := range s.ListPayments(ctx, client.PaymentFilter{Provider: new("acme"), EventID: &event.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, p)
	}
	if len(listed) != 1 {
		t.Fatalf("%+v", listed)
	}
	accepted, want := listed[0], client.Payment{
		Provider: "acme", Reference: "r", Part: "1", BookingID: sold.ID, EventID: event.ID, UserID: user.ID,
		Amount: charge.Amount, Currency: "EUR", Status: "ACCEPTED", AmountDue: new(int64(0)),
	}
	want.ID, want.CreatedAt, want.UpdatedAt = accepted.ID, accepted.CreatedAt, accepted.UpdatedAt
	if !reflect.DeepEqual(accepted, want) || accepted.ID == "" || accepted.CreatedAt.IsZero() {
		t.Errorf("%+v, want %+v", accepted, want)
	}
	if _, err := s.RefundPayment(ctx, accepted.ID, "back"); !client.Is(err, client.PaymentAccepted) {
		t.Error(err)
	}
	for range 2 {
		p, err := s.RefundPayment(ctx, refusal.Payment.ID, "back")
		if err != nil || p.Status != "REFUNDED" || p.RefundReference != "back" || p.Reason != "late" {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if p, err := s.GetPayment(ctx, refusal.Payment.ID); err != nil || p.Status != "REFUNDED" {
		t.Errorf("%+v, %v", p, err)
	}
	change := client.EventChange{LatePayments: new(client.LatePaymentsAccepted), LatePaymentSeconds: new(int64(7200))}
	e, err := s.UpdateEvent(ctx, event.ID, change)
	if err != nil || e.LatePayments != client.LatePaymentsAccepted || e.LatePaymentSeconds != 7200 {
		t.Errorf("%+v, %v", e, err)
	}
	if b, err := s.ConfirmBooking(ctx, late.ID, "second"); err != nil || b.Status != "CONFIRMED" || !b.Late || b.LockID == late.LockID {
		t.Errorf("%+v, %v", b, err)
	}
}
