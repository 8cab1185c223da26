package booking_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Two processes change, transfer and cancel one booking at the same time, give parts of its payment back, and report further
// payments. Whatever wins, seats, money and records agree, and every answer is one of the contract's.
func TestRace_WhatComesAfterTheSale(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	unseated, seated := w.Event(100_000), w.SeatedEvent(smallHall)
	ends := map[holdfast.BookingStatus]int{}
	var mu sync.Mutex
	const rounds, parallel = 60, 3
	var workers sync.WaitGroup
	for k := range parallel {
		workers.Go(func() {
			for n := range rounds / parallel {
				wish, eventID := holdfast.Wish{}, unseated
				if k == 0 {
					wish, eventID = holdfast.Wish{Best: &holdfast.BestAvailable{}}, seated
				}
				status := raceAfterSale(t, w, other, eventID, wish, fmt.Sprint(k, "-", n))
				mu.Lock()
				ends[status]++
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Log(ends)
	testenv.CheckInvariants(t, w.DB.Database)
	wantRisingRevisions(t, w)
	if ends[holdfast.BookingConfirmed] == 0 || ends[holdfast.BookingCancelled] == 0 {
		t.Errorf("the bookings ended as %v: there was no race", ends)
	}
}

// raceAfterSale returns the status of the booking after everything.
func raceAfterSale(t *testing.T, w, other *testenv.Env, eventID holdfast.ID, wish holdfast.Wish, name string) holdfast.BookingStatus {
	b := sell(w, eventID, paid(seatsOf(2, wish), charge("sale "+name, 100)))
	allowed := []holdfast.Code{
		"", cancelled, holdfast.CodeSeatsUnavailable, holdfast.CodeInvalid, holdfast.CodePaymentReferenceUsed, holdfast.CodeBookingConfirmed,
	}
	var all sync.WaitGroup
	do := func(what string, act func(p *testenv.Env) error) {
		for _, process := range []*testenv.Env{w, other} {
			all.Go(func() {
				if err := act(process); !slices.Contains(allowed, holdfast.CodeOf(err)) || err != nil && holdfast.CodeOf(err) == "" {
					t.Errorf("%s %s: %v", name, what, err)
				}
			})
		}
	}
	for n := range int64(3) {
		do("change", func(p *testenv.Env) error {
			change := holdfast.BookingChange{Seats: n + 1, Wish: wish, Key: fmt.Sprint("change ", n), Refund: &holdfast.PartRequest{Amount: 10}}
			if n == 2 {
				change.Refund, change.Payment = nil, charge("more "+name, 50)
			}
			_, _, err := p.Bookings.ChangeBooking(w.Ctx(), b.ID, change)
			return err
		})
	}
	for n := range 2 {
		do("transfer", func(p *testenv.Env) error {
			to := holdfast.BookingTransfer{Holder: fmt.Sprint("guest ", n), Key: fmt.Sprint("to ", n)}
			_, _, err := p.Bookings.TransferBooking(w.Ctx(), b.ID, to)
			return err
		})
	}
	do("part", func(p *testenv.Env) error {
		_, _, err := p.Bookings.RefundPart(w.Ctx(), b.Payments[0].ID, 5, "part")
		return err
	})
	do("duplicate", func(p *testenv.Env) error {
		_, err := p.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge("duplicate "+name, 1))
		return err
	})
	if cancels := rand.IntN(2) == 0; cancels {
		do("cancel", func(p *testenv.Env) error { _, err := p.Bookings.CancelBooking(w.Ctx(), b.ID); return err })
	}
	all.Wait()
	now := w.Booking(b.ID)
	// Each change, transfer and part has been carried out once at most, by its key.
	keys, parts := map[string]int{}, map[holdfast.RefundReason]int{}
	for _, d := range now.Done {
		if keys[d.KeyHash]++; keys[d.KeyHash] > 1 {
			t.Errorf("%s: done are %+v", name, now.Done)
		}
	}
	for _, r := range payment(w, b.Payments[0].ID).Refunds {
		parts[r.Reason]++
	}
	if parts[holdfast.RefundOther] != 1 || parts[holdfast.RefundSeatsChanged] > 2 {
		t.Errorf("%s: the parts are %v", name, parts)
	}
	if _, err := w.Bookings.CancelBooking(w.Ctx(), b.ID); err != nil {
		t.Error(err)
	}
	return now.Status
}

// wantRisingRevisions fails unless the changes of each subject have rising revisions, in the order of their numbers.
func wantRisingRevisions(t *testing.T, w *testenv.Env) {
	t.Helper()
	last := map[string]int64{}
	_, at := changesSince(w, nil)
	list, _ := changesSince(w, nil)
	for ; len(list) > 0; list, at = changesSince(w, at) {
		for _, c := range list {
			subject := ""
			switch {
			case c.Booking != nil:
				subject = "booking " + c.Booking.ID.String()
			case c.Lock != nil:
				subject = "lock " + c.Lock.ID.String()
			case c.Payment != nil:
				subject = "payment " + c.Payment.ID.String()
			default:
				continue
			}
			if before, told := last[subject]; told && c.Revision <= before {
				t.Errorf("%s: revision %d comes after %d", subject, c.Revision, before)
			}
			last[subject] = c.Revision
		}
	}
}

func cancelEvent(t *testing.T, w *testenv.Env, eventID holdfast.ID) expiry.Report {
	t.Helper()
	canceller := &expiry.Canceller{Sweeper: w.Sweeper}
	runID, err := canceller.Ask(w.Ctx(), eventID)
	if err != nil {
		t.Fatal(err)
	}
	run := w.Run(holdfast.EndedByEventCancel)
	run.ID = runID
	report, err := canceller.Run(w.Ctx(), run)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// An event is cancelled, with its bookings, while they are changed, transferred and paid late. Nothing of it is left, and all
// money has to go back.
func TestRace_AfterTheSaleAndTheEventIsCancelled(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	eventID := w.Event(1000)
	if _, err := w.Seats.UpdateEvent(w.Ctx(), eventID, holdfast.EventChange{LatePayments: new(holdfast.LatePaymentsAccepted)}); err != nil {
		t.Fatal(err)
	}
	// After a refused change, the next one may ask for the seats that the booking has, with another payment: CodeInvalid.
	allowed := []holdfast.Code{"", cancelled, expired, holdfast.CodeEventNotOnSale, holdfast.CodeBookingConfirmed, holdfast.CodeInvalid}
	var all sync.WaitGroup
	note := func(what string, err error) {
		if !slices.Contains(allowed, holdfast.CodeOf(err)) || err != nil && holdfast.CodeOf(err) == "" {
			t.Error(what, err)
		}
	}
	const bookings = 12
	began := make(chan struct{}, 6*bookings)
	for n := range bookings {
		b, process := sell(w, eventID, paid(seatsOf(2, holdfast.Wish{}), charge(fmt.Sprint("sale ", n), 100))), []*testenv.Env{w, other}[n%2]
		late := bookingIn(t, w, eventID, "EXPIRED")
		all.Go(func() {
			for i := range int64(6) {
				change := holdfast.BookingChange{Seats: 1 + i%3, Payment: charge(fmt.Sprint("more ", n, " ", i), 10)}
				_, _, err := process.Bookings.ChangeBooking(w.Ctx(), b.ID, change)
				note("change", err)
				began <- struct{}{}
			}
		})
		all.Go(func() {
			for i := range 6 {
				_, _, err := process.Bookings.TransferBooking(w.Ctx(), b.ID, holdfast.BookingTransfer{Holder: fmt.Sprint("guest ", i)})
				note("transfer", err)
			}
		})
		all.Go(func() {
			_, err := process.Bookings.ConfirmBooking(w.Ctx(), late.ID, charge(fmt.Sprint("late ", n), 100))
			note("late payment", err)
		})
	}
	for range bookings {
		<-began
	}
	report := cancelEvent(t, other, eventID)
	all.Wait()
	if report.Errors > 0 || report.Applied < bookings {
		t.Errorf("the run ended as %+v", report)
	}
	listed, _, err := w.Bookings.ListBookings(w.Ctx(), holdfast.BookingFilter{EventID: &eventID}, holdfast.Page{Size: 100})
	if err != nil || len(listed) != 2*bookings {
		t.Fatal(len(listed), err)
	}
	for _, b := range listed {
		if !b.Status.HasEnded() || len(b.Accepted()) > 0 {
			t.Errorf("%+v", b)
		}
	}
	if available, _ := w.Available(eventID); available != 1000 {
		t.Errorf("%d seats are available", available)
	}
	testenv.CheckInvariants(t, w.DB.Database)
	wantRisingRevisions(t, w)
}

// A change of an open booking, its confirmation and the end of its window come at the same time.
func TestRace_AnOpenBookingChangesWhileItIsConfirmedOrExpires(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	eventID := w.Event(1000)
	ends := map[string]int{}
	for n := range 30 {
		b := w.Book(w.Acquire(eventID, 2, testenv.Soon()), testenv.Soon())
		if n%2 == 0 {
			w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(time.Duration(rand.IntN(20)) * time.Millisecond)}})
		}
		var all sync.WaitGroup
		var changeErr, confirmErr error
		all.Go(func() {
			_, _, changeErr = other.Bookings.ChangeBooking(w.Ctx(), b.ID, holdfast.BookingChange{Seats: 3})
		})
		all.Go(func() { _, confirmErr = w.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge(b.ID.String(), 1)) })
		all.Go(func() { w.SweepBookings() })
		all.Wait()
		now := w.Booking(b.ID)
		ends[fmt.Sprint(now.Status, " ", now.Seats)]++
		if (now.Seats == 3) != (changeErr == nil) || (now.Status == holdfast.BookingConfirmed) != (confirmErr == nil) {
			t.Errorf("%+v; the change got %v, the confirmation %v", now, changeErr, confirmErr)
		}
		if changeErr != nil {
			wantCode(t, changeErr, expired)
		}
		if lock := w.Lock(b.LockID); lock.Seats != now.Seats {
			t.Errorf("the booking has %d seats, its lock %d", now.Seats, lock.Seats)
		}
	}
	t.Log(ends)
	testenv.CheckInvariants(t, w.DB.Database)
}

// Only users that exist get seats, by a sale at once or a transfer.
func TestAfterSale_UnknownUsersGetNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, unknown := w.Event(10), mongodb.NewID()
	users := testenv.Core(w.DB, func(_ context.Context, ids []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		if slices.Contains(ids, unknown) {
			return map[holdfast.ID]*holdfast.Error{unknown: holdfast.NotFound(holdfast.CodeUserNotFound)}, nil
		}
		return nil, nil
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := users.Pipeline.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	b := sell(w, eventID, seatsOf(2, holdfast.Wish{}))
	before := stored(t, w)
	r := paid(seatsOf(1, holdfast.Wish{}), charge("paid", 1))
	r.EventID, r.UserID = eventID, unknown
	_, _, err := users.Bookings.Sell(w.Ctx(), r)
	wantCode(t, err, holdfast.CodeUserNotFound)
	_, _, err = users.Bookings.TransferBooking(w.Ctx(), b.ID, holdfast.BookingTransfer{UserID: unknown, Key: "key"})
	wantCode(t, err, holdfast.CodeUserNotFound)
	if after := stored(t, w); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("there was %v, and is %v", before, after)
	}
	got, replayed, err := users.Bookings.TransferBooking(w.Ctx(), b.ID, holdfast.BookingTransfer{UserID: mongodb.NewID(), Key: "key"})
	if err != nil || replayed {
		t.Errorf("the key of a refused transfer: %+v, %t, %v", got, replayed, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// An expired booking is paid late while others change, transfer and cancel it.
func TestRace_ALatePaymentAndWhatComesAfterIt(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	eventID := eventWithLatePayments(t, w, 1000)
	allowed := []holdfast.Code{"", cancelled, expired, holdfast.CodeInvalid, holdfast.CodeBookingConfirmed, holdfast.CodeBookingNotPayable}
	ends := map[string]int{}
	for n := range 30 {
		b := bookingIn(t, w, eventID, []string{"EXPIRED", "due"}[n%2])
		var all sync.WaitGroup
		do := func(what string, act func(p *testenv.Env) error) {
			for _, process := range []*testenv.Env{w, other} {
				all.Go(func() {
					if err := act(process); !slices.Contains(allowed, holdfast.CodeOf(err)) || err != nil && holdfast.CodeOf(err) == "" {
						t.Errorf("%s: %v", what, err)
					}
				})
			}
		}
		do("late payment", func(p *testenv.Env) error {
			_, err := p.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge(b.ID.String(), 100))
			return err
		})
		do("another late payment", func(p *testenv.Env) error {
			_, err := p.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge("other "+b.ID.String(), 100))
			return err
		})
		do("change", func(p *testenv.Env) error {
			change := holdfast.BookingChange{Seats: 2, Payment: charge("more "+b.ID.String(), 1), Key: "key"}
			_, _, err := p.Bookings.ChangeBooking(w.Ctx(), b.ID, change)
			return err
		})
		do("transfer", func(p *testenv.Env) error {
			_, _, err := p.Bookings.TransferBooking(w.Ctx(), b.ID, holdfast.BookingTransfer{Holder: "guest"})
			return err
		})
		if n%3 == 0 {
			do("cancel", func(p *testenv.Env) error { _, err := p.Bookings.CancelBooking(w.Ctx(), b.ID); return err })
		}
		all.Wait()
		now := w.Booking(b.ID)
		ends[fmt.Sprint(now.Status, " ", now.Seats, " ", now.Holder, " ", len(now.Payments))]++
		if !now.Late {
			t.Errorf("%+v", now)
		}
	}
	t.Log(ends)
	testenv.CheckInvariants(t, w.DB.Database)
	wantRisingRevisions(t, w)
}

// Of several sales with one key there is one, and of several requests with one charge one gets it.
func TestRace_OneSaleForAKeyAndForACharge(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	eventID := w.Event(1000)
	for n := range 15 {
		once := paid(seatsOf(2, holdfast.Wish{}), charge(fmt.Sprint("key ", n), 100))
		once.EventID, once.UserID, once.Key = eventID, mongodb.NewID(), "key"
		contested := charge(fmt.Sprint("contested ", n), 100)
		sold, open := sell(w, eventID, seatsOf(1, holdfast.Wish{})), bookingIn(t, w, eventID, "PAYMENT_PENDING")
		var all sync.WaitGroup
		var mu sync.Mutex
		made, got := map[holdfast.ID]int{}, 0
		note := func(b holdfast.Booking, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made[b.ID]++
			} else {
				t.Error(err)
			}
		}
		noteCharge := func(b holdfast.Booking, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err == nil && slices.Contains(b.Accepted(), contested.PaymentID()) {
				got++
			} else if !holdfast.HasCode(err, holdfast.CodePaymentReferenceUsed) {
				t.Errorf("%+v, %v", b, err)
			}
		}
		for _, p := range []*testenv.Env{w, other} {
			for range 3 {
				all.Go(func() { b, _, err := p.Bookings.Sell(w.Ctx(), once); note(b, err) })
			}
			for range 2 {
				all.Go(func() {
					r := paid(seatsOf(1, holdfast.Wish{}), contested)
					r.EventID, r.UserID = eventID, mongodb.NewID()
					b, _, err := p.Bookings.Sell(w.Ctx(), r)
					noteCharge(b, err)
				})
			}
		}
		all.Go(func() {
			b, _, err := other.Bookings.ChangeBooking(w.Ctx(), sold.ID, holdfast.BookingChange{Seats: 2, Payment: contested})
			noteCharge(b, err)
		})
		all.Go(func() { b, err := w.Bookings.ConfirmBooking(w.Ctx(), open.ID, contested); noteCharge(b, err) })
		all.Wait()
		if len(made) != 1 || got != 1 {
			t.Errorf("with one key there are the sales %v, and %d got the charge", made, got)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
