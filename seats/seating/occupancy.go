package seating

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// Occupancy records which seats of a hall are free. Only one goroutine may use it at a time.
//
// Every change goes through set, AddGeneral or SetCapacity, which keep the counts and the log.
type Occupancy struct {
	hall *Hall
	// taken has one bit a seat, a range of words for each section (Section.firstWord). The
	// first seat is in the highest bit of the first word. Bits behind the last seat are 0.
	taken []uint64
	// capacities and general are of general admission, by section: the capacity of the event,
	// which may differ from the plan's, and how much of it is taken.
	capacities, general []int64
	free                []int64 // by part; below 0 if more than the capacity is taken
	oversold            int64   // how much is taken beyond the capacities, of all sections
	log                 []change
	index               *index // nil until best available seats are asked for
}

// change is an entry of the log: a seat that was taken or freed, or general admission.
type change struct {
	place Place // if it is not a seat, Seat is generalAdmission, or generalCapacity for its capacity
	taken int64 // 1 for a seat that was taken, -1 for one that was freed; the amount of general admission
}

// The values of a change that is not about a seat, in place of the seat's number.
const (
	generalAdmission = -1 - iota
	generalCapacity
)

// NewOccupancy returns an occupancy in which all seats are free, with the capacities of the plan.
func NewOccupancy(h *Hall) *Occupancy {
	o := &Occupancy{
		hall: h, taken: make([]uint64, h.words), capacities: make([]int64, len(h.sections)), general: make([]int64, len(h.sections)),
		free: make([]int64, len(h.parts)),
	}
	for n := range h.sections {
		o.capacities[n] = h.sections[n].Capacity
	}
	for n, p := range h.parts {
		o.free[n] = p.Seats
	}
	return o
}

// Hall returns the hall of the occupancy.
func (o *Occupancy) Hall() *Hall { return o.hall }

// Clone returns a copy with an empty log.
func (o *Occupancy) Clone() *Occupancy {
	c := *o
	c.taken, c.free, c.log, c.index = slices.Clone(o.taken), slices.Clone(o.free), nil, nil
	c.capacities, c.general = slices.Clone(o.capacities), slices.Clone(o.general)
	return &c
}

// words returns the map of a section.
func (o *Occupancy) words(section int) []uint64 {
	s := &o.hall.sections[section]
	return o.taken[s.firstWord:s.endWord]
}

// Taken reports whether a seat is taken.
func (o *Occupancy) Taken(p Place) bool {
	w := o.taken[o.hall.sections[p.Section].firstWord+p.Seat/bitsPerWord]
	return w&bit(p.Seat) != 0
}

// bit is the bit of a seat in its word.
func bit(seat int) uint64 { return 1 << (bitsPerWord - 1) >> (seat % bitsPerWord) }

// Take takes a seat. It returns false if the seat was taken before.
func (o *Occupancy) Take(p Place) bool { return o.set(p, 1) }

// Free frees a seat. It returns false if the seat was free before.
func (o *Occupancy) Free(p Place) bool { return o.set(p, -1) }

func (o *Occupancy) set(p Place, taken int64) bool {
	if o.Taken(p) == (taken > 0) {
		return false
	}
	o.flip(p, taken)
	o.log = append(o.log, change{p, taken})
	return true
}

// flip changes a bit and the counts. All changes of bits go through it.
func (o *Occupancy) flip(p Place, taken int64) {
	s := &o.hall.sections[p.Section]
	o.taken[s.firstWord+p.Seat/bitsPerWord] ^= bit(p.Seat)
	o.free[s.Seats[p.Seat].Part] -= taken
	if o.index != nil {
		o.index.note(s.firstRow+s.Seats[p.Seat].Row, taken < 0)
	}
}

// AddGeneral adds n to the taken seats of general admission, even beyond the capacity. A negative n frees seats, at most
// as many as are taken.
func (o *Occupancy) AddGeneral(section int, n int64) {
	o.general[section] += n
	o.addFree(section, -n)
	o.log = append(o.log, change{Place{section, generalAdmission}, n})
}

// addFree adds n to the free seats of general admission in a section.
func (o *Occupancy) addFree(section int, n int64) {
	free := &o.free[o.hall.sections[section].Parts[0]]
	o.oversold -= max(0, -*free)
	*free += n
	o.oversold += max(0, -*free)
}

// Mark returns the present state of the log, for Undo.
func (o *Occupancy) Mark() int { return len(o.log) }

// Undo undoes all changes since a mark.
func (o *Occupancy) Undo(mark int) {
	for i := len(o.log) - 1; i >= mark; i-- {
		switch c := o.log[i]; c.place.Seat {
		case generalAdmission:
			o.general[c.place.Section] -= c.taken
			o.addFree(c.place.Section, c.taken)
		case generalCapacity:
			o.capacities[c.place.Section] -= c.taken
			o.addFree(c.place.Section, -c.taken)
		default:
			o.flip(c.place, -c.taken)
		}
	}
	o.log = o.log[:mark]
}

// Become changes the occupancy to that of another one of the same hall, by the log. It returns the number of
// seats that differed.
func (o *Occupancy) Become(right *Occupancy) (wrong int64) {
	for n := range o.hall.sections {
		s := &o.hall.sections[n]
		if s.GeneralAdmission() {
			if more := right.general[n] - o.general[n]; more != 0 {
				o.AddGeneral(n, more)
				wrong += max(more, -more)
			}
			continue
		}
		if slices.Equal(o.words(n), right.words(n)) {
			continue
		}
		for seat := range s.Seats {
			p := Place{n, seat}
			if right.Taken(p) && o.Take(p) || !right.Taken(p) && o.Free(p) {
				wrong++
			}
		}
	}
	return wrong
}

// SetCapacity replaces the capacity of general admission in a section, by the log. More may be taken than it
// has.
func (o *Occupancy) SetCapacity(section int, capacity int64) {
	more := capacity - o.capacities[section]
	if more == 0 {
		return
	}
	o.capacities[section] = capacity
	o.addFree(section, more)
	o.log = append(o.log, change{Place{section, generalCapacity}, more})
}

// Capacities returns the sections of general admission with their capacities, in the plan's order, in a new
// slice; nil if there are none.
func (o *Occupancy) Capacities() (sections []holdfast.SectionCapacity) {
	for n := range o.hall.sections {
		if s := &o.hall.sections[n]; s.GeneralAdmission() {
			sections = append(sections, holdfast.SectionCapacity{Key: s.Key, Capacity: o.capacities[n]})
		}
	}
	return sections
}

// Settle forgets the log: its changes can't be undone any more.
func (o *Occupancy) Settle() { o.log = o.log[:0] }

// Available returns the free seats of a part, never below 0.
func (o *Occupancy) Available(part int) int64 { return max(0, o.free[part]) }

// AvailableIn returns the free seats of a section.
func (o *Occupancy) AvailableIn(section int) (n int64) {
	for _, part := range o.hall.sections[section].Parts {
		n += o.Available(part)
	}
	return n
}

// AvailableOf returns the free seats of a category.
func (o *Occupancy) AvailableOf(category int) (n int64) {
	for part := range o.hall.parts {
		if o.hall.parts[part].Category == category {
			n += o.Available(part)
		}
	}
	return n
}

// Capacity returns how many seats of a section can be taken: its seats in rows, or the capacity
// of general admission that the event has.
func (o *Occupancy) Capacity(section int) int64 {
	return o.capacities[section] + int64(len(o.hall.sections[section].Seats))
}

// Total returns how many seats the hall has, with the capacities of the event.
func (o *Occupancy) Total() (n int64) {
	for section := range o.hall.sections {
		n += o.Capacity(section)
	}
	return n
}

// Oversold returns how much is taken of general admission beyond the capacities of the sections, all together.
func (o *Occupancy) Oversold() int64 { return o.oversold }

// OversoldIn returns how much is taken of a section of general admission beyond its capacity.
func (o *Occupancy) OversoldIn(section int) int64 {
	return max(0, o.general[section]-o.capacities[section])
}

// TakenGeneral returns how many seats of general admission are taken in a section.
func (o *Occupancy) TakenGeneral(section int) int64 { return o.general[section] }

// SetGeneral replaces the capacity of general admission in a section, and how much of it is
// taken, outside the log. More may be taken than the capacity has.
func (o *Occupancy) SetGeneral(section int, capacity, taken int64) {
	o.addFree(section, capacity-taken-(o.capacities[section]-o.general[section]))
	o.capacities[section], o.general[section] = capacity, taken
}

// Changed returns the numbers of the sections that were changed since a mark, sorted, each once.
// A change that was changed back counts.
func (o *Occupancy) Changed(mark int) []int {
	var sections []int
	for _, c := range o.log[mark:] {
		sections = append(sections, c.place.Section)
	}
	slices.Sort(sections)
	return slices.Compact(sections)
}

const bytesPerWord = bitsPerWord / 8

// mapBytes is the length of a section's map in bytes; 0 for general admission.
func mapBytes(s *Section) int { return (len(s.Seats) + 7) / 8 }

// Bytes appends the map of a section to b. General admission has none.
func (o *Occupancy) Bytes(b []byte, section int) []byte {
	end := len(b) + mapBytes(&o.hall.sections[section])
	for _, w := range o.words(section) {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b[:end]
}

// ErrMap is the error for bytes that can't be the map of a section.
var ErrMap = errors.New("the bytes are not a map of the section")

// SetBytes replaces the map of a section, outside the log. After an error, which wraps ErrMap,
// the map is what it was.
func (o *Occupancy) SetBytes(section int, b []byte) error {
	s := &o.hall.sections[section]
	if s.GeneralAdmission() && len(b) == 0 {
		return nil
	}
	if len(b) != mapBytes(s) {
		return fmt.Errorf("%w: %d bytes for %d seats", ErrMap, len(b), len(s.Seats))
	}
	if spare := len(b)*8 - len(s.Seats); spare > 0 && b[len(b)-1]<<(8-spare) != 0 {
		return fmt.Errorf("%w: a bit behind the last of %d seats is set", ErrMap, len(s.Seats))
	}
	words := o.words(section)
	for w := range words {
		var word uint64
		for i, v := range b[w*bytesPerWord : min(len(b), (w+1)*bytesPerWord)] {
			word |= uint64(v) << (bitsPerWord - 8 - 8*i)
		}
		if o.index == nil && len(s.Parts) == 1 { // a process that shares an event reads its map for each commit
			o.free[s.Parts[0]] += int64(bits.OnesCount64(words[w]) - bits.OnesCount64(word))
			words[w] = word
			continue
		}
		// The index keeps its entries of the seats that have not changed.
		for changed := word ^ words[w]; changed != 0; {
			n := bits.LeadingZeros64(changed)
			changed &^= bit(n)
			taken := int64(-1)
			if word&bit(n) != 0 {
				taken = 1
			}
			o.flip(Place{section, w*bitsPerWord + n}, taken)
		}
	}
	return nil
}

// takenSeats yields the numbers of the seats whose bit is set.
func takenSeats(words []uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range words {
			for ; w != 0; w &^= bit(bits.LeadingZeros64(w)) {
				if !yield(i*bitsPerWord + bits.LeadingZeros64(w)) {
					return
				}
			}
		}
	}
}

// Since compares a section with an earlier occupancy of the same plan. It returns the numbers of the seats that
// were taken since, and of those that were freed.
func (o *Occupancy) Since(before *Occupancy, section int) (taken, freed []int) {
	was, is := before.words(section), o.words(section)
	if slices.Equal(was, is) {
		return nil, nil
	}
	changed := make([]uint64, len(is))
	for w := range is {
		changed[w] = is[w] ^ was[w]
	}
	for seat := range takenSeats(changed) {
		if o.Taken(Place{section, seat}) {
			taken = append(taken, seat)
		} else {
			freed = append(freed, seat)
		}
	}
	return taken, freed
}

// TakenSeats yields the numbers of the seats of a section that are taken, in the plan's order.
func (o *Occupancy) TakenSeats(section int) iter.Seq[int] { return takenSeats(o.words(section)) }
