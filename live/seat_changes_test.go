package live_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/live"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// inHall runs a test with a hall of sections A and B, and a pit, and a hub.
func inHall(t *testing.T, test func(*testing.T, *seatHistory, *live.Hub)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newSeatHistory(t, newHall(t, map[string]int64{"A": 70, "B": 9, "pit": -30}))
		hub := live.NewHub(h.source(), slog.New(slog.DiscardHandler))
		defer hub.Close()
		test(t, h, hub)
	})
}

// settle waits until what was committed is published.
func settle() {
	advance(2 * live.SeatsInterval)
	synctest.Wait()
}

func wantEvents(t *testing.T, c *seatClient, want string) {
	t.Helper()
	if got := c.receive(); got != want {
		t.Errorf("received %q, want %q", got, want)
	}
}

func TestSeats_ListenersReceiveWhatTheyAskFor(t *testing.T) {
	inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
		overview, a, all := h.client(t, hub), h.client(t, hub, "A"), h.client(t, hub, "B", "pit", "A", "B")
		wantEvents(t, overview, "sections")
		wantEvents(t, a, "sections seats")
		wantEvents(t, all, "sections seats seats")
		h.commit(take(1, 3))
		settle()
		wantEvents(t, overview, "sections")
		wantEvents(t, a, "sections")
		wantEvents(t, all, "sections seats")
		h.commit(func(o *seating.Occupancy) { // a change of seats leaves the number as it is
			o.Free(seating.Place{Section: 1, Seat: 3})
			o.Take(seating.Place{Section: 1, Seat: 4})
		})
		settle()
		wantEvents(t, overview, "")
		wantEvents(t, a, "")
		wantEvents(t, all, "seats")
		h.commit(func(o *seating.Occupancy) { o.AddGeneral(2, 5) })
		settle()
		wantEvents(t, all, "sections")
		for _, c := range []*seatClient{overview, a, all} {
			c.receive()
			c.wantTruth()
			c.Close()
		}
	})
}

// The map is read once per interval, whatever the number of commits and listeners.
func TestSeats_ChangesAreCollected(t *testing.T) {
	inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
		var clients []*seatClient
		for range 10 {
			clients = append(clients, h.client(t, hub, "A"))
		}
		before, _ := h.counts()
		for n := range 50 {
			h.commit(take(0, n))
			advance(live.SeatsInterval / 10)
		}
		settle()
		if reads, _ := h.counts(); reads-before > 7 {
			t.Errorf("%d reads in 5 intervals", reads-before)
		}
		for _, c := range clients {
			c.receive()
			c.wantTruth()
			c.Close()
		}
	})
}

// A change is published at once, unless another one has just been.
func TestSeats_ALoneChangeDoesNotWait(t *testing.T) {
	inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
		c := h.client(t, hub, "A")
		defer c.Close()
		c.receive()
		settle()
		h.commit(take(0, 1))
		synctest.Wait()
		wantEvents(t, c, "sections seats")
	})
}

func TestSeats_Resume(t *testing.T) {
	for name, row := range map[string]struct {
		keys   []string
		away   time.Duration
		lastID func(int64) int64
		want   string
	}{
		"by the last ID":             {keys: []string{"A"}, want: "sections seats sections seats"},
		"of other sections":          {keys: []string{"B"}, want: "reset sections seats"},
		"of more sections":           {keys: []string{"A", "B"}, want: "reset sections seats seats"},
		"within the TTL":             {keys: []string{"A"}, away: 50 * time.Second, want: "sections seats sections seats"},
		"after the TTL":              {keys: []string{"A"}, away: 2 * time.Minute, want: "reset sections seats"},
		"by an ID of a later time":   {keys: []string{"A"}, lastID: func(id int64) int64 { return id + 1<<40 }, want: "reset sections seats"},
		"by an ID of an earlier one": {keys: []string{"A"}, lastID: func(id int64) int64 { return id - 1<<40 }, want: "reset sections seats"},
		"by an ID that was not sent": {keys: []string{"A"}, lastID: func(id int64) int64 { return id ^ 1 }, want: "reset sections seats"},
		"by an ID that is none":      {keys: []string{"A"}, lastID: func(int64) int64 { return 1 }, want: "reset sections seats"},
	} {
		t.Run(name, func(t *testing.T) {
			inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
				c := h.client(t, hub, "A")
				c.receive()
				c.Close()
				for n := range 2 {
					h.commit(take(0, n))
					settle()
				}
				advance(row.away)
				if row.lastID != nil {
					c.lastID = row.lastID(c.lastID)
				}
				c.connect(hub, row.keys...)
				defer c.Close()
				wantEvents(t, c, row.want)
				c.wantTruth()
			})
		})
	}
}

// A client that comes back after many batches gets the map, which is shared and shorter.
func TestSeats_ResumeIsBounded(t *testing.T) {
	inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
		for missed, want := range map[int]string{64: strings.TrimSpace(strings.Repeat("sections seats ", 64)), 65: "reset sections seats"} {
			c := h.client(t, hub, "A")
			c.receive()
			c.Close()
			for n := range missed {
				h.commit(func(o *seating.Occupancy) {
					if p := (seating.Place{Seat: n % 70}); !o.Take(p) {
						o.Free(p)
					}
				})
				settle()
			}
			c.connect(hub, "A")
			wantEvents(t, c, want)
			c.wantTruth()
			c.Close()
		}
	})
}

// Two events may have been read at the same time. The ID of one of them says nothing of the other.
func TestSeats_AnIDOfAnotherEvent(t *testing.T) {
	inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
		c := h.client(t, hub, "A")
		c.receive()
		c.Close()
		h.event = mongodb.NewID()
		c.connect(hub, "A")
		defer c.Close()
		wantEvents(t, c, "reset sections seats")
	})
}

// A listener that falls behind is reset: it gets the whole maps in place of the changes.
func TestSeats_ASlowListenerGetsTheMap(t *testing.T) {
	inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
		slow, slower := h.client(t, hub, "A"), h.client(t, hub, "A")
		defer slow.Close()
		defer slower.Close()
		slow.receive()
		slower.receive()
		for n := range 16 {
			h.commit(take(0, n))
			settle()
		}
		if wantEvents(t, slow, strings.TrimSpace(strings.Repeat("sections seats ", 16))); slow.resets != 0 {
			t.Error("the listener that is 16 messages behind was reset")
		}
		h.commit(take(0, 20))
		settle()
		wantEvents(t, slow, "sections seats")
		wantEvents(t, slower, "reset sections seats")
		slower.wantTruth()
	})
}

// Another plan has other seats: listeners are reset, and sections that it does not have are left out.
func TestSeats_AnotherPlan(t *testing.T) {
	inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
		c, away := h.client(t, hub, "A", "B"), h.client(t, hub, "A", "B")
		defer c.Close()
		c.receive()
		away.receive()
		away.Close()
		h.become(mongodb.NewID(), seating.NewOccupancy(newHall(t, map[string]int64{"B": 20, "C": 5})))
		settle()
		wantEvents(t, c, "reset sections seats")
		c.wantTruth()
		away.connect(hub, "A", "B") // it does not know yet that the hall has no A any more
		defer away.Close()
		wantEvents(t, away, "reset sections seats")
		h.commit(take(0, 15))
		settle()
		wantEvents(t, c, "sections seats")
		c.wantTruth()
		if _, err := hub.ListenToSeats(t.Context(), h.event, []string{"A"}, 0); !holdfast.HasCode(err, holdfast.CodeInvalid) {
			t.Errorf("a section of the previous plan: %v", err)
		}
	})
}

// A map that can't be read says nothing: the listeners keep what they have until it can.
func TestSeats_ADamagedMap(t *testing.T) {
	inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
		c := h.client(t, hub, "A")
		defer c.Close()
		c.receive()
		h.set(true, 0)
		h.commit(take(0, 1))
		advance(5 * time.Second)
		wantEvents(t, c, "")
		if _, err := hub.ListenToSeats(t.Context(), mongodb.NewID(), nil, 0); err == nil {
			t.Error("a listener of a map that can't be read")
		}
		h.set(false, 0) // repaired without a change that is heard of
		advance(2 * time.Second)
		wantEvents(t, c, "sections seats")
		c.wantTruth()
	})
}

// A primary that was deposed answers what was before. That is not published.
func TestSeats_ADeposedPrimary(t *testing.T) {
	inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
		c := h.client(t, hub, "A")
		defer c.Close()
		c.receive()
		h.commit(take(0, 1))
		settle()
		h.set(false, 2)
		h.commit(take(0, 2))
		settle()
		c.receive()
		c.wantTruth()
		if _, stale := h.counts(); stale != 0 {
			t.Error("the state was read", stale, "times too few")
		}
	})
}

func TestSeats_AnEventThatIsGoneEndsItsStreams(t *testing.T) {
	inHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub) {
		c := h.client(t, hub, "A")
		defer c.Close()
		h.sources[0].changes <- store.Change{EventID: h.event, Gone: true}
		settle()
		if _, ended := c.Receive(); !ended {
			t.Error("the stream goes on")
		}
		if n := hub.Topics(); n != 0 {
			t.Errorf("%d topics remain", n)
		}
	})
}

// Listeners lag, leave in the middle of messages, come back with any of their IDs, to any server, with other
// sections, while the map changes, is damaged, and gets another plan. A listener that applies what it receives
// has the truth of each revision that it is told.
func TestSeats_WhatIsReceivedIsTheTruth(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runSeats(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func runSeats(t *testing.T, rng *rand.Rand) {
	halls := []*seating.Hall{
		newHall(t, map[string]int64{"A": 70, "B": 9, "pit": -30}), newHall(t, map[string]int64{"A": 80, "C": 64, "pit": -40}),
		newHall(t, map[string]int64{"A": 70, "B": 9, "pit": -30}),
	}
	h := newSeatHistory(t, halls[0])
	var hubs []*live.Hub
	for range 2 {
		hub := live.NewHub(h.source(), slog.New(slog.DiscardHandler))
		defer hub.Close()
		hubs = append(hubs, hub)
	}
	keys := func() (list []string) {
		for _, key := range []string{"A", "pit", "B", "C"} {
			if _, found := h.state.Seats.Hall().FindSection(key); found && rng.IntN(2) == 0 {
				list = append(list, key)
			}
		}
		return list
	}
	var clients []*seatClient
	connect := func(c *seatClient, hub *live.Hub, keys []string) bool {
		l, err := hub.ListenToSeats(t.Context(), h.event, keys, c.lastID)
		c.hub, c.keys, c.Listener = hub, keys, l
		return err == nil
	}
	for n := range 6 {
		clients = append(clients, h.client(t, hubs[n%2], keys()...))
	}
	for range 150 {
		switch c := clients[rng.IntN(len(clients))]; rng.IntN(12) {
		case 0, 1, 2, 3:
			h.commit(func(o *seating.Occupancy) { changeSome(o, rng) })
		case 4, 5:
			advance(time.Duration(rng.IntN(500)) * time.Millisecond)
			synctest.Wait()
		case 6, 7, 8:
			c.receive()
		case 9:
			reconnect(c, rng, func(hub *live.Hub, sections []string) bool { return connect(c, hub, sections) }, hubs, keys)
		case 10:
			h.set(rng.IntN(3) == 0, rng.IntN(3))
		case 11:
			if rng.IntN(4) == 0 {
				h.become(mongodb.NewID(), seating.NewOccupancy(halls[rng.IntN(len(halls))]))
			}
		}
	}
	h.set(false, 0)
	advance(10 * time.Second)
	synctest.Wait()
	for _, c := range clients {
		c.receive()
		c.wantTruth()
		c.Close()
	}
}

// reconnect leaves, perhaps in the middle of what the client receives next, and comes back.
func reconnect(c *seatClient, rng *rand.Rand, connect func(*live.Hub, []string) bool, hubs []*live.Hub, keys func() []string) {
	if messages := c.pending(); len(messages) > 0 {
		c.apply(messages[:rng.IntN(len(messages)+1)])
	}
	c.Close()
	hub, sections := c.hub, c.keys
	if rng.IntN(3) == 0 {
		hub = hubs[rng.IntN(2)]
	}
	if rng.IntN(3) == 0 {
		sections = keys()
	}
	advance(time.Duration(rng.IntN(3)) * 31 * time.Second * time.Duration(rng.IntN(2)))
	for !connect(hub, sections) { // another plan, or a map that can't be read
		sections = keys()
		c.history.set(false, 0)
		advance(time.Second)
	}
}

func changeSome(o *seating.Occupancy, rng *rand.Rand) {
	for range rng.IntN(6) {
		n := rng.IntN(len(o.Hall().Sections()))
		section := &o.Hall().Sections()[n]
		if section.GeneralAdmission() {
			o.SetGeneral(n, 20+int64(rng.IntN(20)), int64(rng.IntN(25)))
			continue
		}
		place := seating.Place{Section: n, Seat: rng.IntN(len(section.Seats))}
		if !o.Take(place) {
			o.Free(place)
		}
	}
}
