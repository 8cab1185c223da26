package pipeline_test

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// batch carries out commands of an event in one transaction. It fails the test if one of them is refused.
func batch(t *testing.T, p *pipeline.Pipeline, eventID holdfast.ID, commands ...inventory.Command) []inventory.Result {
	t.Helper()
	results, err := p.Commit(t.Context(), map[holdfast.ID][]inventory.Command{eventID: commands})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results[eventID] {
		if r.Err != nil {
			t.Fatalf("%T: %v", commands[i], r.Err)
		}
	}
	return results[eventID]
}

// sell sells named seats.
func sell(t *testing.T, p *pipeline.Pipeline, eventID holdfast.ID, seatIDs ...string) holdfast.Booking {
	t.Helper()
	return *submit(t, p, eventID, inventory.Sell{Acquire: named(eventID, seatIDs...), BookingID: mongodb.NewID()}).Booking
}

func changeTo(b holdfast.Booking, seatIDs ...string) inventory.ChangeBooking {
	return inventory.ChangeBooking{OfBooking: ofBooking(b), BookingChange: holdfast.BookingChange{
		Seats: int64(len(seatIDs)), Wish: holdfast.Wish{SeatIDs: seatIDs}}}
}

// Two bookings exchange their seats in one transaction, step by step. The unique index of seats sees the end alone.
func TestAfterSale_BookingsExchangeSeatsInOneBatch(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, p := newSeated(t, w), newProcess(t, w)
	a, b := sell(t, p, eventID, "a-1-1", "a-1-2"), sell(t, p, eventID, "a-2-1", "a-2-2")
	results := batch(t, p, eventID, changeTo(a, "a-3-1"), changeTo(b, "a-1-1", "a-1-2"), changeTo(a, "a-2-1", "a-2-2"))
	for i, want := range [][]string{{"a-3-1"}, {"a-1-1", "a-1-2"}, {"a-2-1", "a-2-2"}} {
		if got := results[i].Booking.SeatIDs; !slices.Equal(got, want) {
			t.Errorf("answer %d has %v, want %v", i, got, want)
		}
	}
	for id, want := range map[holdfast.ID][]string{a.ID: {"a-2-1", "a-2-2"}, b.ID: {"a-1-1", "a-1-2"}} {
		now := w.Booking(id)
		lock := w.Lock(now.LockID)
		if !slices.Equal(now.SeatIDs, want) || !slices.Equal(lock.SeatIDs, want) || lock.Status != holdfast.LockConsumed {
			t.Errorf("the booking has %v, its lock %+v; want %v", now.SeatIDs, lock, want)
		}
	}
	wantTaken(t, w, eventID, "a-1-1", "a-1-2", "a-2-1", "a-2-2")
}

// What one booking gives back another one takes, and a transferred booking gives back its seats, in one transaction.
func TestAfterSale_SeatsPassOnInOneBatch(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, p := newSeated(t, w), newProcess(t, w)
	a, b := sell(t, p, eventID, "a-1-1", "a-1-2"), sell(t, p, eventID, "a-2-1")
	transfer := inventory.Transfer{OfBooking: ofBooking(b), Customer: inventory.Customer{UserID: mongodb.NewID()}, NewLockID: mongodb.NewID()}
	sale := inventory.Sell{Acquire: named(eventID, "a-1-1"), BookingID: mongodb.NewID()}
	results := batch(t, p, eventID, changeTo(a, "a-1-2"), sale, transfer, changeTo(b, "a-2-2"))
	if !results[3].Undecided {
		t.Errorf("a change of a lock that the same batch makes: %+v", results[3])
	}
	wantTaken(t, w, eventID, "a-1-1", "a-1-2", "a-2-1")
	// The queue asks again in the next batch.
	submit(t, p, eventID, changeTo(b, "a-2-2"))
	submit(t, p, eventID, inventory.Cancel{BookingID: a.ID, LockID: a.LockID, EventID: eventID})
	wantTaken(t, w, eventID, "a-1-1", "a-2-2")
}

// Equal changes of bookings share a statement, which does not bring a booking's changes out of their order.
func TestAfterSale_ABookingChangesAndEndsInOneBatch(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, p := w.Event(10), newProcess(t, w)
	open := func() holdfast.Booking { return w.Book(w.Acquire(eventID, 1, testenv.Soon()), testenv.Soon()) }
	grow := func(b holdfast.Booking) inventory.Command {
		return inventory.ChangeBooking{OfBooking: ofBooking(b), BookingChange: holdfast.BookingChange{Seats: 2}}
	}
	cancel := func(b holdfast.Booking) inventory.Command {
		return inventory.Cancel{BookingID: b.ID, LockID: b.LockID, EventID: eventID}
	}
	a, b := open(), open()
	submit(t, p, eventID, grow(b))
	batch(t, p, eventID, cancel(b), grow(a), cancel(a))
	for _, id := range []holdfast.ID{a.ID, b.ID} {
		if now := w.Booking(id); now.Status != holdfast.BookingCancelled || now.Seats != 2 || now.Revision != 2 {
			t.Errorf("%+v", now)
		}
	}
	wantAvailable(t, w, eventID, 10)
	testenv.CheckInvariants(t, w.DB.Database)
}

// A change or a transfer was committed and not answered, and another process has changed the booking since. Settling finds the
// command by its ID, and undoes nothing.
func TestSettle_WhatWasFollowedByAnotherChange(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, command := range map[string]func(of inventory.OfBooking) inventory.Command{
		"a change": func(of inventory.OfBooking) inventory.Command {
			charge := holdfast.Charge{Reference: "more " + of.BookingID.String()}
			return inventory.ChangeBooking{OfBooking: of, BookingChange: holdfast.BookingChange{Seats: 5, Payment: charge}}
		},
		"a transfer": func(of inventory.OfBooking) inventory.Command {
			return inventory.Transfer{OfBooking: of, Customer: inventory.Customer{UserID: mongodb.NewID()}, NewLockID: mongodb.NewID()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eventID := w.Event(10)
			b := confirmed(w, w.Acquire(eventID, 3, testenv.Soon()))
			c := command(ofBooking(b))
			if _, err := w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, planOf(t, w, eventID, c), always); err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.Bookings.TransferBooking(w.Ctx(), b.ID, holdfast.BookingTransfer{Holder: "guest"}); err != nil {
				t.Fatal(err)
			}
			last, _, err := w.Bookings.ChangeBooking(w.Ctx(), b.ID, holdfast.BookingChange{Seats: 2})
			if err != nil {
				t.Fatal(err)
			}
			results, err := newProcess(t, w).Settle(w.Ctx(), eventID, c)
			if err != nil || results[0].Err != nil || results[0].Replayed {
				t.Fatalf("%+v, %v", results, err)
			}
			if got := results[0].Booking; got.Revision != last.Revision || got.Seats != 2 || got.Holder != "guest" {
				t.Errorf("settled as %+v, it was %+v", got, last)
			}
			wantAvailable(t, w, eventID, 8)
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}
