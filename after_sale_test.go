package holdfast_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

func id(n int) holdfast.ID { return holdfast.ID{10: byte(n >> 8), 11: byte(n)} }

func TestBooking_ListsItsPayments(t *testing.T) {
	paid := func(n int, status holdfast.PaymentStatus) holdfast.Payment {
		return holdfast.Payment{ID: id(n), Status: status, Charge: holdfast.Charge{Amount: new(int64(n))}}
	}
	var b holdfast.Booking
	for n := range holdfast.MaxListedPayments {
		b.Payments = b.WithPayment(paid(n, holdfast.PaymentRefundDue))
	}
	if b.Payments = b.WithPayment(paid(2000, holdfast.PaymentRefundDue)); len(b.Payments) != holdfast.MaxListedPayments {
		t.Errorf("it lists %d payments", len(b.Payments))
	}
	before := slices.Clone(b.Payments)
	changed := b.WithPayment(paid(7, holdfast.PaymentRefunded))
	if changed[7].Status != holdfast.PaymentRefunded || len(changed) != len(before) || *changed[7].Amount != 7 {
		t.Errorf("it lists %+v", changed[7])
	}
	if !slices.Equal(b.Payments, before) {
		t.Error("the list of the booking has changed")
	}
	if len(b.Accepted()) != 0 {
		t.Errorf("%v are accepted", b.Accepted())
	}
	b.Payments = b.WithPayment(paid(2001, holdfast.PaymentAccepted)) // whatever was refused before
	b.Payments = b.WithPayment(paid(2002, holdfast.PaymentAccepted))
	if got, want := b.Accepted(), []holdfast.ID{id(2001), id(2002)}; !slices.Equal(got, want) {
		t.Errorf("%v are accepted, want %v", got, want)
	}
}

func TestBooking_KeepsRequestsThatMayBeRepeated(t *testing.T) {
	keyed := func(n int, at time.Time) holdfast.DoneRequest {
		return holdfast.DoneRequest{ID: id(n), KeyHash: "k", Hash: "h", At: at}
	}
	keyless := func(n int, at time.Time) holdfast.DoneRequest {
		return holdfast.DoneRequest{ID: id(n), Hash: "h", At: at}
	}
	ids := func(b holdfast.Booking) (kept []byte) {
		for _, d := range b.Done {
			kept = append(kept, d.ID[11])
		}
		return kept
	}
	const kept = 20 // of those without a key
	var b holdfast.Booking
	b.Done = b.WithDone(keyed(1, now))
	for n := range 30 {
		b.Done = b.WithDone(keyless(100+n, now.Add(time.Duration(n)*time.Second)))
	}
	if got := ids(b); len(got) != 1+kept || got[0] != 1 || got[1] != 110 || got[kept] != 129 {
		t.Errorf("it keeps %v", got)
	}
	last := now.Add(time.Minute)
	batch := b
	for n := range 30 { // of one transaction, whose outcome may be unknown
		batch.Done = batch.WithDone(keyless(200+n, last))
	}
	if got := ids(batch); len(got) != 1+30 || got[1] != 200 {
		t.Errorf("of one batch it keeps %v", got)
	}
	before := slices.Clone(b.Done)
	day := now.Add(holdfast.KeyRetention)
	if next := (holdfast.Booking{Done: b.WithDone(keyed(2, day.Add(-time.Millisecond)))}); !slices.Contains(ids(next), 1) {
		t.Errorf("a key was forgotten before a day had passed: %v", ids(next))
	}
	if next := (holdfast.Booking{Done: b.WithDone(keyed(2, day))}); slices.Contains(ids(next), 1) || !slices.Contains(ids(next), 2) {
		t.Errorf("after a day it keeps %v", ids(next))
	}
	if !slices.Equal(b.Done, before) {
		t.Error("the list of the booking has changed")
	}
}

// The amount that has to be refunded now, by the contract: the parts that are DUE, and of a payment that is REFUND_DUE all that is not
// refunded.
func TestPayment_SaysWhatHasToBeRefunded(t *testing.T) {
	part := func(amount int64, status holdfast.RefundStatus) holdfast.Refund {
		return holdfast.Refund{Amount: amount, Status: status}
	}
	parts := []holdfast.Refund{part(100, "DUE"), part(50, "REFUNDED"), part(30, "DUE")}
	for _, row := range []struct {
		name      string
		amount    *int64
		status    holdfast.PaymentStatus
		refunds   []holdfast.Refund
		left, due int64
		known     bool
		hasDue    bool
	}{
		{"without an amount", nil, "REFUND_DUE", nil, 0, 0, false, false},
		{"ACCEPTED", new(int64(500)), "ACCEPTED", nil, 500, 0, true, false},
		{"ACCEPTED, with parts", new(int64(500)), "ACCEPTED", parts, 320, 130, true, true},
		{"ACCEPTED, refunded in parts", new(int64(50)), "ACCEPTED", parts[1:2], 0, 0, true, false},
		{"REFUND_DUE", new(int64(500)), "REFUND_DUE", nil, 500, 500, true, false},
		{"REFUND_DUE, with parts", new(int64(500)), "REFUND_DUE", parts, 320, 450, true, true},
		{"REFUND_DUE, refunded in parts", new(int64(50)), "REFUND_DUE", parts[1:2], 0, 0, true, false},
		{"REFUNDED", new(int64(500)), "REFUNDED", parts[1:2], 450, 0, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := holdfast.Payment{Charge: holdfast.Charge{Amount: row.amount}, Status: row.status, Refunds: row.refunds}
			if left, known := p.Left(); left != row.left || known != row.known {
				t.Errorf("%d are left (%v), want %d", left, known, row.left)
			}
			if due, known := p.AmountDue(); due != row.due || known != row.known {
				t.Errorf("%d are due (%v), want %d", due, known, row.due)
			}
			if p.HasDuePart() != row.hasDue {
				t.Errorf("has a due part: %v", p.HasDuePart())
			}
		})
	}
}

// One idempotency key is for one request: requests that differ have different hashes.
func TestHashes_TellRequestsAfterASaleApart(t *testing.T) {
	charge := holdfast.Charge{Reference: "r", Amount: new(int64(1)), Currency: "EUR"}
	hashes := map[string]string{}
	add := func(name, hash string) {
		if other, twice := hashes[hash]; twice {
			t.Errorf("%s and %s have one hash", name, other)
		}
		hashes[hash] = name
	}
	for name, c := range map[string]holdfast.BookingChange{
		"a seat":          {Seats: 1},
		"two":             {Seats: 2},
		"named":           {Seats: 1, Wish: holdfast.Wish{SeatIDs: []string{"A1"}}},
		"accessible":      {Seats: 1, Wish: holdfast.Wish{SeatIDs: []string{"A1"}, Accessible: 1}},
		"best":            {Seats: 1, Wish: holdfast.Wish{Best: &holdfast.BestAvailable{}}},
		"a section":       {Seats: 1, Wish: holdfast.Wish{Section: "pit"}},
		"a payment":       {Seats: 1, Payment: charge},
		"another amount":  {Seats: 1, Payment: holdfast.Charge{Reference: "r", Amount: new(int64(2)), Currency: "EUR"}},
		"no amount":       {Seats: 1, Payment: holdfast.Charge{Reference: "r", Currency: "EUR"}},
		"no currency":     {Seats: 1, Payment: holdfast.Charge{Reference: "r", Amount: new(int64(1))}},
		"another part":    {Seats: 1, Payment: holdfast.Charge{Reference: "r", Part: "2", Amount: new(int64(1)), Currency: "EUR"}},
		"a provider":      {Seats: 1, Payment: holdfast.Charge{Reference: "r", Provider: "p", Amount: new(int64(1)), Currency: "EUR"}},
		"a refund":        {Seats: 1, Refund: &holdfast.PartRequest{Amount: 1}},
		"another refund":  {Seats: 1, Refund: &holdfast.PartRequest{Amount: 10}},
		"of a payment":    {Seats: 1, Refund: &holdfast.PartRequest{Amount: 1, PaymentID: id(1)}},
		"of another one":  {Seats: 1, Refund: &holdfast.PartRequest{Amount: 1, PaymentID: id(2)}},
		"both":            {Seats: 1, Payment: charge, Refund: &holdfast.PartRequest{Amount: 1}},
		"a long payment":  {Seats: 1, Payment: holdfast.Charge{Reference: `r"|"`}},
		"another of them": {Seats: 1, Payment: holdfast.Charge{Reference: "r", Part: `"|"`}},
	} {
		add("a change to "+name, c.Hash())
	}
	add("a transfer", holdfast.BookingTransfer{UserID: id(1)}.Hash())
	add("a transfer to another user", holdfast.BookingTransfer{UserID: id(2)}.Hash())
	add("a transfer to a holder", holdfast.BookingTransfer{UserID: id(1), Holder: "guest"}.Hash())
	request := holdfast.LockRequest{Seats: 1}
	add("a lock", request.Hash())
	add("a sale", holdfast.SaleRequest{LockRequest: request}.Hash())
	add("a sale with a charge", holdfast.SaleRequest{LockRequest: request, Charge: charge}.Hash())
	add("a sale of two", holdfast.SaleRequest{LockRequest: holdfast.LockRequest{Seats: 2}}.Hash())
	request.Holder = "guest"
	add("a sale to a holder", holdfast.SaleRequest{LockRequest: request}.Hash())

	named := func(ids ...string) string {
		return holdfast.BookingChange{Seats: 2, Wish: holdfast.Wish{SeatIDs: ids}, Payment: holdfast.Charge{Reference: "r"}}.Hash()
	}
	if named("A1", "A2") != named("A2", "A1") {
		t.Error("the order of named seats makes a difference")
	}
	byDefault := holdfast.BookingChange{Seats: 1, Payment: holdfast.Charge{Reference: "r", Provider: holdfast.DefaultProvider}}
	if byDefault.Hash() != (holdfast.BookingChange{Seats: 1, Payment: holdfast.Charge{Reference: "r"}}).Hash() {
		t.Error("the default provider makes a difference")
	}
}

func TestBookingChange_CheckNamesTheField(t *testing.T) {
	for _, row := range []struct {
		where  string
		change holdfast.BookingChange
	}{
		{"", holdfast.BookingChange{}},
		{"", holdfast.BookingChange{Payment: holdfast.Charge{Reference: "r", Amount: new(int64(0))}, Refund: &holdfast.PartRequest{Amount: 1}}},
		{"", holdfast.BookingChange{Refund: &holdfast.PartRequest{Amount: holdfast.MaxAmount}}},
		{"body.idempotencyKey", holdfast.BookingChange{Key: strings.Repeat("k", holdfast.MaxKeyLength+1)}},
		{"body.payment.paymentReference", holdfast.BookingChange{Payment: holdfast.Charge{Amount: new(int64(1))}}},
		{"body.payment.amount", holdfast.BookingChange{Payment: holdfast.Charge{Reference: "r", Amount: new(int64(-1))}}},
		{"body.payment.currency", holdfast.BookingChange{Payment: holdfast.Charge{Reference: "r", Currency: "eur"}}},
		{"body.payment.provider", holdfast.BookingChange{Payment: holdfast.Charge{Reference: "r", Provider: " p"}}},
		{"body.refund.amount", holdfast.BookingChange{Refund: &holdfast.PartRequest{}}},
		{"body.refund.amount", holdfast.BookingChange{Refund: &holdfast.PartRequest{Amount: -1}}},
		{"body.refund.amount", holdfast.BookingChange{Refund: &holdfast.PartRequest{Amount: holdfast.MaxAmount + 1}}},
	} {
		t.Run(row.where, func(t *testing.T) {
			err := row.change.Check()
			invalid, _ := holdfast.DetailsOf[holdfast.Invalid](err)
			if row.where == "" && err != nil || row.where != "" && (len(invalid) != 1 || invalid[0].Where != row.where) {
				t.Errorf("got %v at %v, want %q", err, invalid, row.where)
			}
		})
	}
}
