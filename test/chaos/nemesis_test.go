package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// defaultSeed is the seed if CHAOS_SEED sets no other one.
const defaultSeed = 20261121

// seedFromEnv returns CHAOS_SEED, or the default.
func seedFromEnv() uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64); err == nil {
		return seed
	}
	return defaultSeed
}

// roundsFromEnv returns the number that a variable sets, or the default.
func roundsFromEnv(variable string, otherwise int) int {
	if rounds, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return rounds
	}
	return otherwise
}

// Each round has new events, clients that compete for their seats, an operator, and two faults. After
// the faults have ended, every checker compares the history with what MongoDB committed and with
// the documents at the end.
//
// CHAOS_SEED sets the seed, CHAOS_ROUNDS the number of rounds, CHAOS_ONLY the faults by name,
// separated by commas. With CHAOS_RARE=1 each round has a third fault, one of rareFaults, unless
// CHAOS_ONLY is set. The other two faults and the clients of a seed are the same as without it.
func TestNemesis_NoSeatIsSoldTwiceOrLost(t *testing.T) {
	t.Parallel()
	seed, rounds, only := seedFromEnv(), roundsFromEnv("CHAOS_ROUNDS", len(clusterFaults)/2+1), os.Getenv("CHAOS_ONLY")
	rng := rand.New(rand.NewPCG(seed, 1<<32))
	schedules := []*faultSchedule{newFaultSchedule(t, rng, only)}
	if os.Getenv("CHAOS_RARE") == "1" && only == "" {
		schedules = append(schedules, newRareSchedule(rand.New(rand.NewPCG(seed, 1<<34))))
	}
	runNemesis(t, nemesis{seed: seed, rounds: rounds, rng: rng, schedules: schedules})
}

// nemesis is what runNemesis does.
type nemesis struct {
	seed      uint64
	rounds    int
	rng       *rand.Rand
	schedules []*faultSchedule // Each gives faults to each round.
}

func runNemesis(t *testing.T, n nemesis) {
	t.Helper()
	seed, rounds, rng := n.seed, n.rounds, n.rng
	c := startCluster(t, clusterOptions{smallPool: seed%2 == 1, withoutSeatIndex: seed/2%2 == 1})
	watching, endWatching := context.WithCancel(t.Context())
	stream := startStreamChecker(watching, t, c.env)
	receiver := newWebhookReceiver(t, seed)
	c.webhook = c.createWebhook(receiver)
	users := []string{holderPrefix + "0", holderPrefix + "1"}
	for i := range 4 {
		users = append(users, mustCreate(t, c.caller("api-0"), "/api/users",
			map[string]any{"name": "A", "email": fmt.Sprintf("a%d@example.com", i)}))
	}
	var report nemesisReport
	most := 2 * rounds // a machine under load does less in a round
	for i := 0; i < rounds || i < most && len(report.missing(rounds)) > 0; i++ {
		if i >= rounds {
			t.Logf("one more round, since this is too little: %s", strings.Join(report.missing(rounds), ", "))
		}
		r := round{cluster: c, seed: seed + uint64(i), users: users, stream: stream, receiver: receiver, rng: rng}
		for _, s := range n.schedules {
			r.plan(s)
		}
		if !r.run(&report) {
			t.Errorf("seed %d, round %d: repeat it with CHAOS_SEED=%d CHAOS_ROUNDS=%d", seed, i+1, seed, i+1)
			break
		}
	}
	endWatching()
	<-stream.done
	receiver.checkLast(c.env)
	c.stop()
	t.Logf("seed %d: %s", seed, report)
	if missing := report.missing(rounds); len(missing) > 0 {
		t.Errorf("the test did too little to prove anything: %s", strings.Join(missing, ", "))
	}
	// An undecided history proves nothing and violates nothing: how long the search takes depends on chance and on the machine's load.
	if bound := max(1, rounds/5); report.undecided > bound {
		t.Errorf("%d histories of %d rounds are undecided, want at most %d", report.undecided, report.rounds, bound)
	}
}

// round is one round of the nemesis.
type round struct {
	*cluster
	seed   uint64
	users  []string
	stream *streamChecker
	faults []clusterFault

	receiver *webhookReceiver
	inject   []func() // the faults, each after a random delay
	rng      *rand.Rand
}

// plan adds the next faults of a schedule, which begin after random delays.
func (r *round) plan(s *faultSchedule) {
	for _, f := range s.next() {
		before, rng := randomMillis(s.rng, 500, 1500), rand.New(rand.NewPCG(s.rng.Uint64(), 0))
		r.faults = append(r.faults, f)
		r.inject = append(r.inject, func() {
			delay(context.Background(), before)
			f.inject(r.cluster, rng)
		})
	}
}

// run runs one round and reports whether there was no violation.
func (r *round) run(report *nemesisReport) bool {
	r.t.Helper()
	start := time.Now()
	cs := r.newClients(r.users, 3)
	lists := r.newLists()
	statesBefore := r.stream.states.Load()
	running, endWorkload := context.WithCancel(context.Background())
	var workload sync.WaitGroup
	workload.Go(func() { cs.run(running, r.seed, 12) })
	workload.Go(func() { lists.runLists(running, r.seed) })
	made := &creations{clients: cs}
	for id := range 2 {
		workload.Go(func() { made.create(running, r.seed, id) })
	}
	workload.Go(func() { cs.crowd(running, r.seed) })
	workload.Go(func() { cs.operate(running, r.seed) })
	workload.Go(func() { cs.rearrange(running, r.seed) })
	workload.Go(func() { r.receiver.misbehave(running, r.cluster, rand.New(rand.NewPCG(r.seed, 1<<37))) })
	archiving, endArchiving := context.WithCancel(context.Background())
	archived := make(chan int, 1)
	go func() { archived <- r.archiveEvents(archiving, r.seed) }()
	subscribers, unsubscribe := cs.subscribe(r.cluster, rand.New(rand.NewPCG(r.seed, 1<<33)))
	follower, unfollow := cs.followChanges(r.cluster)
	r.injectFaults()
	if err := awaitMembers(r.t, r.replicaSet); err != nil {
		r.t.Errorf("the faults %s: %v", r.faultNames(), err)
	}
	if err := r.awaitReady(); err != nil {
		cs.violation("answers", "%v", err)
	}
	delay(context.Background(), time.Second)
	endWorkload()
	workload.Wait()
	faultsEnded := time.Now()
	delay(context.Background(), 500*time.Millisecond)
	expiredAfter, err := r.awaitExpired(faultsEnded)
	if err != nil {
		cs.violation("expired in time", "%v", err)
	}
	if err := r.awaitQuiet(); err != nil {
		cs.violation("expired in time", "%v", err)
	}
	r.stream.catchUp(context.Background(), r.env)
	final := cs.check(r.env)
	listed := r.checkLists(cs, lists)
	unfollow()
	follower.check(r.env)
	told, wrong := r.receiver.check(r.env)
	for _, w := range wrong {
		cs.violation("webhooks", "%s", w)
	}
	replayed, buried := r.receiver.takeReplays()
	created := made.check(r.cluster)
	cs.checkSubscribers(subscribers, r.stream, final)
	unsubscribe()
	cs.checkReads(final)
	cs.violations = append(cs.violations, r.stream.takeViolations()...)
	endArchiving()
	archivedEvents := <-archived
	cs.checkReconcile(r.cluster, r.rng)
	cs.cleanUp(r.cluster)
	lists.cleanUp(r.cluster)
	r.stream.catchUp(context.Background(), r.env)
	r.stream.takeViolations() // They are of the counter that checkReconcile had made wrong.
	report.add(roundResult{clients: cs, lists: lists, listed: listed, subscribers: subscribers, follower: follower, final: final,
		webhooks: told, replayed: replayed, buried: buried, faults: r.faults, archived: archivedEvents, expiredAfter: expiredAfter,
		states: int(r.stream.states.Load() - statesBefore)})
	r.t.Logf("seed %d: %s: %d requests, %d of waiting lists, %d indeterminate, %d creations, %v, of it %v until everything due was expired",
		r.seed, r.faultNames(), len(cs.history), len(lists.history), cs.indeterminate+lists.indeterminate, created,
		time.Since(start).Round(100*time.Millisecond), expiredAfter.Round(time.Millisecond))
	r.logViolations(cs.violations)
	return len(cs.violations) == 0
}

// newLists creates events with waiting lists, and their clients.
func (r *round) newLists() *clients {
	lists := r.newListClients(r.users)
	r.stream.lists.know(r.planIDs)
	return lists
}

// checkLists checks the waiting lists, and adds what is wrong to the violations of the other clients.
func (r *round) checkLists(cs, lists *clients) waitlistReport {
	lists.checkLists(r.stream, r.env)
	cs.violations = append(cs.violations, lists.violations...)
	return r.stream.lists.takeReport()
}

// injectFaults injects the round's faults at the same time, and waits until they have ended.
func (r *round) injectFaults() {
	var injected sync.WaitGroup
	for _, f := range r.inject {
		injected.Go(f)
	}
	injected.Wait()
}

func (r *round) faultNames() string {
	var names []string
	for _, f := range r.faults {
		names = append(names, f.name)
	}
	return strings.Join(names, " + ")
}

// logViolations fails the test. scripts/chaos parses these lines.
func (r *round) logViolations(violations []string) {
	r.t.Helper()
	const most = 20
	for i, v := range violations {
		if i == most {
			r.t.Errorf("and %d more", len(violations)-i)
			return
		}
		r.t.Errorf("[%s] %s", r.faultNames(), v)
	}
}
