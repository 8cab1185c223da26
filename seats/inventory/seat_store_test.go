package inventory_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/hallmodel"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// storedSeats is what a store keeps of a seated event: the plan, and the map of each section as the
// last transaction left it.
type storedSeats struct {
	hall    *seating.Hall   // that decisions use
	model   *hallmodel.Hall // that checks use
	bits    map[int][]byte
	general map[int]int64
	plans   map[ID]holdfast.SeatingPlan // all that there are
}

var planID = planNumber(0)

// planNumber names a plan of a store: 0 is the event's first one.
func planNumber(n int) ID { return numbered(0x5e, 1+n) }

// newSeated has a seated event on sale with all its seats. There are other plans that it can have.
func newSeated(t rapid.TB, plan holdfast.SeatingPlan, others ...holdfast.SeatingPlan) *store {
	t.Helper()
	s := newStore(plan.TotalSeats())
	s.event.Seating = holdfast.Seating{
		PlanID: planID, OrphanRule: holdfast.OrphansAllowed, AccessiblePolicy: holdfast.AccessibleReserved,
	}
	s.seats = &storedSeats{plans: map[ID]holdfast.SeatingPlan{planID: plan}}
	for n, other := range others {
		s.seats.plans[planNumber(1+n)] = other
	}
	s.seats.compile(t, planID)
	s.event.Sections = s.seats.model.GeneralAdmission()
	s.seats.bits, s.seats.general = s.union(t)
	return s
}

// compile makes the halls of a plan.
func (s *storedSeats) compile(t rapid.TB, id ID) {
	t.Helper()
	hall, err := seating.NewHall(s.plans[id])
	if err != nil {
		t.Fatalf("%+v: %v", s.plans[id], err)
	}
	s.hall, s.model = hall, hallmodel.Of(s.plans[id])
}

func (s *storedSeats) clone() *storedSeats {
	if s == nil {
		return nil
	}
	return &storedSeats{s.hall, s.model, maps.Clone(s.bits), maps.Clone(s.general), s.plans}
}

// withSeats puts a lock with the seats into the store, as withLock does. A section's key in place
// of a seat's ID means that section's general admission.
func (s *store) withSeats(t rapid.TB, n int, status holdfast.LockStatus, expires time.Time, seats ...string) *store {
	s.withLock(n, int64(len(seats)), status, expires, func(l *inventory.Lock) {
		if s.seats.model.Section(seats[0]) != nil {
			l.Section = seats[0]
		} else {
			l.SeatIDs = seats
		}
		if status == holdfast.LockBlocked {
			l.UserID, l.ExpiresAt = ID{}, time.Time{}
			s.event.Seating.BlockedSeats += l.Seats
		}
	})
	s.seats.bits, s.seats.general = s.union(t)
	return s
}

// occupancy is the map as it is stored.
func (s *storedSeats) occupancy() *seating.Occupancy {
	if s == nil {
		return nil
	}
	o := seating.NewOccupancy(s.hall)
	for n, bits := range s.bits {
		if err := o.SetBytes(n, bits); err != nil {
			panic(err)
		}
	}
	for n, taken := range s.general {
		o.SetGeneral(n, s.model.Sections[n].Capacity, taken)
	}
	return o
}

// union is the map that the live locks make.
func (s *store) union(t rapid.TB) (bits map[int][]byte, general map[int]int64) {
	t.Helper()
	bits, general = map[int][]byte{}, map[int]int64{}
	for _, section := range s.seats.model.Sections {
		if section.Capacity > 0 {
			general[section.Number] = 0
		}
	}
	const perByte = 8
	for _, seat := range s.seats.model.Seats {
		if seat.InSection%perByte == 0 {
			bits[seat.Section] = append(bits[seat.Section], 0)
		}
	}
	for _, lock := range s.ofEvent(takes) {
		if section := s.seats.model.Section(lock.Section); section != nil {
			general[section.Number] += lock.Seats
		}
		for _, id := range lock.SeatIDs {
			seat := s.seats.model.ByID[id]
			if seat == nil { // of other software
				continue
			}
			at, bit := &bits[seat.Section][seat.InSection/8], byte(0x80)>>(seat.InSection%8)
			if *at&bit != 0 {
				t.Errorf("seat %s is in two live locks", id)
			}
			*at |= bit
		}
	}
	return bits, general
}

// loadSeats reads what is needed of a seated event.
func (s *store) loadSeats(n inventory.Needs, state *inventory.State) {
	if n.Union {
		state.Union = s.loadUnion(n.UnionIn)
	}
	if s.seats == nil || s.event == nil {
		return
	}
	if n.Seats {
		state.Seats = s.seats.occupancy()
	}
	state.Holders, state.Blocks = map[string]*inventory.Lock{}, map[string]*inventory.Lock{}
	for _, id := range n.Holders {
		state.Holders[id] = nil
		if holder := s.holder(id); holder != nil && s.isReclaimable(holder) {
			state.Holders[id] = copyOf(holder)
		}
	}
	for _, id := range n.Blocks {
		state.Blocks[id] = nil
		if holder := s.holder(id); holder != nil && holder.Status == holdfast.LockBlocked {
			state.Blocks[id] = copyOf(holder)
		}
	}
}

// loadUnion is what the live locks take, as far as the hall has it: the event's or, with its own capacities, the
// one of a plan.
func (s *store) loadUnion(in ID) *inventory.Union {
	u := &inventory.Union{}
	if s.seats == nil || s.event == nil {
		return u
	}
	made := *s
	made.seats = s.seats.clone()
	if !in.IsZero() {
		made.seats.compile(quiet{}, in)
	}
	made.seats.bits, made.seats.general = made.union(quiet{})
	u.PlanID, u.Seats = cmp.Or(in, s.event.Seating.PlanID), made.seats.occupancy()
	seen := map[string]int{}
	for _, lock := range s.ofEvent(takes) {
		u.Taken += lock.Seats
		if lock.Status == holdfast.LockBlocked {
			u.Blocked += lock.Seats
		}
		for n, id := range lock.SeatIDs {
			if slices.Contains(lock.SeatIDs[:n], id) {
				continue
			}
			if seen[id] == 1 {
				u.Doubles = append(u.Doubles, id)
			}
			seen[id]++
			if made.seats.model.ByID[id] == nil {
				u.Missing = append(u.Missing, id)
			}
		}
		if section := made.seats.model.Section(lock.Section); lock.Section != "" && (section == nil || section.Capacity == 0) {
			u.MissingSections = append(u.MissingSections, lock.Section)
		}
	}
	return u
}

// quiet is a test that takes no notice of failures.
type quiet struct{ rapid.TB }

func (quiet) Helper()               {}
func (quiet) Errorf(string, ...any) {}

// holder is the live lock with a seat; nil: there is none.
func (s *store) holder(seatID string) *inventory.Lock {
	found := s.ofEvent(func(l *inventory.Lock) bool { return takes(l) && slices.Contains(l.SeatIDs, seatID) })
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

func (s *store) isReclaimable(l *inventory.Lock) bool {
	return l.Status == holdfast.LockActive && l.Due(s.now) && l.Seats > 0
}

// writeMaps carries out the part of an event's write that is about seats.
func (s *store) writeMaps(w inventory.EventWrite) error {
	if w.Blocked != nil {
		s.event.Seating.BlockedSeats = *w.Blocked
	}
	if s.seats == nil {
		if len(w.Maps) > 0 || w.Blocked != nil || w.Sections != nil || w.Fields.SeatingPlanID != nil {
			return fmt.Errorf("the write %+v is of an unseated event", w)
		}
		return nil
	}
	if w.IfUnchanged == nil && w.Drift == nil {
		return fmt.Errorf("the write %+v does not guard the map", w)
	}
	if id := w.Fields.SeatingPlanID; id != nil {
		s.seats.compile(quiet{}, *id)
		if s.seats.bits, s.seats.general = map[int][]byte{}, map[int]int64{}; !w.AllMaps {
			return fmt.Errorf("the write %+v keeps maps of another hall", w)
		}
	}
	if w.Sections != nil {
		s.event.Sections = *w.Sections
		s.seats.model = s.seats.model.WithCapacities(*w.Sections)
	}
	for _, m := range w.Maps {
		if general := s.seats.model.Sections[m.Section].Capacity > 0; general {
			s.seats.general[m.Section] = m.Taken
		} else {
			s.seats.bits[m.Section] = slices.Clone(m.Bits)
		}
	}
	return nil
}

// checkSeats: the stored map is exactly what the live locks have, and locks are what they say.
func (s *store) checkSeats(t rapid.TB) {
	t.Helper()
	if s.seats == nil || s.event == nil {
		return
	}
	bits, general := s.union(t)
	for n, want := range bits {
		if !slices.Equal(s.seats.bits[n], want) {
			t.Errorf("the map of section %d is %x, its locks make it %x", n, s.seats.bits[n], want)
		}
	}
	if !maps.Equal(s.seats.general, general) {
		t.Errorf("general admission has %v taken, want %v", s.seats.general, general)
	}
	blocked := int64(0)
	for _, lock := range s.ofEvent(takes) {
		if len(lock.SeatIDs) > 0 && int64(len(lock.SeatIDs)) != lock.Seats {
			t.Errorf("lock %s has %d seats, and names %v", lock.ID, lock.Seats, lock.SeatIDs)
		}
		if lock.Status == holdfast.LockBlocked {
			blocked += lock.Seats
		}
	}
	if s.event.Seating.BlockedSeats != blocked {
		t.Errorf("the event says %d blocked seats, want %d", s.event.Seating.BlockedSeats, blocked)
	}
	s.checkParts(t, s.seats.occupancy())
}

// checkParts compares the counts of an occupancy, which answers are made from, with the locks.
func (s *store) checkParts(t rapid.TB, o *seating.Occupancy) {
	t.Helper()
	inSection, ofCategory := map[int]int64{}, map[string]int64{}
	for _, section := range s.seats.model.Sections {
		if section.Capacity > 0 {
			free := max(0, section.Capacity-s.seats.general[section.Number])
			inSection[section.Number] = free
			ofCategory[section.Category] += free
		}
	}
	for _, seat := range s.seats.model.Seats {
		if s.holder(seat.ID) == nil {
			inSection[seat.Section]++
			ofCategory[seat.Category]++
		}
	}
	for n := range s.seats.model.Sections {
		if got := o.AvailableIn(n); got != inSection[n] {
			t.Errorf("section %d has %d available seats, want %d", n, got, inSection[n])
		}
	}
	for n, category := range s.seats.model.Categories {
		if got := o.AvailableOf(n); got != ofCategory[category] {
			t.Errorf("category %s has %d available seats, want %d", category, got, ofCategory[category])
		}
	}
}

// checkDecided: the occupancy that a decision leaves is what its plan leaves.
func (s *store) checkDecided(t rapid.TB, o *seating.Occupancy) {
	t.Helper()
	if s.seats == nil || o == nil {
		return
	}
	for n, section := range s.seats.model.Sections {
		if got := o.Bytes(nil, n); !slices.Equal(got, s.seats.bits[n]) {
			t.Errorf("the decision leaves section %d as %x, stored is %x", n, got, s.seats.bits[n])
		}
		if got := o.TakenGeneral(n); section.Capacity > 0 && got != s.seats.general[n] {
			t.Errorf("the decision leaves %d of section %d taken, stored is %d", got, n, s.seats.general[n])
		}
	}
	s.checkParts(t, o)
}

func cloneOf(o *seating.Occupancy) *seating.Occupancy {
	if o == nil {
		return nil
	}
	return o.Clone()
}

// wantSame: a decision that needs more has undone what it took and freed.
func wantSame(t rapid.TB, got, want *seating.Occupancy) {
	t.Helper()
	if got == nil {
		return
	}
	for n := range got.Hall().Sections() {
		if !slices.Equal(got.Bytes(nil, n), want.Bytes(nil, n)) || got.TakenGeneral(n) != want.TakenGeneral(n) ||
			got.Capacity(n) != want.Capacity(n) {
			t.Errorf("a decision that needs more leaves section %d changed", n)
		}
	}
}

// describe shows each row with its seats: # is taken, a accessible, | a gap.
func (s *store) describe() string {
	if s.seats == nil {
		return fmt.Sprintf("%+v", s.event)
	}
	h := s.seats.model
	lines := []string{fmt.Sprintf("now %s, %+v, taken of sections %v", s.now, s.event.Seating, s.seats.general),
		h.Describe(func(seat *hallmodel.Seat) bool { return s.holder(seat.ID) != nil })}
	for _, lock := range s.ofEvent(takes) {
		lines = append(lines, fmt.Sprintf("%s %s %v %s until %s, sold %d",
			lock.ID, lock.Status, lock.SeatIDs, lock.Section, lock.ExpiresAt, s.sales(lock.ID)))
	}
	return strings.Join(lines, "\n")
}
