package seating

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Occupancy says which seats of a hall are free. Only one goroutine may use it at a time.
//
// Every change goes through set or addGeneral, which keep the counts and the log.
type Occupancy struct {
	hall *Hall
	// taken has one bit a seat, a range of words for each section (Section.firstWord). The
	// first seat is in the highest bit of the first word. Bits behind the last seat are 0.
	taken []uint64
	// capacities and general are of general admission, by section: the capacity of the event,
	// which may differ from the plan's, and how much of it is taken.
	capacities, general []int64
	free                []int64 // by part; below 0 if more than the capacity is taken
	log                 []change
}

// change is an entry of the log: a seat that was taken or freed, or general admission.
type change struct {
	place Place // Seat is -1 for general admission
	taken int64 // 1 for a seat that was taken, -1 for one that was freed; the amount of general admission
}

const generalAdmission = -1

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
	c.taken, c.free, c.log = append([]uint64(nil), o.taken...), append([]int64(nil), o.free...), nil
	c.capacities, c.general = append([]int64(nil), o.capacities...), append([]int64(nil), o.general...)
	return &c
}

// words returns the map of a section.
func (o *Occupancy) words(section int32) []uint64 {
	s := &o.hall.sections[section]
	return o.taken[s.firstWord:s.endWord]
}

// Taken reports whether a seat is taken.
func (o *Occupancy) Taken(p Place) bool {
	w := o.taken[o.hall.sections[p.Section].firstWord+int(p.Seat)/bitsPerWord]
	return w&bit(p.Seat) != 0
}

// bit is the bit of a seat in its word.
func bit(seat int32) uint64 { return 1 << (bitsPerWord - 1 - uint(seat)%bitsPerWord) }

// Take takes a seat; false: it was taken before.
func (o *Occupancy) Take(p Place) bool { return o.set(p, 1) }

// Free frees a seat; false: it was free before.
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
	o.taken[s.firstWord+int(p.Seat)/bitsPerWord] ^= bit(p.Seat)
	o.free[s.Seats[p.Seat].Part] -= taken
}

// TakeGeneral takes n seats of general admission; false: fewer are free, and none is taken.
func (o *Occupancy) TakeGeneral(section int, n int64) bool {
	if n < 0 || n > o.capacities[section]-o.general[section] {
		return false
	}
	o.addGeneral(section, n)
	return true
}

// FreeGeneral frees n seats of general admission; false: fewer are taken, and none is freed.
func (o *Occupancy) FreeGeneral(section int, n int64) bool {
	if n < 0 || n > o.general[section] {
		return false
	}
	o.addGeneral(section, -n)
	return true
}

func (o *Occupancy) addGeneral(section int, n int64) {
	o.general[section] += n
	o.free[o.hall.sections[section].Parts[0]] -= n
	o.log = append(o.log, change{Place{int32(section), generalAdmission}, n})
}

// Mark returns the present state of the log, for Undo.
func (o *Occupancy) Mark() int { return len(o.log) }

// Undo undoes all changes since a mark.
func (o *Occupancy) Undo(mark int) {
	for i := len(o.log) - 1; i >= mark; i-- {
		c := o.log[i]
		if c.place.Seat == generalAdmission {
			o.general[c.place.Section] -= c.taken
			o.free[o.hall.sections[c.place.Section].Parts[0]] += c.taken
		} else {
			o.flip(c.place, -c.taken)
		}
	}
	o.log = o.log[:mark]
}

// Settle forgets the log: its changes can't be undone any more.
func (o *Occupancy) Settle() { o.log = o.log[:0] }

// Available returns the free seats of a part, never below 0.
func (o *Occupancy) Available(part int) int64 { return max(0, o.free[part]) }

// Bytes appends the map of a section to b.
func (o *Occupancy) Bytes(b []byte, section int) []byte {
	n := (len(o.hall.sections[section].Seats) + 7) / 8
	end := len(b) + n
	for _, w := range o.words(int32(section)) {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b[:end]
}

var errMapLength = errors.New("the section's map has the wrong length")

// SetBytes replaces the map of a section, outside the log.
func (o *Occupancy) SetBytes(section int, b []byte) error {
	s := &o.hall.sections[section]
	if len(b) != (len(s.Seats)+7)/8 {
		return fmt.Errorf("%w: %d bytes for %d seats", errMapLength, len(b), len(s.Seats))
	}
	words := o.words(int32(section))
	clear(words)
	for i, v := range b {
		words[i/8] |= uint64(v) << (56 - 8*(i%8))
	}
	for _, n := range s.Parts {
		o.free[n] = o.hall.parts[n].Seats
	}
	for i, w := range words {
		for ; w != 0; w &^= bit(int32(bits.LeadingZeros64(w))) {
			o.free[s.Seats[i*bitsPerWord+bits.LeadingZeros64(w)].Part]--
		}
	}
	return nil
}
