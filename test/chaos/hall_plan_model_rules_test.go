package chaos_test

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// planCase is a change of the plan or the capacity in hallState, and a request after it with an answer that is
// possible then, or is not.
type planCase struct {
	name     string
	hall     *hall
	capacity int64
	code     string // of the change
	in       opInput
	out      opOutput
	possible bool
}

func planCases() []planCase {
	turned, shorter := hallPlans[1], hallPlans[2]
	lock := func(w wish) opInput {
		return opInput{op: opLock, lock: 5, wish: w, seats: max(w.seats, w.named.count())}
	}
	named := func(ids ...string) wish { return wish{named: seatsOf(ids...)} }
	got := func(ids ...string) opOutput {
		return opOutput{seatAnswer: seatAnswer{seats: int64(len(ids)), places: places{named: seatsOf(ids...)}}}
	}
	refused := func(code string, orphans ...string) opOutput {
		return opOutput{code: code, seatAnswer: seatAnswer{orphans: seatsOf(orphans...)}}
	}
	stand := wish{section: standing, seats: 3}
	standing := opOutput{seatAnswer: seatAnswer{seats: 3, places: places{section: standing}}}
	pick, other := wish{best: true, seats: 2, section: "front"}, lock(named("D1"))
	const tooSmall = "CAPACITY_BELOW_TAKEN"
	return []planCase{
		{"a seat that the new plan has", turned, 0, "", lock(named("A9", "C1")), got("A9", "C1"), true},
		{"a misfit that the new plan has", turned, 0, "", lock(named("A9")), refused(misfit), false},
		{"a misfit in the old plan", nil, 11, "", lock(named("A9")), refused(misfit), true},
		{"a seat that the old plan lacks", nil, 11, "", lock(named("A9")), got("A9"), false},
		{"a seat that is taken in the new plan", turned, 0, "", lock(named("A1")), got("A1"), false},
		{"a block in the new plan", turned, 0, "", lock(named("B1")), got("B1"), false},
		{"the best of the new plan", turned, 0, "", lock(pick), got("A3", "A4"), true},
		{"the best of the old plan", turned, 0, "", lock(pick), got("A7", "A8"), false},
		{"an orphan of the new plan", turned, 0, "", lock(named("C6")), refused("SEAT_ORPHANED", "C7"), true},
		{"an orphan of the old plan", turned, 0, "", lock(named("B6")), refused("SEAT_ORPHANED", "B5"), false},
		{"the room of the new plan", turned, 0, "", lock(stand), standing, true},
		{"the room of the old plan", nil, 10, "", lock(stand), standing, false},
		{"a capacity in addition to a plan", turned, 11, "", lock(stand), standing, false},
		{"a plan whose room is too small", shorter, 0, tooSmall, other, got("D1"), true},
		{"a plan whose room is too small, accepted", shorter, 0, "", other, got("D1"), false},
		{"a plan with more room", shorter, 9, "", other, got("D1"), true},
		{"a plan with more room, refused", shorter, 9, tooSmall, other, got("D1"), false},
		{"a capacity that is too small", nil, 8, tooSmall, other, got("D1"), true},
		{"a capacity that is too small, accepted", nil, 8, "", other, got("D1"), false},
		{"a capacity that is enough, refused", nil, 9, tooSmall, other, got("D1"), false},
	}
}

// The model knows the plan that an event has: what it has in another plan, and which plans are refused.
func TestEventModel_KnowsPlans(t *testing.T) {
	t.Parallel()
	for _, c := range planCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			begin := hallState()
			begin.refusesOrphans = true
			change := opInput{op: opSetHall, hall: c.hall, capacity: c.capacity}
			after, _ := begin.inHall(change)
			changed := opOutput{code: c.code}
			if c.code == "" {
				changed.event = hallAnswer{after.hall, after.total, after.free, after.capacity}
			}
			history := []porcupine.Operation{
				{ClientId: 0, Input: change, Output: changed, Call: 1, Return: 2},
				{ClientId: 1, Input: c.in, Output: c.out, Call: 3, Return: 4},
			}
			if got := porcupine.CheckOperations(eventModel(begin), history); got != c.possible {
				t.Errorf("possible: %t, want %t, after\n%s", got, c.possible, after)
			}
		})
	}
}

// The numbers in an answer are those of the plan and of the capacity, which stays in another plan if it was set and is
// enough.
func TestEventModel_KnowsTheNumbersOfAPlan(t *testing.T) {
	t.Parallel()
	turned, shorter := hallPlans[1], hallPlans[2]
	const taken = 2 + 2 + 9 + 1 + 1 // in hallState
	in := func(h *hall, capacity int64) opInput { return opInput{op: opSetHall, hall: h, capacity: capacity} }
	answer := func(h *hall, total, capacity int64) hallAnswer { return hallAnswer{h, total, total - taken, capacity} }
	for name, c := range map[string]struct {
		changes []opInput
		want    hallAnswer
	}{
		"a plan":                          {[]opInput{in(turned, 0)}, answer(turned, 33+12, 12)},
		"a capacity":                      {[]opInput{in(nil, 14)}, answer(theHall, 32+14, 14)},
		"both":                            {[]opInput{in(shorter, 9)}, answer(shorter, 30+9, 9)},
		"a plan after a capacity":         {[]opInput{in(nil, 14), in(turned, 0)}, answer(turned, 33+14, 14)},
		"a plan after its own capacity":   {[]opInput{in(nil, 14), in(nil, 10), in(turned, 0)}, answer(turned, 33+12, 12)},
		"a plan whose capacity was set":   {[]opInput{in(nil, 12), in(turned, 0), in(theHall, 0)}, answer(theHall, 32+10, 10)},
		"the same plan keeps a capacity":  {[]opInput{in(nil, 14), in(theHall, 0)}, answer(theHall, 32+14, 14)},
		"a plan with a capacity, and one": {[]opInput{in(turned, 9), in(theHall, 0)}, answer(theHall, 32+9, 9)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := hallState()
			for i, change := range c.changes {
				after, _ := s.inHall(change)
				if i == len(c.changes)-1 {
					wrong := c.want
					wrong.available++
					if len(s.step(change, opOutput{seatAnswer: seatAnswer{event: c.want}})) == 0 {
						t.Errorf("it is not %v, but %s", c.want, after)
					}
					if len(s.step(change, opOutput{seatAnswer: seatAnswer{event: wrong}})) > 0 {
						t.Errorf("%v is possible too", wrong)
					}
				}
				s = after
			}
		})
	}
}

// A change without an answer has taken effect, or not; one that is not possible has not.
func TestEventModel_APlanMayHaveChanged(t *testing.T) {
	t.Parallel()
	change := opInput{op: opSetHall, hall: hallPlans[1], indeterminate: true}
	if n := len(hallState().step(change, opOutput{})); n != 2 {
		t.Errorf("a change without an answer leaves %d states, want 2", n)
	}
	change.hall = hallPlans[2] // which has too few standing places
	if n := len(hallState().step(change, opOutput{})); n != 1 {
		t.Errorf("a change that is not possible leaves %d states, want 1", n)
	}
}
