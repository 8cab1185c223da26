package chaos_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
)

// afterSaleRound is what a round has left: booking 1 was sold at once, changed from 2 to 3 seats with a part back, and given
// to another customer, whose lock 3 has it now.
type afterSaleRound struct {
	clients *clients
	told    map[holdfast.ID][]toldItem
	final   finalState
}

func newAfterSaleRound(t *testing.T) *afterSaleRound {
	t.Helper()
	booking, payment, event := holdfast.ID{1}, holdfast.ID{4}, holdfast.ID{9}
	ada, bob := holdfast.ID{7}, holdfast.ID{8}
	two, three := seatsHad{Seats: 2}, seatsHad{Seats: 3}
	amount, part := int64(1000), holdfast.Refund{
		ID: holdfast.ID{5}, Amount: 250, Reason: holdfast.RefundOther, Status: holdfast.RefundDone, Key: "part",
		Reference: partReferenceOf(holdfast.ID{5}.String()),
	}
	of := func(lock byte, user holdfast.ID, seats seatsHad) *toldBooking {
		return &toldBooking{ID: booking, LockID: holdfast.ID{lock}, Status: "CONFIRMED", Customer: customerOf{User: user}, Seats: seats}
	}
	b := finalBooking{ID: booking, LockID: holdfast.ID{3}, Status: "CONFIRMED", Customer: customerOf{User: bob}, Seats: three}
	b.Internal.Payments = []holdfast.ListedPayment{{ID: payment, Status: holdfast.PaymentAccepted, Amount: &amount}}
	r := &afterSaleRound{
		clients: &clients{t: t, events: []*eventOnSale{{id: event.String()}}, history: []invocation{
			{opInput: opInput{op: opSell}, opOutput: opOutput{id: booking.String()}, key: "sale"},
			{opInput: opInput{op: opPart, part: 250}, target: payment.String(), key: "part"},
			{opInput: opInput{op: opPartDone}, target: payment.String(), key: holdfast.ID{5}.String()},
			{opInput: opInput{op: opTransfer}, target: booking.String(), key: "given"},
			{opInput: opInput{op: opTransfer}, opOutput: opOutput{replayed: true}, target: booking.String(), key: "given"},
		}},
		told: map[holdfast.ID][]toldItem{booking: {
			{Type: "booking.confirmed", seq: 1, Booking: of(2, ada, two)},
			{Type: "booking.changed", seq: 2, Booking: of(2, ada, three), Previous: &bookingBefore{customerOf{User: ada}, two}},
			{Type: "booking.transferred", seq: 3, Booking: of(3, bob, three), Previous: &bookingBefore{customerOf{User: ada}, three}},
		}},
		final: finalState{
			locks: []finalLock{
				{
					ID: holdfast.ID{2}, EventID: event, Key: "sale", UserID: ada, Status: "RELEASED", EndedBy: "transfer", Seats: 3,
					BookingID: booking,
				},
				{ID: holdfast.ID{3}, EventID: event, UserID: bob, Status: "CONSUMED", Seats: 3, BookingID: booking},
			},
			bookings: map[holdfast.ID][]finalBooking{{3}: {b}},
			payments: []finalPayment{{
				ID: payment, BookingID: booking, EventID: event, Status: "ACCEPTED", Amount: &amount, Refunds: []holdfast.Refund{part},
			}},
		},
	}
	r.clients.transfers = transfersOf(r.told)
	return r
}

// Each violation that is planted in what a round has left is found.
func TestCheckers_FindWhatIsWrongAfterASale(t *testing.T) {
	t.Parallel()
	type round = *afterSaleRound
	items := func(r round) []toldItem { return r.told[holdfast.ID{1}] }
	booking := func(r round) *finalBooking { return &r.final.bookings[holdfast.ID{3}][0] }
	part := func(r round) *holdfast.Refund { return &r.final.payments[0].Refunds[0] }
	for name, c := range map[string]struct {
		plant func(round)
		want  string // part of a violation; "": there is none
	}{
		"nothing":                               {func(round) {}, ""},
		"previous is not what was before":       {func(r round) { items(r)[1].Previous.Seats.Seats = 1 }, "has replaced"},
		"previous names another customer":       {func(r round) { items(r)[2].Previous.Customer.User = holdfast.ID{8} }, "has replaced"},
		"a change without previous":             {func(r round) { items(r)[1].Previous = nil }, "has replaced"},
		"a transfer that was told as a change":  {func(r round) { items(r)[2].Type = "booking.changed" }, "has replaced"},
		"a transfer without another lock":       {func(r round) { items(r)[2].Booking.LockID = holdfast.ID{2} }, "has replaced"},
		"a first change with previous":          {func(r round) { items(r)[0].Previous = items(r)[1].Previous }, "began with"},
		"the last change was not told":          {func(r round) { r.told[holdfast.ID{1}] = items(r)[:2] }, "but told was"},
		"other seats than the lock":             {func(r round) { r.final.locks[1].Seats = 2 }, "but its lock"},
		"another customer than the lock":        {func(r round) { r.final.locks[1].UserID = holdfast.ID{7} }, "but its lock"},
		"a lock of no transfer":                 {func(r round) { r.clients.transfers[holdfast.ID{1}] = 0 }, "was transferred 0 times"},
		"a transfer without its lock":           {func(r round) { r.clients.transfers[holdfast.ID{1}] = 2 }, "was transferred 2 times"},
		"a sale without its lock":               {func(r round) { r.final.locks[0].BookingID = holdfast.ID{6} }, "but its lock is"},
		"a refused sale with a lock":            {func(r round) { r.clients.history[0].code = "SEATS_UNAVAILABLE" }, "was refused, but lock"},
		"a next lock of another booking":        {func(r round) { r.final.locks[1].BookingID = holdfast.ID{6} }, "no client made lock"},
		"a next lock of a booking that expired": {func(r round) { booking(r).Status = "EXPIRED" }, "no client made lock"},
		"a lock before the sale began": {func(r round) {
			r.clients.events[0].opensAt, r.clients.history[0].key = time.Now().UnixMilli(), "another"
		}, "but the sale was open"},
		"a sale at once before it began": {func(r round) { r.clients.events[0].opensAt = time.Now().UnixMilli() }, ""},
		"a part that is missing":         {func(r round) { r.final.payments[0].Refunds = nil }, "but there is []"},
		"a part twice": {func(r round) {
			r.final.payments[0].Refunds = append(r.final.payments[0].Refunds, *part(r))
		}, "but there is"},
		"a part of another amount":         {func(r round) { part(r).Amount = 500 }, "but there is"},
		"a refused part":                   {func(r round) { r.clients.history[1].code = misfit }, "but there is"},
		"a part that no client asked for":  {func(r round) { part(r).Key = "other" }, "no client asked"},
		"parts above the amount":           {func(r round) { part(r).Amount = 1001 }, "has parts of 1001"},
		"a part that was noted is due":     {func(r round) { part(r).Status = holdfast.RefundDue }, "the refund of part"},
		"a part with another reference":    {func(r round) { part(r).Reference = "other" }, "the refund of part"},
		"a part refused as refunded whole": {func(r round) { r.clients.history[2].code = "PAYMENT_REFUNDED" }, "the refund of part"},
		"a key carried out twice":          {func(r round) { r.clients.history[4].replayed = false }, "was carried out twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newAfterSaleRound(t)
			c.plant(r)
			r.clients.checkAnswers(r.final)
			r.clients.checkSales(r.final)
			r.clients.checkAfterSale(r.told, r.final)
			found := strings.Join(r.clients.violations, "; ")
			if (found == "") != (c.want == "") || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

// What a payment took is kept, due or refunded; and the answer says so.
func TestCheckers_CountTheMoney(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plant  func(p *finalPayment, is *client.Payment)
		isKept bool
		want   string
	}{
		"kept in part":       {func(*finalPayment, *client.Payment) {}, true, ""},
		"kept by no booking": {func(*finalPayment, *client.Payment) {}, false, "0 are kept"},
		"due is too little":  {func(p *finalPayment, is *client.Payment) { p.Refunds[0].Status = holdfast.RefundDue }, true, "0 refunded"},
		"due is too much":    {func(_ *finalPayment, is *client.Payment) { *is.AmountDue = 1 }, true, "1 due"},
		"due as a whole": {func(p *finalPayment, is *client.Payment) {
			p.Status, is.Status, *is.AmountDue = "REFUND_DUE", "REFUND_DUE", 750
		}, false, ""},
		"refunded as a whole": {func(p *finalPayment, is *client.Payment) { p.Status, is.Status = "REFUNDED", "REFUNDED" }, false, ""},
		"refunded, but kept": {func(p *finalPayment, is *client.Payment) {
			p.Status, is.Status = "REFUNDED", "REFUNDED"
		}, true, "750 are kept"},
		"another status":       {func(_ *finalPayment, is *client.Payment) { is.Status = "REFUNDED" }, true, "is answered as"},
		"a part is not listed": {func(_ *finalPayment, is *client.Payment) { is.Refunds = nil }, true, "is answered as"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newAfterSaleRound(t).final.payments[0]
			is, cs := client.Payment{Status: p.Status, Refunds: make([]client.Refund, 1), AmountDue: new(int64)}, &clients{}
			c.plant(&p, &is)
			cs.checkShare(p, is, c.isKept)
			found := strings.Join(cs.violations, "; ")
			if (found == "") != (c.want == "") || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

// In every committed state, a booking lists its payments as they are, and no payment has parts beyond its amount.
func TestStreamChecker_ComparesListsOfPayments(t *testing.T) {
	t.Parallel()
	booking, first, second := holdfast.ID{1}, holdfast.ID{2}, holdfast.ID{3}
	for name, c := range map[string]struct {
		plant func(s *streamChecker)
		want  string
	}{
		"two payments": {func(*streamChecker) {}, ""},
		"one is not listed": {func(s *streamChecker) {
			s.bookings[booking] = trackedBooking{Status: "CONFIRMED", Path: []trackedListed{{first, "ACCEPTED"}}}
		}, "with the payments"},
		"one is listed with another status": {func(s *streamChecker) {
			s.bookings[booking] = trackedBooking{Status: "CONFIRMED", Path: []trackedListed{{first, "ACCEPTED"}, {second, "REFUND_DUE"}}}
		}, "with the payments"},
		"accepted of a cancelled booking": {func(s *streamChecker) {
			b := s.bookings[booking]
			b.Status = "CANCELLED"
			s.bookings[booking] = b
		}, "was committed as CANCELLED"},
		"parts beyond the amount": {func(s *streamChecker) {
			p := s.payments[second]
			p.Refunds = append(p.Refunds, trackedRefund{Amount: 600}, trackedRefund{Amount: 600})
			s.payments[second] = p
		}, "with parts of 1200"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &streamChecker{
				bookings: map[holdfast.ID]trackedBooking{
					booking: {Status: "CONFIRMED", Path: []trackedListed{{first, "ACCEPTED"}, {second, "ACCEPTED"}}},
				},
				payments: map[holdfast.ID]trackedPayment{
					first: {Booking: booking, Status: "ACCEPTED"}, second: {Booking: booking, Status: "ACCEPTED", Amount: 1000},
				},
				paidBy: map[holdfast.ID][]holdfast.ID{booking: {first, second}},
			}
			c.plant(s)
			s.checkPayments(booking)
			found := strings.Join(s.violations, "; ")
			if (found == "") != (c.want == "") || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

// A payment of which all was refunded part by part is REFUNDED at once when its booking is cancelled, and no other one.
func TestStreamChecker_KnowsWhatIsRefundedByParts(t *testing.T) {
	t.Parallel()
	part := func(amount int64, status string) trackedRefund { return trackedRefund{amount, status} }
	for name, c := range map[string]struct {
		parts []trackedRefund
		want  bool
	}{
		"all":          {[]trackedRefund{part(600, "REFUNDED"), part(400, "REFUNDED")}, true},
		"one is due":   {[]trackedRefund{part(600, "REFUNDED"), part(400, "DUE")}, false},
		"some is left": {[]trackedRefund{part(600, "REFUNDED")}, false},
		"none":         {nil, false},
	} {
		if got := (trackedPayment{Amount: 1000, Refunds: c.parts}).isByParts(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if (trackedPayment{}).isByParts() {
		t.Error("a payment without an amount has no parts")
	}
}
