package seating_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

func newHall(t testing.TB, plan holdfast.SeatingPlan) *seating.Hall {
	t.Helper()
	h, err := seating.NewHall(plan)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func find(t testing.TB, h *seating.Hall, id string) seating.Place {
	t.Helper()
	p, ok := h.Find(id)
	if !ok || h.Seat(p).ID != id {
		t.Fatal("no seat ", id)
	}
	return p
}

// The first seat is the highest bit of the first byte, and gaps have no bit.
func TestOccupancy_BytesAreTheBitmapOfTheAPI(t *testing.T) {
	t.Parallel()
	h := newHall(t, hall())
	o := seating.NewOccupancy(h)
	for id, want := range map[string][]byte{
		"A-1-1": {0b1000_0000, 0, 0, 0, 0, 0}, "A-1-2": {0b0100_0000, 0, 0, 0, 0, 0}, "A-2-1": {0b0010_0000, 0, 0, 0, 0, 0},
		"A-2-40": {0, 0, 0, 0, 0, 0b0100_0000},
	} {
		p := find(t, h, id)
		if !o.Take(p) || o.Take(p) {
			t.Error(id, "is not taken once")
		}
		if got := o.Bytes([]byte("x"), 0); !bytes.Equal(got[1:], want) || got[0] != 'x' {
			t.Errorf("%s: %08b", id, got)
		}
		if !o.Free(p) || o.Free(p) {
			t.Error(id, "is not freed once")
		}
	}
	if got := o.Bytes(nil, 1); len(got) != 0 {
		t.Error("general admission has a map: ", got)
	}
}

func TestOccupancy_RefusesBytesThatAreNoMap(t *testing.T) {
	t.Parallel()
	o := seating.NewOccupancy(newHall(t, hall()))
	o.Take(seating.Place{Seat: 41})
	for _, b := range [][]byte{nil, make([]byte, 5), make([]byte, 7), {0, 0, 0, 0, 0, 0b0010_0000}, {0, 0, 0, 0, 0, 1}} {
		if err := o.SetBytes(0, b); !errors.Is(err, seating.ErrMap) {
			t.Errorf("%08b: %v", b, err)
		}
	}
	if err := o.SetBytes(1, []byte{0}); !errors.Is(err, seating.ErrMap) || o.SetBytes(1, nil) != nil {
		t.Error("general admission: ", err)
	}
	if o.AvailableIn(0) != 41 || o.AvailableIn(1) != 500 || !o.Taken(seating.Place{Seat: 41}) {
		t.Error("a refused map changed the occupancy")
	}
}

func TestOccupancy_GeneralAdmission(t *testing.T) {
	t.Parallel()
	o := seating.NewOccupancy(newHall(t, hall()))
	check := func(what string, taken, available int64) {
		t.Helper()
		if o.TakenGeneral(1) != taken || o.AvailableIn(1) != available || o.AvailableOf(1) != available || o.AvailableOf(0) != 42 {
			t.Errorf("%s: %d taken, %d and %d available", what, o.TakenGeneral(1), o.AvailableIn(1), o.AvailableOf(1))
		}
	}
	o.AddGeneral(1, 499)
	check("take some", 499, 1)
	mark := o.Mark()
	o.AddGeneral(1, -9)
	check("free some", 490, 10)
	o.AddGeneral(1, 20)
	check("take more than the capacity", 510, 0)
	o.Undo(mark)
	check("undo", 499, 1)
	o.SetGeneral(1, 400, 499)
	check("a smaller capacity", 499, 0)
	o.AddGeneral(1, -100)
	check("free below the capacity", 399, 1)
	if o.Capacity(0) != 42 || o.Capacity(1) != 400 {
		t.Error(o.Capacity(0), o.Capacity(1))
	}
}

// model is an occupancy as a set of IDs.
type model struct {
	taken   map[string]bool
	general map[int]int64
}

func (m model) clone() model {
	c := model{map[string]bool{}, map[int]int64{}}
	for id, taken := range m.taken {
		c.taken[id] = taken
	}
	for section, n := range m.general {
		c.general[section] = n
	}
	return c
}

// check compares everything that an occupancy says with the model.
func (m model) check(t *rapid.T, o *seating.Occupancy) {
	h := o.Hall()
	categories := make([]int64, len(h.Categories()))
	for n := range h.Sections() {
		s := &h.Sections()[n]
		var available int64
		want := make([]byte, (len(s.Seats)+7)/8)
		var taken []int
		for i := range s.Seats {
			isTaken := m.taken[s.Seats[i].ID]
			if o.Taken(seating.Place{Section: n, Seat: i}) != isTaken {
				t.Fatal(s.Seats[i].ID)
			}
			if isTaken {
				taken = append(taken, i)
				want[i/8] |= 0x80 >> (i % 8)
				continue
			}
			available++
			categories[s.Seats[i].Category]++
		}
		if s.GeneralAdmission() {
			available = max(0, s.Capacity-m.general[n])
			categories[s.Category] += available
		}
		if o.AvailableIn(n) != available || !slices.Equal(slices.Collect(o.TakenSeats(n)), taken) || !bytes.Equal(o.Bytes(nil, n), want) {
			t.Fatalf("section %d: %d available, want %d", n, o.AvailableIn(n), available)
		}
	}
	for n, want := range categories {
		if got := o.AvailableOf(n); got != want {
			t.Fatalf("category %d: %d available, want %d", n, got, want)
		}
	}
}

// A walk of changes, some of them undone, agrees with a set of seat IDs after each step; so does
// an occupancy that was read from its bytes.
func TestOccupancy_AgreesWithASet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h, err := seating.NewHall(validPlan(t))
		if err != nil {
			t.Fatal(err)
		}
		o, m := seating.NewOccupancy(h), model{map[string]bool{}, map[int]int64{}}
		for range rapid.IntRange(1, 8).Draw(t, "decisions") {
			before, mark, touched := m.clone(), o.Mark(), map[int]bool{}
			for range rapid.IntRange(1, 12).Draw(t, "changes") {
				n := rapid.IntRange(0, len(h.Sections())-1).Draw(t, "section")
				if m.change(t, o, n) {
					touched[n] = true
				}
			}
			m.check(t, o)
			if changed := o.Changed(mark); len(changed) != len(touched) || !slices.IsSorted(changed) {
				t.Fatal(changed, touched)
			}
			switch rapid.IntRange(0, 3).Draw(t, "then") {
			case 0:
				o.Undo(mark)
				if m = before; o.Mark() != mark {
					t.Fatal("undone changes are in the log")
				}
			case 1:
				o.Settle()
			case 2:
				o = reread(t, o)
			}
			m.check(t, o)
		}
	})
}

// change takes or frees something in a section; false if nothing changes.
func (m model) change(t *rapid.T, o *seating.Occupancy, n int) bool {
	s := &o.Hall().Sections()[n]
	take := rapid.Bool().Draw(t, "take")
	if s.GeneralAdmission() {
		amount := rapid.Int64Range(1, 600).Draw(t, "amount")
		if !take {
			amount = -min(amount, m.general[n])
		}
		o.AddGeneral(n, amount)
		m.general[n] += amount
		return true
	}
	i := rapid.IntRange(0, len(s.Seats)-1).Draw(t, "seat")
	move, id := o.Take, s.Seats[i].ID
	if !take {
		move = o.Free
	}
	ok := move(seating.Place{Section: n, Seat: i})
	if ok != (m.taken[id] != take) {
		t.Fatal("seat ", id, take)
	}
	m.taken[id] = take
	return ok
}

// reread copies an occupancy by its bytes, over one in which other seats are taken.
func reread(t *rapid.T, o *seating.Occupancy) *seating.Occupancy {
	c := seating.NewOccupancy(o.Hall())
	for n := range o.Hall().Sections() {
		s := &o.Hall().Sections()[n]
		for i := range s.Seats {
			if i%3 == 0 {
				c.Take(seating.Place{Section: n, Seat: i})
			}
		}
		if err := c.SetBytes(n, o.Bytes(nil, n)); err != nil {
			t.Fatal(err)
		}
		if s.GeneralAdmission() {
			c.SetGeneral(n, s.Capacity, o.TakenGeneral(n))
		}
	}
	c.Settle()
	return c.Clone()
}

func TestOccupancy_ClonesAreApart(t *testing.T) {
	t.Parallel()
	h := newHall(t, hall())
	o := seating.NewOccupancy(h)
	c, p := o.Clone(), find(t, h, "A-1-1")
	c.Take(p)
	c.SetGeneral(1, 400, 5)
	if c.AvailableIn(0) != 41 || !c.Taken(p) || c.AvailableIn(1) != 395 || c.TakenGeneral(1) != 5 || c.Capacity(1) != 400 ||
		o.AvailableIn(0) != 42 || o.Taken(p) || o.AvailableIn(1) != 500 || o.TakenGeneral(1) != 0 || o.Capacity(1) != 500 || o.Mark() != 0 {
		t.Error("a change of the clone is in the other one, or not in the clone")
	}
}

func TestOccupancy_ChangesDoNotAllocate(t *testing.T) {
	o := seating.NewOccupancy(newHall(t, hall()))
	if n := testing.AllocsPerRun(100, func() {
		mark := o.Mark()
		o.Take(seating.Place{Seat: 5})
		o.AddGeneral(1, 3)
		o.Undo(mark)
	}); n > 0 {
		t.Error(n, "allocations")
	}
}

// stadium has 100,000 seats.
func stadium() holdfast.SeatingPlan {
	p := hall()
	p.Sections = many(100, func(i int) holdfast.Section {
		return holdfast.Section{Key: fmt.Sprint("S", i), Name: "S", Category: "stalls", Rows: rowsOf(25, 40)}
	})
	return p
}

func TestHall_OfAStadiumTakesNoSecond(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	if h := newHall(t, stadium()); h.TotalSeats() != 100_000 || h.NumberedSeats() != 100_000 || time.Since(begin) > 5*time.Second {
		t.Error(h.TotalSeats(), time.Since(begin))
	}
}

func BenchmarkCheck_100000Seats(b *testing.B) {
	plan := stadium()
	for b.Loop() {
		if problems := seating.Check(plan); problems != nil {
			b.Fatal(problems)
		}
	}
}

func BenchmarkNewHall_100000Seats(b *testing.B) {
	plan := stadium()
	for b.Loop() {
		newHall(b, plan)
	}
}

func BenchmarkOccupancy_TakeTwoAndUndo(b *testing.B) {
	o := seating.NewOccupancy(newHall(b, stadium()))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		mark, p := o.Mark(), seating.Place{Section: i % 100, Seat: i * 7 % 999}
		o.Take(p)
		o.Take(seating.Place{Section: p.Section, Seat: p.Seat + 1})
		o.Undo(mark)
	}
}

func BenchmarkOccupancy_Load100000Seats(b *testing.B) {
	h := newHall(b, stadium())
	full := bytes.Repeat([]byte{0xf7}, 125)
	for b.Loop() {
		o := seating.NewOccupancy(h)
		for n := range h.Sections() {
			if err := o.SetBytes(n, full); err != nil {
				b.Fatal(err)
			}
		}
	}
}
