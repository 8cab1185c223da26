package chaos_test

import (
	"flag"
	"maps"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil { // a walk of the model takes half a second, or two under load
		panic(err)
	}
	testenv.Main(m)
}

// serviceModel executes one operation at a time in memory: it says what the services must
// answer, and what the documents must be then. Its time does not move: every expiry is an hour
// or more before or after now.
type serviceModel struct {
	env        *testenv.Env
	total      int64
	saleStatus holdfast.EventStatus
	perUser    int64
	drift      int64 // by how much CorruptCounter made the counter wrong
	event      holdfast.ID
	users      []holdfast.ID
	holders    map[holdfast.ID]string // the users that are holders
	locks      map[holdfast.ID]*modelLock
	bookings   map[holdfast.ID]*modelBooking
	keys       map[string]*modelLock    // by user and idempotency key
	refused    map[string]holdfast.Code // by reference: what has to go back, and the refusal that a repeat gets again
}

type modelLock struct {
	id, user  holdfast.ID
	seats     int64
	status    holdfast.LockStatus
	due       bool
	expiresAt time.Time
}

type modelBooking struct {
	id     holdfast.ID
	lock   *modelLock
	status holdfast.BookingStatus
	due    bool // its payment window has passed
	ref    string
}

func (m *serviceModel) taken() (n int64) {
	for _, l := range m.locks {
		if l.status == holdfast.LockActive || l.status == holdfast.LockConsumed {
			n += l.seats
		}
	}
	return n
}

func (m *serviceModel) available() int64 { return m.total - m.taken() + m.drift }

func (m *serviceModel) heldBy(user holdfast.ID) (n int64) {
	for _, l := range m.locks {
		if l.user == user && (l.status == holdfast.LockConsumed || (l.status == holdfast.LockActive && !l.due)) {
			n += l.seats
		}
	}
	return n
}

// dueLocks returns the due locks in the order in which they are reclaimed.
func (m *serviceModel) dueLocks() []*modelLock {
	var due []*modelLock
	for _, l := range m.locks {
		if l.status == holdfast.LockActive && l.due {
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

func (m *serviceModel) liveBooking(l *modelLock) *modelBooking {
	for _, b := range m.bookings {
		if b.lock == l && (b.status == holdfast.BookingInitiated ||
			b.status == holdfast.BookingPending || b.status == holdfast.BookingConfirmed) {
			return b
		}
	}
	return nil
}

// endedCode is the code that refuses an operation on a lock that has ended or is due.
func (l *modelLock) endedCode() holdfast.Code {
	switch {
	case l.status == holdfast.LockConsumed:
		return holdfast.CodeLockConsumed
	case l.status == holdfast.LockReleased:
		return holdfast.CodeLockReleased
	case l.status == holdfast.LockExpired || l.due:
		return holdfast.CodeLockExpired
	default:
		return ""
	}
}

func (b *modelBooking) open() bool {
	return b.status == holdfast.BookingInitiated || b.status == holdfast.BookingPending
}

func (b *modelBooking) isDue() bool { return b.due || b.lock.due }

// codeByStatus is the code that refuses an operation on a booking that is not open.
var codeByStatus = map[holdfast.BookingStatus]holdfast.Code{
	holdfast.BookingConfirmed: holdfast.CodeBookingConfirmed,
	holdfast.BookingCancelled: holdfast.CodeBookingCancelled,
	holdfast.BookingExpired:   holdfast.CodeBookingExpired,
}

// pick draws a value of a map; ok is false if the map is empty.
func pick[K comparable, V any](t *rapid.T, from map[K]V, what string, less func(a, b K) int) (v V, ok bool) {
	if len(from) == 0 {
		return v, false
	}
	keys := slices.SortedFunc(maps.Keys(from), less)
	return from[keys[rapid.IntRange(0, len(keys)-1).Draw(t, what)]], true
}

func byID(a, b holdfast.ID) int { return slices.Compare(a[:], b[:]) }

func (m *serviceModel) pickLock(t *rapid.T) (*modelLock, bool) { return pick(t, m.locks, "lock", byID) }

func (m *serviceModel) pickBooking(t *rapid.T) (*modelBooking, bool) {
	return pick(t, m.bookings, "booking", byID)
}

// Check compares the documents with the model after each operation.
func (m *serviceModel) Check(t *rapid.T) {
	available, oversold := m.env.Available(m.event)
	if available-oversold != m.available() {
		t.Fatalf("available %d, oversold %d; want %d (drift %d)", available, oversold, m.available(), m.drift)
	}
	for _, l := range m.locks {
		if got := m.env.Lock(l.id); got.Status != l.status || got.Seats != l.seats || got.UserID != l.user || got.Holder != m.holders[l.user] {
			t.Fatalf("lock %s: got %+v, want %+v", l.id, got, l)
		}
	}
	for _, b := range m.bookings {
		if got := m.env.Booking(b.id); got.Status != b.status || got.Holder != m.holders[b.lock.user] {
			t.Fatalf("booking %s: got %+v, want %+v", b.id, got, b)
		}
	}
	if m.drift == 0 {
		for _, violation := range testenv.Violations(m.env.T, m.env.DB.Database) {
			t.Fatal(violation)
		}
	}
}

// Random operations are executed by the services and by the model.
func TestModel_ServicesAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	rapid.Check(t, func(t *rapid.T) {
		for _, name := range []string{"events", "seatlocks", "bookings", "payments"} {
			if _, err := env.DB.Collection(name).DeleteMany(env.Ctx(), bson.D{}); err != nil {
				t.Fatal(err)
			}
		}
		m := &serviceModel{
			env: env, total: 20, saleStatus: holdfast.OnSale, users: []holdfast.ID{mongodb.NewID(), mongodb.NewID(), holdfast.HolderID("cart")},
			holders: map[holdfast.ID]string{holdfast.HolderID("cart"): "cart"},
			locks:   map[holdfast.ID]*modelLock{}, bookings: map[holdfast.ID]*modelBooking{}, keys: map[string]*modelLock{},
			refused: map[string]holdfast.Code{},
		}
		m.perUser = rapid.SampledFrom([]int64{0, 0, 8}).Draw(t, "limit")
		e, err := env.Seats.CreateEvent(env.Ctx(), holdfast.NewEvent{Name: "E", TotalSeats: m.total, MaxSeatsPerUser: m.perUser})
		if err != nil {
			t.Fatal(err)
		}
		m.event = e.ID
		t.Repeat(rapid.StateMachineActions(m))
	})
}
