package inventory_test

import (
	"fmt"
	"slices"
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

func TestReclaim_EndsDueLocksSoonestExpiryFirstUntilTheRequestFits(t *testing.T) {
	for _, row := range []struct {
		name      string
		ask       int64
		code      holdfast.Code
		reclaimed []int
		available int64
	}{
		{name: "the free seats are enough", ask: 1},
		{name: "the first is enough", ask: 2, reclaimed: []int{2}, available: 1},
		{name: "two are needed", ask: 5, reclaimed: []int{2, 1}},
		{name: "all do not suffice", ask: 6, code: holdfast.CodeSeatsUnavailable, reclaimed: []int{2, 1}, available: 5},
	} {
		for _, remember := range []bool{false, true} {
			t.Run(row.name, func(t *testing.T) {
				s := newStore(10).
					withLock(1, 2, "ACTIVE", begin).
					withLock(2, 2, "ACTIVE", in(-time.Minute)).
					withLock(3, 1, "ACTIVE", in(time.Millisecond)).
					withLock(4, 1, "CONSUMED", in(-time.Hour)).
					withLock(5, 0, "ACTIVE", in(-time.Hour)). // no whole number of seats: no sweep ends it
					withLock(6, 3, "ACTIVE", in(time.Hour), ofUser(bob))
				p := &pipeline{store: s, rules: theRules, remember: remember, remembered: copyOf(s.event)}
				r := p.batch(t, acquire(9, row.ask))[0]
				wantCode(t, r, row.code)
				slices.Sort(row.reclaimed)
				if got := s.reclaimed(6); !slices.Equal(got, row.reclaimed) {
					t.Errorf("locks %v were reclaimed, want %v", got, row.reclaimed)
				}
				s.wantCounter(t, row.available, 0)
				if row.code != "" {
					if got, _ := holdfast.DetailsOf[holdfast.SeatsUnavailable](r.Err); got.Available != row.available {
						t.Errorf("refused with %+v", got)
					}
				}
			})
		}
	}
}

func TestReclaim_ForSeveralCommandsEndsEachLockOnce(t *testing.T) {
	s := newStore(3).withLock(1, 1, "ACTIVE", begin).withLock(2, 1, "ACTIVE", begin).withLock(3, 1, "ACTIVE", begin)
	p := &pipeline{store: s, rules: theRules}
	results := p.batch(t, acquire(7, 2), acquire(8, 1), acquire(9, 1))
	for i, want := range []holdfast.Code{"", "", holdfast.CodeSeatsUnavailable} {
		wantCode(t, results[i], want)
	}
	s.wantCounter(t, 0, 0)
}

// If an earlier command of the batch named a due lock, its new state counts.
func TestReclaim_BesideCommandsOnTheSameLock(t *testing.T) {
	release, expired := inventory.Release{LockID: lockID(1)}, holdfast.CodeLockExpired
	cancelSale := inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)}
	for _, row := range []struct {
		name   string
		batch  []inventory.Command
		want   []holdfast.Code
		status holdfast.LockStatus
	}{
		{
			name: "refused before", batch: []inventory.Command{release, acquire(2, 2)}, want: []holdfast.Code{expired, ""},
			status: holdfast.LockExpired,
		},
		{
			name: "refused after", batch: []inventory.Command{acquire(2, 2), release}, want: []holdfast.Code{"", expired},
			status: holdfast.LockExpired,
		},
		{
			name: "released before", batch: []inventory.Command{cancelSale, acquire(2, 2)}, want: []holdfast.Code{"", ""},
			status: holdfast.LockReleased,
		},
		{
			name: "released before, too few", batch: []inventory.Command{cancelSale, acquire(2, 3)},
			want: []holdfast.Code{"", holdfast.CodeSeatsUnavailable}, status: holdfast.LockReleased,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(2).withLock(1, 2, "ACTIVE", begin)
			if row.status == holdfast.LockReleased {
				s.withBooking(1, "CONFIRMED", begin) // other software left the lock ACTIVE
			}
			p := &pipeline{store: s, rules: theRules}
			for i, r := range p.batch(t, row.batch...) {
				wantCode(t, r, row.want[i])
			}
			s.wantLock(t, 1, row.status)
			s.wantCounter(t, 2-s.taken(), 0)
		})
	}
}

// A lock that was refused and then reclaimed is written once, at the revision that was read.
func TestReclaim_OfALockThatTheBatchRefused(t *testing.T) {
	s := newStore(2).withLock(1, 2, "ACTIVE", begin)
	p := &pipeline{store: s, rules: theRules}
	p.batch(t, inventory.Release{LockID: lockID(1)}, acquire(2, 2))
	if len(p.plan.Locks) != 1 || p.plan.Locks[0].Guard != inventory.AtRevision || *p.plan.Locks[0].Revision != 0 {
		t.Errorf("the locks' writes are %+v", p.plan.Locks)
	}
}

// A due lock that the batch has released is skipped, and the next one is reclaimed.
func TestReclaim_PassesOverALockThatTheBatchReleased(t *testing.T) {
	s := newStore(4).withLock(1, 2, "ACTIVE", in(-time.Minute)).withLock(2, 2, "ACTIVE", begin)
	s.withBooking(1, "CONFIRMED", begin) // other software left its lock ACTIVE
	p := &pipeline{store: s, rules: theRules}
	for _, r := range p.batch(t, inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)}, acquire(3, 4)) {
		wantCode(t, r, "")
	}
	s.wantLock(t, 1, holdfast.LockReleased)
	s.wantLock(t, 2, holdfast.LockExpired)
	s.wantCounter(t, 0, 0)
}

// A lock whose time is in the past can be reclaimed once it is committed.
func TestReclaim_ALockThatIsDueAtOnceWaitsForTheNextBatch(t *testing.T) {
	for _, remember := range []bool{false, true} {
		t.Run(fmt.Sprintf("remembered %v", remember), func(t *testing.T) {
			s := newStore(2)
			dueAtOnce := acquire(1, 2)
			dueAtOnce.Until.At = begin
			later := []inventory.Command{acquire(2, 1), acquire(3, 1), acquire(4, 1)}
			p := &pipeline{store: s, rules: theRules, remember: remember, remembered: copyOf(s.event)}
			results := p.batch(t, slices.Concat([]inventory.Command{dueAtOnce}, later)...)
			wantCode(t, results[0], "")
			for _, r := range results[1:] {
				if !r.Undecided || r.Err != nil || r.Acquires() {
					t.Errorf("got %+v, want it undecided", r)
				}
			}
			results = p.batch(t, later...)
			for i, want := range []holdfast.Code{"", "", holdfast.CodeSeatsUnavailable} {
				wantCode(t, results[i], want)
			}
			s.wantLock(t, 1, holdfast.LockExpired)
		})
	}
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

// A command that stays undecided does not keep the next ones from their answers.
func TestReclaim_WhileOneCommandWaitsOthersAreAnswered(t *testing.T) {
	s := newStore(3).withLock(9, 1, "ACTIVE", in(time.Minute), keyedBy(keyed(9, 1, "key")))
	dueAtOnce, unkeyed := acquire(1, 2), acquire(3, 9)
	dueAtOnce.Until.At = begin
	p := &pipeline{store: s, rules: theRules}
	p.rules.MaxSeatsPerLock = 5
	results := p.batch(t, dueAtOnce, acquire(2, 2), unkeyed, keyed(4, 1, "key"), inventory.Release{LockID: lockID(9)}, acquire(5, 1))
	for i, undecided := range []bool{false, true, false, false, false, true} {
		if results[i].Undecided != undecided {
			t.Errorf("command %d: undecided is %v, want %v", i, results[i].Undecided, undecided)
		}
	}
	wantCode(t, results[2], holdfast.CodeSeatLimitReached)
	if !results[3].Replayed || results[4].Lock.Status != holdfast.LockReleased {
		t.Errorf("got %+v and %+v", results[3], results[4])
	}
}

func TestReclaim_ReducesOversoldSeatsFirst(t *testing.T) {
	s := newStore(2).withLock(1, 2, "CONSUMED", begin).withLock(2, 3, "ACTIVE", begin)
	s.event.AvailableSeats, s.event.Oversold = 0, 3
	wantCode(t, s.one(t, acquire(3, 1)), holdfast.CodeSeatsUnavailable)
	s.wantLock(t, 2, holdfast.LockExpired)
	s.wantCounter(t, 0, 0)
}
