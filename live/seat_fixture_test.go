package live_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/live"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// newHall has sections of one row each, or of general admission for a negative number.
func newHall(t testing.TB, seats map[string]int64) *seating.Hall {
	t.Helper()
	plan := holdfast.SeatingPlan{Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}}
	for _, key := range slices.Sorted(maps.Keys(seats)) {
		section := holdfast.Section{Key: key, Name: key, Category: "c"}
		switch n := seats[key]; {
		case n < 0:
			section.Capacity = -n
		default:
			section.Rows = []holdfast.Row{{Key: "1", Adjacency: holdfast.AdjacencyLine, Count: n}}
		}
		plan.Sections = append(plan.Sections, section)
	}
	hall, err := seating.NewHall(seating.Expand(plan))
	if err != nil {
		t.Fatal(err)
	}
	return hall
}

// truth is what a client must know at a revision.
type truth struct {
	available map[string]int64  // by section
	bitmaps   map[string]string // of rows
}

func truthOf(o *seating.Occupancy) truth {
	v := truth{map[string]int64{}, map[string]string{}}
	for n, section := range o.Hall().Sections() {
		v.available[section.Key] = o.AvailableIn(n)
		if !section.GeneralAdmission() {
			v.bitmaps[section.Key] = base64.StdEncoding.EncodeToString(o.Bytes(nil, n))
		}
	}
	return v
}

// seatHistory is an event with its seats, and what they were at each revision.
type seatHistory struct {
	event   holdfast.ID
	sources []*seatSource // each gets all changes

	mu     sync.Mutex
	state  store.SeatMap
	before store.SeatMap // what a deposed primary answers
	seq    int64
	truths map[int64]truth
	broken bool // the map can't be read
	stale  int  // so many reads answer the state before
	reads  int
}

// seatSource provides the history to one hub.
type seatSource struct {
	*seatHistory
	fakeSource
}

func (s *seatSource) SeatsAt(_ context.Context, _ holdfast.ID) (store.SeatMap, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	switch {
	case s.broken:
		return store.SeatMap{}, 0, errors.New("damaged")
	case s.stale > 0:
		s.stale--
		return s.before, s.seatHistory.seq - 1, nil
	}
	return s.state, s.seatHistory.seq, nil
}

// firstSeq is the Seq of a commit of 2026.
const firstSeq = 1_790_000_000 << 28

func newSeatHistory(t testing.TB, hall *seating.Hall) *seatHistory {
	t.Helper()
	h := &seatHistory{event: mongodb.NewID(), seq: firstSeq, truths: map[int64]truth{}}
	h.state = store.SeatMap{PlanID: mongodb.NewID(), Revision: 1, Seats: seating.NewOccupancy(hall)}
	h.before, h.truths[1] = h.state, truthOf(h.state.Seats)
	return h
}

// source returns a new source of the history.
func (h *seatHistory) source() *seatSource {
	s := &seatSource{seatHistory: h, fakeSource: fakeSource{changes: make(chan store.Change)}}
	h.sources = append(h.sources, s)
	return s
}

// commit changes the seats and tells the hubs.
func (h *seatHistory) commit(change func(*seating.Occupancy)) {
	seats := h.state.Seats.Clone()
	change(seats)
	h.become(h.state.PlanID, seats)
}

func (h *seatHistory) become(plan holdfast.ID, seats *seating.Occupancy) {
	h.mu.Lock()
	h.before, h.state = h.state, store.SeatMap{PlanID: plan, Revision: h.state.Revision + 1, Seats: seats}
	h.seq += 1 << 8
	h.truths[h.state.Revision] = truthOf(seats)
	c := store.Change{EventID: h.event, Seq: h.seq, Other: true}
	h.mu.Unlock()
	for _, s := range h.sources {
		s.changes <- c
	}
}

// set changes what the reads answer.
func (h *seatHistory) set(broken bool, stale int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken, h.stale = broken, stale
}

// counts returns the number of reads, and of stale ones that are to come.
func (h *seatHistory) counts() (reads, stale int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reads, h.stale
}

// take takes seats of a section by their numbers.
func take(section int, seats ...int) func(*seating.Occupancy) {
	return func(o *seating.Occupancy) {
		for _, n := range seats {
			o.Take(seating.Place{Section: section, Seat: n})
		}
	}
}

// seatClient applies what it receives, and compares it with the truth.
type seatClient struct {
	t       testing.TB
	history *seatHistory
	hub     *live.Hub
	keys    []string
	*live.Listener

	lastID    int64
	available map[string]int64
	maps      map[string][]byte
	events    []string // of the messages received
	resets    int
}

// connect listens to the hub.
func (c *seatClient) connect(hub *live.Hub, keys ...string) {
	c.t.Helper()
	var err error
	c.hub, c.keys = hub, keys
	if c.Listener, err = hub.ListenToSeats(c.t.Context(), c.history.event, keys, c.lastID); err != nil {
		c.t.Fatal(err)
	}
}

func (h *seatHistory) client(t testing.TB, hub *live.Hub, keys ...string) *seatClient {
	t.Helper()
	c := &seatClient{t: t, history: h}
	c.connect(hub, keys...)
	return c
}

// seatMessage is a message of a stream of seats.
type seatMessage struct{ id, event, data string }

// pending returns the messages that the listener receives next.
func (c *seatClient) pending() (list []seatMessage) {
	text, _ := c.Receive()
	for block := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
		var m seatMessage
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch name {
			case "id":
				m.id = value
			case "event":
				m.event = value
			case "data":
				m.data = value
			}
		}
		if block != "" {
			list = append(list, m)
		}
	}
	return list
}

// receive applies all that the listener receives next, and returns the events.
func (c *seatClient) receive() string {
	c.t.Helper()
	c.apply(c.pending())
	return strings.Join(c.events, " ")
}

func (c *seatClient) apply(messages []seatMessage) {
	c.t.Helper()
	c.events = nil
	isReset := false
	for _, m := range messages {
		c.events = append(c.events, m.event)
		if m.event == "reset" {
			c.available, c.maps, isReset = nil, nil, true
			c.resets++
			continue
		}
		id, err := strconv.ParseInt(m.id, 10, 64)
		isOfFuture := c.lastID > (c.history.seq+60<<28)<<3 // no process makes its IDs outrun that
		if err != nil || id <= c.lastID && (!isReset || !isOfFuture) {
			c.t.Errorf("the ID %s of %s follows %d", m.id, m.event, c.lastID)
		}
		c.lastID = id
		if m.event == "sections" {
			c.applyAvailability(m.data)
		} else {
			c.applySeats(m.data)
		}
		for key := range c.maps { // a client keeps maps with the ID that they are of
			if !slices.Contains(c.keys, key) {
				delete(c.maps, key)
			}
		}
	}
}

func (c *seatClient) applyAvailability(data string) {
	c.t.Helper()
	var list []live.SectionAvailability
	if err := json.Unmarshal([]byte(data), &list); err != nil || len(list) == 0 {
		c.t.Errorf("%v in %s", err, data)
	}
	if c.available == nil {
		c.available = map[string]int64{}
	}
	for _, s := range list {
		c.available[s.Key] = s.Available
	}
}

func (c *seatClient) applySeats(data string) {
	c.t.Helper()
	var m struct {
		live.SectionChanges
		Bitmap string
	}
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		c.t.Errorf("%v in %s", err, data)
	}
	if c.maps == nil {
		c.maps = map[string][]byte{}
	}
	bits := c.maps[m.Section]
	if strings.Contains(data, `"bitmap":"`) {
		var err error
		if bits, err = base64.StdEncoding.DecodeString(m.Bitmap); err != nil {
			c.t.Error(err)
		}
	} else if bits == nil || m.Taken == nil || m.Freed == nil {
		c.t.Errorf("changes of %q without a map, or without a list: %s", m.Section, data)
		return
	}
	for _, id := range m.Taken {
		n := seatNumber(id)
		bits[n/8] |= 128 >> (n % 8)
	}
	for _, id := range m.Freed {
		n := seatNumber(id)
		bits[n/8] &^= 128 >> (n % 8)
	}
	c.maps[m.Section] = bits
	want, known := c.history.truths[m.Rev]
	if got := base64.StdEncoding.EncodeToString(bits); !known || got != want.bitmaps[m.Section] {
		c.t.Errorf("%s at revision %d is %s, want %s, after %s", m.Section, m.Rev, got, want.bitmaps[m.Section], data)
	}
}

// seatNumber is the number in the row of a seat such as A-1-12.
func seatNumber(id string) int {
	n, _ := strconv.Atoi(id[strings.LastIndex(id, "-")+1:])
	return n - 1
}

// wantTruth compares what the client knows with the present state.
func (c *seatClient) wantTruth() {
	c.t.Helper()
	want := c.history.truths[c.history.state.Revision]
	for key, available := range want.available {
		if got, known := c.available[key]; !known || got != available {
			c.t.Errorf("%d seats of %s are available, want %d", got, key, available)
		}
	}
	for key, bitmap := range want.bitmaps {
		got, known := c.maps[key]
		if slices.Contains(c.keys, key) && (!known || base64.StdEncoding.EncodeToString(got) != bitmap) {
			c.t.Errorf("the map of %s is %x, want %s", key, got, bitmap)
		}
	}
	for key := range c.maps {
		if !slices.Contains(c.keys, key) {
			c.t.Errorf("the map of %s was not asked for", key)
		}
	}
}
