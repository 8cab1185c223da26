package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

// step is what a customer wanted, and outcome what became of it. A step that had
// no definite answer is asked again, with the same key, until it has one: it is
// one step from its first asking to its last answer.
type step struct {
	event   ids.ID
	release bool
	seats   int64
}

type outcome struct {
	refused   bool
	available int64 // told with the refusal
	replayed  bool  // an earlier asking had made the lock
}

const hallSeats = 12

// hall is an event as a customer may think of it: so many seats are free.
var hall = porcupine.Model{
	Partition: func(history []porcupine.Operation) (halls [][]porcupine.Operation) {
		byEvent := map[ids.ID][]porcupine.Operation{}
		for _, op := range history {
			event := op.Input.(step).event
			byEvent[event] = append(byEvent[event], op)
		}
		for _, h := range byEvent {
			halls = append(halls, h)
		}
		return halls
	},
	Init: func() any { return int64(hallSeats) },
	Step: func(state, input, output any) (bool, any) {
		free, wanted, got := state.(int64), input.(step), output.(outcome)
		switch {
		case wanted.release:
			return free+wanted.seats <= hallSeats, free + wanted.seats
		case got.refused:
			return free < wanted.seats && got.available == free, free
		default:
			return free >= wanted.seats, free - wanted.seats
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

// history is recorded by customers under faults.
type history struct {
	t     *testing.T
	start time.Time
	sides []*testenv.Env // engines of two processes, as it were

	mu   sync.Mutex
	ops  []porcupine.Operation
	held map[ids.ID]bool // locks that a customer was given and has not let go
	again,
	failed int // answers that were not definite; steps that never got one
}

// customer locks and lets go seats until ctx ends, and then lets an open step
// have its answer.
func (h *history) customer(ctx context.Context, id int, events []ids.ID, dice *rand.Rand) {
	user, holds := ids.New(), []seats.Lock{}
	for n := 0; ctx.Err() == nil; n++ {
		event := events[dice.IntN(len(events))]
		if len(holds) > 0 && dice.IntN(2) == 0 {
			lock := holds[len(holds)-1]
			holds = holds[:len(holds)-1]
			h.record(id, step{lock.EventID, true, lock.Seats}, func(ctx context.Context, side *testenv.Env) (outcome, error) {
				_, err := side.Seats.GiveBack(ctx, lock.ID, nil, nil)
				return outcome{}, err
			})
			h.hold(lock.ID, false)
		} else {
			request := seats.LockRequest{EventID: event, UserID: user, Seats: 1 + dice.Int64N(4), Key: strconv.Itoa(n), Until: testenv.Soon()}
			h.record(id, step{event, false, request.Seats}, func(ctx context.Context, side *testenv.Env) (outcome, error) {
				lock, replayed, err := side.Seats.Take(ctx, request)
				if fault.Is(err, seats.CodeSeatsUnavailable) {
					available, _ := err.(*fault.Error).Fields["available"].(int64) //nolint:errorlint // as Take returns it
					return outcome{refused: true, available: available}, nil
				}
				if err == nil {
					holds = append(holds, lock)
					h.hold(lock.ID, true)
				}
				return outcome{replayed: replayed}, err
			})
		}
		pause(ctx, time.Duration(dice.IntN(120))*time.Millisecond)
	}
}

func (h *history) hold(id ids.ID, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held {
		h.held[id] = true
	} else {
		delete(h.held, id)
	}
}

// record asks until the answer is definite, now on one side, now on the other.
func (h *history) record(id int, wanted step, ask func(context.Context, *testenv.Env) (outcome, error)) {
	called, unknown := time.Since(h.start), false
	const tries = 60
	for try := range tries {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		got, err := ask(ctx, h.sides[(id+try)%len(h.sides)])
		cancel()
		h.mu.Lock()
		if err == nil {
			h.ops = append(h.ops, porcupine.Operation{ClientId: id, Input: wanted, Output: got, Call: called.Nanoseconds(), Return: time.Since(h.start).Nanoseconds()})
			h.mu.Unlock()
			if got.replayed && !unknown {
				h.t.Errorf("%+v: UNAVAILABLE was answered, and the lock was kept", wanted)
			}
			return
		}
		h.again++
		h.mu.Unlock()
		unknown = unknown || fault.Is(err, mongodb.CodeOutcomeUnknown)
		if !fault.Is(err, mongodb.CodeUnavailable) && !fault.Is(err, mongodb.CodeOutcomeUnknown) {
			h.t.Errorf("%+v: %v", wanted, err)
			return
		}
		pause(context.Background(), 100*time.Millisecond)
	}
	h.mu.Lock()
	h.failed++
	h.mu.Unlock()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// faults are what happens to the primary; each heals what it did.
var faults = map[string]func(t *testing.T, set *devserver.ReplicaSet, primary *devserver.Member, dice *rand.Rand){
	"killed": func(t *testing.T, _ *devserver.ReplicaSet, primary *devserver.Member, dice *rand.Rand) {
		primary.Kill()
		pause(t.Context(), time.Duration(1+dice.IntN(3))*time.Second)
		if err := primary.Restart(); err != nil {
			t.Error(err)
		}
	},
	"frozen": func(t *testing.T, _ *devserver.ReplicaSet, primary *devserver.Member, dice *rand.Rand) {
		send(t, primary, syscall.SIGSTOP)
		pause(t.Context(), time.Duration(2+dice.IntN(5))*time.Second)
		send(t, primary, syscall.SIGCONT)
	},
	"stepped down": func(t *testing.T, _ *devserver.ReplicaSet, primary *devserver.Member, _ *rand.Rand) {
		admin(t, primary, bson.D{{Key: "replSetStepDown", Value: 5}, {Key: "force", Value: true}})
	},
	"losing replies of commits": func(t *testing.T, _ *devserver.ReplicaSet, primary *devserver.Member, dice *rand.Rand) {
		admin(t, primary, bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.D{{Key: "times", Value: 5 + dice.IntN(20)}}},
			{Key: "data", Value: bson.D{{Key: "failCommands", Value: bson.A{"commitTransaction"}},
				{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "lost"}}}}}})
		pause(t.Context(), 2*time.Second)
	},
	"slow": func(t *testing.T, _ *devserver.ReplicaSet, primary *devserver.Member, dice *rand.Rand) {
		admin(t, primary, bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.D{{Key: "times", Value: 10}}},
			{Key: "data", Value: bson.D{{Key: "failCommands", Value: bson.A{"insert", "update", "findAndModify", "aggregate", "commitTransaction"}},
				{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 50 + dice.IntN(1950)}}}})
		pause(t.Context(), 3*time.Second)
	},
}

func send(t *testing.T, m *devserver.Member, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(-m.Pid(), s); err != nil {
		t.Error(err)
	}
}

// admin runs a command on one member. One that ends its connection is fine.
func admin(t *testing.T, m *devserver.Member, command bson.D) (answer bson.M) {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + m.Host + "/?directConnection=true").SetServerSelectionTimeout(2 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(context.Background()) //nolint:errcheck // a helper connection
	if err := client.Database("admin").RunCommand(t.Context(), command).Decode(&answer); err != nil {
		t.Logf("%v: %v", command[0].Key, err)
	}
	return answer
}

func primaryOf(t *testing.T, set *devserver.ReplicaSet) *devserver.Member {
	t.Helper()
	for range 300 {
		for _, m := range set.Members {
			if answer := admin(t, m, bson.D{{Key: "hello", Value: 1}}); answer["isWritablePrimary"] == true {
				return m
			}
		}
		pause(t.Context(), 100*time.Millisecond)
	}
	t.Fatal("there is no primary")
	return nil
}

// Customers lock and let go seats of small halls through two engines, while the
// primary of three is killed, frozen, deposed, loses replies and is slow. What
// they were told, in whatever order it was, is what one hall that does one thing
// at a time would have told them (linearizability); each step gets a definite
// answer in the end; and who was given seats has them.
//
// CHAOS_SEED replays a run's dice, CHAOS_FAULTS makes it longer.
func TestHistory_IsThatOfOneHall(t *testing.T) {
	t.Parallel()
	seed, rounds := uint64(20261121), 5
	if s, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64); err == nil {
		seed = s
	}
	if n, err := strconv.Atoi(os.Getenv("CHAOS_FAULTS")); err == nil {
		rounds = n
	}
	set, err := devserver.StartReplicaSet(t.Context(), devserver.MongodOptions{Test: true, Progress: os.Stderr}, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Stop)
	w := testenv.Open(t, set.URI, "history")
	h := &history{t: t, start: time.Now(), sides: []*testenv.Env{w, testenv.Open(t, set.URI, "history")}, held: map[ids.ID]bool{}}
	events := []ids.ID{w.Event(hallSeats), w.Event(hallSeats), w.Event(hallSeats)}
	ctx, stop := context.WithCancel(t.Context())
	var customers sync.WaitGroup
	for id := range 12 {
		customers.Go(func() { h.customer(ctx, id, events, rand.New(rand.NewPCG(seed, uint64(id)))) }) //nolint:gosec // dice to be cast again
	}
	dice := rand.New(rand.NewPCG(seed, 1<<32)) //nolint:gosec // dice to be cast again
	names := []string{"killed", "frozen", "stepped down", "losing replies of commits", "slow"}
	dice.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range rounds {
		pause(ctx, time.Second)
		name := names[i%len(names)]
		primary := primaryOf(t, set)
		t.Logf("%v: %s is %s", time.Since(h.start).Round(time.Millisecond), primary.Host, name)
		faults[name](t, set, primary, dice)
		primaryOf(t, set)
	}
	pause(ctx, 2*time.Second)
	stop()
	customers.Wait()
	t.Logf("seed %d: %d steps, %d answers were not definite, %d steps never got one", seed, len(h.ops), h.again, h.failed)
	if h.failed > 0 || len(h.ops) < 100 {
		t.Errorf("seed %d: %d steps, %d without an answer", seed, len(h.ops), h.failed)
	}
	for _, side := range h.sides {
		if err := side.Seats.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if result := porcupine.CheckOperationsTimeout(hall, h.ops, time.Minute); result != porcupine.Ok {
		t.Errorf("seed %d: the history is not that of one hall: %v", seed, result)
	}
	h.checkHeld(w)
	testenv.CheckInvariants(t, w.DB.Database)
}

// checkHeld fails unless the ACTIVE locks are those that customers hold.
func (h *history) checkHeld(w *testenv.Env) {
	cursor, err := w.DB.Collection("seatlocks").Find(w.Ctx(), bson.D{{Key: "status", Value: "ACTIVE"}})
	if err != nil {
		h.t.Fatal(err)
	}
	var active []struct {
		ID ids.ID `bson:"_id"`
	}
	if err := cursor.All(w.Ctx(), &active); err != nil {
		h.t.Fatal(err)
	}
	for _, lock := range active {
		if !h.held[lock.ID] {
			h.t.Errorf("lock %s is there, and nobody holds it", lock.ID)
		}
		delete(h.held, lock.ID)
	}
	for id := range h.held {
		h.t.Errorf("lock %s was acknowledged, and is not there", id)
	}
}
