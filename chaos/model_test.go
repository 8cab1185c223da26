package chaos_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// The model says, in memory and one step at a time, what the services have to
// answer and what the documents have to be then. Time stands still in it: an
// expiry lies an hour or more on one side of now.
type model struct {
	w        *testenv.Env
	total    int64
	sale     seats.SaleStatus
	perUser  int64
	drift    int64 // what a hand added to the counter
	event    ids.ID
	users    []ids.ID
	locks    map[ids.ID]*modelLock
	bookings map[ids.ID]*modelBooking
	keys     map[string]*modelLock // by user and idempotency key
}

type modelLock struct {
	id, user  ids.ID
	seats     int64
	status    seats.Status
	due       bool
	expiresAt time.Time
}

type modelBooking struct {
	id     ids.ID
	lock   *modelLock
	status booking.Status
	due    bool // its window
	ref    string
}

func (m *model) taken() (n int64) {
	for _, l := range m.locks {
		if l.status == seats.Active || l.status == seats.Consumed {
			n += l.seats
		}
	}
	return n
}

func (m *model) available() int64 { return m.total - m.taken() + m.drift }

func (m *model) held(user ids.ID) (n int64) {
	for _, l := range m.locks {
		if l.user == user && (l.status == seats.Consumed || (l.status == seats.Active && !l.due)) {
			n += l.seats
		}
	}
	return n
}

// dueLocks are in the order in which they are reclaimed.
func (m *model) dueLocks() []*modelLock {
	var due []*modelLock
	for _, l := range m.locks {
		if l.status == seats.Active && l.due {
			due = append(due, l)
		}
	}
	slices.SortFunc(due, func(a, b *modelLock) int {
		if c := a.expiresAt.Compare(b.expiresAt); c != 0 {
			return c
		}
		return slices.Compare(a.id[:], b.id[:])
	})
	return due
}

func (m *model) live(l *modelLock) *modelBooking {
	for _, b := range m.bookings {
		if b.lock == l && (b.status == booking.Initiated || b.status == booking.Pending || b.status == booking.Confirmed) {
			return b
		}
	}
	return nil
}

func (l *modelLock) ended() fault.Code {
	switch {
	case l.status == seats.Consumed:
		return seats.CodeLockConsumed
	case l.status == seats.Released:
		return seats.CodeLockReleased
	case l.status == seats.Expired || l.due:
		return seats.CodeLockExpired
	default:
		return ""
	}
}

func (b *modelBooking) open() bool {
	return b.status == booking.Initiated || b.status == booking.Pending
}

func (b *modelBooking) isDue() bool { return b.due || b.lock.due }

var byStatus = map[booking.Status]fault.Code{
	booking.Confirmed: booking.CodeConfirmed, booking.Cancelled: booking.CodeCancelled, booking.Expired: booking.CodeExpired,
}

func pick[K comparable, V any](t *rapid.T, from map[K]V, what string, less func(a, b K) int) (v V, ok bool) {
	if len(from) == 0 {
		return v, false
	}
	keys := slices.SortedFunc(maps.Keys(from), less)
	return from[keys[rapid.IntRange(0, len(keys)-1).Draw(t, what)]], true
}

func byID(a, b ids.ID) int { return slices.Compare(a[:], b[:]) }

func (m *model) aLock(t *rapid.T) (*modelLock, bool) { return pick(t, m.locks, "lock", byID) }

func (m *model) aBooking(t *rapid.T) (*modelBooking, bool) {
	return pick(t, m.bookings, "booking", byID)
}

// Check compares the documents with the model after each step.
func (m *model) Check(t *rapid.T) {
	available, oversold := m.w.Available(m.event)
	if available-oversold != m.available() {
		t.Fatalf("available %d, oversold %d; want %d (drift %d)", available, oversold, m.available(), m.drift)
	}
	for _, l := range m.locks {
		if got := m.w.Lock(l.id); got.Status != l.status || got.Seats != l.seats {
			t.Fatalf("lock %s: got %s, want %s", l.id, got.Status, l.status)
		}
	}
	for _, b := range m.bookings {
		if got := m.w.Booking(b.id); got.Status != b.status {
			t.Fatalf("booking %s: got %s, want %s", b.id, got.Status, b.status)
		}
	}
	if m.drift == 0 {
		for _, broken := range testenv.Violations(m.w.T, m.w.DB.Database) {
			t.Fatal(broken)
		}
	}
}

func TestModel_ServicesAnswerAsTheModelDoes(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	rapid.Check(t, func(t *rapid.T) {
		for _, name := range []string{"events", "seatlocks", "bookings"} {
			if _, err := w.DB.Collection(name).DeleteMany(w.Ctx(), bson.D{}); err != nil {
				t.Fatal(err)
			}
		}
		m := &model{w: w, total: 20, sale: seats.OnSale, users: []ids.ID{ids.New(), ids.New(), ids.New()},
			locks: map[ids.ID]*modelLock{}, bookings: map[ids.ID]*modelBooking{}, keys: map[string]*modelLock{}}
		m.perUser = rapid.SampledFrom([]int64{0, 0, 8}).Draw(t, "limit")
		e, err := w.Seats.CreateEvent(w.Ctx(), seats.NewEvent{Name: "E", TotalSeats: m.total, MaxSeatsPerUser: m.perUser})
		if err != nil {
			t.Fatal(err)
		}
		m.event = e.ID
		t.Repeat(rapid.StateMachineActions(m))
	})
}
