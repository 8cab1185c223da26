package main

import (
	cryptorand "crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/client"
)

const seatsOfBooking = "holdfast PUT /api/events/{id}/bookings/{id}/seats"

// newSoldOrder makes a world, and an order of two seats of an event.
func newSoldOrder(t *testing.T, event func(*world) string) (w *world, cart string) {
	t.Helper()
	w, cart = newWorld(t), cryptorand.Text()
	of := event(w)
	w.start(nil)
	w.buy(cart, of, "ada@example.com", cardGood, 2)
	if !poll(quietTimeout, func() bool { o, _ := w.order(cart); return o.State == sold }) {
		t.Fatal("not sold")
	}
	return w, cart
}

// Holdfast keeps nothing of a change that it refuses. A request of it that comes after the refusal, when seats are free again, must
// not sell them: the money is void by then.
func TestChange_ThatIsRefusedStaysSo(t *testing.T) {
	var others client.Lock
	w, cart := newSoldOrder(t, func(w *world) string {
		event := w.createEvent(3, client.LatePaymentsRefused)
		var err error
		if others, err = w.operator.AcquireLock(t.Context(), client.LockRequest{EventID: event, Holder: "other", Seats: 1}); err != nil {
			t.Fatal(err)
		}
		return event
	})
	var tries, begun atomic.Int64
	release := make(chan struct{})
	w.gate.before = func(call string, body []byte) []byte {
		if call == seatsOfBooking && begun.Add(1) == 1 { // the first request, which is late: the others wait for it
			<-release
		}
		return body
	}
	w.gate.fault = func(call string) fault {
		switch {
		case call != seatsOfBooking:
			return faultNone
		case tries.Add(1) == 1:
			return faultLate
		case begun.Load() == 0:
			return faultRefused
		}
		return faultNone
	}
	c := &change{cart: cryptorand.Text(), seats: 3, card: cardGood}
	w.change(cart, c)
	if !poll(quietTimeout, func() bool { o, _ := w.order(c.cart); return o.State == ended }) {
		t.Fatal("not refused")
	}
	o, _ := w.order(c.cart)
	if o.Reason != string(client.SeatsUnavailable) || begun.Load() < 2 {
		t.Errorf("the change ended with %q, after %d requests", o.Reason, begun.Load())
	}
	if _, err := w.operator.ReleaseLock(t.Context(), others.ID); err != nil {
		t.Fatal(err)
	}
	close(release)
	w.gate.late.Wait()
	booking, err := w.operator.GetBooking(t.Context(), o.BookingID)
	if err != nil {
		t.Fatal(err)
	}
	intent, _ := w.fake.snapshot(o.IntentID)
	if booking.Seats != 2 || intent.Status != "canceled" {
		t.Errorf("the late request took effect: %+v, and the money is %s", booking, intent.Status)
	}
	settled := poll(quietTimeout, func() bool {
		payments := w.payments(client.PaymentFilter{Reference: &o.IntentID})
		return len(payments) == 1 && payments[0].Status == "REFUNDED" && payments[0].RefundReference == o.IntentID
	})
	if !settled {
		t.Errorf("%+v", w.payments(client.PaymentFilter{Reference: &o.IntentID}))
	}
}

// An order has one change at a time, since a change names all seats that the booking should have.
func TestChange_OneAtATime(t *testing.T) {
	w, cart := newSoldOrder(t, func(w *world) string { return w.createEvent(10, client.LatePaymentsRefused) })
	post := func(of, id string, seats int) int {
		customer := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		response, err := customer.PostForm(w.url+"/orders/"+of+"/changes", url.Values{
			"change": {id}, "seats": {strconv.Itoa(seats)}, "payment_method": {cardBankWaits},
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only the status counts
		return response.StatusCode
	}
	waits := cryptorand.Text()
	for _, tt := range []struct {
		name   string
		of, id string
		seats  int
		want   int
	}{
		{"no seats", cart, cryptorand.Text(), 0, http.StatusUnprocessableEntity},
		{"no key", cart, "", 3, http.StatusUnprocessableEntity},
		{"no such order", cryptorand.Text(), cryptorand.Text(), 3, http.StatusNotFound},
		{"as many", cart, cryptorand.Text(), 2, http.StatusConflict},
		{"one more, at the bank's page", cart, waits, 3, http.StatusSeeOther},
		{"the same form again", cart, waits, 3, http.StatusSeeOther},
		{"another one meanwhile", cart, cryptorand.Text(), 1, http.StatusConflict},
		{"a change of a change", waits, cryptorand.Text(), 4, http.StatusNotFound},
	} {
		if got := post(tt.of, tt.id, tt.seats); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	o, _ := w.order(waits)
	w.fake.authenticate(o.IntentID, true)
	if !poll(quietTimeout, func() bool { o, _ = w.order(waits); return o.State == sold }) {
		t.Fatalf("%+v", o)
	}
	// Of the two payments, the first has enough left.
	if got := post(cart, cryptorand.Text(), 1); got != http.StatusSeeOther {
		t.Errorf("two seats are given back: %d", got)
	}
	booking, err := w.operator.GetBooking(t.Context(), o.BookingID)
	if err != nil || booking.Seats != 1 {
		t.Errorf("%+v, %v", booking, err)
	}
}
