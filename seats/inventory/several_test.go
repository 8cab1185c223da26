package inventory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Other software made several live bookings of one lock. An extension is written before the
// earliest of their payment windows ends; a booking without a window sets no limit.
func TestExtend_IsWrittenBeforeTheEarliestWindowEnds(t *testing.T) {
	soon, later := in(minutes(2)), in(minutes(4))
	for _, windows := range [][]time.Time{{soon, {}}, {{}, soon}, {soon, later}, {later, soon}} {
		t.Run(fmt.Sprint(windows), func(t *testing.T) {
			s := newStore(5).withLock(1, 2, "ACTIVE", in(minutes(10)))
			state := inventory.State{
				Now: begin, Event: copyOf(s.event), Locks: map[ID]*inventory.Lock{lockID(1): s.locks[lockID(1)]},
				Bookings: map[ID]*holdfast.Booking{}, LiveOf: map[ID][]ID{}, Sold: map[ID]int{lockID(1): 0},
			}
			for i, window := range windows {
				b := &holdfast.Booking{ID: bookingID(i + 1), LockID: lockID(1), EventID: eventID, Status: holdfast.BookingPending}
				b.PaymentExpiresAt = window
				state.Bookings[b.ID], state.LiveOf[lockID(1)] = b, append(state.LiveOf[lockID(1)], b.ID)
			}
			plan, results, needs := inventory.Decide(state, []inventory.Command{extend}, theRules)
			if !needs.None() || results[0].Err != nil || len(plan.Locks) != 1 || !plan.Locks[0].Before.Equal(soon) {
				t.Errorf("planned %+v, %+v; it needs %+v", plan.Locks, results[0].Err, needs)
			}
		})
	}
}

// A due lock that other software sold does not count for its user until a batch notices. The rest
// of the batch counts its seats.
func TestLimits_CountASoldLockThatTheBatchNotices(t *testing.T) {
	s := newStore(6).withLock(1, 2, "ACTIVE", begin).withBooking(1, "CONFIRMED", in(-time.Minute)).withLock(3, 1, "ACTIVE", in(time.Hour))
	s.event.MaxSeatsPerUser = 4
	ofBob := acquire(2, 4)
	ofBob.UserID = bob
	p := &pipeline{store: s, rules: theRules}
	results := p.batch(t, release, ofBob, acquire(4, 2), acquire(5, 1))
	wantCode(t, results[0], holdfast.CodeLockConsumed)
	wantCode(t, results[1], holdfast.CodeSeatsUnavailable)
	wantCode(t, results[2], holdfast.CodeSeatLimitReached)
	wantCode(t, results[3], "")
	s.wantLock(t, 1, "CONSUMED")
}
