package expiry_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// sellAtOnce sells seats to a holder for an amount. The reference of the charge is also the key.
func sellAtOnce(w *testenv.Env, event holdfast.ID, seats, amount int64, holder, reference string) holdfast.Booking {
	w.T.Helper()
	b, _, err := w.Bookings.Sell(w.Ctx(), holdfast.SaleRequest{
		LockRequest: holdfast.LockRequest{
			EventID: event, Holder: holder, Seats: seats, Key: reference, ShopData: holdfast.ShopData{Metadata: map[string]string{"of": holder}},
		},
		Charge: holdfast.Charge{Reference: reference, Amount: &amount},
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

func transfer(w *testenv.Env, id holdfast.ID, to string) holdfast.Booking {
	w.T.Helper()
	b, _, err := w.Bookings.TransferBooking(w.Ctx(), id, holdfast.BookingTransfer{Holder: to})
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

func change(w *testenv.Env, id holdfast.ID, c holdfast.BookingChange) holdfast.Booking {
	w.T.Helper()
	b, _, err := w.Bookings.ChangeBooking(w.Ctx(), id, c)
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

// The lock of a transferred booking goes alone: the booking lives on under another one, whatever becomes of it later.
func TestRetention_OfATransferredBookingRemovesItsPreviousLockAlone(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	aged := func(id holdfast.ID) { w.Set("seatlocks", id, bson.D{{Key: "updatedAt", Value: longAgo}}) }
	sold := sellAtOnce(w, event, 2, 100, "giver", "sold")
	first := transfer(w, sold.ID, "guest 1")
	now := transfer(w, sold.ID, "guest 2")
	for _, id := range []holdfast.ID{sold.LockID, first.LockID, now.LockID} {
		aged(id)
	}
	report := retain(t, w, 24*time.Hour)
	if report.Applied != 2 || exists(t, w, "seatlocks", sold.LockID) || exists(t, w, "seatlocks", first.LockID) {
		t.Errorf("removed %+v", report)
	}
	if b := w.Booking(sold.ID); b.LockID != now.LockID || w.Lock(now.LockID).Status != holdfast.LockConsumed {
		t.Errorf("the booking is %+v", b)
	}
	testenv.CheckInvariants(t, w.DB.Database)
	if _, err := w.Bookings.CancelBooking(w.Ctx(), sold.ID); err != nil {
		t.Fatal(err)
	}
	aged(now.LockID)
	if report := retain(t, w, 24*time.Hour); report.Applied != 0 || !exists(t, w, "bookings", sold.ID) {
		t.Errorf("while its payment has to be refunded, removed %+v", report)
	}
	if _, err := w.Bookings.RefundPayment(w.Ctx(), now.Payments[0].ID, "back"); err != nil {
		t.Fatal(err)
	}
	report = retain(t, w, 24*time.Hour)
	if report.Applied != 1 || exists(t, w, "bookings", sold.ID) || exists(t, w, "seatlocks", now.LockID) {
		t.Errorf("after the refund, removed %+v", report)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A booking and its lock stay while a part of one of its payments has to be refunded.
func TestRetention_WaitsForPartsThatAreDue(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	b := sellAtOnce(w, w.Event(10), 2, 100, "guest", "first")
	more := holdfast.Charge{Reference: "second", Amount: new(int64(50))}
	b = change(w, b.ID, holdfast.BookingChange{Seats: 3, Payment: more})
	p, _, err := w.Bookings.RefundPart(w.Ctx(), more.PaymentID(), 50, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Bookings.CancelBooking(w.Ctx(), b.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Bookings.RefundPayment(w.Ctx(), b.Payments[0].ID, "back"); err != nil {
		t.Fatal(err)
	}
	w.Set("seatlocks", b.LockID, bson.D{{Key: "updatedAt", Value: longAgo}})
	if report := retain(t, w, 24*time.Hour); report.Applied != 0 || !exists(t, w, "bookings", b.ID) || !exists(t, w, "seatlocks", b.LockID) {
		t.Errorf("removed %+v", report)
	}
	if _, err := w.Bookings.RefundedPart(w.Ctx(), p.ID, p.Refunds[0].ID, "back"); err != nil {
		t.Fatal(err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
	if report := retain(t, w, 24*time.Hour); report.Applied != 1 || exists(t, w, "bookings", b.ID) {
		t.Errorf("after the refunds, removed %+v", report)
	}
	if _, err := w.Bookings.GetPayment(w.Ctx(), p.ID); err != nil {
		t.Errorf("the payment: %v", err)
	}
}

// An event with parts of payments that are due is archived: nothing of it is open, and parts take no seats. A change of one of
// its bookings takes the mark away.
func TestArchive_DespiteRefundsThatAreDue(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	b := sellAtOnce(w, event, 2, 100, "guest", "paid")
	b = change(w, b.ID, holdfast.BookingChange{Seats: 1, Refund: &holdfast.PartRequest{Amount: 50}})
	b = transfer(w, b.ID, "other guest")
	isOver(w, event)
	if report := archive(t, w); report.Applied != 1 || archivedAt(w, event) == nil {
		t.Fatalf("archived %+v", report)
	}
	p, err := w.Bookings.GetPayment(w.Ctx(), b.Payments[0].ID)
	if err == nil {
		_, err = w.Bookings.RefundedPart(w.Ctx(), p.ID, p.Refunds[0].ID, "back")
	}
	if err != nil || archivedAt(w, event) == nil {
		t.Errorf("refunded: %v; the mark is %v", err, archivedAt(w, event))
	}
	for name, act := range map[string]func(){
		"a transfer": func() { transfer(w, b.ID, "third guest") },
		"a change":   func() { change(w, b.ID, holdfast.BookingChange{Seats: 3}) },
		"a sale":     func() { sellAtOnce(w, event, 1, 5, "late guest", "late") },
	} {
		act()
		if archivedAt(w, event) != nil {
			t.Errorf("%s has left the mark", name)
		}
		if report := archive(t, w); report.Applied != 1 {
			t.Errorf("after %s: %+v", name, report)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// The person that gave a booking away is erased in the lock it had and in what it paid; the person that has it now in the
// booking, its lock and its own payment.
func TestErase_GiverAndReceiverOfABooking(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	sold := sellAtOnce(w, event, 2, 100, ada, "first")
	got := transfer(w, sold.ID, "babbage")
	got = change(w, got.ID, holdfast.BookingChange{Seats: 3, Payment: holdfast.Charge{Reference: "second"}})
	payers := func() (holders []string) {
		for _, listed := range got.Payments {
			p, err := w.Bookings.GetPayment(w.Ctx(), listed.ID)
			if err != nil {
				t.Fatal(err)
			}
			holders = append(holders, p.Holder)
		}
		return holders
	}
	if paidBy := payers(); !reflect.DeepEqual(paidBy, []string{ada, "babbage"}) {
		t.Fatalf("paid by %v", paidBy)
	}
	erased, err := eraser(w, 2).Erase(w.Ctx(), holdfast.ID{}, ada)
	if err != nil || erased != (expiry.Erased{Locks: 1}) {
		t.Errorf("the giver: %+v, %v", erased, err)
	}
	asErased := holdfast.ErasedHolder(holdfast.HolderID(ada))
	previous, b := w.Lock(sold.LockID), w.Booking(sold.ID)
	if previous.Holder != asErased || previous.Key != "" || previous.Metadata != nil || previous.BookingID != sold.ID {
		t.Errorf("the previous lock is %+v", previous)
	}
	if b.Holder != "babbage" || b.Revision != got.Revision || !reflect.DeepEqual(payers(), []string{asErased, "babbage"}) {
		t.Errorf("the booking is %+v, paid by %v", b, payers())
	}
	wantForgotten(w, "the giver", 0)
	erased, err = eraser(w, 2).Erase(w.Ctx(), holdfast.ID{}, "babbage")
	if err != nil || erased != (expiry.Erased{Locks: 1, Bookings: 1}) {
		t.Errorf("the receiver: %+v, %v", erased, err)
	}
	asErased = holdfast.ErasedHolder(holdfast.HolderID("babbage"))
	if b = w.Booking(sold.ID); b.Holder != asErased || b.Metadata != nil || w.Lock(b.LockID).Holder != asErased || payers()[1] != asErased {
		t.Errorf("the booking is %+v, its lock %+v, paid by %v", b, w.Lock(b.LockID), payers())
	}
	// The booking goes on.
	b = transfer(w, sold.ID, "guest")
	if b.Holder != "guest" || b.Metadata != nil || w.Lock(b.LockID).Metadata != nil {
		t.Errorf("transferred to %+v", b)
	}
	if _, err := w.Bookings.CancelBooking(w.Ctx(), b.ID); err != nil {
		t.Error(err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A booking may have several payments, of which parts went back. The run ends each booking once, and all of its payments.
func TestEventCancel_BookingsWithSeveralPayments(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	const bookings, payments = 5, 4
	for n := range bookings {
		b := sellAtOnce(w, event, 1, 100, "guest", fmt.Sprint(n))
		for i := range int64(payments - 1) {
			more := holdfast.Charge{Reference: fmt.Sprint(n, " ", i), Amount: new(int64(10))}
			b = change(w, b.ID, holdfast.BookingChange{Seats: i + 2, Payment: more})
		}
		for i, amount := range []int64{40, 10} { // a part, and all of another payment
			p, _, err := w.Bookings.RefundPart(w.Ctx(), b.Payments[i].ID, amount, "")
			if err == nil {
				_, err = w.Bookings.RefundedPart(w.Ctx(), p.ID, p.Refunds[0].ID, "back")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n == 0 {
			transfer(w, b.ID, "other guest")
		}
	}
	c := canceller(w, 3)
	runID, err := c.Ask(w.Ctx(), event)
	if err != nil {
		t.Fatal(err)
	}
	run := w.Run(holdfast.EndedByEventCancel)
	run.ID = runID
	report, err := c.Run(w.Ctx(), run)
	if want := (expiry.Report{Found: bookings, Applied: bookings, SeatsRestored: bookings * payments}); err != nil || report != want {
		t.Errorf("the run ended as %+v, %v; want %+v", report, err, want)
	}
	list, _, err := w.Bookings.ListPayments(w.Ctx(), holdfast.PaymentFilter{EventID: &event}, holdfast.Page{Size: 100})
	if err != nil || len(list) != bookings*payments {
		t.Fatal(len(list), err)
	}
	found := map[string]int{}
	for _, p := range list {
		due, _ := p.AmountDue()
		found[fmt.Sprint(p.Status, " ", p.Reason, " ", due)]++
	}
	want := map[string]int{
		"REFUND_DUE event_cancelled 60": bookings, "REFUNDED event_cancelled 0": bookings, "REFUND_DUE event_cancelled 10": 2 * bookings,
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("the payments are %v, want %v", found, want)
	}
	due, err := w.Store.RefundsDue(w.Ctx(), 0)
	if err != nil || due.Count != 3*bookings {
		t.Errorf("%+v, %v", due, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// fillPayments adds 3,000 payments, of which 30 are REFUND_DUE and 30 of an event have a part that is DUE. It returns the booking
// of one of the latter.
func fillPayments(t *testing.T, w *testenv.Env, event, other holdfast.ID) (booking holdfast.ID) {
	t.Helper()
	var docs []any
	for n := range 3000 {
		p := bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "reference", Value: fmt.Sprint(n)}, {Key: "part", Value: ""},
			{Key: "bookingId", Value: mongodb.NewID()}, {Key: "eventId", Value: other}, {Key: "status", Value: "ACCEPTED"},
			{Key: "amount", Value: 100}, {Key: "updatedAt", Value: longAgo.Add(time.Duration(n) * time.Second)}}
		if n%100 == 0 {
			booking = mongodb.NewID()
			p[3].Value, p[4].Value = booking, event
			p = append(p, bson.E{Key: "refunds", Value: bson.A{
				bson.D{{Key: "id", Value: mongodb.NewID()}, {Key: "amount", Value: 5}, {Key: "status", Value: "REFUNDED"}},
				bson.D{{Key: "id", Value: mongodb.NewID()}, {Key: "amount", Value: 5}, {Key: "status", Value: "DUE"}},
			}})
		}
		if n%100 == 1 {
			p[5].Value = "REFUND_DUE"
		}
		docs = append(docs, p)
	}
	if _, err := w.DB.Collection("payments").InsertMany(w.Ctx(), docs); err != nil {
		t.Fatal(err)
	}
	return booking
}

// The lists of payments that have to be refunded, and the counts of them, are read by indexes.
func TestQueries_OfRefundsThatAreDueUseIndexes(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, other := w.Event(100_000), w.Event(1000)
	booking := fillPayments(t, w, event, other)
	list := func(f holdfast.PaymentFilter, want int) func() {
		return func() {
			got, _, err := w.Bookings.ListPayments(w.Ctx(), f, holdfast.Page{Size: 100})
			if err != nil || len(got) != want {
				t.Errorf("%d payments, want %d, %v", len(got), want, err)
			}
		}
	}
	for _, c := range []struct {
		name string
		do   func()
		most int // documents that are examined
	}{
		{"all", list(holdfast.PaymentFilter{RefundDue: true}, 60), 60},
		{"of a status", list(holdfast.PaymentFilter{RefundDue: true, Status: holdfast.PaymentAccepted}, 30), 60},
		{"of an event", list(holdfast.PaymentFilter{RefundDue: true, EventID: &event}, 30), 90},
		{"of a booking", list(holdfast.PaymentFilter{RefundDue: true, BookingID: &booking}, 1), 60},
		{"of a reference", list(holdfast.PaymentFilter{RefundDue: true, Reference: "100"}, 1), 60},
		{"the first page", func() {
			got, next, err := w.Bookings.ListPayments(w.Ctx(), holdfast.PaymentFilter{RefundDue: true}, holdfast.Page{Size: 10})
			if err != nil || len(got) != 10 || next == "" {
				t.Errorf("%d payments, %q, %v", len(got), next, err)
			}
		}, 25},
		{"their number", func() {
			if due, err := w.Store.RefundsDue(w.Ctx(), 0); err != nil || due.Count != 60 {
				t.Errorf("%+v, %v", due, err)
			}
		}, 60},
		{"the oldest", func() {
			got, err := w.Store.OldestRefundsDue(w.Ctx(), 10)
			if err != nil || len(got) != 10 {
				t.Errorf("%d payments, %v", len(got), err)
			}
			for i, p := range got { // they are of both kinds
				if want := fmt.Sprint(50*i - i%2*50 + i%2); p.Reference != want {
					t.Errorf("payment %d is %q, want %q", i, p.Reference, want)
				}
			}
		}, 10},
	} {
		reads := examined(t, w, "payments", c.do)
		if len(reads) == 0 {
			t.Errorf("%s: no read was profiled", c.name)
		}
		for _, p := range reads {
			if p.Docs > c.most || p.Keys > 4*c.most {
				t.Errorf("%s: examined %d documents and %d keys for %d, by %s", c.name, p.Docs, p.Keys, p.Returned, p.Plan)
			}
		}
	}
}
