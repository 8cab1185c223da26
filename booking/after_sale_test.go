package booking_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// smallHall has two rows of five seats, and a pit.
var smallHall = holdfast.SeatingPlan{
	Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}},
	Sections: []holdfast.Section{
		{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 5}, {Key: "2", Count: 5}}},
		{Key: "pit", Name: "Pit", Category: "c", Capacity: 20},
	},
}

// charge is a charge of an amount.
func charge(reference string, amount int64) holdfast.Charge {
	return holdfast.Charge{Reference: reference, Amount: &amount, Currency: "EUR"}
}

// sell sells to a new user, or to the customer of the request, at once.
func sell(w *testenv.Env, eventID holdfast.ID, r holdfast.SaleRequest) holdfast.Booking {
	w.T.Helper()
	r.EventID = eventID
	if r.UserID.IsZero() && r.Holder == "" {
		r.UserID = mongodb.NewID()
	}
	b, _, err := w.Bookings.Sell(w.Ctx(), r)
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

func seatsOf(n int64, wish holdfast.Wish) holdfast.SaleRequest {
	return holdfast.SaleRequest{LockRequest: holdfast.LockRequest{Seats: n, Wish: wish}}
}

func paid(r holdfast.SaleRequest, c holdfast.Charge) holdfast.SaleRequest {
	r.Charge = c
	return r
}

func payment(w *testenv.Env, id holdfast.ID) holdfast.Payment {
	w.T.Helper()
	p, err := w.Bookings.GetPayment(w.Ctx(), id)
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// changesSince numbers the changes, and returns those after a position.
func changesSince(w *testenv.Env, from *changes.Position) ([]holdfast.Change, *changes.Position) {
	w.T.Helper()
	for {
		n, err := w.Changes.Number(w.Ctx())
		if err != nil {
			w.T.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	list, next, err := w.Changes.List(w.Ctx(), from, changes.Filter{}, 500)
	if err != nil {
		w.T.Fatal(err)
	}
	return list, &next
}

// types are the types of changes, sorted.
func types(list []holdfast.Change) (names []string) {
	for _, c := range list {
		names = append(names, c.Type.Name())
	}
	slices.Sort(names)
	return names
}

func find(t *testing.T, list []holdfast.Change, what holdfast.ChangeType) (found holdfast.Change) {
	t.Helper()
	for _, c := range list {
		if c.Type == what {
			found = c
		}
	}
	if found.Type == "" {
		t.Fatalf("there is no %s among %v", what, types(list))
	}
	return found
}

// wantSame fails unless the booking and its lock have the same seats, and agree with the answer.
func wantSame(t *testing.T, w *testenv.Env, answered holdfast.Booking) {
	t.Helper()
	b, lock := w.Booking(answered.ID), w.Lock(answered.LockID)
	if !reflect.DeepEqual(b, answered) {
		t.Errorf("answered %+v, stored %+v", answered, b)
	}
	if lock.Seats != b.Seats || !slices.Equal(lock.SeatIDs, b.SeatIDs) || lock.Section != b.Section || lock.BookingID != b.ID ||
		lock.UserID != b.UserID || lock.Holder != b.Holder {
		t.Errorf("the booking has %d %v %q, its lock %+v", b.Seats, b.SeatIDs, b.Section, lock)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestChangeBooking_InEachForm(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	named := func(ids ...string) holdfast.Wish { return holdfast.Wish{SeatIDs: ids} }
	best := holdfast.Wish{Best: &holdfast.BestAvailable{}}
	pit := holdfast.Wish{Section: "pit"}
	for name, row := range map[string]struct {
		first, then holdfast.SaleRequest
		want        []string
		unseated    bool
	}{
		"more seats":  {first: seatsOf(2, holdfast.Wish{}), then: seatsOf(5, holdfast.Wish{}), unseated: true},
		"fewer seats": {first: seatsOf(5, holdfast.Wish{}), then: seatsOf(1, holdfast.Wish{}), unseated: true},
		"other named seats": {
			first: seatsOf(0, named("A-1-1", "A-1-2")), then: seatsOf(0, named("A-2-3", "A-1-2")), want: []string{"A-1-2", "A-2-3"},
		},
		"a part of its seats": {
			first: seatsOf(0, named("A-1-1", "A-1-2", "A-1-3")), then: seatsOf(0, named("A-1-2")), want: []string{"A-1-2"},
		},
		"the best seats":         {first: seatsOf(0, named("A-1-1")), then: seatsOf(4, best), want: []string{"A-1-1", "A-1-2", "A-1-3", "A-1-4"}},
		"from seats to a crowd":  {first: seatsOf(0, named("A-1-1")), then: seatsOf(3, pit)},
		"from a crowd to seats":  {first: seatsOf(4, pit), then: seatsOf(0, named("A-2-5")), want: []string{"A-2-5"}},
		"fewer in the same pit":  {first: seatsOf(4, pit), then: seatsOf(3, pit)},
		"its best seats, others": {first: seatsOf(2, best), then: seatsOf(3, best), want: []string{"A-1-1", "A-1-2", "A-1-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			eventID := w.Event(10)
			if !row.unseated {
				eventID = w.SeatedEvent(smallHall)
			}
			before, _ := w.Available(eventID)
			for _, state := range []string{"CONFIRMED", "PAYMENT_PENDING", "INITIATED"} {
				b := openOrSold(w, eventID, row.first, state)
				_, at := changesSince(w, nil)
				change := holdfast.BookingChange{Seats: row.then.Seats, Wish: row.then.Wish}
				got, replayed, err := w.Bookings.ChangeBooking(w.Ctx(), b.ID, change)
				if err != nil || replayed || string(got.Status) != state || got.LockID != b.LockID || got.Revision <= b.Revision {
					t.Fatalf("%s: %+v, %t, %v", state, got, replayed, err)
				}
				wantSame(t, w, got)
				slices.Sort(got.SeatIDs)
				if available, _ := w.Available(eventID); available != before-got.Seats || row.want != nil && !slices.Equal(got.SeatIDs, row.want) {
					t.Errorf("%s: %d are available, of %d; it has %v", state, available, before, got.SeatIDs)
				}
				list, at := changesSince(w, at)
				if got := types(list); !slices.Equal(got, []string{"booking.changed", "lock.changed"}) {
					t.Errorf("%s: told %v", state, got)
				}
				told := find(t, list, holdfast.ChangeBookingChanged)
				if p := told.Previous; told.Revision != got.Revision || p == nil || p.Seats != b.Seats || !slices.Equal(p.SeatIDs, b.SeatIDs) ||
					p.Section != b.Section || p.UserID != b.UserID || told.Booking.Seats != got.Seats || (told.PlanID.IsZero() != row.unseated) {
					t.Errorf("%s: told %+v after %+v", state, told.Booking, p)
				}
				again, replayed, err := w.Bookings.ChangeBooking(w.Ctx(), b.ID, change)
				if list, _ := changesSince(w, at); err != nil || replayed || again.Revision != got.Revision || len(list) > 0 {
					t.Errorf("%s, again: %+v, %t, %v; told %v", state, again, replayed, err, types(list))
				}
				if _, err := w.Bookings.CancelBooking(w.Ctx(), b.ID); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// openOrSold makes a booking in a state, of the seats of a request.
func openOrSold(w *testenv.Env, eventID holdfast.ID, r holdfast.SaleRequest, state string) holdfast.Booking {
	w.T.Helper()
	if state == "CONFIRMED" {
		return sell(w, eventID, r)
	}
	r.EventID, r.UserID, r.Until = eventID, mongodb.NewID(), testenv.Soon()
	lock, _, err := w.Seats.AcquireLock(w.Ctx(), r.LockRequest)
	if err != nil {
		w.T.Fatal(err)
	}
	if state == "INITIATED" {
		return w.Book(lock, holdfast.Until{})
	}
	return w.Book(lock, testenv.Soon())
}

// A change by an ended, due or unpaid booking, and every refusal, leaves all as it was.
func TestChangeBooking_RefusalsChangeNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	sold := sell(w, eventID, paid(seatsOf(2, holdfast.Wish{}), charge("first", 100)))
	sell(w, eventID, paid(seatsOf(1, holdfast.Wish{}), charge("used", 100)))
	free := sell(w, eventID, seatsOf(1, holdfast.Wish{}))
	cancelledEvent := w.Event(10)
	ofCancelled := sell(w, cancelledEvent, seatsOf(2, holdfast.Wish{}))
	if _, err := w.Seats.UpdateEvent(w.Ctx(), cancelledEvent, holdfast.EventChange{Status: new(holdfast.Cancelled)}); err != nil {
		t.Fatal(err)
	}
	due, pending := bookingIn(t, w, eventID, "due"), bookingIn(t, w, eventID, "PAYMENT_PENDING")
	of := func(seats, amount int64, id holdfast.ID) holdfast.BookingChange {
		return holdfast.BookingChange{Seats: seats, Refund: &holdfast.PartRequest{Amount: amount, PaymentID: id}}
	}
	for name, row := range map[string]struct {
		id     holdfast.ID
		change holdfast.BookingChange
		want   holdfast.Code
	}{
		"no such booking":        {mongodb.NewID(), holdfast.BookingChange{Seats: 1}, holdfast.CodeBookingNotFound},
		"no seats":               {sold.ID, holdfast.BookingChange{}, holdfast.CodeInvalid},
		"due":                    {due.ID, holdfast.BookingChange{Seats: 2}, expired},
		"cancelled":              {bookingIn(t, w, eventID, "CANCELLED").ID, holdfast.BookingChange{Seats: 2}, cancelled},
		"a payment of an open":   {pending.ID, holdfast.BookingChange{Seats: 2, Payment: charge("new", 1)}, holdfast.CodeBookingNotPayable},
		"a refund of an open":    {pending.ID, of(2, 1, holdfast.ID{}), holdfast.CodeInvalid},
		"too many seats":         {sold.ID, holdfast.BookingChange{Seats: 9}, holdfast.CodeSeatsUnavailable},
		"with a used payment":    {sold.ID, holdfast.BookingChange{Seats: 3, Payment: charge("used", 100)}, holdfast.CodePaymentReferenceUsed},
		"with its own payment":   {sold.ID, holdfast.BookingChange{Seats: 3, Payment: charge("first", 100)}, holdfast.CodePaymentReferenceUsed},
		"too much to refund":     {sold.ID, of(1, 101, holdfast.ID{}), holdfast.CodeInvalid},
		"of another's payment":   {sold.ID, of(1, 1, charge("used", 100).PaymentID()), holdfast.CodeInvalid},
		"no payment to refund":   {free.ID, of(2, 1, holdfast.ID{}), holdfast.CodeInvalid},
		"the event is cancelled": {ofCancelled.ID, holdfast.BookingChange{Seats: 1}, holdfast.CodeEventNotOnSale},
		"another payment, and the same seats": {
			sold.ID, holdfast.BookingChange{Seats: 2, Payment: charge("other", 1)}, holdfast.CodeInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := stored(t, w)
			_, _, err := w.Bookings.ChangeBooking(w.Ctx(), row.id, row.change)
			wantCode(t, err, row.want)
			if after := stored(t, w); !reflect.DeepEqual(before, after) {
				t.Errorf("there was %v, and is %v", before, after)
			}
		})
	}
	got, _, err := w.Bookings.ChangeBooking(w.Ctx(), ofCancelled.ID, holdfast.BookingChange{Seats: 2})
	if err != nil || got.Revision != ofCancelled.Revision {
		t.Errorf("a repeat of a cancelled event: %+v, %v", got, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// stored are the bookings, payments and locks that are stored, without the revisions that refusals raise.
func stored(t *testing.T, w *testenv.Env) (all []any) {
	t.Helper()
	page := holdfast.Page{Size: 500}
	bookings, _, err := w.Bookings.ListBookings(w.Ctx(), holdfast.BookingFilter{}, page)
	payments, _, err2 := w.Bookings.ListPayments(w.Ctx(), holdfast.PaymentFilter{}, page)
	locks, _, err3 := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{}, page)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	return []any{bookings, payments, locks}
}

// A change with a payment and a part writes all of it or nothing, once for each key.
func TestChangeBooking_MovesTheMoneyThatComesWithIt(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	b := sell(w, eventID, paid(seatsOf(2, holdfast.Wish{}), charge("first", 100)))
	first, second := charge("first", 100).PaymentID(), charge("second", 50)
	_, at := changesSince(w, nil)
	change := holdfast.BookingChange{Seats: 3, Payment: second, Refund: &holdfast.PartRequest{Amount: 30}, Key: "key"}
	got, replayed, err := w.Bookings.ChangeBooking(w.Ctx(), b.ID, change)
	if err != nil || replayed || got.Seats != 3 {
		t.Fatalf("%+v, %t, %v", got, replayed, err)
	}
	wantSame(t, w, got)
	want := []holdfast.ListedPayment{
		{ID: first, Status: holdfast.PaymentAccepted, Amount: new(int64(100))},
		{ID: second.PaymentID(), Status: holdfast.PaymentAccepted, Amount: new(int64(50))},
	}
	if !reflect.DeepEqual(got.Payments, want) || got.PaymentReference != "first" {
		t.Errorf("the booking lists %+v", got.Payments)
	}
	p := payment(w, first)
	if due, _ := p.AmountDue(); due != 30 || len(p.Refunds) != 1 ||
		p.Refunds[0].Reason != holdfast.RefundSeatsChanged || p.Status != holdfast.PaymentAccepted {
		t.Errorf("the payment is %+v", p)
	}
	list, at := changesSince(w, at)
	if told := types(list); !slices.Equal(told, []string{"booking.changed", "lock.changed", "payment.accepted", "payment.refund_due"}) {
		t.Errorf("told %v", told)
	}
	if told := find(t, list, holdfast.ChangeBookingChanged); !reflect.DeepEqual(told.Booking.Payments, want) {
		t.Errorf("told %+v", told.Booking)
	}
	if told := find(t, list, holdfast.ChangePaymentRefundDue); told.Payment.Status != holdfast.PaymentAccepted ||
		len(told.Payment.Refunds) != 1 || told.Revision != p.Revision {
		t.Errorf("told %+v", told.Payment)
	}
	again, replayed, err := w.Bookings.ChangeBooking(w.Ctx(), b.ID, change) // by its key
	if err != nil || !replayed || again.Revision != got.Revision {
		t.Errorf("again: %+v, %t, %v", again, replayed, err)
	}
	change.Key = "" // by what the booking has
	if again, replayed, err = w.Bookings.ChangeBooking(w.Ctx(), b.ID, change); err != nil || replayed || again.Revision != got.Revision {
		t.Errorf("again without the key: %+v, %t, %v", again, replayed, err)
	}
	change.Key, change.Seats = "key", 4
	_, _, err = w.Bookings.ChangeBooking(w.Ctx(), b.ID, change)
	wantCode(t, err, holdfast.CodeIdempotencyKeyReused)
	if list, _ = changesSince(w, at); len(list) > 0 || len(payment(w, first).Refunds) != 1 {
		t.Errorf("repeats told %v", types(list))
	}
	listed, _, err := w.Bookings.ListBookings(w.Ctx(), holdfast.BookingFilter{EventID: &eventID}, holdfast.Page{})
	if err != nil || len(listed) != 1 || !reflect.DeepEqual(listed[0].Payments, want) || len(listed[0].Done) > 0 {
		t.Errorf("listed %+v, %v", listed, err)
	}
	if again, err = w.Bookings.ConfirmBooking(w.Ctx(), b.ID, second); err != nil || again.Revision != got.Revision {
		t.Errorf("confirmed with the second payment: %+v, %v", again, err)
	}
	wantCancelled(t, w, b.ID, map[holdfast.ID]int64{first: 100, second.PaymentID(): 50})
}

// wantCancelled cancels a booking whose payments then have to be refunded, each with an amount.
func wantCancelled(t *testing.T, w *testenv.Env, id holdfast.ID, due map[holdfast.ID]int64) {
	t.Helper()
	b, err := w.Bookings.CancelBooking(w.Ctx(), id)
	if err != nil || len(b.Payments) != len(due) {
		t.Fatalf("%+v, %v", b, err)
	}
	for _, listed := range b.Payments {
		p := payment(w, listed.ID)
		amount, _ := p.AmountDue()
		if amount != due[p.ID] || p.Status != listed.Status || (amount == 0) != (p.Status == holdfast.PaymentRefunded) {
			t.Errorf("listed %+v, and is %+v", listed, p)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A late repeat with its key does not undo a later change.
func TestChangeBooking_AnOldRepeatUndoesNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	b := sell(w, w.Event(10), seatsOf(1, holdfast.Wish{}))
	for n := range int64(4) {
		if _, _, err := w.Bookings.ChangeBooking(w.Ctx(), b.ID, holdfast.BookingChange{Seats: n + 1, Key: string(rune('a' + n))}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range int64(4) {
		got, replayed, err := w.Bookings.ChangeBooking(w.Ctx(), b.ID, holdfast.BookingChange{Seats: n + 1, Key: string(rune('a' + n))})
		if err != nil || !replayed || got.Seats != 4 {
			t.Errorf("%d seats again: %+v, %t, %v", n+1, got, replayed, err)
		}
	}
	_, _, err := w.Bookings.TransferBooking(w.Ctx(), b.ID, holdfast.BookingTransfer{Holder: "h", Key: "a"}) // the key of a change
	wantCode(t, err, holdfast.CodeIdempotencyKeyReused)
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestTransferBooking_GivesTheSeatsToAnotherCustomer(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.SeatedEvent(smallHall)
	giver := mongodb.NewID()
	r := paid(seatsOf(0, holdfast.Wish{SeatIDs: []string{"A-1-1", "A-1-2"}}), charge("paid", 100))
	r.UserID, r.Key, r.ShopData = giver, "sale", holdfast.ShopData{Reference: "order", Metadata: map[string]string{"gate": "5"}}
	b := sell(w, eventID, r)
	_, at := changesSince(w, nil)
	before, _ := w.Available(eventID)
	transfer := holdfast.BookingTransfer{Holder: "guest", Key: "key"}
	got, replayed, err := w.Bookings.TransferBooking(w.Ctx(), b.ID, transfer)
	if err != nil || replayed || got.Holder != "guest" || got.LockID == b.LockID || got.Reference != "order" || got.Metadata["gate"] != "5" {
		t.Fatalf("%+v, %t, %v", got, replayed, err)
	}
	wantSame(t, w, got)
	old, now := w.Lock(b.LockID), w.Lock(got.LockID)
	if old.Status != holdfast.LockReleased || old.Key != "sale" || old.BookingID != b.ID || old.UserID != giver || len(old.SeatIDs) != 2 {
		t.Errorf("the old lock is %+v", old)
	}
	if now.Status != holdfast.LockConsumed || now.Holder != "guest" || now.Reference != "order" || now.Key != "" {
		t.Errorf("the new lock is %+v", now)
	}
	if p := payment(w, got.Payments[0].ID); p.UserID != giver || p.Holder != "" || p.Status != holdfast.PaymentAccepted {
		t.Errorf("the payment is %+v", p)
	}
	if after, _ := w.Available(eventID); after != before {
		t.Errorf("%d seats were available, now %d", before, after)
	}
	list, at := changesSince(w, at)
	if told := types(list); !slices.Equal(told, []string{"booking.transferred", "lock.created", "lock.released"}) &&
		!slices.Equal(told, []string{"booking.transferred", "lock.consumed", "lock.released"}) {
		t.Errorf("told %v", told)
	}
	told := find(t, list, holdfast.ChangeBookingTransferred)
	if p := told.Previous; p == nil || p.UserID != giver || p.Holder != "" || p.Seats != 2 || told.Booking.Holder != "guest" ||
		told.Revision != got.Revision {
		t.Errorf("told %+v after %+v", told.Booking, told.Previous)
	}
	for _, again := range []holdfast.BookingTransfer{transfer, {Holder: "guest"}} {
		same, replayed, err := w.Bookings.TransferBooking(w.Ctx(), b.ID, again)
		if err != nil || replayed != (again.Key != "") || same.LockID != got.LockID {
			t.Errorf("again: %+v, %t, %v", same, replayed, err)
		}
	}
	r.EventID = eventID
	sold, replayed, err := w.Bookings.Sell(w.Ctx(), r) // the sale's own repeat finds the booking by the old lock
	if err != nil || !replayed || sold.ID != b.ID || sold.Holder != "guest" {
		t.Errorf("the sale again: %+v, %t, %v", sold, replayed, err)
	}
	if list, _ = changesSince(w, at); len(list) > 0 {
		t.Errorf("repeats told %v", types(list))
	}
	back, _, err := w.Bookings.TransferBooking(w.Ctx(), b.ID, holdfast.BookingTransfer{UserID: giver})
	if err != nil || back.UserID != giver || back.Holder != "" {
		t.Errorf("back: %+v, %v", back, err)
	}
	wantSame(t, w, back)
	if got, replayed, err = w.Bookings.TransferBooking(w.Ctx(), b.ID, transfer); err != nil || !replayed || got.UserID != giver {
		t.Errorf("a late repeat: %+v, %t, %v", got, replayed, err)
	}
	wantCancelled(t, w, b.ID, map[holdfast.ID]int64{charge("paid", 0).PaymentID(): 100})
	if after, _ := w.Available(eventID); after != before+2 {
		t.Errorf("after the cancellation %d seats are available", after)
	}
}

func TestTransferBooking_Refusals(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, cancelledEvent := w.Event(10), w.Event(10)
	if _, err := w.Seats.UpdateEvent(w.Ctx(), eventID, holdfast.EventChange{MaxSeatsPerUser: new(int64(3))}); err != nil {
		t.Fatal(err)
	}
	full := mongodb.NewID()
	r := seatsOf(2, holdfast.Wish{})
	r.UserID = full
	sell(w, eventID, r)
	sold, ofCancelled := sell(w, eventID, seatsOf(2, holdfast.Wish{})), sell(w, cancelledEvent, seatsOf(1, holdfast.Wish{}))
	if _, err := w.Seats.UpdateEvent(w.Ctx(), cancelledEvent, holdfast.EventChange{Status: new(holdfast.Cancelled)}); err != nil {
		t.Fatal(err)
	}
	to := holdfast.BookingTransfer{Holder: "guest"}
	for name, row := range map[string]struct {
		id   holdfast.ID
		to   holdfast.BookingTransfer
		want holdfast.Code
	}{
		"no such booking":       {mongodb.NewID(), to, holdfast.CodeBookingNotFound},
		"beyond the limit":      {sold.ID, holdfast.BookingTransfer{UserID: full}, holdfast.CodeSeatLimitReached},
		"the event is off":      {ofCancelled.ID, to, holdfast.CodeEventNotOnSale},
		"INITIATED":             {bookingIn(t, w, eventID, "INITIATED").ID, to, holdfast.CodeBookingNotPayable},
		"open":                  {bookingIn(t, w, eventID, "PAYMENT_PENDING").ID, to, holdfast.CodeBookingNotPayable},
		"due":                   {bookingIn(t, w, eventID, "due").ID, to, expired},
		"cancelled":             {bookingIn(t, w, eventID, "CANCELLED").ID, to, cancelled},
		"to an erased customer": {sold.ID, holdfast.BookingTransfer{Holder: "erased-1"}, holdfast.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			before := stored(t, w)
			_, _, err := w.Bookings.TransferBooking(w.Ctx(), row.id, row.to)
			wantCode(t, err, row.want)
			if after := stored(t, w); !reflect.DeepEqual(before, after) {
				t.Errorf("there was %v, and is %v", before, after)
			}
		})
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestSell_MakesEverythingAtOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, row := range map[string]struct {
		request  holdfast.SaleRequest
		unseated bool
	}{
		"a number of seats": {seatsOf(2, holdfast.Wish{}), true},
		"named seats":       {seatsOf(0, holdfast.Wish{SeatIDs: []string{"A-1-1", "A-2-2"}}), false},
		"the best seats":    {seatsOf(2, holdfast.Wish{Best: &holdfast.BestAvailable{}}), false},
		"a crowd":           {seatsOf(2, holdfast.Wish{Section: "pit"}), false},
		"paid":              {paid(seatsOf(2, holdfast.Wish{}), charge("sold at once", 100)), true},
	} {
		t.Run(name, func(t *testing.T) {
			eventID := w.Event(10)
			if !row.unseated {
				eventID = w.SeatedEvent(smallHall)
			}
			// A sale at once is neither stopped by the status CLOSED nor by the times of the sale.
			off := holdfast.EventChange{Status: new(holdfast.Closed), SaleEndsAt: new(time.Now().Add(-time.Hour))}
			if _, err := w.Seats.UpdateEvent(w.Ctx(), eventID, off); err != nil {
				t.Fatal(err)
			}
			_, at := changesSince(w, nil)
			r := row.request
			r.EventID, r.UserID, r.Key, r.ShopData = eventID, mongodb.NewID(), "key", holdfast.ShopData{Reference: "order"}
			b, replayed, err := w.Bookings.Sell(w.Ctx(), r)
			if err != nil || replayed || b.Status != holdfast.BookingConfirmed || b.Seats != 2 || b.Reference != "order" || b.EventID != eventID {
				t.Fatalf("%+v, %t, %v", b, replayed, err)
			}
			wantSame(t, w, b)
			lock := w.Lock(b.LockID)
			if lock.Status != holdfast.LockConsumed || lock.Key != "key" || !lock.ExpiresAt.Equal(b.PaymentExpiresAt) ||
				!b.CreatedAt.Equal(b.PaymentExpiresAt) {
				t.Errorf("sold at %v, the lock is %+v", b.CreatedAt, lock)
			}
			list, at := changesSince(w, at)
			want := []string{"booking.confirmed", "lock.created"}
			if !r.Charge.IsZero() {
				want = append(want, "payment.accepted")
				p := payment(w, r.Charge.PaymentID())
				if p.Status != holdfast.PaymentAccepted || p.BookingID != b.ID || b.PaymentReference != r.Charge.Reference || len(b.Payments) != 1 {
					t.Errorf("the booking is %+v, its payment %+v", b, p)
				}
				if c := find(t, list, holdfast.ChangeBookingConfirmed); len(c.Booking.Payments) != 1 {
					t.Errorf("told %+v", c.Booking)
				}
			}
			if got := types(list); !slices.Equal(got, want) {
				t.Errorf("told %v", got)
			}
			again, replayed, err := w.Bookings.Sell(w.Ctx(), r)
			if err != nil || !replayed || !reflect.DeepEqual(again, b) {
				t.Errorf("again: %+v, %t, %v", again, replayed, err)
			}
			other := r
			other.Charge = charge("another", 5)
			_, _, err = w.Bookings.Sell(w.Ctx(), other)
			wantCode(t, err, holdfast.CodeIdempotencyKeyReused)
			_, _, err = w.Seats.AcquireLock(w.Ctx(), r.LockRequest)
			wantCode(t, err, holdfast.CodeIdempotencyKeyReused)
			if list, _ = changesSince(w, at); len(list) > 0 {
				t.Errorf("repeats told %v", types(list))
			}
			if available, _ := w.Available(eventID); available != map[bool]int64{true: 8, false: 28}[row.unseated] {
				t.Errorf("%d are available", available)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

func TestSell_RefusalsLeaveNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, off := w.Event(5), w.Event(5)
	if _, err := w.Seats.UpdateEvent(w.Ctx(), off, holdfast.EventChange{Status: new(holdfast.Cancelled)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seats.UpdateEvent(w.Ctx(), eventID, holdfast.EventChange{MaxSeatsPerUser: new(int64(4))}); err != nil {
		t.Fatal(err)
	}
	sell(w, eventID, paid(seatsOf(2, holdfast.Wish{}), charge("accepted", 1)))
	refusedFor := bookingIn(t, w, eventID, "EXPIRED")
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), refusedFor.ID, charge("refused", 1)); !holdfast.HasCode(err, expired) {
		t.Fatal(err)
	}
	locked := holdfast.LockRequest{EventID: eventID, UserID: mongodb.NewID(), Seats: 1, Key: "key"}
	if _, _, err := w.Seats.AcquireLock(w.Ctx(), locked); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		event   holdfast.ID
		request holdfast.SaleRequest
		want    holdfast.Code
	}{
		"no such event":     {mongodb.NewID(), seatsOf(1, holdfast.Wish{}), holdfast.CodeEventNotFound},
		"cancelled":         {off, seatsOf(1, holdfast.Wish{}), holdfast.CodeEventNotOnSale},
		"too many":          {eventID, paid(seatsOf(4, holdfast.Wish{}), charge("new", 1)), holdfast.CodeSeatsUnavailable},
		"beyond the limit":  {eventID, paid(seatsOf(5, holdfast.Wish{}), charge("new", 1)), holdfast.CodeSeatLimitReached},
		"a used payment":    {eventID, paid(seatsOf(1, holdfast.Wish{}), charge("accepted", 1)), holdfast.CodePaymentReferenceUsed},
		"a refused payment": {eventID, paid(seatsOf(1, holdfast.Wish{}), charge("refused", 1)), holdfast.CodePaymentReferenceUsed},
		"the key of a lock": {eventID, holdfast.SaleRequest{LockRequest: locked}, holdfast.CodeIdempotencyKeyReused},
		"seats of no plan":  {eventID, seatsOf(0, holdfast.Wish{SeatIDs: []string{"A-1"}}), holdfast.CodeInvalid},
		"an impossible sum": {eventID, paid(seatsOf(1, holdfast.Wish{}), charge("new", -1)), holdfast.CodeInvalid},
		"an erased holder": {
			eventID, holdfast.SaleRequest{LockRequest: holdfast.LockRequest{Seats: 1, Holder: "erased-x"}}, holdfast.CodeInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := stored(t, w)
			r := row.request
			if r.EventID = row.event; r.UserID.IsZero() && r.Holder == "" {
				r.UserID = mongodb.NewID()
			}
			_, _, err := w.Bookings.Sell(w.Ctx(), r)
			wantCode(t, err, row.want)
			if after := stored(t, w); !reflect.DeepEqual(before, after) {
				t.Errorf("there was %v, and is %v", before, after)
			}
		})
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A CONFIRMED booking that other software wrote, in the source's own shape, is changed and transferred like any other.
func TestAfterSale_OfABookingInTheShapeOfTheSource(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, user := w.Event(10), mongodb.NewID()
	lock := w.Acquire(eventID, 2, testenv.Soon())
	w.Set("seatlocks", lock.ID, bson.D{{Key: "status", Value: "CONSUMED"}, {Key: "userId", Value: user}})
	id := mongodb.NewID()
	w.Insert("bookings", bson.D{
		{Key: "_id", Value: id}, {Key: "user", Value: user}, {Key: "event", Value: eventID}, {Key: "seats", Value: bson.A{"2"}},
		{Key: "status", Value: "CONFIRMED"}, {Key: "seatLockId", Value: lock.ID}, {Key: "paymentExpiresAt", Value: time.Now()},
	})
	change := holdfast.BookingChange{Seats: 3, Payment: charge("more", 10)}
	b, _, err := w.Bookings.ChangeBooking(w.Ctx(), id, change)
	if err != nil || b.Seats != 3 || len(b.Payments) != 1 || w.Lock(lock.ID).Seats != 3 {
		t.Fatalf("%+v, %v", b, err)
	}
	if b, _, err = w.Bookings.TransferBooking(w.Ctx(), id, holdfast.BookingTransfer{Holder: "guest"}); err != nil || b.Holder != "guest" {
		t.Fatalf("%+v, %v", b, err)
	}
	wantSame(t, w, b)
	n, err := w.DB.Collection("bookings").CountDocuments(w.Ctx(), bson.D{{Key: "user", Value: user}})
	if err != nil || n != 0 {
		t.Errorf("%d bookings name the giver, %v", n, err)
	}
	wantCancelled(t, w, id, map[holdfast.ID]int64{change.Payment.PaymentID(): 10})
	if available, _ := w.Available(eventID); available != 10 {
		t.Errorf("%d seats are available", available)
	}
}
