package client_test

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

// TestMain runs the examples against an API. TestClient_Examples in httpapi starts one on a real MongoDB; another one needs a key
// with the scope admin.
func TestMain(m *testing.M) {
	if os.Getenv("HOLDFAST_URL") == "" {
		fmt.Fprintln(os.Stderr, "The examples call an API: set HOLDFAST_URL and HOLDFAST_KEY, or run TestClient_Examples in ../httpapi.")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// open returns a client, and an event with the given settings.
func open(ctx context.Context, n client.NewEvent) (*client.Client, client.Event) {
	shop := client.New(os.Getenv("HOLDFAST_URL"), client.WithKey(os.Getenv("HOLDFAST_KEY")))
	n.Name, n.EventDate = "Gala", time.Date(2027, 6, 15, 19, 0, 0, 0, time.UTC)
	gala, err := shop.CreateEvent(ctx, n)
	check(err)
	return shop, gala
}

// openHall is open for an event in a hall with two rows of four seats.
func openHall(ctx context.Context) (*client.Client, client.Event) {
	shop := client.New(os.Getenv("HOLDFAST_URL"), client.WithKey(os.Getenv("HOLDFAST_KEY")))
	hall, err := shop.CreateSeatingPlan(ctx, client.SeatingPlan{
		Name: "Studio", Categories: []client.Category{{Key: "seats", Name: "Seats"}}, Sections: []client.Section{
			{Key: "A", Name: "Stalls", Category: "seats", Rows: []client.Row{{Key: "1", Count: 4}, {Key: "2", Count: 4}}},
		},
	}, "")
	check(err)
	return open(ctx, client.NewEvent{SeatingPlanID: hall.ID})
}

// sell sells seats to a guest, for 21.00 each.
func sell(ctx context.Context, shop *client.Client, event client.Event, wish client.Wish, seats int64) client.Booking {
	amount := 2100 * seats
	sold, err := shop.SellSeats(ctx, client.SaleRequest{
		EventID: event.ID, Holder: "guest-1", Wish: wish, Charge: client.Charge{Reference: rand.Text(), Amount: &amount, Currency: "EUR"},
	})
	check(err)
	return sold
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A shop sells two places of general admission to a customer with an account.
func Example() {
	ctx := context.Background()
	shop, gala := open(ctx, client.NewEvent{TotalSeats: 100})
	ada, err := shop.CreateUser(ctx, "Ada", rand.Text()+"@example.com")
	check(err)

	lock, err := shop.AcquireLock(ctx, client.LockRequest{EventID: gala.ID, UserID: ada.ID, Seats: 2, TTL: 10 * time.Minute})
	check(err)
	sale := shop.InEvent(gala.ID)
	booking, err := sale.CreateBooking(ctx, client.BookingRequest{
		EventID: gala.ID, UserID: ada.ID, LockID: lock.ID, PaymentTTL: 15 * time.Minute,
	})
	check(err)
	booking, err = sale.ConfirmBooking(ctx, booking.ID, rand.Text()) // the ID of the payment at its provider
	check(err)
	gala, err = shop.GetEvent(ctx, gala.ID)
	check(err)
	fmt.Println(booking.Status, gala.AvailableSeats)
	// Output: CONFIRMED 98
}

// A customer holds a seat of a hall, and then the two best ones; another request for one of them is refused.
func Example_namedSeatsAndBestAvailable() {
	ctx := context.Background()
	shop, gala := openHall(ctx)

	cart, err := shop.AcquireLock(ctx, client.LockRequest{EventID: gala.ID, Holder: "cart-1", SeatIDs: []string{"A-1-1"}})
	check(err)
	best := client.Wish{BestAvailable: &client.BestAvailable{Seats: 2, Adjacent: client.AdjacentRequired}}
	cart, err = shop.InEvent(gala.ID).ChangeSeats(ctx, cart.ID, best)
	check(err)
	fmt.Println(cart.SeatIDs())

	_, err = shop.AcquireLock(ctx, client.LockRequest{EventID: gala.ID, Holder: "cart-2", SeatIDs: []string{"A-1-2", "A-1-4"}})
	var refusal *client.Error
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Code, refusal.Unavailable)
	}
	// Output:
	// [A-1-1 A-1-2]
	// SEATS_UNAVAILABLE [A-1-2]
}

// A customer gives one of two seats back after the sale, and the shop refunds its price.
func Example_changeSeatsAfterTheSale() {
	ctx := context.Background()
	shop, gala := openHall(ctx)
	sold := sell(ctx, shop, gala, client.Wish{SeatIDs: []string{"A-1-1", "A-1-2"}}, 2)

	kept, err := shop.InEvent(gala.ID).ChangeBookingSeats(ctx, sold.ID, client.BookingChange{
		Wish: client.Wish{SeatIDs: []string{"A-1-1"}}, Refund: &client.PartialRefund{Amount: 2100},
	})
	check(err)
	payment, err := shop.GetPayment(ctx, kept.Payments[0].ID)
	check(err)
	fmt.Println(kept.Seats, *payment.AmountDue)
	payment, err = shop.NotePartRefunded(ctx, payment.ID, payment.Refunds[0].ID, "refund-17") // after the provider has refunded it
	check(err)
	fmt.Println(*payment.AmountDue)
	// Output:
	// 1 2100
	// 0
}

// A cancelled booking gives its seats back, and its payment has to be refunded. The list of such payments is the shop's work.
func Example_cancelWithARefund() {
	ctx := context.Background()
	shop, gala := open(ctx, client.NewEvent{TotalSeats: 10})
	sold := sell(ctx, shop, gala, client.Wish{Seats: 2}, 2)

	_, err := shop.InEvent(gala.ID).CancelBooking(ctx, sold.ID)
	check(err)
	for payment, err := range shop.ListPayments(ctx, client.PaymentFilter{EventID: &gala.ID, RefundDue: true}) {
		check(err)
		fmt.Println(payment.Status, *payment.Amount)
		payment, err = shop.RefundPayment(ctx, payment.ID, "refund-18") // after the provider has refunded it
		check(err)
		fmt.Println(payment.Status)
	}
	// Output:
	// REFUND_DUE 4200
	// REFUNDED
}

// A payment arrives after its booking has ended, here by the customer. The refusal says that it has to be refunded, and the payment is
// in the list of those. An event with LatePayments ACCEPT confirms a booking that has expired if its seats are free.
func Example_latePayment() {
	ctx := context.Background()
	shop, gala := open(ctx, client.NewEvent{TotalSeats: 10})
	sale := shop.InEvent(gala.ID)
	lock, err := shop.AcquireLock(ctx, client.LockRequest{EventID: gala.ID, Holder: "cart-1", Seats: 2})
	check(err)
	booking, err := sale.CreateBooking(ctx, client.BookingRequest{
		EventID: gala.ID, Holder: "cart-1", LockID: lock.ID, PaymentTTL: time.Minute,
	})
	check(err)
	_, err = sale.CancelBooking(ctx, booking.ID)
	check(err)

	amount := int64(4200)
	_, err = sale.ConfirmBookingWith(ctx, booking.ID, client.Charge{Reference: rand.Text(), Amount: &amount, Currency: "EUR"})
	var refusal *client.Error
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Code, refusal.Payment.Status)
		payment, err := shop.RefundPayment(ctx, refusal.Payment.ID, "refund-19") // after the provider has refunded it
		check(err)
		fmt.Println(payment.Status)
	}
	// Output:
	// BOOKING_CANCELLED REFUND_DUE
	// REFUNDED
}

// A guest needs no account: the shop names the customer by a text of its own. An account may take the booking over later.
func Example_guest() {
	ctx := context.Background()
	shop, gala := open(ctx, client.NewEvent{TotalSeats: 10})
	sold := sell(ctx, shop, gala, client.Wish{Seats: 1}, 1)
	fmt.Println(sold.Holder)
	moved, err := shop.InEvent(gala.ID).TransferBooking(ctx, sold.ID, client.BookingTransfer{Holder: "account-of-ada"})
	check(err)
	fmt.Println(moved.Holder)
	// Output:
	// guest-1
	// account-of-ada
}

// Seats that come back are offered to a customer who waits, in the transaction that frees them.
func Example_waitingList() {
	ctx := context.Background()
	shop, gala := open(ctx, client.NewEvent{TotalSeats: 2, Waitlist: "OPEN", WaitlistOfferSeconds: 900})
	sold := sell(ctx, shop, gala, client.Wish{Seats: 2}, 2)

	entry, err := shop.JoinWaitlist(ctx, client.JoinRequest{EventID: gala.ID, Holder: "guest-2", EntryWish: client.EntryWish{Seats: 2}})
	check(err)
	fmt.Println(entry.Status, entry.Position)
	_, err = shop.InEvent(gala.ID).CancelBooking(ctx, sold.ID)
	check(err)
	entry, err = shop.GetEntry(ctx, entry.ID)
	check(err)
	offer, err := shop.GetLock(ctx, entry.LockID) // guest-2 books and pays it like any lock, or declines
	check(err)
	fmt.Println(entry.Status, offer.Holder, offer.Seats)
	// Output:
	// WAITING 1
	// OFFERED guest-2 2
}

// A counter sells seats that are paid for already. A repeat with the key gets the same booking.
func Example_counterSale() {
	ctx := context.Background()
	shop, gala := openHall(ctx)
	sale := client.SaleRequest{
		EventID: gala.ID, Holder: "till-3", Wish: client.Wish{SeatIDs: []string{"A-1-1", "A-1-2"}}, IdempotencyKey: "receipt-1042",
	}
	sold, err := shop.SellSeats(ctx, sale)
	check(err)
	again, err := shop.SellSeats(ctx, sale)
	check(err)
	fmt.Println(sold.Status, again.ID == sold.ID, again.Replayed)
	// Output: CONFIRMED true true
}

// A list is an iterator, which fetches its pages. A loop may end early.
func Example_lists() {
	ctx := context.Background()
	shop, gala := open(ctx, client.NewEvent{TotalSeats: 10})
	for range 3 {
		sell(ctx, shop, gala, client.Wish{Seats: 2}, 2)
	}
	confirmed, seats := "CONFIRMED", int64(0)
	for booking, err := range shop.ListBookings(ctx, client.Filter{EventID: &gala.ID, Status: &confirmed}) {
		check(err)
		seats += booking.Seats
	}
	fmt.Println(seats)
	// Output: 6
}

// A page shows which seats are taken, and asks for changes, which costs little if there are none. A browser gets them from a stream: see
// docs/seat-picker.md. This client has no streams.
func Example_liveSeats() {
	ctx := context.Background()
	shop, gala := openHall(ctx)
	plan, err := shop.GetSeatingPlan(ctx, gala.SeatingPlanID) // keep it: a plan never changes
	check(err)
	seats, err := shop.GetSeatMap(ctx, gala.ID)
	check(err)
	sell(ctx, shop, gala, client.Wish{SeatIDs: []string{"A-2-4"}}, 1)

	seats, changed, err := shop.RefreshSeatMap(ctx, seats)
	check(err)
	fmt.Println(changed)
	for _, section := range plan.Sections {
		taken, _ := seats.Section(section.Key)
		for n, seat := range section.AllSeats() {
			if taken.Taken(n) {
				fmt.Println("taken:", seat.ID)
			}
		}
	}
	// Output:
	// true
	// taken: A-2-4
}

// A system gets the changes at an endpoint of its own, and verifies that they come from Holdfast. In a program, a library of
// Standard Webhooks verifies them.
func Example_webhooks() {
	ctx := context.Background()
	shop, _ := open(ctx, client.NewEvent{TotalSeats: 10})
	var secret string
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !isSigned(r.Header, body, secret) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNoContent) // it has a minute to store the change; the same webhook-id may come again
	}))
	defer endpoint.Close()

	hook, err := shop.CreateWebhook(ctx, client.NewWebhook{URL: endpoint.URL, Types: []string{"holdfast.booking.*"}})
	check(err)
	test, err := shop.TestWebhook(ctx, hook.ID) // the endpoint does not know the secret yet
	check(err)
	fmt.Println(test.Status)
	secret = hook.Secret
	test, err = shop.TestWebhook(ctx, hook.ID)
	check(err)
	fmt.Println(test.Status)
	check(shop.DeleteWebhook(ctx, hook.ID))
	// Output:
	// 401
	// 204
}

// isSigned checks the signatures of a delivery, of which there are several while a secret is replaced, and its age.
func isSigned(header http.Header, body []byte, secret string) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	seconds, timeErr := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
	if err != nil || timeErr != nil || len(key) == 0 || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(fmt.Appendf(nil, "%s.%d.%s", header.Get("webhook-id"), seconds, body))
	want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return slices.ContainsFunc(strings.Fields(header.Get("webhook-signature")), func(signature string) bool {
		return hmac.Equal([]byte(signature), want)
	})
}
