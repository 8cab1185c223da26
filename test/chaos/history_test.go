package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// seatInput is a client's request, and seatOutput its definite answer. A request without a
// definite answer is retried with the same key until it has one: it is one operation, from its
// first attempt to its last answer.
type seatInput struct {
	event   holdfast.ID
	release bool
	seats   int64
	wish    wish    // in theHall
	held    seatSet // that is released, in theHall
}

type seatOutput struct {
	refused     bool
	available   int64   // as the refusal says
	unavailable seatSet // the same
	replayed    bool    // an earlier attempt had made the lock
	held        seatSet // in theHall
}

const modelSeats = 12

// seatState is how many seats of an event are free, or which ones of theHall are taken.
type seatState struct {
	free  int64
	taken seatSet
}

// inHall is a step of an event in theHall.
func (s seatState) inHall(in seatInput, out seatOutput) (bool, any) {
	if in.release {
		return s.taken&in.held == in.held, seatState{taken: s.taken &^ in.held}
	}
	after := seatState{taken: s.taken | out.held}
	if in.wish.best {
		pick := theHall.pick(in.wish, theHall.all&^s.taken)
		if out.refused {
			return pick.first|pick.last == 0 && out.available == pick.available, s
		}
		return out.held != 0 && out.held == pick.first|pick.last, after
	}
	if out.refused {
		return out.unavailable != 0 && out.unavailable == s.taken&in.wish.named, s
	}
	return out.held == in.wish.named && s.taken&in.wish.named == 0, after
}

// seatCountModel is an event that knows only how many seats are free, or an event in theHall.
var seatCountModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) (partitions [][]porcupine.Operation) {
		byEvent := map[holdfast.ID][]porcupine.Operation{}
		for _, op := range history {
			event := op.Input.(seatInput).event
			byEvent[event] = append(byEvent[event], op)
		}
		for _, h := range byEvent {
			partitions = append(partitions, h)
		}
		return partitions
	},
	Init: func() any { return seatState{free: modelSeats} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(seatState), input.(seatInput), output.(seatOutput)
		free := s.free
		switch {
		case in.held != 0 || in.wish != wish{}:
			return s.inHall(in, out)
		case in.release:
			return free+in.seats <= modelSeats, seatState{free: free + in.seats}
		case out.refused:
			return free < in.seats && out.available == free, s
		default:
			return free >= in.seats, seatState{free: free - in.seats}
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

// history is recorded by clients while faults are injected.
type history struct {
	t       *testing.T
	start   time.Time
	engines []*testenv.Env // as if they were two processes
	hall    holdfast.ID    // the event in theHall

	mu   sync.Mutex
	ops  []porcupine.Operation
	held map[holdfast.ID]bool // locks that a client was given and did not release

	indeterminate int // answers that were not definite
	unanswered    int // operations that never had a definite answer
}

// runClient locks and releases seats until ctx ends, and then until its last operation has an
// answer.
func (h *history) runClient(ctx context.Context, id int, events []holdfast.ID, rng *rand.Rand) {
	user, locks := mongodb.NewID(), []holdfast.Lock{}
	for n := 0; ctx.Err() == nil; n++ {
		event := events[rng.IntN(len(events))]
		if len(locks) > 0 && rng.IntN(2) == 0 {
			lock := locks[len(locks)-1]
			locks = locks[:len(locks)-1]
			in := seatInput{event: lock.EventID, release: true, seats: lock.Seats, held: seatsOf(lock.SeatIDs...)}
			h.invoke(id, in, func(ctx context.Context, env *testenv.Env) (seatOutput, error) {
				_, err := env.Seats.ReleaseLock(ctx, lock.ID)
				return seatOutput{}, err
			})
			h.removeHeld(lock.ID)
		} else {
			request := holdfast.LockRequest{EventID: event, UserID: user, Seats: 1 + rng.Int64N(4), Key: strconv.Itoa(n), Until: testenv.Soon()}
			in := seatInput{event: event, seats: request.Seats}
			if event == h.hall {
				in.wish = theHall.numberedWish(rng)
				request.Seats, request.Wish = in.wish.seats, in.wish.ofEngine()
			}
			h.invoke(id, in, func(ctx context.Context, env *testenv.Env) (seatOutput, error) {
				lock, replayed, err := env.Seats.AcquireLock(ctx, request)
				if details, refused := holdfast.DetailsOf[holdfast.SeatsUnavailable](err); refused {
					return seatOutput{refused: true, available: details.Available, unavailable: seatsOf(details.Unavailable...)}, nil
				}
				if err == nil {
					locks = append(locks, lock)
					h.addHeld(lock.ID)
				}
				return seatOutput{replayed: replayed, held: seatsOf(lock.SeatIDs...)}, err
			})
		}
		delay(ctx, randomMillis(rng, 0, 120))
	}
}

func (h *history) addHeld(id holdfast.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held[id] = true
}

func (h *history) removeHeld(id holdfast.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.held, id)
}

// invoke sends a request until the answer is definite, alternately to both engines, and
// records it.
func (h *history) invoke(client int, in seatInput, send func(context.Context, *testenv.Env) (seatOutput, error)) {
	called, unknown := time.Since(h.start), false
	const maxAttempts = 60
	for attempt := range maxAttempts {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		out, err := send(ctx, h.engines[(client+attempt)%len(h.engines)])
		cancel()
		if err == nil {
			h.record(porcupine.Operation{
				ClientId: client, Input: in, Output: out, Call: called.Nanoseconds(), Return: time.Since(h.start).Nanoseconds(),
			})
			if out.replayed && !unknown {
				h.t.Errorf("%+v: the answer was UNAVAILABLE, but the lock was made", in)
			}
			return
		}
		h.mu.Lock()
		h.indeterminate++
		h.mu.Unlock()
		unknown = unknown || holdfast.HasCode(err, holdfast.CodeOutcomeUnknown)
		if !holdfast.HasCode(err, holdfast.CodeUnavailable) && !holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) {
			h.t.Errorf("%+v: %v", in, err)
			return
		}
		delay(context.Background(), 100*time.Millisecond)
	}
	h.mu.Lock()
	h.unanswered++
	h.mu.Unlock()
}

func (h *history) record(op porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

// Clients lock and release the seats of small events, one of them in theHall, through two engines, while the primary of
// three members is killed, frozen, stepped down, slow, or loses commit replies. The history is
// linearizable: it is possible for events that execute one operation at a time. In the end each
// operation has a definite answer, and granted locks exist.
//
// CHAOS_SEED sets the seed, CHAOS_FAULTS the number of faults.
func TestHistory_IsLinearizable(t *testing.T) {
	t.Parallel()
	seed := seedFromEnv()
	set, err := devserver.StartReplicaSet(t.Context(), devserver.MongodOptions{Test: true, Progress: os.Stderr}, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Stop)
	env := testenv.Open(t, set.URI, "history")
	h := &history{t: t, start: time.Now(), engines: []*testenv.Env{env, testenv.Open(t, set.URI, "history")}, held: map[holdfast.ID]bool{}}
	h.hall = env.SeatedEvent(theHall.plan)
	events := []holdfast.ID{env.Event(modelSeats), env.Event(modelSeats), env.Event(modelSeats), h.hall, h.hall}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for id := range 12 {
		clients.Go(func() { h.runClient(ctx, id, events, rand.New(rand.NewPCG(seed, uint64(id)))) })
	}
	h.injectFaults(ctx, set, roundsFromEnv("CHAOS_FAULTS", 5), rand.New(rand.NewPCG(seed, 1<<32)))
	delay(ctx, 2*time.Second)
	stop()
	clients.Wait()
	// scripts/chaos parses this line.
	t.Logf("seed %d: %d operations, %d indeterminate answers, %d operations without a definite answer",
		seed, len(h.ops), h.indeterminate, h.unanswered)
	if h.unanswered > 0 || len(h.ops) < 100 {
		t.Errorf("seed %d: %d operations, %d without a definite answer: too few, or not all answered", seed, len(h.ops), h.unanswered)
	}
	for _, engine := range h.engines {
		if err := engine.Pipeline.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if result := porcupine.CheckOperationsTimeout(seatCountModel, h.ops, time.Minute); result != porcupine.Ok {
		t.Errorf("seed %d: the history is not linearizable: %v", seed, result)
	}
	h.checkHeld(env)
	testenv.CheckInvariants(t, env.DB.Database)
}

// injectFaults injects n faults of the primary, one after the other. Each kind comes once before
// a kind is repeated.
func (h *history) injectFaults(ctx context.Context, set *devserver.ReplicaSet, n int, rng *rand.Rand) {
	names := []string{"killed", "frozen", "stepped down", "losing commit replies", "slow"}
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range n {
		delay(ctx, time.Second)
		name := names[i%len(names)]
		primary := awaitPrimary(h.t, set)
		h.t.Logf("%v: %s is %s", time.Since(h.start).Round(time.Millisecond), primary.Host, name)
		primaryFaults[name](h.t, primary, rng)
		awaitPrimary(h.t, set)
	}
}

// checkHeld fails the test unless clients hold exactly the ACTIVE locks.
func (h *history) checkHeld(env *testenv.Env) {
	active, err := findAll[finalLock](env, "seatlocks", bson.D{{Key: "status", Value: "ACTIVE"}})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, lock := range active {
		if !h.held[lock.ID] {
			h.t.Errorf("lock %s exists, but no client holds it", lock.ID)
		}
		delete(h.held, lock.ID)
	}
	for id := range h.held {
		h.t.Errorf("lock %s was acknowledged, but does not exist", id)
	}
}
