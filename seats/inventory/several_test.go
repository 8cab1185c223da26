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
				Bookings: map[ID]*holdfast.Booking{}, LiveOf: map[ID][]ID{},
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
