package inventory_test

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

var (
	errStale    = errors.New("a guard of the plan does not hold")
	errKeyInUse = errors.New("an idempotency key is in use")
)

// store keeps one event with its locks and bookings in memory. It reads and writes as
// internal/store does: it answers needs, and checks every guard of a plan.
type store struct {
	now      time.Time
	event    *inventory.Event
	locks    map[ID]*inventory.Lock
	bookings map[ID]*holdfast.Booking
	payments map[ID]*holdfast.Payment
	entries  map[ID]*inventory.Entry
	ends     map[ID]ending // what ended a lock
	runID    string        // of the run that changed the event last
	refusals int           // how often the event was held for a refusal
	seats    *storedSeats  // nil: the event is unseated
	corrupt  map[ID]bool   // locks, bookings and payments that break their schema
}

type ending struct {
	by    holdfast.EndedBy
	runID string
}

// newStore has an event on sale with all its seats.
func newStore(seats int64) *store {
	return &store{
		now: begin,
		event: &inventory.Event{
			Event: holdfast.Event{ID: eventID, Name: "Show", TotalSeats: seats, AvailableSeats: seats, Status: holdfast.OnSale},
		},
		locks: map[ID]*inventory.Lock{}, bookings: map[ID]*holdfast.Booking{}, ends: map[ID]ending{}, payments: map[ID]*holdfast.Payment{},
		entries: map[ID]*inventory.Entry{},
	}
}

func (s *store) clone() *store {
	c := *s
	c.locks, c.bookings, c.ends, c.seats = copies(s.locks), copies(s.bookings), maps.Clone(s.ends), s.seats.clone()
	c.payments, c.entries = copies(s.payments), copies(s.entries)
	if s.event != nil {
		c.event = pointer(*s.event)
	}
	return &c
}

func copies[V any](m map[ID]*V) map[ID]*V {
	c := make(map[ID]*V, len(m))
	for id, v := range m {
		c[id] = pointer(*v)
	}
	return c
}

// copyOf is nil if v is nil.
func copyOf[V any](v *V) *V {
	if v == nil {
		return nil
	}
	return pointer(*v)
}

// ofEvent are the locks of the event that match, soonest expiry first.
func (s *store) ofEvent(match func(*inventory.Lock) bool) []*inventory.Lock {
	var found []*inventory.Lock
	for _, l := range s.locks {
		if l.EventID == eventID && match(l) {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b *inventory.Lock) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return found
}

// takes reports whether the lock takes seats: the venue's own locks do, too.
func takes(l *inventory.Lock) bool {
	return slices.Contains(holdfast.TakingStatuses(), l.Status) || l.Status == holdfast.LockBlocked
}

func isLive(b holdfast.BookingStatus) bool { return slices.Contains(holdfast.LiveStatuses(), b) }

// taken is the sum of the seats that the event's locks take.
func (s *store) taken() (sum int64) {
	for _, l := range s.ofEvent(takes) {
		sum += l.Seats
	}
	return sum
}

// load reads what is needed.
func (s *store) load(n inventory.Needs) inventory.State {
	if n.Hold && s.event != nil {
		s.refusals++
	}
	state := inventory.State{
		Now: s.now, Event: s.seen(), Missing: s.event == nil,
		Locks: map[ID]*inventory.Lock{}, Bookings: map[ID]*holdfast.Booking{}, LiveOf: map[ID][]ID{},
	}
	for _, id := range n.Bookings {
		if state.Bookings[id] = copyOf(s.bookings[id]); s.corrupt[id] {
			state.Bookings[id] = nil
		}
	}
	state.Corrupt = s.corrupt
	for _, id := range n.Locks {
		if state.Locks[id] = copyOf(s.locks[id]); s.corrupt[id] {
			state.Locks[id] = nil
		}
	}
	for _, id := range n.LiveOf {
		state.LiveOf[id] = nil
	}
	for _, b := range s.bookings {
		if _, asked := state.LiveOf[b.LockID]; asked && isLive(b.Status) {
			state.LiveOf[b.LockID] = append(state.LiveOf[b.LockID], b.ID)
			state.Bookings[b.ID] = copyOf(b)
		}
	}
	s.loadKeys(n, &state)
	s.loadSums(n, &state)
	s.loadSeats(n, &state)
	s.loadPayments(n, &state)
	s.loadList(n, &state)
	return state
}

// seen is a copy of the event as it is read or written now.
func (s *store) seen() *inventory.Event {
	e := copyOf(s.event)
	if e != nil {
		e.SeenAt = s.now
	}
	return e
}

func (s *store) loadKeys(n inventory.Needs, state *inventory.State) {
	if len(n.Keys) == 0 {
		return
	}
	state.Keys = map[inventory.UserKey]*inventory.Lock{}
	for _, key := range n.Keys {
		made := s.ofEvent(func(l *inventory.Lock) bool { return l.UserID == key.User && l.Key == key.Key })
		state.Keys[key] = nil
		if len(made) > 0 {
			state.Keys[key] = copyOf(made[0])
		}
	}
}

func (s *store) loadSums(n inventory.Needs, state *inventory.State) {
	if n.Due > 0 || len(n.DueAmong) > 0 {
		due := []inventory.Lock{}
		for _, l := range s.ofEvent(s.isReclaimable) {
			if n.Due == 0 && !slices.Contains(n.DueAmong, l.ID) || n.Due > 0 && len(due) == n.Due {
				continue
			}
			due = append(due, *copyOf(l))
		}
		state.Due = &due
		state.DueUpTo = n.Due
	}
	if n.Taken {
		state.Taken = pointer(s.taken())
	}
	if len(n.Holdings) > 0 {
		state.Holdings = map[ID]inventory.Holding{}
	}
	for _, user := range n.Holdings {
		var held inventory.Holding
		for _, l := range s.ofEvent(func(l *inventory.Lock) bool { return l.UserID == user && takes(l) }) {
			switch {
			case l.Status == holdfast.LockConsumed:
				held.Seats += l.Seats
			case !l.Due(s.now):
				held.Seats, held.Locks = held.Seats+l.Seats, held.Locks+1
			default:
				held.Due++
			}
		}
		state.Holdings[user] = held
	}
	for _, user := range n.DueOf {
		if state.DueOf == nil {
			state.DueOf = map[ID][]inventory.Lock{}
		}
		state.DueOf[user] = nil
		for _, l := range s.ofEvent(s.isReclaimable) {
			if l.UserID == user {
				state.DueOf[user] = append(state.DueOf[user], *copyOf(l))
			}
		}
	}
}
