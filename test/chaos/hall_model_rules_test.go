package chaos_test

import "testing"

// hallState is theHall with locks of an hour on named seats, of which lock 1 is due at 100, and a block.
func hallState() eventState {
	s := newEventState(theHall.totalSeats(), 0, 8)
	s.hall, s.capacity, s.blocked = theHall, theHall.capacity(), seatsOf("B1")
	const hour = 3_600_000
	for i, l := range []lockState{
		{seats: 2, places: places{named: seatsOf("A1", "A2")}, expires: hour},
		{seats: 2, places: places{named: seatsOf("A5", "A6")}, expires: 100},
		{seats: 9, places: places{section: standing}, expires: hour},
		{seats: 1, places: places{named: seatsOf("C8")}, expires: hour, booking: 'I'},
	} {
		l.status = 'A'
		s.locks[i] = l
		s.free -= l.seats
	}
	s.free -= s.blocked.count()
	return s
}

// hallCase is an operation, and an answer that is possible in hallState, or is not.
type hallCase struct {
	name     string
	op       operation
	lock     int
	wish     wish
	at       int64
	code     string
	answer   seatAnswer
	possible bool
}

func hallCases() []hallCase {
	type answer = seatAnswer
	const before, after = 50, 200 // the time at which lock 1 is due
	named := func(ids ...string) wish { return wish{named: seatsOf(ids...)} }
	got := func(ids ...string) answer {
		return answer{seats: int64(len(ids)), places: places{named: seatsOf(ids...)}}
	}
	taken := func(requested int64, ids ...string) answer {
		return answer{requested: requested, unavailable: seatsOf(ids...)}
	}
	pick := func(n int64) wish { return wish{best: true, seats: n, required: true, section: "front"} }
	return []hallCase{
		{"named seats that are free", opLock, 5, named("A3", "A4"), before, "", got("A3", "A4"), true},
		{"other seats than were named", opLock, 5, named("A3", "A4"), before, "", got("A3", "B4"), false},
		{"a seat that is locked", opLock, 5, named("A2", "A3"), before, "", got("A2", "A3"), false},
		{"a seat that is blocked", opLock, 5, named("B1"), before, "", got("B1"), false},
		{"a seat of a lock that is not due", opLock, 5, named("A5"), before, "", got("A5"), false},
		{"a seat of a due lock", opLock, 5, named("A5"), after, "", got("A5"), true},
		{"refused for a seat that is locked", opLock, 5, named("A2", "A3"), before, "SEATS_UNAVAILABLE", taken(2, "A2"), true},
		{"refused for a seat that is blocked", opLock, 5, named("B1", "B2"), before, "SEATS_UNAVAILABLE", taken(2, "B1"), true},
		{"refused for a seat that is free", opLock, 5, named("A3", "A2"), before, "SEATS_UNAVAILABLE", taken(2, "A3", "A2"), false},
		{"refused for one of two", opLock, 5, named("A1", "A2"), before, "SEATS_UNAVAILABLE", taken(2, "A1"), false},
		{"refused for a due lock", opLock, 5, named("A5", "A1"), after, "SEATS_UNAVAILABLE", taken(2, "A5", "A1"), false},
		{"an orphan", opLock, 5, named("B3", "B4"), before, "", got("B3", "B4"), false},
		{"refused for an orphan", opLock, 5, named("B3", "B4"), before, "SEAT_ORPHANED", answer{orphans: seatsOf("B2")}, true},
		{"refused for another orphan", opLock, 5, named("B3", "B4"), before, "SEAT_ORPHANED", answer{orphans: seatsOf("B1")}, false},
		{"refused for no orphan", opLock, 5, named("B5", "B6"), before, "SEAT_ORPHANED", answer{orphans: seatsOf("B7")}, false},
		{"the best pick", opLock, 5, pick(2), before, "", got("A3", "A4"), true},
		{"not the best pick", opLock, 5, pick(2), before, "", got("B3", "B4"), false},
		{"a pick of a locked seat", opLock, 5, pick(2), before, "", got("A4", "A5"), false},
		{"a pick that no row has", opLock, 5, pick(5), before, "SEATS_NOT_ADJACENT", answer{longest: 4}, true},
		{"a pick that is there", opLock, 5, pick(4), before, "SEATS_NOT_ADJACENT", answer{longest: 3}, false},
		{"a pick refused before a due lock ended", opLock, 5, pick(5), after, "SEATS_NOT_ADJACENT", answer{longest: 4}, false},
		{"the last place to stand", opLock, 5, wish{section: standing, seats: 1}, before, "",
			answer{seats: 1, places: places{section: standing}}, true},
		{"more than can stand", opLock, 5, wish{section: standing, seats: 2}, before, "",
			answer{seats: 2, places: places{section: standing}}, false},
		{"refused where all can stand", opLock, 5, wish{section: standing, seats: 1}, before, "SEATS_UNAVAILABLE", answer{requested: 1}, false},
		{"a change to a seat next to the own ones", opChange, 0, named("A2", "A3", "A4"), before, "", got("A2", "A3", "A4"), true},
		{"a change that gets nothing", opChange, 0, named("A2", "A3", "A4"), before, "", got("A1", "A2", "A3"), false},
		{"a change refused for its own seat", opChange, 0, named("A2", "A5"), before, "SEATS_UNAVAILABLE", taken(2, "A2", "A5"), false},
		{"a change of a lock with a booking", opChange, 3, named("C7"), before, "", got("C7"), false},
		{"a change refused for the booking", opChange, 3, named("C7"), before, "LOCK_HAS_BOOKING", answer{}, true},
		{"a change of a due lock", opChange, 1, named("A5"), after, "", got("A5"), false},
		{"a replay before the change", opLock, 0, named("A1"), before, "", got("A1"), false},
		{"a block", opBlock, 0, named("B1", "B2"), before, "", answer{blocked: 2}, true},
		{"a block of a locked seat", opBlock, 0, named("A1"), before, "", answer{blocked: 2}, false},
		{"a block refused for a locked seat", opBlock, 0, named("A1", "B1"), before, "SEATS_UNAVAILABLE", taken(2, "A1"), true},
		{"a block refused for a block", opBlock, 0, named("B1"), before, "SEATS_UNAVAILABLE", taken(1, "B1"), false},
		{"an end of a block", opUnblock, 0, named("B1", "A1"), before, "", answer{}, true},
		{"as many blocks as there are", opReadBlocks, 0, wish{}, before, "", answer{blocked: 1}, true},
		{"more blocks than there are", opReadBlocks, 0, wish{}, before, "", answer{blocked: 2}, false},
	}
}

// The model knows halls: what would be right for a shop that counts seats is not possible here.
func TestEventModel_KnowsHalls(t *testing.T) {
	t.Parallel()
	for _, c := range hallCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := hallState()
			s.refusesOrphans = true
			in := opInput{op: c.op, lock: c.lock, wish: c.wish, seats: max(c.wish.seats, c.wish.named.count())}
			out := opOutput{code: c.code, called: c.at, returned: c.at, seatAnswer: c.answer}
			out.available = c.answer.requested - c.answer.unavailable.count()
			if c.op == opLock && c.lock == 0 {
				out.replayed, out.status = true, "ACTIVE"
			}
			if c.op == opChange {
				out.expires = s.locks[c.lock].expires
			}
			if got := len(s.step(in, out)) > 0; got != c.possible {
				t.Errorf("possible: %t, want %t, of\n%s", got, c.possible, s)
			}
		})
	}
}
