package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A storm plays rounds: a crowd at new events, faults among those who serve it, in
// the end peace. Then every checker looks at what the crowd was told, at what
// MongoDB committed and at what is left.
//
// CHAOS_SEED casts other dice, CHAOS_ROUNDS plays more, CHAOS_ONLY names the faults.
func TestStorm_SoldOnceAndNothingLost(t *testing.T) {
	t.Parallel()
	seed, rounds := uint64(20261121), len(storms)/2+1
	if s, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64); err == nil {
		seed = s
	}
	if n, err := strconv.Atoi(os.Getenv("CHAOS_ROUNDS")); err == nil {
		rounds = n
	}
	c := assemble(t)
	c.open("api-0", "api", "10m", c.set.URI)
	c.open("api-1", "api", "-10m", c.set.URI+"&maxPoolSize="+map[bool]string{true: "2", false: "100"}[seed%2 == 1])
	c.open("worker-0", "worker", "10m", c.set.URI)
	c.open("worker-1", "worker", "-10m", c.set.URI)
	if err := c.served(); err != nil {
		t.Fatal(err)
	}
	hearing, deafen := context.WithCancel(t.Context())
	m := reflect(hearing, t, c.w)
	var users []string
	for i := range 6 {
		users = append(users, must(t, &caller{"http://" + c.pods["api-0"].addr, c.http}, "/api/users",
			map[string]any{"name": "A", "email": fmt.Sprintf("a%d@example.com", i)}))
	}
	dice := rand.New(rand.NewPCG(seed, 1<<32))
	script := playbill(dice)
	var report stormReport
	for round := range rounds {
		play := script(round)
		if !c.round(seed+uint64(round), users, m, play, dice, &report) {
			t.Errorf("seed %d, round %d: CHAOS_SEED=%d CHAOS_ROUNDS=%d plays it again", seed, round+1, seed, round+1)
			break
		}
	}
	deafen()
	<-m.done
	for name, p := range c.pods {
		c.tell(name, p.process)
		if err := p.process.stop(t); err != nil {
			t.Errorf("%s after SIGTERM: %v", name, err)
		}
	}
	t.Logf("seed %d: %s", seed, report)
	if report.requests < 50*report.rounds || report.unjudged > 0 || report.streams < 6*report.rounds || report.told < 6*report.rounds {
		t.Errorf("the storm did not do its work: %s", report)
	}
}

// playbill names the faults of a round: two at a time, each once before any again.
func playbill(dice *rand.Rand) func(round int) []string {
	var names, left []string
	for name := range storms {
		names = append(names, name)
	}
	slices.Sort(names)
	if only := os.Getenv("CHAOS_ONLY"); only != "" {
		names = strings.Split(only, ",")
	}
	return func(int) (play []string) {
		for len(play) < min(2, len(names)) {
			if len(left) == 0 {
				left = slices.Clone(names)
				dice.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
			}
			if !slices.Contains(play, left[0]) {
				play = append(play, left[0])
			}
			left = left[1:]
		}
		return play
	}
}

type stormReport struct {
	rounds, requests, unclear, unjudged int
	refused, states                     int
	streams, resets, told               int // of listeners
	faults                              map[string]int
	slowest                             time.Duration // until all that was due was expired
}

func (r stormReport) String() string {
	var faults []string
	total := 0
	for name, n := range r.faults {
		faults = append(faults, fmt.Sprintf("%s %d", name, n))
		total += n
	}
	slices.Sort(faults)
	return fmt.Sprintf("%d rounds, %d faults, %d requests, %d refusals, %d answers that were not definite, %d committed states, of which listeners were told %d in %d streams with %d resets, due seats back within %v, %d histories not judged (%s)",
		r.rounds, total, r.requests, r.refused, r.unclear, r.states, r.told, r.streams, r.resets, r.slowest.Round(time.Millisecond), r.unjudged, strings.Join(faults, ", "))
}

// round plays one round and reports whether nothing was broken.
func (c *cast) round(seed uint64, users []string, m *mirror, play []string, dice *rand.Rand, report *stormReport) bool {
	c.t.Helper()
	start := time.Now()
	cr := c.gather(users, 3)
	before := m.states.Load()
	visit, end := context.WithCancel(context.Background())
	var visited sync.WaitGroup
	visited.Go(func() { cr.visited(visit, seed, 12) })
	listeners, hush := cr.listen(c, rand.New(rand.NewPCG(seed, 1<<33)))
	var faults sync.WaitGroup
	for _, name := range play {
		lead, own := time.Duration(500+dice.IntN(1500))*time.Millisecond, rand.New(rand.NewPCG(dice.Uint64(), 0))
		faults.Go(func() {
			pause(context.Background(), lead)
			storms[name](c, own)
		})
	}
	faults.Wait()
	if err := c.served(); err != nil {
		cr.broke("answers", "%v", err)
	}
	pause(context.Background(), time.Second)
	end()
	visited.Wait()
	healed := time.Now()
	pause(context.Background(), 500*time.Millisecond)
	took, err := c.settled(healed)
	if err != nil {
		cr.broke("sellable again", "%v", err)
	}
	if err := c.quiet(); err != nil {
		cr.broke("sellable again", "%v", err)
	}
	m.mark(context.Background(), c.w)
	left := cr.judge(c.w)
	cr.judgeListeners(listeners, m, left)
	hush()
	cr.readBack(c, left)
	cr.broken = append(cr.broken, m.saw()...)
	cr.corrupt(c, dice)
	cr.leave(c)
	m.mark(context.Background(), c.w)
	m.saw() // of the counter that was wrong
	report.add(cr, play, took, int(m.states.Load()-before))
	for _, l := range listeners {
		report.streams, report.resets, report.told = report.streams+l.began, report.resets+l.resets, report.told+len(l.told)
	}
	c.t.Logf("seed %d: %s: %d requests, %d not definite, %v, of it %v until all that was due was back", seed, strings.Join(play, " + "), len(cr.history), cr.attempts,
		time.Since(start).Round(100*time.Millisecond), took.Round(time.Millisecond))
	for i, b := range cr.broken {
		if i == 20 {
			c.t.Errorf("and %d more", len(cr.broken)-i)
			break
		}
		c.t.Errorf("[%s] %s", strings.Join(play, " + "), b)
	}
	return len(cr.broken) == 0
}

func (r *stormReport) add(cr *crowd, play []string, took time.Duration, states int) {
	r.rounds++
	r.requests += len(cr.history)
	r.unclear += cr.attempts
	r.unjudged += cr.unjudged
	r.states += states
	r.slowest = max(r.slowest, took)
	for _, a := range cr.history {
		if a.code != "" {
			r.refused++
		}
	}
	if r.faults == nil {
		r.faults = map[string]int{}
	}
	for _, name := range play {
		r.faults[name]++
	}
}

// corrupt makes a counter wrong by hand, has both APIs reconcile at the same time,
// beside the worker, and looks whether it was mended, and once.
func (cr *crowd) corrupt(c *cast, dice *rand.Rand) {
	id := parse(c.t, cr.halls[0].id)
	drift := bson.D{{Key: "$inc", Value: bson.D{{Key: "availableSeats", Value: 1}}}}
	room := bson.D{{Key: "_id", Value: id}, {Key: "$expr", Value: bson.D{{Key: "$lt", Value: bson.A{"$availableSeats", "$totalSeats"}}}}}
	if dice.IntN(2) == 0 {
		drift = bson.D{{Key: "$inc", Value: bson.D{{Key: "availableSeats", Value: -1}}}}
		room = bson.D{{Key: "_id", Value: id}, {Key: "availableSeats", Value: bson.D{{Key: "$gt", Value: 0}}}}
	}
	corrupted := false
	c.insist(func(ctx context.Context) error {
		result, err := c.w.DB.Collection("events").UpdateOne(ctx, room, drift)
		corrupted = err == nil && result.ModifiedCount == 1
		return err
	})
	if !corrupted {
		return
	}
	deadline := time.Now().Add(sellableAgain)
	for {
		c.runTwice("reconcile")
		broken := testenv.Violations(c.t, c.w.DB.Database)
		if len(broken) == 0 {
			break
		}
		if time.Now().After(deadline) {
			cr.broke("reconcile", "not mended within %v: %v", sellableAgain, broken)
			return
		}
	}
	var event struct {
		Fixes int64 `bson:"fixes"`
	}
	if err := c.w.DB.Collection("events").FindOne(context.Background(), bson.D{{Key: "_id", Value: id}}).Decode(&event); err != nil || event.Fixes != 1 {
		cr.broke("reconcile", "a drift of one seat was mended %d times, %v", event.Fixes, err)
	}
}

// readBack asks both APIs for every event, which tell the same as the documents.
func (cr *crowd) readBack(c *cast, left leftovers) {
	for i, api := range cr.apis {
		for _, h := range cr.halls {
			ctx, cancel := context.WithTimeout(context.Background(), askTime)
			e, err := api.GetEvent(ctx, h.id)
			cancel()
			if want := left.events[h.id]; err != nil || e.AvailableSeats != want.Available || e.TotalSeats != want.Total {
				cr.broke("documents", "api-%d tells of event %s: %+v %v, there is %+v", i, h.id, e, err, want)
			}
		}
	}
}
