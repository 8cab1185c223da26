package live

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// SectionAvailability is the number of free seats of a section. The message `sections` has a list of them.
type SectionAvailability struct {
	Key       string `json:"key"`
	Available int64  `json:"available"`
}

// SectionBitmap is the message `seats` with all seats of a section.
type SectionBitmap struct {
	Section string `json:"section" doc:"The key of the section."`
	Rev     int64  `json:"rev" doc:"The event's revision."`
	Bitmap  string `json:"bitmap" doc:"Base64. One bit for each seat in plan order, the highest bit first; 1 means not available."`
}

// SectionChanges is the message `seats` with the seats of a section that changed.
type SectionChanges struct {
	Section string   `json:"section" doc:"The key of the section."`
	Rev     int64    `json:"rev" doc:"The event's revision."`
	Taken   []string `json:"taken" nullable:"false" doc:"The IDs of the seats that are not available any more."`
	Freed   []string `json:"freed" nullable:"false" doc:"The IDs of the seats that are available again."`
}

// A message's ID has 37 bits that rise with each batch, 5 with each message of the batch, and 21 of a hash of
// the batch's state and the listener's sections. So a client is resumed only if it has that very state, and of
// the sections that it asks for.
const (
	prefixShift   = 23 // from a Seq to the 37 bits
	prefixBits    = frameBits + signatureBits
	frameBits     = 5
	signatureBits = 21
	lastFrame     = 1<<frameBits - 1 // marks a complete batch
)

const (
	// MaxSections bounds the sections that a listener asks for, each of which is a message of a batch.
	MaxSections = 20
	// maxReplaySeats bounds the seats of the batches that are kept.
	maxReplaySeats = 1 << 16
)

// sections are the sections that a listener asks for.
type sections struct {
	keys []string // sorted
	name string   // of the set: all keys
	hash int64    // of the event and the name
}

func newSections(event holdfast.ID, keys []string) *sections {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	s := &sections{keys: keys, name: strings.Join(keys, "\n")}
	hash := fnv.New64a()
	_, _ = hash.Write(append(event[:], s.name...)) // it never fails
	s.hash = int64(hash.Sum64() >> 1)
	return s
}

// check refuses sections that the hall does not have.
func (s *sections) check(hall *seating.Hall) error {
	for _, key := range s.keys {
		if _, found := hall.FindSection(key); !found {
			return holdfast.RefuseInput("query.section", "The seating plan has no such section.")
		}
	}
	return nil
}

// in returns the numbers of the sections in a hall, in its order, without those that it does not have: the
// plan may have changed.
func (s *sections) in(hall *seating.Hall) []int {
	numbers := make([]int, 0, len(s.keys))
	for _, key := range s.keys {
		if n, found := hall.FindSection(key); found {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// batch is what changed between two maps that were read one after the other.
type batch struct {
	number   int64 // one more than that of the batch before
	prefix   int64 // of its IDs
	seq      int64 // of the state that it leads to
	revision int64 // of that state
	hall     *seating.Hall
	overview string           // the message `sections`; "" if no availability has changed
	changes  map[int]*changes // by section
	seats    int              // that changed
}

// changes are those of a section.
type changes struct {
	taken, freed []int
	message      string // once it was needed
}

// newBatch compares two maps of the same plan.
func newBatch(before, state store.SeatMap, seq int64) *batch {
	b := &batch{seq: seq, revision: state.Revision, hall: state.Seats.Hall(), changes: map[int]*changes{}}
	var changed []SectionAvailability
	for n, section := range b.hall.Sections() {
		if available := state.Seats.AvailableIn(n); available != before.Seats.AvailableIn(n) {
			changed = append(changed, SectionAvailability{Key: section.Key, Available: available})
		}
		if taken, freed := state.Seats.Since(before.Seats, n); len(taken)+len(freed) > 0 {
			b.changes[n] = &changes{taken: taken, freed: freed}
			b.seats += len(taken) + len(freed)
		}
	}
	if changed != nil {
		b.overview = messageOf("sections", changed)
	}
	return b
}

func isSamePlan(a, b store.SeatMap) bool {
	x, y := a.Seats.Hall(), b.Seats.Hall()
	return a.PlanID == b.PlanID && (x == y || slices.EqualFunc(x.Sections(), y.Sections(), func(s, t seating.Section) bool {
		return s.Key == t.Key && len(s.Seats) == len(t.Seats)
	}))
}

func (b *batch) isEmpty() bool { return b.overview == "" && len(b.changes) == 0 }

// text is the message for listeners of these sections; nil if these sections have not changed.
func (b *batch) text(of *sections) []byte {
	var messages []string
	if b.overview != "" {
		messages = append(messages, b.overview)
	}
	if len(b.changes) > 0 {
		for _, n := range of.in(b.hall) {
			if c := b.changes[n]; c != nil {
				messages = append(messages, b.message(n, c))
			}
		}
	}
	return b.numbered(of, messages)
}

// message encodes the changes of a section once.
func (b *batch) message(n int, c *changes) string {
	if c.message == "" {
		section := &b.hall.Sections()[n]
		ids := func(seats []int) []string {
			list := make([]string, len(seats))
			for i, seat := range seats {
				list[i] = section.Seats[seat].ID
			}
			return list
		}
		c.message = messageOf("seats", SectionChanges{Section: section.Key, Rev: b.revision, Taken: ids(c.taken), Freed: ids(c.freed)})
	}
	return c.message
}

// messageOf is a message without its ID.
func messageOf(event string, data any) string {
	text, err := json.Marshal(data)
	if err != nil {
		return "" // numbers and strings can always be encoded
	}
	return "event: " + event + "\ndata: " + string(text) + "\n\n"
}

// idRoom is enough for the line of a message's ID.
const idRoom = len("id: -9223372036854775808\n")

// numbered puts the IDs before the messages. Only the ID of the last one can be resumed from.
func (b *batch) numbered(of *sections, messages []string) []byte {
	size := 0
	for _, message := range messages {
		size += idRoom + len(message)
	}
	text := make([]byte, 0, size)
	for i, message := range messages {
		frame := int64(i)
		if i == len(messages)-1 {
			frame = lastFrame
		}
		text = append(text, "id: "...)
		text = strconv.AppendInt(text, b.id(of, frame), 10)
		text = append(append(text, '\n'), message...)
	}
	return text
}

func (b *batch) id(of *sections, frame int64) int64 {
	const roomBits = 8 // the low bits of a Seq, which are 0
	return b.prefix<<prefixBits | frame<<signatureBits | (of.hash^b.seq>>roomBits)%(1<<signatureBits)
}
