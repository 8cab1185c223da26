//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
)

// check ends the example with an error; a shop would handle it.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// openHall makes a hall with two rows of four seats, and an event in it.
func openHall(ctx context.Context, e *engine.Engine) (event holdfast.ID) {
	plan, _, err := e.Plans.Create(ctx, holdfast.SeatingPlan{
		Name: "Studio", Categories: []holdfast.Category{{Key: "seats", Name: "Seats"}},
		Sections: []holdfast.Section{{
			Key: "A", Name: "Stalls", Category: "seats", Rows: []holdfast.Row{{Key: "1", Count: 4}, {Key: "2", Count: 4}},
		}},
	}, holdfast.CreationKey{Key: "studio"})
	check(err)
	gala, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{Name: "Gala", Seating: holdfast.Seating{PlanID: plan.ID}})
	check(err)
	return gala.ID
}

// sell sells seats to a holder, for 21.00 each.
func sell(ctx context.Context, e *engine.Engine, event holdfast.ID, holder string, seats int64, wish holdfast.Wish) holdfast.Booking {
	amount := 2100 * seats
	sold, _, err := e.Bookings.Sell(ctx, holdfast.SaleRequest{
		LockRequest: holdfast.LockRequest{EventID: event, Holder: holder, Seats: seats, Wish: wish, Key: "order-" + holder},
		Charge:      holdfast.Charge{Reference: "charge-" + holder, Amount: &amount, Currency: "EUR"},
	})
	check(err)
	return sold
}

// A customer chooses a seat of a hall, and then takes the two best ones instead.
func Example_namedSeatsAndBestAvailable() {
	ctx := context.Background()
	e, _, user := open(ctx)
	defer closeEngine(ctx, e)
	event := openHall(ctx, e)

	chosen := holdfast.Wish{SeatIDs: []string{"A-1-1"}}
	cart, _, err := e.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: user, Seats: 1, Wish: chosen})
	check(err)
	fmt.Println(cart.SeatIDs)
	cart, err = e.Seats.ChangeSeats(ctx, cart.ID, 2, holdfast.Wish{Best: &holdfast.BestAvailable{Required: true}})
	check(err)
	fmt.Println(cart.SeatIDs)

	taken := holdfast.Wish{SeatIDs: []string{"A-1-2"}}
	_, _, err = e.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, Holder: "guest-2", Seats: 1, Wish: taken})
	fmt.Println(holdfast.CodeOf(err))
	// Output:
	// [A-1-1]
	// [A-1-1 A-1-2]
	// SEATS_UNAVAILABLE
}

// A customer gives one of two seats back after the sale, and the shop refunds its price.
func Example_changeSeatsAfterTheSale() {
	ctx := context.Background()
	e, _, _ := open(ctx)
	defer closeEngine(ctx, e)
	sold := sell(ctx, e, openHall(ctx, e), "guest-1", 2, holdfast.Wish{SeatIDs: []string{"A-1-1", "A-1-2"}})

	kept, _, err := e.Bookings.ChangeBooking(ctx, sold.ID, holdfast.BookingChange{
		EventID: sold.EventID, Seats: 1, Wish: holdfast.Wish{SeatIDs: []string{"A-1-1"}},
		Refund: &holdfast.PartRequest{Amount: 2100}, Key: "give-back-1",
	})
	check(err)
	payment, err := e.Bookings.GetPayment(ctx, kept.Payments[0].ID)
	check(err)
	part := payment.Refunds[0]
	fmt.Println(kept.SeatIDs, part.Status, part.Amount)
	payment, err = e.Bookings.RefundedPart(ctx, payment.ID, part.ID, "refund-17") // after the provider has refunded it
	check(err)
	fmt.Println(payment.Status, payment.Refunds[0].Status)
	// Output:
	// [A-1-1] DUE 2100
	// ACCEPTED REFUNDED
}

// A cancelled booking gives its seats back, and its payment has to be refunded. The list of such payments is the shop's work.
func Example_cancelWithARefund() {
	ctx := context.Background()
	e, event, _ := open(ctx)
	defer closeEngine(ctx, e)
	sold := sell(ctx, e, event, "guest-1", 2, holdfast.Wish{})

	_, err := e.Bookings.CancelBooking(ctx, sold.ID)
	check(err)
	due, _, err := e.Bookings.ListPayments(ctx, holdfast.PaymentFilter{RefundDue: true}, holdfast.Page{})
	check(err)
	for _, payment := range due {
		fmt.Println(payment.Reference, *payment.Amount, payment.Reason)
		payment, err = e.Bookings.RefundPayment(ctx, payment.ID, "refund-18") // after the provider has refunded it
		check(err)
		fmt.Println(payment.Status)
	}
	// Output:
	// charge-guest-1 4200 booking_cancelled
	// REFUNDED
}

// A payment arrives after its booking has ended. This event still accepts it if the seats are free; others refund it.
func Example_latePayment() {
	ctx := context.Background()
	e, _, user := open(ctx)
	defer closeEngine(ctx, e)
	event, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{
		Name: "Gala", TotalSeats: 10, LatePayments: &holdfast.LatePayments{Policy: holdfast.LatePaymentsAccepted, Seconds: 3600},
	})
	check(err)
	lock := acquire(ctx, e, holdfast.LockRequest{EventID: event.ID, UserID: user, Seats: 2})
	past := holdfast.Until{At: time.Now().Add(-time.Minute)} // a test advances time instead: see package enginetest
	booking, _, err := e.Bookings.CreateBooking(ctx, holdfast.BookingRequest{EventID: event.ID, UserID: user, LockID: lock.ID, Window: past})
	check(err)
	_, err = e.Sweep(ctx)
	check(err)

	booking, err = e.Bookings.GetBooking(ctx, booking.ID)
	check(err)
	fmt.Println(booking.Status)
	booking, err = e.Bookings.ConfirmBooking(ctx, booking.ID, holdfast.Charge{Reference: "payment-4713"})
	check(err)
	fmt.Println(booking.Status, "late:", booking.Late)
	// Output:
	// EXPIRED
	// CONFIRMED late: true
}

// A guest needs no account: the shop names the customer by a text of its own, such as a cart.
func Example_guest() {
	ctx := context.Background()
	e, event, _ := open(ctx)
	defer closeEngine(ctx, e)

	lock := acquire(ctx, e, holdfast.LockRequest{EventID: event, Holder: "cart-7", Seats: 2})
	booking, _, err := e.Bookings.CreateBooking(ctx, holdfast.BookingRequest{
		EventID: event, Holder: "cart-7", LockID: lock.ID, Window: holdfast.Until{For: 15 * time.Minute},
	})
	check(err)
	_, err = e.Bookings.ConfirmBooking(ctx, booking.ID, holdfast.Charge{Reference: "payment-4714"})
	check(err)
	moved, _, err := e.Bookings.TransferBooking(ctx, booking.ID, holdfast.BookingTransfer{
		EventID: event, Holder: "account-of-ada", Key: "sign-up-7",
	})
	check(err)
	fmt.Println(moved.Holder, moved.Status)
	// Output: account-of-ada CONFIRMED
}

// Seats that come back are offered to a customer who waits, in the transaction that frees them.
func Example_waitingList() {
	ctx := context.Background()
	e, _, _ := open(ctx)
	defer closeEngine(ctx, e)
	list := holdfast.Waitlist{Status: holdfast.WaitlistOpen, OfferSeconds: 900, Fit: holdfast.WaitlistSkips}
	gala, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{Name: "Gala", TotalSeats: 2, Waitlist: &list})
	check(err)
	sold := sell(ctx, e, gala.ID, "guest-1", 2, holdfast.Wish{})

	entry, _, err := e.Seats.Join(ctx, holdfast.JoinRequest{EventID: gala.ID, Holder: "guest-2", EntryWish: holdfast.EntryWish{Seats: 2}})
	check(err)
	fmt.Println(entry.Status, entry.Position)
	_, err = e.Bookings.CancelBooking(ctx, sold.ID)
	check(err)
	entry, err = e.Seats.Entry(ctx, entry.ID)
	check(err)
	offer, err := e.Seats.GetLock(ctx, entry.LockID) // guest-2 books and pays it like any lock, or declines
	check(err)
	fmt.Println(entry.Status, offer.Holder, offer.Seats)
	// Output:
	// WAITING 1
	// OFFERED guest-2 2
}

// A counter sells seats that are paid for already, in one transaction. A repeat with the key gets the same booking.
func Example_counterSale() {
	ctx := context.Background()
	e, _, _ := open(ctx)
	defer closeEngine(ctx, e)
	event := openHall(ctx, e)

	best := holdfast.Wish{Best: &holdfast.BestAvailable{}}
	sold, again := sell(ctx, e, event, "till-3", 2, best), sell(ctx, e, event, "till-3", 2, best)
	fmt.Println(sold.Status, sold.SeatIDs, again.ID == sold.ID)
	// Output: CONFIRMED [A-1-1 A-1-2] true
}

// A list has pages. The token of a page leads to the next one.
func Example_lists() {
	ctx := context.Background()
	e, event, user := open(ctx)
	defer closeEngine(ctx, e)
	for range 5 {
		acquire(ctx, e, holdfast.LockRequest{EventID: event, UserID: user, Seats: 1})
	}

	page := holdfast.Page{Size: 2}
	for {
		locks, next, err := e.Seats.ListLocks(ctx, holdfast.LockFilter{EventID: &event, Status: holdfast.LockActive}, page)
		check(err)
		fmt.Println(len(locks))
		if page.Token = next; next == "" {
			break
		}
	}
	// Output:
	// 2
	// 2
	// 1
}
