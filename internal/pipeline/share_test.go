package pipeline_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

type commands = map[holdfast.ID][]inventory.Command

// commitShared commits the commands of several events together.
func commitShared(t *testing.T, p *pipeline.Pipeline, c commands) map[holdfast.ID]groupcommit.GroupResult[inventory.Result] {
	t.Helper()
	groups, err := p.CommitGroups(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// The commands of several events are one transaction, with a read of those that are not remembered.
func TestShare_SeveralEventsInOneTransaction(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var r recorder
	p := newProcess(t, watched(t, w, r.monitor()))
	a, b := w.Event(10), w.Event(10)
	for _, want := range [][]string{{read, update, read, insert, insert, commit}, {update, read, insert, insert, commit}} {
		var groups map[holdfast.ID]groupcommit.GroupResult[inventory.Result]
		got := r.of(func() {
			groups = commitShared(t, p, commands{a: {acquire(a, 1, "x"), acquire(a, 2, "")}, b: {acquire(b, 3, "y")}})
		})
		if !slices.Equal(got, want) {
			t.Errorf("MongoDB received %v, want %v", got, want)
		}
		for id, seats := range map[holdfast.ID][]int64{a: {1, 2}, b: {3}} {
			for i, o := range groups[id].Outcomes {
				if lock := w.Lock(o.Result.Lock.ID); o.Result.Err != nil || lock.EventID != id || lock.Seats != seats[i] {
					t.Errorf("the outcome is %+v with the lock %+v", o, lock)
				}
			}
		}
	}
	wantAvailable(t, w, a, 4)
	wantAvailable(t, w, b, 4)
	testenv.CheckInvariants(t, w.DB.Database)
}

// If the commands of an event need more than the cached event, such as for a refusal, the event is left out. The
// other events are committed.
func TestShare_LeavesApartWhatNeedsMore(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p := newProcess(t, w)
	sells, alsoSells, soldOut, closed, missing := w.Event(10), w.Event(10), w.Event(1), w.Event(10), mongodb.NewID()
	w.Acquire(soldOut, 1, testenv.Soon())
	w.Set("events", closed, bson.D{{Key: "status", Value: "CLOSED"}})
	seated := newSeated(t, w)
	groups := commitShared(t, p, commands{
		sells: {acquire(sells, 4, "a"), acquire(sells, 6, "c")}, alsoSells: {acquire(alsoSells, 1, "")},
		soldOut: {acquire(soldOut, 1, "a")}, closed: {acquire(closed, 1, "")},
		missing: {acquire(missing, 1, "")}, seated: {named(seated, "a-1-1")},
	})
	for id, isApart := range map[holdfast.ID]bool{
		sells: false, alsoSells: false, soldOut: true, closed: true, missing: true, seated: true,
	} {
		if groups[id].Apart != isApart {
			t.Errorf("apart: %v, want %v: %+v", groups[id].Apart, isApart, groups[id])
		}
	}
	wantAvailable(t, w, sells, 0)
	testenv.CheckInvariants(t, w.DB.Database)
}

// A cached map refuses one request for seats and grants another one. The refusal has to be confirmed, and until then
// neither request is decided.
func TestShare_LeavesApartARefusalBesideAGrant(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p, seated, other, another := newProcess(t, w), newSeated(t, w), w.Event(10), w.Event(10)
	submit(t, p, seated, named(seated, "a-1-1"))
	groups := commitShared(t, p, commands{
		other: {acquire(other, 1, "")}, another: {acquire(another, 1, "")}, seated: {named(seated, "a-3-3"), named(seated, "a-1-1")},
	})
	if !groups[seated].Apart || groups[other].Apart {
		t.Errorf("got %+v", groups)
	}
	submit(t, p, seated, named(seated, "a-3-3"))
	checkMap(t, w, seated)
}

// atOnce submits a command of each event at once, and returns the results and errors.
func atOnce(p *pipeline.Pipeline, events []holdfast.ID, c func(i int) inventory.Acquire) (results []inventory.Result, errs []error) {
	results, errs = make([]inventory.Result, len(events)), make([]error, len(events))
	var callers sync.WaitGroup
	for i, id := range events {
		callers.Go(func() { results[i], errs[i] = p.Submit(context.Background(), id, c(i)) })
	}
	callers.Wait()
	return results, errs
}

func manyEvents(w *env) (events []holdfast.ID) {
	const many = 40
	for range many {
		events = append(events, w.Event(10))
	}
	return events
}

// An event that a transaction of another process holds delays no other one, and is served once it is free.
func TestShare_AnEventThatIsHeldDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p, events := newProcess(t, w), manyEvents(w)
	atOnce(p, events, func(i int) inventory.Acquire { return acquire(events[i], 1, "") }) // now they are remembered
	release := w.HoldEvent(events[7].String())
	var held sync.WaitGroup
	for range 3 {
		held.Go(func() { submit(t, p, events[7], acquire(events[7], 1, "")) })
	}
	others := slices.Delete(slices.Clone(events), 7, 8)
	for range 3 {
		_, errs := atOnce(p, others, func(i int) inventory.Acquire { return acquire(others[i], 1, "") })
		for _, err := range errs {
			wantCode(t, err, "")
		}
	}
	wantAvailable(t, w, events[7], 9)
	release()
	held.Wait()
	for _, id := range events {
		wantAvailable(t, w, id, 6)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// An event that MongoDB does not let change fails its own commands alone.
func TestShare_AnEventThatCantBeChangedFailsNoOther(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p, events := newProcess(t, w), manyEvents(w)
	atOnce(p, events, func(i int) inventory.Acquire { return acquire(events[i], 1, "") })
	w.Set("events", events[7], bson.D{{Key: "internal", Value: "no document"}})
	for range 3 {
		_, errs := atOnce(p, events, func(i int) inventory.Acquire { return acquire(events[i], 1, "") })
		for i, err := range errs {
			wantCode(t, err, map[int]holdfast.Code{7: holdfast.CodeUnavailable}[i])
		}
	}
	w.Set("events", events[7], bson.D{{Key: "internal", Value: bson.D{}}})
	testenv.CheckInvariants(t, w.DB.Database)
}

// An event that is remembered with more seats than it has is refused, and fails no other one. MongoDB's validator would not
// let its counter fall below 0: that says nothing of the event.
func TestShare_AnEventThatIsSoldOutElsewhereFailsNoOther(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p, another, events := newProcess(t, w), newProcess(t, w), manyEvents(w)
	for _, process := range []*pipeline.Pipeline{p, another} {
		atOnce(process, events, func(i int) inventory.Acquire { return acquire(events[i], 1, "") }) // now they are remembered
	}
	soldOut := events[7]
	w.Acquire(soldOut, 8, testenv.Soon())
	_, err := another.CommitGroups(t.Context(), commands{soldOut: {acquire(soldOut, 1, "")}, events[8]: {acquire(events[8], 1, "")}})
	if !errors.Is(err, store.ErrStale) {
		t.Errorf("together: got %v, want ErrStale", err)
	}
	_, errs := atOnce(p, events, func(i int) inventory.Acquire { return acquire(events[i], 1, "") })
	for i, err := range errs {
		want := holdfast.Code("")
		if events[i] == soldOut {
			want = holdfast.CodeSeatsUnavailable
		}
		wantCode(t, err, want)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// The answer of a shared commit is lost. Each event then finds out the outcome of its own commands.
func TestShare_ALostAnswerIsSettledForEachEvent(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]bson.D{
		"it was committed": {{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "timeout"}}}},
		"it was aborted":   {{Key: "errorCode", Value: 11601}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := testenv.Open(t, testenv.OwnServer(t), "holdfast_test", func(o *mongodb.Options) { o.CommitTimeout = time.Second })
			p, events := newProcess(t, own), manyEvents(own)
			atOnce(p, events, func(i int) inventory.Acquire { return acquire(events[i], 1, "") })
			off := own.FailCommands("commitTransaction", "alwaysOn", failure)
			var results []inventory.Result
			var errs []error
			var done sync.WaitGroup
			done.Go(func() {
				results, errs = atOnce(p, events, func(i int) inventory.Acquire { return acquire(events[i], 2, "key") })
			})
			testenv.WaitFor(t, func() bool { return own.Transactions(mongodb.Unknown) > 0 })
			off()
			done.Wait()
			for i, err := range errs {
				wantCode(t, err, "")
				if lock := own.Lock(results[i].Lock.ID); lock.EventID != events[i] || lock.Seats != 2 {
					t.Errorf("event %d has the lock %+v", i, lock)
				}
				wantAvailable(t, own, events[i], 7)
			}
			testenv.CheckInvariants(t, own.DB.Database)
		})
	}
}

// withoutUser makes a process look up users, of whom one does not exist.
func withoutUser(unknown holdfast.ID) func(*pipeline.Options) {
	return withUsers(func(_ context.Context, userIDs []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		if !slices.Contains(userIDs, unknown) {
			return nil, nil
		}
		return map[holdfast.ID]*holdfast.Error{unknown: holdfast.Refuse(holdfast.CodeUserNotFound, "There is no such user.")}, nil
	})
}

// A user that does not exist, a caller that has given up and a key that is in use concern their own event alone.
func TestShare_ARefusalOfOneEventIsNoneOfAnother(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	unknown := mongodb.NewID()
	p := newProcess(t, w, withoutUser(unknown))
	events := manyEvents(w)
	atOnce(p, events, func(i int) inventory.Acquire { return acquire(events[i], 1, "") })
	used := acquire(events[3], 1, "used")
	lock := submit(t, p, events[3], used).Lock
	used.LockID = mongodb.NewID()
	results, errs := atOnce(p, events, func(i int) inventory.Acquire {
		c := acquire(events[i], 1, "key")
		switch i {
		case 3:
			return used
		case 7:
			c.UserID = unknown
		}
		return c
	})
	for i, err := range errs {
		switch i {
		case 3:
			wantCode(t, err, "")
			if results[i].Lock.ID != lock.ID || !results[i].Replayed {
				t.Errorf("a repeated request has the lock %v, want %v", results[i].Lock.ID, lock.ID)
			}
			wantAvailable(t, w, events[i], 8)
		case 7:
			wantCode(t, err, holdfast.CodeUserNotFound)
			wantAvailable(t, w, events[i], 9)
		default:
			wantCode(t, err, "")
			wantAvailable(t, w, events[i], 8)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A request that is repeated, as after a lost answer, is answered by itself, and does not fail the transaction of
// other events.
func TestShare_ARepeatedRequestFailsNoTransaction(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p, events := newProcess(t, w), manyEvents(w)
	atOnce(p, events, func(i int) inventory.Acquire { return acquire(events[i], 1, "") }) // now they are remembered
	used := acquire(events[3], 1, "used")
	lock := submit(t, p, events[3], used).Lock
	failed := func() (n int) {
		for _, o := range []mongodb.Outcome{mongodb.Refused, mongodb.Rejected, mongodb.Conflict} {
			n += w.Transactions(o)
		}
		return n
	}
	before := failed()
	used.LockID = mongodb.NewID()
	results, errs := atOnce(p, events, func(i int) inventory.Acquire {
		if i == 3 {
			return used
		}
		return acquire(events[i], 1, "")
	})
	for _, err := range errs {
		wantCode(t, err, "")
	}
	if results[3].Lock.ID != lock.ID || !results[3].Replayed {
		t.Errorf("a repeated request has the lock %v, want %v", results[3].Lock.ID, lock.ID)
	}
	if n := failed() - before; n > 1 {
		t.Errorf("%d transactions failed, want at most that of the repeated request", n)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// Seated events share transactions too, once their maps are remembered, and two processes that sell the same events
// sell no seat twice.
func TestShare_TwoProcessesSellSeatedAndUnseatedEvents(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var r recorder
	processes := []*pipeline.Pipeline{newProcess(t, watched(t, w, r.monitor())), newProcess(t, w)}
	var events, seated []holdfast.ID
	for range 10 {
		seated = append(seated, newSeated(t, w))
		events = append(events, seated[len(seated)-1], w.Event(12))
	}
	isSeated := func(id holdfast.ID) bool { return slices.Contains(seated, id) }
	var callers sync.WaitGroup
	for _, p := range processes {
		for range 6 {
			callers.Go(func() {
				for i := range 2 * len(events) {
					id := events[i%len(events)]
					c := acquire(id, 1, "")
					if isSeated(id) {
						c = named(id, []string{"a-1-1", "a-1-2", "a-2-1", "a-3-3"}[i%4])
					}
					if _, err := p.Submit(w.Ctx(), id, c); err != nil && !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
						t.Error(err)
					}
				}
			})
		}
	}
	callers.Wait()
	for _, id := range events {
		if isSeated(id) {
			checkMap(t, w, id)
		} else {
			wantAvailable(t, w, id, 0)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// If all other events are left apart, they don't wait for the one that is not, either.
func TestShare_EventsThatAreApartDontWaitForAnEventThatIsHeld(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p := newProcess(t, w)
	held, soldOut := w.Event(10), w.Event(1)
	w.Acquire(soldOut, 1, testenv.Soon())
	release := w.HoldEvent(held.String())
	defer release()
	groups := commitShared(t, p, commands{held: {acquire(held, 1, "")}, soldOut: {acquire(soldOut, 1, "")}})
	for id, g := range groups {
		if !g.Apart {
			t.Errorf("event %v is not left apart, and was waited for", id)
		}
	}
}

// An attempt that is repeated leaves the remembered map as it was: the next command is decided on it, without a read.
func TestShare_ARepeatedAttemptLeavesTheMapAsItWas(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var r recorder
	unknown := mongodb.NewID()
	p := newProcess(t, watched(t, w, r.monitor()), withoutUser(unknown))
	a, b, seated := w.Event(10), w.Event(10), newSeated(t, w)
	submit(t, p, seated, named(seated, "a-4-10")) // now the map is remembered
	refused := named(seated, "a-1-1")
	refused.UserID = unknown
	groups := commitShared(t, p, commands{a: {acquire(a, 1, "")}, b: {acquire(b, 1, "")}, seated: {refused}})
	if groups[a].Apart || groups[b].Apart || !groups[seated].Apart {
		t.Errorf("the groups are %+v", groups)
	}
	got := r.of(func() { submit(t, p, seated, named(seated, "a-1-1")) })
	if want := []string{write, insert, insert, commit}; !slices.Equal(got, want) {
		t.Errorf("MongoDB received %v, want %v", got, want)
	}
}
