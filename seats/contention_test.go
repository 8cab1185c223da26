package seats_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Many requests wait for an event in a known order. Each is granted if its seats fit when
// it is decided.
func TestAcquire_InOrderOfArrival(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const total, waiting = 100, 120
	event := w.Event(total)
	release := w.HoldEvent(event.String())
	granted := make([]bool, waiting)
	wanted := make([]int64, waiting)
	var asked sync.WaitGroup
	acquire := func(i int) {
		_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: wanted[i]})
		if granted[i] = err == nil; err != nil && !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
			t.Error(err)
		}
	}
	for i := range waiting {
		wanted[i] = 1 + rand.Int64N(4)
		asked.Go(func() { acquire(i) })
		if i == 0 { // in flight alone, until the event is released
			testenv.WaitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 1 && w.Pipeline.Queue().Waiting(event) == 0 })
			continue
		}
		testenv.WaitFor(t, func() bool { return w.Pipeline.Queue().Waiting(event) == i })
	}
	release()
	asked.Wait()
	left, want := int64(total), make([]bool, waiting)
	for i, n := range wanted {
		if want[i] = n <= left; want[i] {
			left -= n
		}
	}
	if !slices.Equal(granted, want) {
		t.Errorf("granted %v, want %v for %v", granted, want, wanted)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestAcquire_LastSeatGoesToOne(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1)
	var won, refused atomic.Int32
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1})
			switch {
			case err == nil:
				won.Add(1)
			case holdfast.HasCode(err, holdfast.CodeSeatsUnavailable):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || refused.Load() != 99 {
		t.Errorf("%d won and %d were refused, want 1 and 99", won.Load(), refused.Load())
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// 500 customers want one to four of 100 seats through three services, like three processes.
// No seat is sold twice, and no request that fits is refused.
func TestAcquire_StampedeSellsExactlyAllSeats(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	processes := []*testenv.Env{w, testenv.Open(t, w.URI, w.DB.Name()), testenv.Open(t, w.URI, w.DB.Name())}
	var sold atomic.Int64
	smallestRefused := atomic.Int64{}
	smallestRefused.Store(1 << 30)
	var all sync.WaitGroup
	for i := range 500 {
		n := 1 + rand.Int64N(4)
		all.Go(func() {
			_, _, err := processes[i%3].Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: n})
			if err == nil {
				sold.Add(n)
				return
			}
			if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
				t.Error(err)
			}
			for old := smallestRefused.Load(); n < old && !smallestRefused.CompareAndSwap(old, n); {
				old = smallestRefused.Load()
			}
		})
	}
	all.Wait()
	available, _ := w.Available(event)
	if sold.Load()+available != 100 || available >= smallestRefused.Load() {
		t.Errorf("sold %d, %d left, smallest refused %d", sold.Load(), available, smallestRefused.Load())
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
