package chaos_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// checkTimeout bounds the search for an order of a history. undecidedTimeout bounds the
	// second search, of a history that was not decided, which is made to visualize it.
	checkTimeout     = 90 * time.Second
	undecidedTimeout = 10 * time.Second

	// maxIndeterminate is how many indeterminate attempts of one operation are considered,
	// if an operation can take effect more than once.
	maxIndeterminate = 4

	// maxCommitDelay bounds the time between a transaction's write to a document and its
	// commit. The server ends a transaction earlier; a commit that was sent is retried for 10 s.
	maxCommitDelay = 25 * time.Second
)

// checkLinearizability: an event that executes one operation at a time could have given all
// these answers.
func (c *clients) checkLinearizability(event int, final finalState) {
	ops := c.eventHistory(event, final)
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	e := c.events[event]
	begin := newEventState(e.total, e.perUser, e.locks)
	begin.acceptsLate, begin.opensAt, begin.closesAt = e.acceptsLate, e.opensAt, e.closesAt
	if e.hall != nil {
		begin.hall, begin.capacity, begin.refusesOrphans = e.hall, e.hall.capacity(), e.refusesOrphans
	}
	model := eventModel(begin)
	switch porcupine.CheckOperationsTimeout(model, ops, checkTimeout) {
	case porcupine.Ok:
	case porcupine.Unknown:
		path, explanation := visualize(model, ops, undecidedTimeout)
		c.t.Logf("the history of event %s (%d requests) was not decided within %v; visualized in %s\n%s",
			e.id, len(ops), checkTimeout, path, explanation)
		c.undecided++
	default:
		path, explanation := visualize(model, ops, checkTimeout)
		c.violation("linearizability", "no order of its %d requests explains the history of event %s; visualized in %s\n%s",
			len(ops), e.id, path, explanation)
	}
}

// historyBuilder builds an event's history for porcupine.
type historyBuilder struct {
	ops         []porcupine.Operation
	end, never  int64          // Unix milliseconds: the end of the round, and a time after everything
	lockNumbers map[string]int // by key
	// bookings are the numbers of their locks, by ID.
	bookings map[string]int
	// granted are the keys for which a definite answer says that this very attempt made the
	// lock: no other attempt did.
	granted map[string]bool
	// replays are what answers say of requests whose making of an effect has no definite answer, by key.
	replays map[string]*replay
	users   map[holdfast.ID]int
}

// replay is an effect that answers know, but that no answer has told when it came about.
type replay struct {
	earliest int64 // when an attempt was sent that may have had the effect
	latest   int64 // when the first answer came that knows of it; 0: none does
	isAdded  bool
}

func (h *historyBuilder) add(in opInput, out opOutput, call, end int64) {
	h.ops = append(h.ops, porcupine.Operation{ClientId: len(h.ops) % 64, Input: in, Output: out, Call: call, Return: end})
}

// eventHistory returns an event's history: the definite answers, the indeterminate attempts,
// the locks that were expired, and the documents at the end as the last operation.
func (c *clients) eventHistory(event int, final finalState) []porcupine.Operation {
	now := time.Now().UnixMilli()
	h := &historyBuilder{end: now, never: now + time.Hour.Milliseconds(), lockNumbers: map[string]int{}, bookings: map[string]int{},
		granted: map[string]bool{}, replays: map[string]*replay{}, users: c.userNumbers()}
	for _, inv := range c.history {
		makes := inv.op == opLock || inv.op == opSell || inv.isOnce()
		h.granted[inv.key] = h.granted[inv.key] || (inv.event == event && makes && inv.code == "" && !inv.replayed)
		if inv.event == event && inv.isOnce() {
			h.noteReplay(inv)
		}
	}
	for _, inv := range c.history {
		if inv.event != event || inv.op == opRefund || inv.op == opNote || inv.op == opPartDone {
			continue
		}
		if inv.op == opLock || inv.op == opSell {
			h.lockNumbers[inv.key] = inv.lock
		}
		if (inv.op == opBook || inv.op == opSell) && inv.code == "" {
			h.bookings[inv.id] = inv.lock
		}
		if inv.op == opPart { // An attempt before may have made it. None makes it after a refusal: what is left only sinks.
			h.add(inv.opInput, inv.opOutput, inv.firstCalled(), inv.returned)
			continue
		}
		h.add(inv.opInput, inv.opOutput, inv.called, inv.returned)
		if inv.code == "" && (inv.op == opBlock || inv.op == opUnblock) {
			h.add(opInput{op: opReadBlocks, event: event}, inv.opOutput, inv.called, inv.returned)
		}
		h.addIndeterminate(inv)
	}
	h.addFinalState(c.events[event], event, final, c.hallOf(final.events[c.events[event].id].Plan.String()))
	return h.ops
}

// addIndeterminate adds the attempts without a definite answer. It leaves out attempts that would
// only multiply the orders to search.
func (h *historyBuilder) addIndeterminate(inv invocation) {
	if (inv.op == opLock || inv.op == opSell) && (!inv.replayed || h.granted[inv.key]) { // No other attempt was executed.
		return
	}
	repeatable := inv.isRepeatable()
	attempts := inv.indeterminateAttempts
	switch {
	case inv.op == opReuseKey: // it never has an effect
		return
	case inv.isOnce() && h.granted[inv.key]:
		return
	case inv.isOnce() && h.replays[inv.key].latest != 0:
		h.addReplay(inv)
		return
	case inv.isOnce() && len(attempts) > 0:
		r := h.replays[inv.key]
		if r.isAdded { // for the other one of two requests with the key
			return
		}
		r.isAdded, attempts = true, []int64{r.earliest}
	case !repeatable:
		// It takes effect at most once, and the first attempt may be executed whenever a later
		// one may.
		attempts = attempts[:min(1, len(attempts))]
	case len(attempts) > maxIndeterminate:
		attempts = append(attempts[:maxIndeterminate-1:maxIndeterminate-1], attempts[len(attempts)-1])
	}
	for _, called := range attempts {
		in, out := inv.opInput, inv.opOutput
		in.indeterminate, out.called, out.returned, out.replayed = true, called, h.never, false
		if in.op == opBook {
			out.id = ""
		}
		end := inv.returned // Executed after the definite answer, it changes nothing.
		if repeatable || inv.code == "BOOKING_NOT_PAYABLE" || inv.isOnce() && inv.code != "BOOKING_CANCELLED" {
			end = h.never
		}
		h.add(in, out, called, end)
	}
}

// addFinalState adds the locks that were expired and, as the last operation, a read of the
// documents.
func (h *historyBuilder) addFinalState(e *eventOnSale, event int, final finalState, hall *hall) {
	document := final.events[e.id]
	state := eventState{total: document.Total, free: document.Available, perUser: document.PerUser, saleStatus: document.Status,
		locks: make([]lockState, e.locks), hall: hall, blocked: final.blocked[document.ID], refusesOrphans: document.OrphanRule == "REFUSE"}
	for _, s := range document.Sections {
		state.capacity += s.Capacity
	}
	for _, l := range final.locks {
		if number, known := h.lockNumbers[l.Key]; known && l.EventID.String() == e.id {
			state.locks[number] = h.lockState(final, l)
			h.addEnds(event, number, l, final.bookings[l.ID])
		}
	}
	for _, l := range final.locks { // of late payments and transfers; the booking has one of them
		if number, known := h.numberOf(final.bookings[l.ID]); known && l.Key == "" {
			before := state.locks[number]
			state.locks[number] = h.lockState(final, l)
			state.locks[number].left = before.leave(before.status).left
			h.addEnds(event, number, l, nil)
		}
	}
	for _, p := range final.payments {
		number, known := h.bookings[p.BookingID.String()]
		if n := p.number(); known && n > 0 {
			l := &state.locks[number]
			l.refs, l.parts[n-1] = l.refs.with(n, p.reason()), p.sumOfParts()
		}
	}
	h.add(opInput{op: opReadFinal, event: event, final: state}, opOutput{}, h.end, h.end+1)
}

// noteReplay notes the attempts and the answers of a request that has an effect once.
func (h *historyBuilder) noteReplay(inv invocation) {
	r := h.replays[inv.key]
	if r == nil {
		r = &replay{earliest: h.never}
		h.replays[inv.key] = r
	}
	for _, called := range inv.indeterminateAttempts {
		r.earliest = min(r.earliest, called)
	}
	if inv.code == "" && inv.replayed && (r.latest == 0 || inv.returned < r.latest) {
		r.latest = inv.returned
	}
}

// addReplay adds, once, the attempt that answers have told to have been executed.
func (h *historyBuilder) addReplay(inv invocation) {
	r := h.replays[inv.key]
	if r.isAdded {
		return
	}
	r.isAdded = true
	in, out := inv.opInput, inv.opOutput
	in.indeterminate, in.certain = true, true
	out.code, out.replayed, out.called, out.returned = "", false, r.earliest, r.latest
	h.add(in, out, r.earliest, r.latest)
}

// lockState is a lock with its live booking in the words of the model.
func (h *historyBuilder) lockState(f finalState, l finalLock) lockState {
	s := f.lockState(l)
	if n, known := h.users[l.UserID]; known {
		s.user = n
	} else {
		s.user = -1
	}
	return s
}

// numberOf returns the number of the lock that the booking of a late payment, or of a transfer, had at first.
func (h *historyBuilder) numberOf(bookings []finalBooking) (number int, known bool) {
	for _, b := range bookings {
		if number, known = h.bookings[b.ID.String()]; known {
			break
		}
	}
	return number, known
}

// addEnds adds what no client has done: that a lock was expired, or ended with its event's sale, or that an expired
// lock's booking was. A late payment or a transfer that ends a lock is the request of a client.
func (h *historyBuilder) addEnds(event, number int, l finalLock, bookings []finalBooking) {
	end := func(op operation, at time.Time) {
		ms := at.UnixMilli()
		h.add(opInput{op: op, event: event, lock: number}, opOutput{returned: ms}, ms-tolerance, min(ms+maxCommitDelay.Milliseconds(), h.end-1))
	}
	switch {
	case l.Status == "EXPIRED" && l.EndedBy != "late-payment":
		end(opExpire, l.UpdatedAt)
	case l.EndedBy == "event-cancel":
		end(opEndSale, l.UpdatedAt)
	}
	for _, b := range bookings {
		if l.Status == "EXPIRED" && b.Status == "CANCELLED" {
			end(opEndBooking, b.UpdatedAt)
		}
	}
}

// visualize writes a picture of a history to a file. It returns the file's path and, as text,
// the end of the longest order that porcupine found, with the operations that cannot follow it.
func visualize(model porcupine.Model, ops []porcupine.Operation, timeout time.Duration) (path, explanation string) {
	_, info := porcupine.CheckOperationsVerbose(model, ops, timeout)
	dir := filepath.Join(root, ".build", "chaos")
	path = filepath.Join(dir, "history-"+mongodb.NewID().String()+".html")
	if err := os.MkdirAll(dir, 0o755); err == nil {
		err = porcupine.VisualizePath(model, info, path)
		if err != nil {
			path = err.Error()
		}
	}
	var longest []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations() {
		for _, p := range partial {
			if len(p) > len(longest) {
				longest = p
			}
		}
	}
	state := model.Init()
	explained := map[string]int{}
	for _, op := range longest {
		_, state = model.Step(state, op.Input, op.Output)
		explained[describe(model, op)]++
	}
	var text strings.Builder
	for _, op := range longest[max(0, len(longest)-8):] {
		fmt.Fprintf(&text, "    %s\n", describe(model, op))
	}
	fmt.Fprintf(&text, "  then the state is: %s\n  and none of these can follow:\n", model.DescribeState(state))
	shown := 0
	for _, op := range ops {
		if d := describe(model, op); explained[d] > 0 {
			explained[d]--
		} else if shown++; shown <= 12 {
			fmt.Fprintf(&text, "    %s\n", d)
		}
	}
	return path, text.String()
}

func describe(model porcupine.Model, op porcupine.Operation) string {
	return formatMillis(op.Call) + "–" + formatMillis(op.Return) + " " + model.DescribeOperation(op.Input, op.Output)
}
