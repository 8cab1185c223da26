package chaos_test

import (
	"math/bits"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/hallmodel"
)

// seatSet is a set of numbered seats: a bit for each seat of hallSeats.
type seatSet uint64

func (s seatSet) count() int64 { return int64(bits.OnesCount64(uint64(s))) }

// ids are the seats' IDs, in the order of the plan that was made first.
func (s seatSet) ids() (ids []string) {
	for i, id := range hallSeats {
		if s&(1<<i) != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s seatSet) String() string { return "[" + strings.Join(s.ids(), " ") + "]" }

// hallSeats are the IDs of all seats of the halls, and seatIndex is where they are in it.
var (
	hallSeats []string
	seatIndex = map[string]int{}
)

// seatsOf are the seats with these IDs. An ID that no hall has is left out.
func seatsOf(ids ...string) (s seatSet) {
	for _, id := range ids {
		if i, known := seatIndex[id]; known {
			s |= 1 << i
		}
	}
	return s
}

// hall is a small hall, in which all clients collide.
type hall struct {
	*hallmodel.Hall

	plan            holdfast.SeatingPlan
	all, accessible seatSet

	mu      sync.Mutex
	picks   map[pickKey]pickResult
	orphans map[orphanKey]seatSet
}

// standing is the section of general admission of each hall.
const standing = "pit"

// theHall has two rows with an aisle, of which two seats are accessible, a row in another section, and a
// table. hallPlans are the plans that an event in theHall may get; the first one is that of theHall.
var (
	theHall   = newHall(smallPlan())
	hallPlans = []*hall{theHall, newHall(turnedPlan()), newHall(shorterPlan())}

	inSomePlans = []string{"A3", "A4", "A9"} // seats that not all of them have
)

func (h *hall) String() string { return h.plan.Name }

func newHall(plan holdfast.SeatingPlan) *hall {
	h := &hall{Hall: hallmodel.Of(plan), plan: plan, picks: map[pickKey]pickResult{}, orphans: map[orphanKey]seatSet{}}
	for _, s := range h.Seats {
		if _, known := seatIndex[s.ID]; !known {
			seatIndex[s.ID] = len(hallSeats)
			hallSeats = append(hallSeats, s.ID)
		}
		h.all |= seatsOf(s.ID)
		if s.Accessible {
			h.accessible |= seatsOf(s.ID)
		}
	}
	return h
}

// row makes a row: a seat is its ID, with a star if it is accessible; a bar is an aisle.
func row(key string, adjacency holdfast.Adjacency, seats string) holdfast.Row {
	row := holdfast.Row{Key: key, Adjacency: adjacency}
	for _, id := range strings.Fields(seats) {
		if id == "|" {
			row.Seats = append(row.Seats, nil)
			continue
		}
		row.Seats = append(row.Seats, &holdfast.Seat{ID: strings.TrimSuffix(id, "*"), Accessible: strings.HasSuffix(id, "*")})
	}
	return row
}

var hallCategories = []holdfast.Category{{Key: "stalls", Name: "Stalls"}, {Key: "balcony", Name: "Balcony"}}

func smallPlan() holdfast.SeatingPlan {
	return holdfast.SeatingPlan{
		Name: "Small hall", Categories: hallCategories, FocalPoint: &holdfast.Point{X: 5 * holdfast.Unit},
		Sections: []holdfast.Section{
			{Key: "front", Name: "Front", Category: "stalls", Rows: []holdfast.Row{
				row("A", "", "A1 A2 A3 A4 | A5 A6 A7* A8*"), row("B", "", "B1 B2 B3 B4 | B5 B6 B7 B8"),
			}},
			{Key: standing, Name: "Standing", Category: "balcony", Capacity: 10},
			{Key: "back", Name: "Back", Category: "balcony", Rows: []holdfast.Row{
				row("C", "", "C1 C2 C3 C4 C5 C6 | C7 C8"), row("D", "ALL", "D1 D2 D3 D4 D5 D6 D7 D8"),
			}},
		},
	}
}

// turnedPlan has all seats of smallPlan and one more, in other sections, other categories and another order, with
// other aisles.
func turnedPlan() holdfast.SeatingPlan {
	return holdfast.SeatingPlan{
		Name: "Turned hall", Categories: hallCategories, FocalPoint: &holdfast.Point{X: 2 * holdfast.Unit},
		Sections: []holdfast.Section{
			{Key: "back", Name: "Back", Category: "balcony", Rows: []holdfast.Row{
				row("C", "", "C8 C7 C6 | C5 C4 C3 C2 C1"), row("B", "", "B8 B7 B6 B5 B4 B3 B2 B1"),
			}},
			{Key: standing, Name: "Standing", Category: "balcony", Capacity: 12},
			{Key: "front", Name: "Front", Category: "stalls", Rows: []holdfast.Row{row("A", "", "A9 A8* A7* A6 | A5 A4 A3 A2 A1")}},
			{Key: "side", Name: "Side", Category: "stalls", Rows: []holdfast.Row{row("D", "", "D1 D2 D3 D4 D5 D6 D7 D8")}},
		},
	}
}

// shorterPlan lacks two seats of smallPlan that many want, and has fewer standing places.
func shorterPlan() holdfast.SeatingPlan {
	plan := smallPlan()
	plan.Name, plan.Sections[1].Capacity = "Shorter hall", 7
	plan.Sections[0].Rows[0] = row("A", "", "A1 A2 | A5 A6 A7* A8*")
	return plan
}

// capacity is that of the section of general admission.
func (h *hall) capacity() int64 { return h.Section(standing).Capacity }

func (h *hall) totalSeats() int64 { return h.all.count() + h.capacity() }

// wish is what a request wants of an event with a hall: named seats, the best available ones, or standing
// ones. The zero value is the wish of an event without one.
type wish struct {
	named      seatSet
	best       bool
	categories string // keys, separated by spaces; "": any
	section    string // of the best: "" is any
	seats      int64  // of the best, or standing ones
	accessible int64  // of the best
	required   bool   // together
}

func (w wish) isStanding() bool { return !w.best && w.section != "" }

// ofClient is the wish in a request.
func (w wish) ofClient(h *hall) client.Wish {
	switch {
	case w.named != 0:
		return client.Wish{SeatIDs: w.named.ids(), AccessibleSeats: (w.named & h.accessible).count()}
	case w.isStanding():
		return client.Wish{Section: w.section, Seats: w.seats}
	}
	best := &client.BestAvailable{Seats: w.seats, AccessibleSeats: w.accessible, Section: w.section, Categories: strings.Fields(w.categories)}
	if w.required {
		best.Adjacent = client.AdjacentRequired
	}
	return client.Wish{BestAvailable: best}
}

// addTo adds the wish to the request for a lock.
func (w wish) addTo(r client.LockRequest, h *hall) client.LockRequest {
	c := w.ofClient(h)
	r.Seats, r.SeatIDs, r.AccessibleSeats, r.BestAvailable, r.Section = c.Seats, c.SeatIDs, c.AccessibleSeats, c.BestAvailable, c.Section
	return r
}

// ofEngine is a wish for numbered seats in a request to the engine.
func (w wish) ofEngine() holdfast.Wish {
	if !w.best {
		return holdfast.Wish{SeatIDs: w.named.ids(), Accessible: (w.named & theHall.accessible).count()}
	}
	best := &holdfast.BestAvailable{Section: w.section, Accessible: w.accessible, Required: w.required}
	if w.categories != "" {
		best.Categories = strings.Fields(w.categories)
	}
	return holdfast.Wish{Best: best}
}

// bestIn is the wish for a model's hall with free seats.
func (w wish) bestIn(h *hall, free seatSet) hallmodel.Best {
	best := hallmodel.Best{
		Hall: h.Hall, Seats: int(w.seats), Accessible: int(w.accessible), Section: w.section, Required: w.required, Reserved: true,
		Free: func(s *hallmodel.Seat) bool { return free&seatsOf(s.ID) != 0 },
	}
	if w.categories != "" {
		best.Categories = strings.Fields(w.categories)
	}
	return best
}

// keeps reports whether seats are what the wish for the best might have got.
func (w wish) keeps(h *hall, own seatSet) bool {
	seats, _ := h.Named(own.ids())
	return w.bestIn(h, 0).Keeps(seats)
}

type pickKey struct {
	wish wish
	free seatSet
}

// pickResult is what trying all picks has found. Porcupine asks for the same ones again and again.
type pickResult struct {
	first, last seatSet // before all due locks have ended, and after that; 0: none
	available   int64
	enough      bool
	longest     int64
}

func (h *hall) pick(w wish, free seatSet) pickResult {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := pickKey{w, free}
	if known, ok := h.picks[key]; ok {
		return known
	}
	var r pickResult
	best := w.bestIn(h, free)
	if p, ok := best.Pick(false); ok {
		r.first = seatsOf(p.IDs()...)
	} else if p, ok := best.Pick(true); ok {
		r.last = seatsOf(p.IDs()...)
	} else {
		available, enough := best.Available()
		r.available, r.enough, r.longest = int64(available), enough, int64(best.Longest())
	}
	h.picks[key] = r
	return r
}

type orphanKey struct{ named, free seatSet }

// orphansOf are the seats that naming seats would leave single.
func (h *hall) orphansOf(named, free seatSet) seatSet {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := orphanKey{named, free}
	if known, ok := h.orphans[key]; ok {
		return known
	}
	seats, _ := h.Named(named.ids())
	orphans := seatsOf(h.Orphans(seats, func(s *hallmodel.Seat) bool { return free&seatsOf(s.ID) != 0 }, true)...)
	h.orphans[key] = orphans
	return orphans
}
