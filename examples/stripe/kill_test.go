package main

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
)

const (
	killsVariable = "STRIPE_KILLS" // how many; default: 20
	seedVariable  = "STRIPE_SEED"  // default: 1
)

func number(t *testing.T, variable string, byDefault int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return byDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a number", variable, text)
	}
	return n
}

// The shop is killed at each of its calls: before the call takes effect, after that and before the reply, or so that the effect comes
// when the shop runs again. In each round all scenarios run at the same time, and the shop is killed at several calls, also while
// it recovers.
func TestShop_KilledAtEachCall(t *testing.T) {
	want, seed := number(t, killsVariable, 20), number(t, seedVariable, 1)
	rng := newRand(uint64(seed))
	quiet := newRound(t, rng)
	quiet.run(nil)
	quiet.check()
	if t.Failed() {
		return
	}
	counts := quiet.gate.seen()
	calls := slices.Sorted(maps.Keys(counts))

	// The calls take turns, so that each is the first point of a round. The others of the round are random.
	kills, killed, orders, rounds := 0, map[string]int{}, 0, 0
	for ; kills < want || len(killed) < len(calls); rounds++ {
		if rounds > 10*(want+len(calls)) {
			t.Fatalf("%d kills in %d rounds: %v", kills, rounds, killed)
		}
		points := []killPoint{{call: calls[rounds%len(calls)], nth: 1, moment: moment(rng.intN(int(killMoments)))}}
		if rounds >= len(calls) {
			points[0].nth += rng.intN(min(counts[points[0].call], 4))
		}
		for range 1 + rng.intN(3) {
			points = append(points, killPoint{call: calls[rng.intN(len(calls))], nth: 1 + rng.intN(2), moment: moment(rng.intN(int(killMoments)))})
		}
		t.Run(strconv.Itoa(rounds), func(t *testing.T) {
			r := newRound(t, rng)
			for _, p := range r.run(points[:min(len(points), max(1, want-kills))]) {
				kills++
				killed[p.call]++
			}
			r.check()
			orders += len(r.carts)
			if t.Failed() {
				t.Logf("seed %d, round %d, killed at %+v", seed, rounds, points)
			}
		})
		if t.Failed() {
			return
		}
		if rounds%50 == 49 {
			t.Logf("%d kills in %d rounds so far", kills, rounds+1)
		}
	}
	t.Logf("seed %d: %d kills in %d rounds, %d orders", seed, kills, rounds, orders)
	for _, call := range calls {
		t.Logf("%4d kills at %s", killed[call], call)
	}
}
