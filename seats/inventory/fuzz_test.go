package inventory_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// FuzzDecide decides commands on documents of other software: impossible counters,
// capacities that are no number, locks and bookings that contradict each other. Decide
// never panics, asks for more a bounded number of times, and breaks no invariant that
// held.
func FuzzDecide(f *testing.F) { f.Fuzz(rapid.MakeFuzz(decideAnything)) }

// TestDecide_OnDocumentsOfOtherSoftware is FuzzDecide with drawn input.
func TestDecide_OnDocumentsOfOtherSoftware(t *testing.T) { rapid.Check(t, decideAnything) }

func decideAnything(t *rapid.T) {
	g := newGenerator(t, true)
	p := &pipeline{store: g.store, rules: g.rules, remember: draw(g, "remember", false, true)}
	for range g.number("batches", 1, 4) {
		g.store.now = g.store.now.Add(minutes(draw(g, "minutes pass", 0, 1, 12)))
		g.known = g.last
		p.hold, p.settling = false, false
		if p.remember {
			p.remembered = draw(g, "remembered", copyOf(g.store.event), nil)
		}
		switch draw(g, "kind", "queue", "queue", "claim", "sweep") {
		case "claim":
			p.batch(t, g.claim())
		case "sweep":
			p.hold = true
			p.batch(t, g.swept())
		default:
			p.settling = draw(g, "settling", false, false, true)
			p.hold = p.settling || draw(g, "hold", false, true)
			var batch []inventory.Command
			for range g.number("commands", 1, 5) {
				batch = append(batch, g.queued())
			}
			p.batch(t, batch...)
		}
	}
}
