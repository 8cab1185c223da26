package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/client"
)

// sell sells named seats to a holder, for 100 minor units each.
func (s *shop) sell(t *testing.T, event, holder, reference string, seatIDs ...string) client.Booking {
	t.Helper()
	amount := int64(len(seatIDs)) * 100
	b, err := s.SellSeats(t.Context(), client.SaleRequest{
		EventID: event, Holder: holder, Wish: client.Wish{SeatIDs: seatIDs},
		Charge: client.Charge{Reference: reference, Amount: &amount, Currency: "EUR"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// amounts are the payments of a booking as "status amount".
func amounts(t *testing.T, list []client.BookingPayment) (texts []string) {
	t.Helper()
	for _, p := range list {
		if p.ID == "" || p.Amount == nil {
			t.Errorf("the booking lists %+v", p)
			continue
		}
		text, err := json.Marshal(*p.Amount)
		if err != nil {
			t.Error(err)
		}
		texts = append(texts, p.Status+" "+string(text))
	}
	return texts
}

func TestClient_SellsAtOnce(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, user := s.createHouse(t)
	if _, err := s.UpdateEvent(ctx, event.ID, client.EventChange{Status: new("CLOSED")}); err != nil {
		t.Fatal(err)
	}
	data := client.ShopData{Reference: "A-17", Metadata: map[string]string{"a": "1"}}
	request := client.SaleRequest{
		EventID: event.ID, UserID: user.ID, Wish: client.Wish{Section: "pit", Seats: 2}, ShopData: data, IdempotencyKey: "k",
		Charge: client.Charge{Reference: "r", Provider: "acme", Part: "1", Amount: new(int64(4200)), Currency: "EUR"},
	}
	sold, err := s.SellSeats(ctx, request)
	if err != nil || sold.Status != "CONFIRMED" || sold.UserID != user.ID || sold.Section() != "pit" || sold.Seats != 2 ||
		sold.Replayed || sold.PaymentReference != "r" || !reflect.DeepEqual(sold.ShopData, data) ||
		!slices.Equal(amounts(t, sold.Payments), []string{"ACCEPTED 4200"}) {
		t.Fatalf("sold %+v, %v", sold, err)
	}
	p, err := s.GetPayment(ctx, sold.Payments[0].ID)
	if err != nil || p.Provider != "acme" || p.Part != "1" || p.Currency != "EUR" || p.AmountDue == nil || *p.AmountDue != 0 ||
		p.Refunds != nil {
		t.Errorf("the payment is %+v, %v", p, err)
	}
	again, err := s.SellSeats(ctx, request)
	if err != nil || !again.Replayed || again.ID != sold.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	request.IdempotencyKey = ""
	if _, err := s.SellSeats(ctx, request); !client.Is(err, client.PaymentReferenceUsed) {
		t.Errorf("the same charge for another sale: %v", err)
	}
	best := client.Wish{BestAvailable: &client.BestAvailable{Seats: 2, Categories: []string{"cheap"}}}
	guest, err := s.SellSeats(ctx, client.SaleRequest{EventID: event.ID, Holder: "guest 1", Wish: best})
	if err != nil || guest.Holder != "guest 1" || len(guest.SeatIDs()) != 2 || guest.Payments != nil {
		t.Errorf("sold without a charge: %+v, %v", guest, err)
	}
	if _, err := s.SellSeats(ctx, client.SaleRequest{EventID: event.ID, Holder: "guest 2", Wish: client.Wish{
		SeatIDs: guest.SeatIDs()[:1],
	}}); !client.Is(err, client.SeatsUnavailable) {
		t.Errorf("sold a seat twice: %v", err)
	}
}

func TestClient_ChangesTransfersAndRefunds(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, user := s.createHouse(t)
	b := s.sell(t, event.ID, "guest", "r", "A-2-1", "A-2-2", "A-2-3")
	api := s.InEvent(event.ID)
	fewer := client.BookingChange{
		Wish: client.Wish{SeatIDs: []string{"A-2-1"}}, Refund: &client.PartialRefund{Amount: 200, PaymentID: b.Payments[0].ID},
		IdempotencyKey: "fewer",
	}
	for _, isReplayed := range []bool{false, true} {
		changed, err := api.ChangeBookingSeats(ctx, b.ID, fewer)
		if err != nil || changed.Seats != 1 || changed.LockID != b.LockID || changed.Replayed != isReplayed {
			t.Errorf("fewer: %+v, %v", changed, err)
		}
	}
	more, err := s.ChangeBookingSeats(ctx, b.ID, client.BookingChange{
		Wish: client.Wish{SeatIDs: []string{"A-2-1", "A-2-5"}}, Payment: &client.Charge{Reference: "second", Amount: new(int64(100))},
	})
	if err != nil || more.Seats != 2 || more.Replayed || !slices.Equal(amounts(t, more.Payments), []string{"ACCEPTED 300", "ACCEPTED 100"}) {
		t.Errorf("more: %+v, %v", more, err)
	}
	_, err = s.ChangeBookingSeats(ctx, b.ID, client.BookingChange{
		Wish: client.Wish{SeatIDs: []string{"A-2-1"}}, Refund: &client.PartialRefund{Amount: 101},
	})
	if !client.Is(err, client.ValidationFailed) {
		t.Errorf("a refund of more than is left: %v", err)
	}
	for _, to := range []client.BookingTransfer{{UserID: user.ID}, {UserID: user.ID}, {Holder: "other"}} {
		moved, err := api.TransferBooking(ctx, b.ID, to)
		if err != nil || moved.UserID != to.UserID || moved.Holder != to.Holder || moved.LockID == b.LockID {
			t.Errorf("transferred to %+v: %+v, %v", to, moved, err)
		}
	}
	s.refundsParts(t, b.Payments[0].ID)

	if _, err := s.CancelBooking(ctx, b.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ChangeBookingSeats(ctx, b.ID, fewer); err != nil {
		t.Errorf("a repeat by its key: %v", err)
	}
	fewer.IdempotencyKey = ""
	if _, err := s.ChangeBookingSeats(ctx, b.ID, fewer); !client.Is(err, client.BookingCancelled) {
		t.Errorf("changed a cancelled booking: %v", err)
	}
	if _, err := s.TransferBooking(ctx, b.ID, client.BookingTransfer{Holder: "guest"}); !client.Is(err, client.BookingCancelled) {
		t.Errorf("transferred a cancelled booking: %v", err)
	}
}

// refundsParts refunds a payment of 300, of which 200 are due.
func (s *shop) refundsParts(t *testing.T, payment string) {
	t.Helper()
	ctx := t.Context()
	for range 2 {
		p, err := s.RefundPart(ctx, payment, 50, "k")
		if err != nil || len(p.Refunds) != 2 || p.Refunds[0].Reason != "seats_changed" || p.Refunds[1].Reason != "other" || *p.AmountDue != 250 {
			t.Fatalf("a further part: %+v, %v", p, err)
		}
	}
	if _, err := s.RefundPart(ctx, payment, 51, ""); !client.Is(err, client.ValidationFailed) {
		t.Errorf("more than is left: %v", err)
	}
	found := 0
	for p, err := range s.ListPayments(ctx, client.PaymentFilter{RefundDue: true}) {
		if found++; err != nil || p.ID != payment || p.Status != "ACCEPTED" {
			t.Errorf("listed %+v, %v", p, err)
		}
		for _, part := range p.Refunds {
			noted, err := s.NotePartRefunded(ctx, p.ID, part.ID, "back "+part.ID)
			if err != nil || noted.Status != "ACCEPTED" {
				t.Errorf("noted %+v, %v", noted, err)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d payments are listed", found)
	}
	p, err := s.GetPayment(ctx, payment)
	if err != nil || *p.AmountDue != 0 || p.Refunds[1].Status != "REFUNDED" || p.Refunds[1].RefundReference != "back "+p.Refunds[1].ID {
		t.Errorf("the payment is %+v, %v", p, err)
	}
	if _, err := s.NotePartRefunded(ctx, payment, p.Refunds[0].ID, "other"); !client.Is(err, client.PaymentRefunded) {
		t.Errorf("noted with another reference: %v", err)
	}
	if _, err := s.NotePartRefunded(ctx, payment, payment, "back"); !client.Is(err, client.RefundNotFound) {
		t.Errorf("noted a part that the payment does not have: %v", err)
	}
	for p, err := range s.ListPayments(ctx, client.PaymentFilter{RefundDue: true}) {
		t.Errorf("a refund is still due: %+v, %v", p, err)
	}
}

// A request whose answer is lost is repeated with the same key, so that it has one effect.
func TestClient_RepeatsChangesAfterTheSale(t *testing.T) {
	t.Parallel()
	var failures atomic.Int64 // requests whose answer is lost from now on
	s := openShop(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		if failures.Add(-1) < 0 {
			api.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
	ctx := t.Context()
	event, _ := s.createHouse(t)
	failures.Store(2)
	b := s.sell(t, event.ID, "guest", "r", "A-2-1", "A-2-2")
	if !b.Replayed {
		t.Error("the sale is not a replay")
	}
	payment := b.Payments[0].ID
	failures.Store(2)
	b, err := s.ChangeBookingSeats(ctx, b.ID, client.BookingChange{
		Wish: client.Wish{SeatIDs: []string{"A-2-2"}}, Refund: &client.PartialRefund{Amount: 100},
	})
	if err != nil || !b.Replayed || b.Seats != 1 {
		t.Errorf("changed: %+v, %v", b, err)
	}
	failures.Store(2)
	b, err = s.TransferBooking(ctx, b.ID, client.BookingTransfer{Holder: "other"})
	if err != nil || !b.Replayed || b.Holder != "other" {
		t.Errorf("transferred: %+v, %v", b, err)
	}
	failures.Store(2)
	p, err := s.RefundPart(ctx, payment, 10, "")
	if err != nil || len(p.Refunds) != 2 {
		t.Fatalf("a part: %+v, %v", p, err)
	}
	failures.Store(2)
	p, err = s.NotePartRefunded(ctx, payment, p.Refunds[1].ID, "back")
	if err != nil || *p.AmountDue != 100 {
		t.Errorf("noted: %+v, %v", p, err)
	}
	failures.Store(0)
	if e, err := s.GetEvent(ctx, event.ID); err != nil || e.AvailableSeats != e.TotalSeats-1 {
		t.Errorf("%+v, %v", e, err)
	}
}

// The data of a change has what the booking had before it.
func TestClient_ReadsPreviousBookings(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, _ := s.createHouse(t)
	b := s.sell(t, event.ID, "guest", "r", "A-2-1", "A-2-2")
	if _, err := s.ChangeBookingSeats(ctx, b.ID, client.BookingChange{Wish: client.Wish{SeatIDs: []string{"A-2-2"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.TransferBooking(ctx, b.ID, client.BookingTransfer{Holder: "other"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.env.Changes.Number(ctx); err != nil {
		t.Fatal(err)
	}
	found, _, err := s.ListChanges(ctx, "", client.ChangeFilter{Type: "holdfast.booking.*"})
	if err != nil || len(found) != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, want := range []struct {
		kind, holder, previous string
		seats, previousSeats   int64
	}{
		{"confirmed", "guest", "", 2, 0}, {"changed", "guest", "guest", 1, 2}, {"transferred", "other", "guest", 1, 1},
	} {
		var data client.ChangedBooking
		err := json.Unmarshal(found[i].Data, &data)
		if err != nil || found[i].Type != "holdfast.booking."+want.kind || data.Holder != want.holder || data.Seats != want.seats ||
			(data.Previous != nil) != (want.previous != "") {
			t.Fatalf("change %d: %+v, %v, want %+v", i, found[i], err, want)
		}
		if p := data.Previous; p != nil && (p.Holder != want.previous || p.Seats != want.previousSeats || len(p.Places) != int(p.Seats)) {
			t.Errorf("before change %d: %+v, want %+v", i, *p, want)
		}
	}
}
