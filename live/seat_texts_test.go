package live_test

import (
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast/live"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// inWideHall runs a test with listeners of 1,000 sets of 12 sections. None of them has received a message.
func inWideHall(t *testing.T, test func(*testing.T, *seatHistory, *live.Hub, []*live.Listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		keys, seats := []string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"}, map[string]int64{}
		for _, key := range keys {
			seats[key] = 80
		}
		h := newSeatHistory(t, newHall(t, seats))
		hub := live.NewHub(h.source(), slog.New(slog.DiscardHandler))
		defer hub.Close()
		var listeners []*live.Listener
		for set := 1; set <= 1000; set++ {
			var of []string
			for n, key := range keys {
				if set>>n&1 == 1 {
					of = append(of, key)
				}
			}
			l, err := hub.ListenToSeats(t.Context(), h.event, of, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			listeners = append(listeners, l)
		}
		test(t, h, hub, listeners)
	})
}

// Listeners of any number of sets of sections, which a client may choose, make the server keep no more than
// what a few listeners of everything receive. That is true of the whole map and of changes.
func TestSeats_SetsOfSectionsNeedNoMemory(t *testing.T) {
	inWideHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub, listeners []*live.Listener) {
		largest := 0
		receive := func() {
			for _, l := range listeners {
				text, _ := l.Receive()
				if largest = max(largest, len(text)); len(text) == 0 {
					t.Fatal("a listener received nothing")
				}
			}
			if kept := hub.KeptTexts(h.event); kept > 20*largest {
				t.Errorf("%d bytes are kept, where a listener receives %d", kept, largest)
			}
		}
		receive()
		h.commit(func(o *seating.Occupancy) {
			for section := range o.Hall().Sections() {
				take(section, 1, 2, 3)(o)
			}
		})
		settle()
		receive()
	})
}

// However many sets of sections there are, all listeners of the overview receive one text.
func TestSeats_TheOverviewIsOneText(t *testing.T) {
	inWideHall(t, func(t *testing.T, h *seatHistory, hub *live.Hub, listeners []*live.Listener) {
		a, b := h.client(t, hub), h.client(t, hub)
		defer a.Close()
		defer b.Close()
		for _, what := range []string{"the whole map", "a change"} {
			for _, l := range listeners {
				l.Receive()
			}
			first, _ := a.Receive()
			second, _ := b.Receive()
			if len(first) == 0 || &first[0] != &second[0] {
				t.Errorf("%s: the listeners of the overview receive different texts", what)
			}
			h.commit(take(0, 1))
			settle()
		}
	})
}
