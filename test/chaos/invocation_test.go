package chaos_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

const (
	requestTimeout = 4 * time.Second
	answerTimeout  = 60 * time.Second // until a client must have a definite answer
	retryDelay     = 100 * time.Millisecond
)

// invocation is one operation of a client with all its attempts. Its output is the definite
// answer of the last attempt.
type invocation struct {
	opInput
	opOutput
	send      func(context.Context, *client.Client) (opOutput, error)
	target    string // the lock, booking or event, for messages
	key       string
	duplicate bool // the same request is sent twice at the same time
	// When the attempts were sent that had no definite answer: each of them may have been
	// executed or not.
	indeterminateAttempts []int64
}

// firstCalled is when the first attempt was sent that may have been executed.
func (inv invocation) firstCalled() int64 {
	return slices.Min(append(slices.Clone(inv.indeterminateAttempts), inv.called))
}

// invoke sends a request until the answer is definite, and records it. Attempts alternate
// between the APIs; api is the first one.
func (c *clients) invoke(api int, inv invocation) opOutput {
	deadline := time.Now().Add(answerTimeout)
	for ; ; api++ {
		called := time.Now().UnixMilli()
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		out, err := inv.send(ctx, c.apis[api%len(c.apis)])
		cancel()
		returned := time.Now().UnixMilli()
		if refusal := (*client.Error)(nil); err == nil || errors.As(err, &refusal) && !isIndeterminate(refusal) {
			inv.opOutput = out
			inv.called, inv.returned = called, returned
			c.record(inv, refusal)
			return inv.opOutput
		}
		if !isNotExecuted(err) {
			inv.indeterminateAttempts = append(inv.indeterminateAttempts, called)
		}
		c.mu.Lock()
		c.indeterminate++
		c.mu.Unlock()
		if time.Now().After(deadline) {
			c.violation("answers", "%s of %s had no definite answer after %v; the last one: %v", inv.op, inv.target, answerTimeout, err)
			return opOutput{code: "NONE"}
		}
		delay(context.Background(), retryDelay)
	}
}

func isIndeterminate(answer *client.Error) bool {
	return answer.Status == http.StatusServiceUnavailable || answer.Status == http.StatusBadGateway
}

// isNotExecuted reports whether an attempt without a definite answer was certainly not executed.
func isNotExecuted(err error) bool {
	var answer *client.Error
	if !errors.As(err, &answer) {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	return answer.Status == http.StatusBadGateway || answer.Code == client.Unavailable
}

// expectedStatus is the HTTP status of each code that a rule may refuse an operation with.
var expectedStatus = map[string]int{
	"SEATS_UNAVAILABLE": 409, "SEAT_LIMIT_REACHED": 409, "EVENT_NOT_ON_SALE": 409, "SALE_NOT_OPEN": 409, "CAPACITY_BELOW_TAKEN": 409,
	"LOCK_CONSUMED": 409, "LOCK_RELEASED": 409, "LOCK_EXPIRED": 410, "IDEMPOTENCY_KEY_REUSED": 422,
	"SEATS_NOT_ADJACENT": 409, "SEAT_ORPHANED": 409, "LOCK_HAS_BOOKING": 409, misfit: 422,
	"PAYMENT_REFERENCE_USED": 409, "PAYMENT_REFUNDED": 409,
	"WAITLIST_CLOSED": 409, "WAITLIST_NOT_OFFERED": 409, "WAITLIST_ENTRY_EXISTS": 409, "SEATS_STILL_AVAILABLE": 409,
	"PAYMENT_REFUND_DUE": 409, "BOOKING_CONFIRMED": 409, "BOOKING_CANCELLED": 409, "BOOKING_NOT_PAYABLE": 409, "BOOKING_EXPIRED": 410,
}

// resultingStatus is the status of a lock or a booking after an operation.
var resultingStatus = map[operation]string{
	opExtend: "ACTIVE", opChange: "ACTIVE", opRelease: "RELEASED", opPay: "PAYMENT_PENDING", opConfirm: "CONFIRMED", opCancel: "CANCELLED",
	opDecline: "DECLINED", opLeave: "LEFT",
}

// record checks a definite answer by itself and adds it to the history.
func (c *clients) record(inv invocation, refusal *client.Error) {
	if refusal != nil && expectedStatus[inv.code] != refusal.Status {
		c.violation("answers", "%s of %s was answered with %v", inv.op, inv.target, refusal)
		return
	}
	if inv.replayed && !inv.duplicate && len(inv.indeterminateAttempts) == 0 {
		c.violation("idempotency", "%s of %s is a replay, but no earlier attempt was sent, or all were UNAVAILABLE: %+v",
			inv.op, inv.target, inv.opOutput)
	}
	if want := resultingStatus[inv.op]; inv.code == "" && want != "" && inv.status != want {
		c.violation("answers", "%s of %s was answered with the status %s", inv.op, inv.target, inv.status)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, inv)
}

// outputOf* translate the client's results into outputs of the model.

func outputOfError(err error) (out opOutput, _ error) {
	out.code = "NO CODE"
	if answer := (*client.Error)(nil); errors.As(err, &answer) && answer.Code != "" {
		out.code, out.available = string(answer.Code), answer.Available
		out.requested, out.longest = answer.Requested, answer.Longest
		out.unavailable, out.orphans = seatsOf(answer.Unavailable...), seatsOf(answer.Orphans...)
		if p := answer.Payment; p != nil {
			out.payment, out.reason = p.ID, cmp.Or(reasonsByName[p.Reason], '?')
		}
	}
	return out, err
}

func outputOfLock(l client.Lock, err error) (opOutput, error) {
	if err != nil {
		return outputOfError(err)
	}
	return opOutput{id: l.ID, status: l.Status, expires: l.ExpiresAt.UnixMilli(), replayed: l.Replayed,
		seatAnswer: seatAnswer{seats: l.Seats, places: places{seatsOf(l.SeatIDs()...), l.Section()}}}, nil
}

func outputOfBooking(b client.Booking, err error) (opOutput, error) {
	if err != nil {
		return outputOfError(err)
	}
	return opOutput{id: b.ID, status: b.Status}, nil
}

func (c *clients) outputOfEvent(e client.Event, err error) (opOutput, error) {
	if err != nil {
		return outputOfError(err)
	}
	hall := hallAnswer{hall: c.hallOf(e.SeatingPlanID), total: e.TotalSeats, available: e.AvailableSeats}
	for _, s := range e.Sections {
		hall.capacity += s.Capacity
	}
	return opOutput{id: e.ID, status: e.Status, seatAnswer: seatAnswer{event: hall}}, nil
}
