package inventory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// reclaimed are the numbers of the locks, from 1 to n, that were reclaimed.
func (s *store) reclaimed(n int) (numbers []int) {
	for i := 1; i <= n; i++ {
		if s.locks[lockID(i)].Status == holdfast.LockExpired && s.ends[lockID(i)] == (ending{by: holdfast.EndedByReclaim}) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func TestReclaim_IsBoundedInOneBatch(t *testing.T) {
	const more = 5
	s := newStore(inventory.MaxReclaim + more)
	for n := 1; n <= inventory.MaxReclaim+more; n++ {
		s.withLock(n, 1, "ACTIVE", begin)
	}
	all, one := acquire(5001, inventory.MaxReclaim+more), acquire(5002, 1)
	p := &pipeline{store: s, rules: theRules}
	results := p.batch(t, all, one, keyed(5003, 99_999, "key"))
	for _, r := range results {
		if !r.Undecided {
			t.Errorf("got %+v, want it undecided", r)
		}
	}
	if got := len(s.reclaimed(inventory.MaxReclaim + more)); got != inventory.MaxReclaim {
		t.Errorf("%d locks were reclaimed, want %d", got, inventory.MaxReclaim)
	}
	results = p.batch(t, all, one)
	for i, want := range []holdfast.Code{"", holdfast.CodeSeatsUnavailable} {
		wantCode(t, results[i], want)
	}
	s.wantCounter(t, 0, 0)
}

var (
	lockRun    = inventory.Run{By: holdfast.EndedByLockExpiry, ID: "lock-expiry-1"}
	bookingRun = inventory.Run{By: holdfast.EndedByBookingExpiry, ID: "booking-expiry-1"}
)

func locksOf(n ...int) (list []ID) {
	for _, i := range n {
		list = append(list, lockID(i))
	}
	return list
}

// The write that ends a lock is guarded by the database's clock, if its transaction has not
// read the lock.
func TestReclaim_LeavesALockThatIsNotDueAtTheWrite(t *testing.T) {
	s := newStore(2).withLock(1, 2, "ACTIVE", begin)
	p := &pipeline{store: s, rules: theRules}
	var needs inventory.Needs
	p.decide(t, &needs, false, []inventory.Command{acquire(2, 2)})
	s.locks[lockID(1)].ExpiresAt = in(time.Second)
	if err := s.apply(p.plan); !errors.Is(err, errStale) {
		t.Errorf("got %v", err)
	}
}
