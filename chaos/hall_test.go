package chaos_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// This is an event as one hall would be that does one thing at a time: what it
// may answer to each request, and what it is then. A history that no order of its
// requests explains is none of such a hall.

// deed is what a request asks for.
type deed string

const (
	doLock    deed = "lock"
	doExtend  deed = "extend"
	doRelease deed = "release"
	doBook    deed = "book"
	doPay     deed = "pay"
	doConfirm deed = "confirm"
	doCancel  deed = "cancel"
	doResize  deed = "resize"
	doSale    deed = "sale"
	doMisuse  deed = "misuse" // the key of another request
	// Not asked for by anybody: a sweep or a reclaim expired the lock; and the
	// documents as they are in the end.
	hasExpired deed = "has expired"
	isLeft     deed = "is left"
)

// move is one request. Times are Unix milliseconds.
type move struct {
	deed    deed
	event   int
	lock    int // the number of the lock, by its key
	booking string
	user    int
	seats   int64
	until   int64  // expiry or payment window that is asked for, 0 for none
	sale    string // of doSale
	unclear bool   // it had no answer: it was done at some time, or never
	left    hallState
}

// reply is what was answered.
type reply struct {
	code      string // "" where it was done
	id        string
	replayed  bool
	available int64
	expires   int64
	status    string
	// between the two it was answered, in Unix milliseconds
	called, returned int64
}

type lockState struct {
	status  byte // 0 not made, A, C, E, R
	booking byte // its live booking: 0 none, I, P, C
	user    int
	seats   int64
	expires int64
	window  int64
	id      string // of the booking, "" while nobody was told
}

type hallState struct {
	total, free, perUser int64
	sale                 string
	locks                []lockState
	ended                []endedBooking // that were cancelled
}

type endedBooking struct {
	id   string
	lock int
}

// tolerance is how far the clocks of one machine may seem apart, in milliseconds:
// times are cut to whole ones.
const tolerance = 2

// dueBy reports whether a time may have passed when the reply came; passed
// whether it had when the request was sent.
func (r reply) dueBy(at int64) bool  { return at != 0 && r.returned+tolerance >= at }
func (r reply) passed(at int64) bool { return at != 0 && r.called > at+tolerance }

func (l lockState) live() bool { return l.status == 'A' || l.status == 'C' }

// bookingDue reports whether an open booking's time may have passed.
func (l lockState) bookingDue(r reply) bool {
	return l.status == 'E' || r.dueBy(l.expires) || r.dueBy(l.window)
}

func (l lockState) bookingPassed(r reply) bool { return r.passed(l.expires) || r.passed(l.window) }

// hallModel is the model for porcupine, of an event with so many seats.
func hallModel(total, perUser int64, locks int) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any {
			return []any{hallState{total: total, free: total, perUser: perUser, sale: "ON_SALE", locks: make([]lockState, locks)}}
		},
		Step: func(state, input, output any) []any {
			s, m, r := state.(hallState), input.(move), output.(reply)
			if !m.unclear && r.code != "" {
				if s.refuses(m, r) {
					return []any{s}
				}
				return nil
			}
			var may []any
			if done, ok := s.done(m, r); ok {
				may = append(may, done)
			}
			if m.unclear {
				may = append(may, s)
			}
			return may
		},
		Equal: func(a, b any) bool { return a.(hallState).same(b.(hallState)) },
		DescribeOperation: func(input, output any) string {
			m, r := input.(move), output.(reply)
			if m.deed == isLeft {
				return "what is left: " + m.left.String()
			}
			m.left = hallState{}
			return fmt.Sprintf("%s lock %d booking %q user %d seats %d until %s %s unclear %t → %s %s %s replayed %t available %d expires %s",
				m.deed, m.lock, m.booking, m.user, m.seats, clockOf(m.until), m.sale, m.unclear, r.code, r.id, r.status, r.replayed, r.available, clockOf(r.expires))
		},
		DescribeState: func(state any) string { return state.(hallState).String() },
	}
	return model.ToModel()
}

func clockOf(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format("05.000")
}

func (s hallState) String() string {
	text := fmt.Sprintf("%d of %d free, %s;", s.free, s.total, s.sale)
	for i, l := range s.locks {
		if l.live() {
			text += fmt.Sprintf(" %d:%c%d", i, l.status, l.seats)
			if l.booking != 0 {
				text += string(l.booking)
			}
		}
	}
	return text
}

func (s hallState) same(o hallState) bool {
	return s.total == o.total && s.free == o.free && s.sale == o.sale && slices.Equal(s.locks, o.locks) && slices.Equal(s.ended, o.ended)
}

// with is the state with a lock changed.
func (s hallState) with(i int, l lockState) hallState {
	s.locks = slices.Clone(s.locks)
	s.locks[i] = l
	return s
}

// lockOf finds a booking's lock; open is false where the booking is cancelled.
func (s hallState) lockOf(booking string) (i int, open, found bool) {
	for i, l := range s.locks {
		if l.id == booking && booking != "" {
			return i, true, true
		}
	}
	for _, e := range s.ended {
		if e.id == booking {
			return e.lock, false, true
		}
	}
	return 0, false, false
}

// releases ends a lock and its booking, and gives its seats back.
func (s hallState) releases(i int) hallState {
	l := s.locks[i]
	if l.id != "" && l.booking != 0 {
		s.ended = append(slices.Clip(s.ended), endedBooking{l.id, i})
	}
	s.free += l.seats
	l.status, l.booking, l.id, l.window = 'R', 0, "", 0
	return s.with(i, l)
}

// done is the hall after it did what was asked for; ok is false where it can't.
func (s hallState) done(m move, r reply) (after hallState, ok bool) {
	switch m.deed {
	case doLock:
		return s.lock(m, r)
	case doExtend, doRelease, doBook:
		return s.onLock(m, r)
	case doPay, doConfirm, doCancel:
		return s.onBooking(m, r)
	case doResize:
		taken := s.total - s.free
		s.free, s.total = m.seats-taken, m.seats
		return s, s.free >= 0
	case doSale:
		ok = s.sale != "CANCELLED" || m.sale == "CANCELLED"
		s.sale = m.sale
		return s, ok
	case hasExpired:
		l := s.locks[m.lock]
		inTime := r.dueBy(l.expires) || (l.booking != 0 && r.dueBy(l.window))
		if l.status != 'A' || !inTime {
			return s, false
		}
		l.status = 'E'
		s.free += l.seats
		return s.with(m.lock, l), true
	case isLeft:
		return s, s.matches(m.left)
	}
	return s, false
}

// holds is what a user has of the event: all that may count, or only what must.
func (s hallState) holds(user int, counts func(expires int64) bool) (n int64) {
	for _, l := range s.locks {
		if l.user == user && (l.status == 'C' || (l.status == 'A' && counts(l.expires))) {
			n += l.seats
		}
	}
	return n
}

func (s hallState) lock(m move, r reply) (hallState, bool) {
	l := s.locks[m.lock]
	if l.status != 0 {
		statuses := map[byte]string{'A': "ACTIVE", 'C': "CONSUMED", 'E': "EXPIRED", 'R': "RELEASED"}
		return s, m.unclear || (r.replayed && r.status == statuses[l.status])
	}
	sure := s.holds(m.user, func(expires int64) bool { return expires > r.returned+tolerance })
	if (r.replayed && !m.unclear) || s.sale != "ON_SALE" || s.free < m.seats || (s.perUser > 0 && sure+m.seats > s.perUser) {
		return s, false
	}
	s.free -= m.seats
	return s.with(m.lock, lockState{status: 'A', user: m.user, seats: m.seats, expires: r.expires}), true
}

func (s hallState) onLock(m move, r reply) (hallState, bool) {
	l := s.locks[m.lock]
	if m.deed == doRelease && l.status == 'R' {
		return s, true
	}
	if m.deed == doBook && l.status == 'C' && !m.unclear {
		return s.told(m.lock, r.id)
	}
	if l.status != 'A' || r.passed(l.expires) {
		return s, false
	}
	switch m.deed {
	case doExtend:
		l.expires = max(l.expires, m.until)
		return s.with(m.lock, l), s.sale != "CANCELLED" && (m.unclear || r.expires == l.expires)
	case doRelease:
		return s.releases(m.lock), true
	}
	if l.booking != 0 {
		if m.unclear {
			return s, true
		}
		return s.told(m.lock, r.id)
	}
	l.booking, l.id = 'I', r.id
	if m.until != 0 {
		l.booking, l.window, l.expires = 'P', m.until, max(l.expires, m.until)
	}
	return s.with(m.lock, l), s.sale != "CANCELLED"
}

// told is the state once a customer was told the ID of a lock's live booking.
func (s hallState) told(i int, id string) (hallState, bool) {
	l := s.locks[i]
	if l.id == "" {
		l.id = id
		return s.with(i, l), l.booking != 0
	}
	return s, l.id == id
}

func (s hallState) onBooking(m move, r reply) (hallState, bool) {
	i, open, found := s.lockOf(m.booking)
	if !found {
		return s, false
	}
	if !open {
		return s, m.deed == doCancel
	}
	l := s.locks[i]
	if l.booking == 'C' {
		if m.deed == doCancel {
			return s.releases(i), true
		}
		return s, m.deed == doConfirm
	}
	if l.status != 'A' || l.bookingPassed(r) {
		return s, false
	}
	switch {
	case m.deed == doCancel:
		return s.releases(i), true
	case s.sale == "CANCELLED" && (m.deed == doConfirm || l.booking == 'I'):
		return s, false
	case m.deed == doPay && l.booking == 'I':
		l.booking, l.window, l.expires = 'P', m.until, max(l.expires, m.until)
	case m.deed == doConfirm && l.booking == 'P':
		l.booking, l.status = 'C', 'C'
	case m.deed == doConfirm:
		return s, false
	}
	return s.with(i, l), true
}

// matches compares the hall with the documents that are left.
func (s hallState) matches(left hallState) bool {
	if s.free != left.free || s.total != left.total || s.sale != left.sale {
		return false
	}
	for i, l := range s.locks {
		d := left.locks[i]
		if l.status != d.status || (l.live() && l.seats != d.seats) || (l.status == 'C') != (d.booking == 'C') {
			return false
		}
		if l.status == 'A' && (l.expires != d.expires || l.booking != d.booking) {
			return false
		}
	}
	return true
}
