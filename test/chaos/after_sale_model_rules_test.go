package chaos_test

import (
	"cmp"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-dev/holdfast"
)

const anHour = 3_600_000

// afterSaleState is an event of 20 seats, at most 6 a customer, with a sold booking of 3 seats of customer 0, a pending one of 2,
// a cancelled one, and a sold one that customer 1 has given to customer 2.
func afterSaleState() eventState {
	s := newEventState(20, 6, 6)
	sold := lockState{status: 'C', booking: 'C', user: 0, seats: 3, id: "sold", expires: anHour}
	sold.refs = sold.refs.accept(1)
	sold.parts[0] = 250
	given := lockState{status: 'C', booking: 'C', user: 1, seats: 2, id: "given"}.leave('R')
	given.user, given.seats = 2, 4
	s.locks[0], s.locks[3] = sold, given
	s.locks[1] = lockState{status: 'A', booking: 'P', user: 1, seats: 2, id: "open", expires: anHour, window: anHour}
	s.locks[2] = lockState{status: 'R', user: 1, seats: 2}
	s.cancelled = []cancelledBooking{{"gone", 2}}
	s.free -= 3 + 2 + 4
	return s
}

// afterSaleCase is a request, and an answer that is possible in a state, or is not.
type afterSaleCase struct {
	in       opInput
	out      opOutput
	state    eventState
	possible bool
}

func checkAfterSaleCases(t *testing.T, cases map[string]afterSaleCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const before = 50 // the open booking is due
			c.out.called = cmp.Or(c.out.called, before)
			c.out.returned = c.out.called + 1
			history := []porcupine.Operation{{Input: c.in, Output: c.out, Call: c.out.called, Return: c.out.returned}}
			if got := porcupine.CheckOperations(eventModel(c.state), history); got != c.possible {
				t.Errorf("possible: %t, want %t", got, c.possible)
			}
		})
	}
}

// has is an answer with a booking, or a lock; no is a refusal.
func has(status string, user int, seats int64) opOutput {
	return opOutput{status: status, user: user, seatAnswer: seatAnswer{seats: seats}}
}

func no(code string) opOutput { return opOutput{code: code, available: 14} }

func withStatus(saleStatus string) eventState {
	s := afterSaleState()
	s.saleStatus = saleStatus
	return s
}

// The model knows which changes of a booking's seats are possible, and what may refuse them.
func TestEventModel_KnowsChangesOfBookings(t *testing.T) {
	t.Parallel()
	alter := func(booking string, seats int64) opInput { return opInput{op: opAlter, booking: booking, seats: seats} }
	paid := func(booking string, seats int64, reference int) opInput {
		in := alter(booking, seats)
		in.reference = reference
		return in
	}
	back := func(booking string, seats, part int64, of int) opInput {
		in := alter(booking, seats)
		in.part, in.partOf = part, of
		return in
	}
	late := func(out opOutput) opOutput {
		out.called = 2 * anHour
		return out
	}
	onSale, closed, over := afterSaleState(), withStatus("CLOSED"), withStatus("CANCELLED")
	checkAfterSaleCases(t, map[string]afterSaleCase{
		"fewer seats":                            {alter("sold", 1), has("CONFIRMED", 0, 1), onSale, true},
		"more seats":                             {alter("sold", 5), has("CONFIRMED", 0, 5), onSale, true},
		"other seats than asked for":             {alter("sold", 5), has("CONFIRMED", 0, 3), onSale, false},
		"seats of an open booking":               {alter("open", 3), has("PAYMENT_PENDING", 1, 3), onSale, true},
		"an open booking confirmed by a change":  {alter("open", 3), has("CONFIRMED", 1, 3), onSale, false},
		"seats of a due booking":                 {alter("open", 3), late(has("PAYMENT_PENDING", 1, 3)), onSale, false},
		"refused as due":                         {alter("open", 3), late(no("BOOKING_EXPIRED")), onSale, true},
		"refused as due, before":                 {alter("open", 3), no("BOOKING_EXPIRED"), onSale, false},
		"seats of a cancelled booking":           {alter("gone", 3), has("CONFIRMED", 1, 3), onSale, false},
		"refused as cancelled":                   {alter("gone", 3), no("BOOKING_CANCELLED"), onSale, true},
		"above the limit":                        {alter("sold", 7), has("CONFIRMED", 0, 7), onSale, false},
		"refused above the limit":                {alter("sold", 7), no("SEAT_LIMIT_REACHED"), onSale, true},
		"refused by a limit that is not reached": {alter("sold", 5), no("SEAT_LIMIT_REACHED"), onSale, false},
		"fewer refused by a limit":               {alter("sold", 1), no("SEAT_LIMIT_REACHED"), onSale, false},
		"more while CLOSED":                      {alter("sold", 5), has("CONFIRMED", 0, 5), closed, false},
		"fewer while CLOSED":                     {alter("sold", 1), has("CONFIRMED", 0, 1), closed, true},
		"fewer of a cancelled event":             {alter("sold", 1), has("CONFIRMED", 0, 1), over, false},
		"the same of a cancelled event":          {alter("sold", 3), has("CONFIRMED", 0, 3), over, true},
		"refused although there are seats":       {alter("sold", 5), no("SEATS_UNAVAILABLE"), onSale, false},
		"an additional payment":                  {paid("sold", 4, 4), has("CONFIRMED", 0, 4), onSale, true},
		"a payment that was used":                {paid("sold", 4, 1), has("CONFIRMED", 0, 4), onSale, false},
		"refused as used":                        {paid("sold", 4, 1), no("PAYMENT_REFERENCE_USED"), onSale, true},
		"refused as used, but it is new":         {paid("sold", 4, 4), no("PAYMENT_REFERENCE_USED"), onSale, false},
		"a payment of an open booking":           {paid("open", 4, 4), has("PAYMENT_PENDING", 1, 4), onSale, false},
		"refused as not payable":                 {paid("open", 4, 4), no("BOOKING_NOT_PAYABLE"), onSale, true},
		"a repeat with its payment":              {paid("sold", 3, 1), has("CONFIRMED", 0, 3), onSale, true},
		"a repeat with another payment":          {paid("sold", 3, 4), has("CONFIRMED", 0, 3), onSale, false},
		"refused repeat with another payment":    {paid("sold", 3, 4), no(misfit), onSale, true},
		"a part back":                            {back("sold", 2, 750, 0), has("CONFIRMED", 0, 2), onSale, true},
		"more back than is left":                 {back("sold", 2, 751, 1), has("CONFIRMED", 0, 2), onSale, false},
		"refused as not left":                    {back("sold", 2, 751, 1), no(misfit), onSale, true},
		"refused although it is left":            {back("sold", 2, 750, 1), no(misfit), onSale, false},
		"back of a payment that is not its own":  {back("sold", 2, 250, 3), has("CONFIRMED", 0, 2), onSale, false},
	})
}

// The model knows to whom a booking may be given, and how requests see the lock that it has left.
func TestEventModel_KnowsTransfers(t *testing.T) {
	t.Parallel()
	give := func(booking string, user int) opInput { return opInput{op: opTransfer, booking: booking, user: user} }
	replayed := has("RELEASED", 0, 2)
	replayed.replayed = true
	moved := replayed
	moved.status, moved.seats = "CONSUMED", 4
	onSale, closed, over := afterSaleState(), withStatus("CLOSED"), withStatus("CANCELLED")
	checkAfterSaleCases(t, map[string]afterSaleCase{
		"given to another":                {give("sold", 1), has("CONFIRMED", 1, 3), onSale, true},
		"given, but not to them":          {give("sold", 1), has("CONFIRMED", 0, 3), onSale, false},
		"given above the limit":           {give("sold", 2), has("CONFIRMED", 2, 3), onSale, false},
		"refused above the receiver's":    {give("sold", 2), no("SEAT_LIMIT_REACHED"), onSale, true},
		"refused within the receiver's":   {give("sold", 1), no("SEAT_LIMIT_REACHED"), onSale, false},
		"given to the same":               {give("given", 2), has("CONFIRMED", 2, 4), over, true},
		"given after the event's end":     {give("sold", 1), has("CONFIRMED", 1, 3), over, false},
		"given while CLOSED":              {give("sold", 1), has("CONFIRMED", 1, 3), closed, true},
		"an open one given":               {give("open", 0), has("PAYMENT_PENDING", 0, 2), onSale, false},
		"an open one refused":             {give("open", 0), no("BOOKING_NOT_PAYABLE"), onSale, true},
		"a cancelled one given":           {give("gone", 0), has("CONFIRMED", 0, 2), onSale, false},
		"the lock that was left":          {opInput{op: opLock, lock: 3, seats: 2}, replayed, onSale, true},
		"the lock that was left, as sold": {opInput{op: opLock, lock: 3, seats: 2}, moved, onSale, false},
		"a release of the lock left":      {opInput{op: opRelease, lock: 3}, has("RELEASED", 0, 0), onSale, true},
		"consumed, but it was left":       {opInput{op: opRelease, lock: 3}, no("LOCK_CONSUMED"), onSale, false},
		"an extension of the lock left":   {opInput{op: opExtend, lock: 3}, no("LOCK_RELEASED"), onSale, true},
	})
}

// The model knows which sales at once, parts of payments and used keys are possible.
func TestEventModel_KnowsSalesAtOnce(t *testing.T) {
	t.Parallel()
	sell := func(user int, seats int64) opInput { return opInput{op: opSell, lock: 4, user: user, seats: seats} }
	part := func(amount int64) opInput { return opInput{op: opPart, booking: "sold", reference: 1, part: amount} }
	elsewhere := sell(1, 1)
	elsewhere.reference = usedElsewhere
	again := has("CONFIRMED", 2, 4)
	again.replayed, again.id = true, "given"
	other := again
	other.id = "sold"
	onSale, closed, over := afterSaleState(), withStatus("CLOSED"), withStatus("CANCELLED")
	checkAfterSaleCases(t, map[string]afterSaleCase{
		"sold at once":                     {sell(1, 2), has("CONFIRMED", 1, 2), onSale, true},
		"sold while CLOSED":                {sell(1, 2), has("CONFIRMED", 1, 2), closed, true},
		"refused while CLOSED":             {sell(1, 2), no("EVENT_NOT_ON_SALE"), closed, false},
		"sold after the event's end":       {sell(1, 2), has("CONFIRMED", 1, 2), over, false},
		"refused after the event's end":    {sell(1, 2), no("EVENT_NOT_ON_SALE"), over, true},
		"sold above the limit":             {sell(2, 3), has("CONFIRMED", 2, 3), onSale, false},
		"sale refused above the limit":     {sell(2, 3), no("SEAT_LIMIT_REACHED"), onSale, true},
		"sold with another's payment":      {elsewhere, has("CONFIRMED", 1, 1), onSale, false},
		"sale refused with that":           {elsewhere, no("PAYMENT_REFERENCE_USED"), onSale, true},
		"sale refused with its own":        {sell(1, 1), no("PAYMENT_REFERENCE_USED"), onSale, false},
		"a sale's repeat":                  {opInput{op: opSell, lock: 3, seats: 4}, again, onSale, true},
		"a sale's repeat, another booking": {opInput{op: opSell, lock: 3, seats: 4}, other, onSale, false},
		"a part of the payment":            {part(750), opOutput{}, onSale, true},
		"a part that is not left":          {part(751), opOutput{}, onSale, false},
		"a part refused as not left":       {part(751), no(misfit), onSale, true},
		"a part refused, but left":         {part(750), no(misfit), onSale, false},
		"a key used for another change":    {opInput{op: opReuseKey, booking: "sold"}, no("IDEMPOTENCY_KEY_REUSED"), onSale, true},
		"a used key carried out":           {opInput{op: opReuseKey, booking: "sold"}, has("CONFIRMED", 0, 3), onSale, false},
	})
}

// An answer that says that an earlier attempt was carried out is true: the documents have its effect, once.
func TestEventModel_RepliesOfEarlierAttempts(t *testing.T) {
	t.Parallel()
	alter := opInput{op: opAlter, booking: "sold", seats: 5, reference: 4, part: 250, hasKey: true}
	certain, perhaps, repeat := alter, alter, opOutput{status: "CONFIRMED", replayed: true, seatAnswer: seatAnswer{seats: 5}}
	certain.indeterminate, certain.certain, perhaps.indeterminate = true, true, true
	begin := afterSaleState()
	changed := begin.locks[0]
	changed.seats, changed.refs, changed.parts[0] = 5, changed.refs.accept(4), 500
	done := begin.withLock(0, changed)
	done.free -= 2
	twice := changed
	twice.parts[0] = 750
	doneTwice := done.withLock(0, twice)
	unpaid := changed
	unpaid.refs = begin.locks[0].refs
	for name, c := range map[string]struct {
		attempts []opInput
		final    eventState
		possible bool
	}{
		"carried out":                   {[]opInput{certain}, done, true},
		"not carried out":               {[]opInput{certain}, begin, false},
		"answered, but not carried out": {[]opInput{perhaps}, begin, false},
		"two parts":                     {[]opInput{certain}, doneTwice, false},
		"without its payment":           {[]opInput{certain}, done.withLock(0, unpaid), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var history []porcupine.Operation
			for _, in := range c.attempts {
				history = append(history, porcupine.Operation{Input: in, Output: opOutput{called: 1, returned: 9}, Call: 1, Return: 9})
			}
			history = append(history,
				porcupine.Operation{ClientId: 1, Input: alter, Output: repeat, Call: 5, Return: 9},
				porcupine.Operation{ClientId: 1, Input: opInput{op: opReadFinal, final: c.final}, Output: opOutput{}, Call: 10, Return: 11})
			if got := porcupine.CheckOperations(eventModel(begin), history); got != c.possible {
				t.Errorf("possible: %t, want %t", got, c.possible)
			}
		})
	}
}

// The documents at the end are read with the lock that a booking has after a transfer, and with the one that its key has.
func TestFinalState_FindsWhatChangedHands(t *testing.T) {
	t.Parallel()
	event, booking, keyed, middle, last := holdfast.ID{9}, holdfast.ID{1}, holdfast.ID{2}, holdfast.ID{3}, holdfast.ID{4}
	c := &clients{t: t, users: []string{holdfast.ID{7}.String(), "cart-0"}, events: []*eventOnSale{{id: event.String(), locks: 1}}}
	c.history = []invocation{
		{opInput: opInput{op: opSell, lock: 0, seats: 2}, opOutput: opOutput{id: booking.String()}, key: "sale"},
	}
	amount := int64(1000)
	payment := finalPayment{BookingID: booking, EventID: event, Reference: salePrefix + "sale", Status: "ACCEPTED", Amount: &amount,
		Refunds: []holdfast.Refund{{Amount: 250}, {Amount: 500}}}
	final := finalState{
		events: map[string]finalEvent{event.String(): {ID: event, Total: 10, Available: 7, Status: "ON_SALE"}},
		locks: []finalLock{
			{ID: last, EventID: event, UserID: holdfast.HolderID("cart-0"), Status: "CONSUMED", Seats: 3, BookingID: booking},
			{ID: middle, EventID: event, UserID: holdfast.ID{7}, Status: "RELEASED", EndedBy: "transfer", Seats: 5, BookingID: booking},
			{ID: keyed, EventID: event, Key: "sale", UserID: holdfast.ID{7}, Status: "RELEASED", EndedBy: "transfer", Seats: 2, BookingID: booking},
		},
		bookings: map[holdfast.ID][]finalBooking{last: {{ID: booking, LockID: last, Status: "CONFIRMED"}}},
		payments: []finalPayment{payment},
	}
	ops := c.eventHistory(0, final)
	in := ops[len(ops)-1].Input.(opInput)
	want := lockState{status: 'C', booking: 'C', user: 1, seats: 3, left: leftLock{status: 'R', seats: 2}}
	want.refs[saleReference-1], want.parts[saleReference-1] = accepted, 750
	got := in.final.locks[0]
	if got.expires = 0; in.op != opReadFinal || len(ops) != 2 || got != want {
		t.Errorf("%s of %d operations: %+v, want %+v", in.op, len(ops), got, want)
	}
	if state := newEventState(10, 0, 1); !state.withFree(7).withLock(0, want).matches(in.final) {
		t.Error("the state does not match the documents")
	}
	for name, plant := range map[string]func(l *lockState){
		"another customer":      func(l *lockState) { l.user = 0 },
		"the lock was not left": func(l *lockState) { l.left = leftLock{} },
		"left with other seats": func(l *lockState) { l.left.seats = 3 },
		"other parts":           func(l *lockState) { l.parts[saleReference-1] = 500 },
		"another payment":       func(l *lockState) { l.refs[0] = accepted },
		"no payment":            func(l *lockState) { l.refs = references{} },
	} {
		wrong := want
		plant(&wrong)
		if newEventState(10, 0, 1).withFree(7).withLock(0, wrong).matches(in.final) {
			t.Errorf("%s: the state matches the documents", name)
		}
	}
}

// withFree is the state with another number of free seats.
func (s eventState) withFree(n int64) eventState {
	s.free = n
	return s
}

// Of the attempts of a request with a key, the effect is in the history once, and surely if an answer reports it.
func TestHistory_HasTheEffectOfAKeyOnce(t *testing.T) {
	t.Parallel()
	transfer := func(replayed bool, code string, attempts ...int64) invocation {
		return invocation{
			opInput: opInput{op: opTransfer, booking: "b"}, opOutput: opOutput{replayed: replayed, code: code, called: 50, returned: 60},
			key: "k", indeterminateAttempts: attempts,
		}
	}
	for name, c := range map[string]struct {
		history          []invocation
		certain, perhaps int
	}{
		"carried out by itself":        {[]invocation{transfer(false, "", 10)}, 0, 0},
		"replayed":                     {[]invocation{transfer(true, "", 10, 20)}, 1, 0},
		"both replayed":                {[]invocation{transfer(true, "", 10), transfer(true, "", 20)}, 1, 0},
		"the other one carried it out": {[]invocation{transfer(true, "", 10), transfer(false, "", 20)}, 0, 0},
		"refused":                      {[]invocation{transfer(false, "SEAT_LIMIT_REACHED", 10)}, 0, 1},
		"refused, but the other one":   {[]invocation{transfer(false, "SEAT_LIMIT_REACHED", 10), transfer(false, "", 20)}, 0, 0},
		"both refused": {[]invocation{
			transfer(false, "SEAT_LIMIT_REACHED", 20), transfer(false, "SEAT_LIMIT_REACHED", 10),
		}, 0, 1},
		"refused without other attempt": {[]invocation{transfer(false, "SEAT_LIMIT_REACHED")}, 0, 0},
	} {
		cs := &clients{t: t, events: []*eventOnSale{{id: holdfast.ID{9}.String()}}, history: c.history}
		certain, perhaps := 0, 0
		for _, op := range cs.eventHistory(0, finalState{}) {
			switch in := op.Input.(opInput); {
			case in.certain:
				certain++
				if op.Call != 10 || op.Return != 60 {
					t.Errorf("%s: from %d to %d", name, op.Call, op.Return)
				}
			case in.indeterminate:
				perhaps++
			}
		}
		if certain != c.certain || perhaps != c.perhaps {
			t.Errorf("%s: %d certain, %d perhaps; want %d and %d", name, certain, perhaps, c.certain, c.perhaps)
		}
	}
}
