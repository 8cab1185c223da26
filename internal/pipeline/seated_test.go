package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// newSeated makes an event with 4 rows of 10 seats (a-1-1 to a-4-10) and general admission of 20 (pit).
func newSeated(t *testing.T, w *env) holdfast.ID {
	t.Helper()
	rows := []holdfast.Row{{Key: "1", Count: 10}, {Key: "2", Count: 10}, {Key: "3", Count: 10}, {Key: "4", Count: 10}}
	plan, _, err := w.Plans.Create(w.Ctx(), holdfast.SeatingPlan{
		Name: "Theatre", Categories: []holdfast.Category{{Key: "c", Name: "Category"}},
		Sections: []holdfast.Section{
			{Key: "a", Name: "A", Category: "c", Rows: rows}, {Key: "pit", Name: "Pit", Category: "c", Capacity: 20},
		},
	}, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	e := holdfast.Event{ID: mongodb.NewID(), Name: "Event", Status: holdfast.OnSale, Seating: holdfast.Seating{PlanID: plan.ID}}
	if _, _, err := w.Store.CreateEvent(w.Ctx(), e, holdfast.CreationKey{}, ""); err != nil {
		t.Fatal(err)
	}
	return e.ID
}

func named(eventID holdfast.ID, seatIDs ...string) inventory.Acquire {
	c := acquire(eventID, int64(len(seatIDs)), "")
	c.Wish.SeatIDs = seatIDs
	return c
}

func best(eventID holdfast.ID, seats int64) inventory.Acquire {
	c := acquire(eventID, seats, "")
	c.Wish.Best = &holdfast.BestAvailable{}
	return c
}

func general(eventID holdfast.ID, seats int64) inventory.Acquire {
	c := acquire(eventID, seats, "")
	c.Wish.Section = "pit"
	return c
}

// checkMap fails the test if the stored map of an event is not the union of its locks, and returns the seats
// that are taken.
func checkMap(t *testing.T, w *env, eventID holdfast.ID) (seatIDs []string) {
	t.Helper()
	var doc struct {
		PlanID   holdfast.ID `bson:"seatingPlanId"`
		Blocked  int64       `bson:"blockedSeats"`
		Internal struct {
			Map struct {
				Rows    bson.Binary `bson:"0"`
				General int64       `bson:"1"`
			} `bson:"map"`
		} `bson:"internal"`
	}
	if err := w.DB.Collection("events").FindOne(w.Ctx(), mongodb.Is("_id", eventID)).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	hall, err := w.Plans.Hall(w.Ctx(), doc.PlanID)
	if err != nil {
		t.Fatal(err)
	}
	for n, seat := range hall.Sections()[0].Seats {
		if doc.Internal.Map.Rows.Data[n/8]&(0x80>>(n%8)) != 0 {
			seatIDs = append(seatIDs, seat.ID)
		}
	}
	cursor, err := w.DB.Collection("seatlocks").Find(w.Ctx(), mongodb.And(mongodb.Is("eventId", eventID),
		mongodb.In("status", []string{"ACTIVE", "CONSUMED", "BLOCKED"})))
	if err != nil {
		t.Fatal(err)
	}
	var locks []struct {
		Seats   int64    `bson:"seats"`
		SeatIDs []string `bson:"seatIds"`
		Section string   `bson:"section"`
		Status  string   `bson:"status"`
	}
	if err := cursor.All(w.Ctx(), &locks); err != nil {
		t.Fatal(err)
	}
	var want []string
	blocked, inPit := int64(0), int64(0)
	for _, l := range locks {
		want = append(want, l.SeatIDs...)
		if l.Section == "pit" {
			inPit += l.Seats
		}
		if l.Status == "BLOCKED" {
			blocked += l.Seats
		}
	}
	got := slices.Sorted(slices.Values(seatIDs))
	slices.Sort(want)
	if !slices.Equal(got, want) || doc.Internal.Map.General != inPit || doc.Blocked != blocked {
		t.Errorf("the map has %v, %d and %d blocked; the locks %v, %d and %d", got, doc.Internal.Map.General, doc.Blocked, want, inPit, blocked)
	}
	testenv.CheckInvariants(t, w.DB.Database)
	return seatIDs
}

func wantTaken(t *testing.T, w *env, eventID holdfast.ID, seatIDs ...string) {
	t.Helper()
	if got := checkMap(t, w, eventID); !slices.Equal(got, seatIDs) {
		t.Errorf("taken are %v, want %v", got, seatIDs)
	}
}

// A process that remembers the map reads nothing for a request that fits, and reads no map for one that
// does not.
func TestSeated_Costs(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for _, c := range []struct {
		name    string
		command func(eventID holdfast.ID, l holdfast.Lock) inventory.Command
		want    []string
		sent    int // maps
		code    holdfast.Code
		forget  bool
		due     bool // the lock
	}{
		{name: "named seats", command: func(id holdfast.ID, _ holdfast.Lock) inventory.Command { return named(id, "a-1-1", "a-1-2") },
			want: []string{write, insert, insert, commit}},
		{name: "best available", command: func(id holdfast.ID, _ holdfast.Lock) inventory.Command { return best(id, 3) },
			want: []string{write, insert, insert, commit}},
		{name: "general admission", command: func(id holdfast.ID, _ holdfast.Lock) inventory.Command { return general(id, 3) },
			want: []string{write, insert, insert, commit}},
		{name: "a seat that is taken", command: func(id holdfast.ID, _ holdfast.Lock) inventory.Command { return named(id, "a-4-1") },
			want: []string{read}, code: holdfast.CodeSeatsUnavailable},
		{name: "a seat of a due lock", command: func(id holdfast.ID, _ holdfast.Lock) inventory.Command { return named(id, "a-4-1") },
			want: []string{read, write, update, insert, insert, commit}, due: true},
		{name: "release", command: func(_ holdfast.ID, l holdfast.Lock) inventory.Command { return inventory.Release{LockID: l.ID} },
			want: []string{read, write, update, insert, commit}},
		{name: "other seats", command: func(_ holdfast.ID, l holdfast.Lock) inventory.Command {
			return inventory.ChangeSeats{LockID: l.ID, Seats: 1, Wish: holdfast.Wish{SeatIDs: []string{"a-3-1"}}}
		}, want: []string{read, write, update, insert, commit}},
		{name: "named seats, forgotten", command: func(id holdfast.ID, _ holdfast.Lock) inventory.Command { return named(id, "a-1-1") },
			want: []string{read, write, insert, insert, commit}, sent: 1, forget: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r recorder
			sent := 0
			m := r.monitor()
			m.Succeeded = func(_ context.Context, e *event.CommandSucceededEvent) {
				if strings.Contains(e.Reply.String(), `"map":`) {
					sent++
				}
			}
			process := watched(t, w, m)
			eventID := newSeated(t, w)
			p := newProcess(t, process)
			lock := submit(t, p, eventID, named(eventID, "a-4-1")).Lock
			if c.forget {
				p = newProcess(t, process)
			}
			if c.due {
				w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Minute)}})
			}
			sent = 0
			got := r.of(func() {
				_, err := p.Submit(w.Ctx(), eventID, c.command(eventID, *lock))
				wantCode(t, err, c.code)
			})
			if !slices.Equal(got, c.want) || sent != c.sent {
				t.Errorf("MongoDB received %v and sent %d maps; want %v and %d", got, sent, c.want, c.sent)
			}
			checkMap(t, w, eventID)
		})
	}
}

// Two processes have cached the same map. Seats that one of them has sold are not sold by the other one.
func TestSeated_AStaleMemoryNeverCommits(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	w.DropSeatIndex()
	eventID := newSeated(t, w)
	one, other := newProcess(t, w), newProcess(t, w)
	submit(t, one, eventID, named(eventID, "a-1-1"))
	submit(t, other, eventID, named(eventID, "a-1-2"))
	submit(t, one, eventID, named(eventID, "a-1-3"))
	_, err := other.Submit(w.Ctx(), eventID, named(eventID, "a-1-3"))
	wantCode(t, err, holdfast.CodeSeatsUnavailable)
	submit(t, other, eventID, named(eventID, "a-1-4"))
	wantTaken(t, w, eventID, "a-1-1", "a-1-2", "a-1-3", "a-1-4")

	// A write past the engine.
	lock := named(eventID, "a-1-5")
	w.Insert("seatlocks", bson.D{{Key: "_id", Value: lock.LockID}, {Key: "eventId", Value: eventID}, {Key: "userId", Value: lock.UserID},
		{Key: "seats", Value: 1}, {Key: "seatIds", Value: bson.A{"a-1-5"}}, {Key: "status", Value: "ACTIVE"},
		{Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
	w.Set("events", eventID, bson.D{{Key: "availableSeats", Value: 55}, {Key: "internal.rev", Value: 99},
		{Key: "internal.map.0", Value: bson.Binary{Data: []byte{0xf8, 0, 0, 0, 0}}}})
	for _, p := range []*pipeline.Pipeline{one, other} {
		_, err := p.Submit(w.Ctx(), eventID, named(eventID, "a-1-5"))
		wantCode(t, err, holdfast.CodeSeatsUnavailable)
	}
	wantTaken(t, w, eventID, "a-1-1", "a-1-2", "a-1-3", "a-1-4", "a-1-5")
}

// A process knows nothing of an event that it has not read yet.
func TestSeated_AnUnknownEventIsRead(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := newSeated(t, w)
	_, err := newProcess(t, w).Submit(w.Ctx(), eventID, acquire(eventID, 1, ""))
	wantCode(t, err, holdfast.CodeInvalid)
	submit(t, newProcess(t, w), eventID, named(eventID, "a-1-1"))
	plain := w.Event(10)
	_, err = newProcess(t, w).Submit(w.Ctx(), plain, named(plain, "a-1-1"))
	wantCode(t, err, holdfast.CodeInvalid)
	submit(t, newProcess(t, w), plain, acquire(plain, 1, ""))
	wantTaken(t, w, eventID, "a-1-1")
}

// An attempt that does not commit has marked seats in the cached occupancy. That occupancy is dropped.
func TestSeated_WhatDidNotCommitIsForgotten(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := newSeated(t, w)
	unknown := mongodb.NewID()
	p := newProcess(t, w, func(o *pipeline.Options) {
		o.Users = func(_ context.Context, users []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
			if slices.Contains(users, unknown) {
				return map[holdfast.ID]*holdfast.Error{unknown: holdfast.NotFound(holdfast.CodeUserNotFound)}, nil
			}
			return nil, nil
		}
	})
	submit(t, p, eventID, named(eventID, "a-2-1"))
	refused := named(eventID, "a-1-1")
	refused.UserID = unknown
	_, err := p.Submit(w.Ctx(), eventID, refused)
	wantCode(t, err, holdfast.CodeUserNotFound)
	submit(t, p, eventID, named(eventID, "a-1-1"))

	// An error that ends the run.
	w.Set("seatlocks", submit(t, p, eventID, named(eventID, "a-3-1")).Lock.ID, bson.D{{Key: "_x", Value: 1}})
	w.Command(bson.D{{Key: "collMod", Value: "seatlocks"}, {Key: "validator", Value: bson.D{{Key: "seats", Value: 2}}}})
	_, err = p.Submit(w.Ctx(), eventID, named(eventID, "a-1-2"))
	wantCode(t, err, holdfast.CodeUnavailable)
	w.Command(bson.D{{Key: "collMod", Value: "seatlocks"}, {Key: "validator", Value: bson.D{}}})
	submit(t, p, eventID, named(eventID, "a-1-2"))
	wantTaken(t, w, eventID, "a-1-1", "a-1-2", "a-2-1", "a-3-1")
}

// A lock was inserted by hand, and its seats are free in the map. The unique index refuses to sell them again, the
// map is repaired, and the answer is right.
func TestSeated_TheIndexRefusesWhatTheMapDoesNotShow(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := newSeated(t, w)
	p := newProcess(t, w)
	changed := submit(t, p, eventID, named(eventID, "a-2-1")).Lock
	w.Insert("seatlocks", bson.D{{Key: "eventId", Value: eventID}, {Key: "seats", Value: 2}, {Key: "status", Value: "ACTIVE"},
		{Key: "expiresAt", Value: time.Now().Add(time.Hour)}, {Key: "seatIds", Value: bson.A{"a-1-1", "a-1-2"}}})
	w.Set("events", eventID, bson.D{{Key: "availableSeats", Value: 57}})
	for _, c := range []inventory.Command{
		inventory.ChangeSeats{LockID: changed.ID, Seats: 1, Wish: holdfast.Wish{SeatIDs: []string{"a-1-2"}}}, named(eventID, "a-1-1"),
	} {
		_, err := p.Submit(w.Ctx(), eventID, c)
		wantCode(t, err, holdfast.CodeSeatsUnavailable)
	}
	wantTaken(t, w, eventID, "a-1-1", "a-1-2", "a-2-1")
	if len(w.Log.Lines("Repaired the map")) == 0 {
		t.Error("the log does not report the repair")
	}
}

func TestSeated_ADamagedMapIsRepairedFromTheLocks(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, damage := range map[string]bson.E{
		"a section is a text":  {Key: "internal.map.0", Value: "x"},
		"too long":             {Key: "internal.map.0", Value: bson.Binary{Data: make([]byte, 6)}},
		"a section is missing": {Key: "internal.map", Value: bson.D{{Key: "1", Value: 4}}},
		"no map":               {Key: "internal", Value: bson.D{{Key: "rev", Value: 7}}},
		"negative":             {Key: "internal.map.1", Value: -4},
	} {
		eventID := newSeated(t, w)
		p := newProcess(t, w)
		submit(t, p, eventID, named(eventID, "a-2-1"))
		submit(t, p, eventID, inventory.Block{LockID: mongodb.NewID(), SeatIDs: []string{"a-3-1", "a-3-2"}})
		submit(t, p, eventID, general(eventID, 4))
		w.Set("events", eventID, bson.D{damage, {Key: "blockedSeats", Value: 1}})
		if _, err := newProcess(t, w).Submit(w.Ctx(), eventID, named(eventID, "a-1-1")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantTaken(t, w, eventID, "a-1-1", "a-2-1", "a-3-1", "a-3-2")
	}
	contested := newSeated(t, w) // a process that remembers it finds that another one has written it, too
	p := newProcess(t, w)
	submit(t, p, contested, named(contested, "a-2-1"))
	w.Set("events", contested, bson.D{{Key: "internal.map.0", Value: "x"}, {Key: "internal.rev", Value: 1000}})
	submit(t, p, contested, named(contested, "a-1-1"))
	wantTaken(t, w, contested, "a-1-1", "a-2-1")
	eventID := newSeated(t, w) // no lock says anything of the section
	w.Set("events", eventID, bson.D{{Key: "internal.map.1", Value: "x"}})
	submit(t, newProcess(t, w), eventID, named(eventID, "a-1-1"))
	wantTaken(t, w, eventID, "a-1-1")
}

// Two processes sell, change, block, sweep and release at once; the map is the union of the locks, and no
// seat is sold twice. The race detector sees an occupancy that two runs use.
func TestSeated_ManyAtOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	w.DropSeatIndex()
	eventID := newSeated(t, w)
	processes := []*pipeline.Pipeline{newProcess(t, w), newProcess(t, w)}
	var granted atomic.Int64
	var callers sync.WaitGroup
	for n := range 8 {
		callers.Go(func() {
			random, p := rand.New(rand.NewPCG(7, uint64(n))), processes[n%2]
			for range 25 {
				seat := func() string { return fmt.Sprintf("a-%d-%d", random.IntN(4)+1, random.IntN(10)+1) }
				c := []inventory.Command{
					named(eventID, seat()), named(eventID, seat()), best(eventID, int64(random.IntN(3)+1)), general(eventID, 2),
					inventory.Block{LockID: mongodb.NewID(), SeatIDs: []string{seat()}}, inventory.Unblock{SeatIDs: []string{seat(), seat()}},
				}[random.IntN(6)]
				if a, ok := c.(inventory.Unblock); ok && a.SeatIDs[0] == a.SeatIDs[1] {
					continue
				}
				if a, ok := c.(inventory.Acquire); ok && random.IntN(4) == 0 {
					a.Until = testenv.Past() // it is due at once
					c = a
				}
				result, err := p.Submit(w.Ctx(), eventID, c)
				if err != nil && !mongodb.IsRefusal(err) {
					t.Errorf("%T: %v", c, err)
				}
				if err != nil || result.Lock == nil {
					continue
				}
				granted.Add(1)
				switch random.IntN(4) {
				case 0:
					_, err = p.Submit(w.Ctx(), eventID, inventory.Release{LockID: result.Lock.ID})
				case 1:
					_, err = p.Submit(w.Ctx(), eventID,
						inventory.ChangeSeats{LockID: result.Lock.ID, Seats: 1, Wish: holdfast.Wish{SeatIDs: []string{seat()}}})
				case 2:
					_, err = p.Sweep(w.Ctx(), eventID, inventory.ExpireLocks{UpTo: 100})
				default:
					name := "name"
					_, err = p.Change(w.Ctx(), eventID, inventory.ChangeEvent{EventChange: holdfast.EventChange{Name: &name}})
				}
				if err != nil && !mongodb.IsRefusal(err) {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	if checkMap(t, w, eventID); granted.Load() == 0 {
		t.Error("nothing was granted")
	}
}

// Recovery compares the map with the union that Load returns.
func TestSeated_UnionOfTheLocks(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	w.DropSeatIndex()
	eventID := newSeated(t, w)
	p := newProcess(t, w)
	submit(t, p, eventID, named(eventID, "a-1-1", "a-1-2"))
	submit(t, p, eventID, inventory.Block{LockID: mongodb.NewID(), SeatIDs: []string{"a-2-1"}})
	submit(t, p, eventID, general(eventID, 5))
	released := submit(t, p, eventID, named(eventID, "a-4-1")).Lock
	submit(t, p, eventID, inventory.Release{LockID: released.ID})
	raw := func(fields ...bson.E) holdfast.ID {
		id := mongodb.NewID()
		lock := bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: eventID}, {Key: "status", Value: "CONSUMED"}}
		w.Insert("seatlocks", append(lock, fields...))
		return id
	}
	one, two := bson.E{Key: "seats", Value: 1}, bson.E{Key: "seats", Value: 2.0}
	raw(two, bson.E{Key: "seatIds", Value: bson.A{"a-1-2", "a-1-3"}})
	unplaced := []holdfast.ID{
		raw(one), raw(one, bson.E{Key: "seatIds", Value: bson.A{"z"}}), raw(one, bson.E{Key: "section", Value: "a"}),
		raw(two, bson.E{Key: "seatIds", Value: bson.A{"a-3-1"}}), raw(two, bson.E{Key: "seatIds", Value: bson.A{"a-3-4", "a-3-4"}}),
		raw(bson.E{Key: "seats", Value: "x"}, bson.E{Key: "section", Value: "pit"}),
	}
	raw(two, bson.E{Key: "section", Value: "pit"})
	raw(one, bson.E{Key: "section", Value: "a"}, bson.E{Key: "seatIds", Value: bson.A{"a-3-2"}})
	state, err := w.Store.Load(w.Ctx(), eventID, inventory.Needs{Union: true, Seats: true})
	if err != nil {
		t.Fatal(err)
	}
	u := state.Union
	var got []string
	for seat := range u.Seats.TakenSeats(0) {
		got = append(got, u.Seats.Hall().Seat(seating.Place{Section: 0, Seat: seat}).ID)
	}
	if want := []string{"a-1-1", "a-1-2", "a-1-3", "a-2-1", "a-3-1", "a-3-2", "a-3-4"}; !slices.Equal(got, want) {
		t.Errorf("the seats are %v, want %v", got, want)
	}
	slices.SortFunc(u.Unplaced, func(a, b holdfast.ID) int { return strings.Compare(a.String(), b.String()) })
	slices.SortFunc(unplaced, func(a, b holdfast.ID) int { return strings.Compare(a.String(), b.String()) })
	if u.Seats.TakenGeneral(1) != 7 || u.Blocked != 1 || !slices.Equal(u.Doubles, []string{"a-1-2"}) || !slices.Equal(u.Unplaced, unplaced) {
		t.Errorf("got %d, %d blocked, doubles %v, unplaced %v; want 7, 1, a-1-2 and %v",
			u.Seats.TakenGeneral(1), u.Blocked, u.Doubles, u.Unplaced, unplaced)
	}
	plain := w.Event(10)
	state, err = w.Store.Load(w.Ctx(), plain, inventory.Needs{Union: true, Seats: true})
	if err != nil || state.Union == nil || state.Seats != nil {
		t.Errorf("an unseated event: %+v, %v", state, err)
	}
}

// A transaction that holds an event reads nothing for the refusals of a batch that also grants: the data for them is
// read outside of it, where the event is as it was before it was held. That read finds a due lock, and its seats are
// sold.
func TestSeated_RefusalsWhileTheEventIsHeld(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var r recorder
	eventID := newSeated(t, w)
	p, other := newProcess(t, watched(t, w, r.monitor())), newProcess(t, w)
	var taken inventory.Acquire
	contest := func(own, others string) {
		t.Helper()
		submit(t, p, eventID, named(eventID, own))
		taken = named(eventID, others)
		taken.Key = "key"
		submit(t, other, eventID, taken)
		submit(t, p, eventID, named(eventID, own[:len(own)-1]+"9")) // it finds out that another process writes the event
		submit(t, other, eventID, named(eventID, others[:len(others)-1]+"9"))
	}
	contest("a-1-1", "a-2-1")
	refused := named(eventID, "a-2-1")
	refused.Key = "key"
	var results []inventory.Result
	both := func(grant, other inventory.Acquire) []string {
		return r.of(func() {
			all, err := p.Commit(w.Ctx(), map[holdfast.ID][]inventory.Command{eventID: {grant, other}})
			if err != nil {
				t.Fatal(err)
			}
			results = all[eventID]
		})
	}
	// The data for the refusal is read while the writes are in flight, so the order of the commands may vary.
	got := slices.Sorted(slices.Values(both(named(eventID, "a-3-1"), refused)))
	want := slices.Sorted(slices.Values([]string{write, write, read, insert, insert, commit}))
	if !slices.Equal(got, want) {
		t.Errorf("a refusal together with a grant: %v, want %v", got, want)
	}
	wantCode(t, results[1].Err, holdfast.CodeSeatsUnavailable)

	submit(t, other, eventID, named(eventID, "a-4-1"))
	taken.LockID = mongodb.NewID()
	both(named(eventID, "a-4-2"), taken)
	if got := results[1]; got.Err != nil || !got.Replayed {
		t.Errorf("a repeat together with a grant: %+v", got)
	}

	due := named(eventID, "a-1-5")
	due.Until = holdfast.Until{At: time.Now().Add(-time.Minute)}
	submit(t, other, eventID, due)
	both(named(eventID, "a-4-3"), named(eventID, "a-1-5"))
	if got := results[1]; got.Err != nil {
		t.Errorf("a due lock's seat together with a grant: %v", got.Err)
	}
	checkMap(t, w, eventID)
}

// While other processes write a seated event, a process holds it before it reads: a map that it remembers would
// be out of date each time. It remembers again when it is alone.
func TestSeated_AContestedEventIsHeldFirst(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var r recorder
	eventID := newSeated(t, w)
	p, other := newProcess(t, watched(t, w, r.monitor())), newProcess(t, w)
	seat := 0
	next := func(p *pipeline.Pipeline) []string {
		t.Helper()
		seat++
		return r.of(func() { submit(t, p, eventID, named(eventID, fmt.Sprintf("a-%d-%d", seat/10+1, seat%10+1))) })
	}
	remembers, holds := []string{write, insert, insert, commit}, []string{write, write, insert, insert, commit}
	next(p)
	if got := next(p); !slices.Equal(got, remembers) {
		t.Fatalf("alone: %v", got)
	}
	for round := range 3 {
		next(other)
		want := holds
		if round == 0 {
			want = []string{write, abort, write, guarded, insert, insert, commit}
		}
		if got := next(p); !slices.Equal(got, want) {
			t.Errorf("round %d with another process: %v, want %v", round, got, want)
		}
	}
	if got := next(p); !slices.Equal(got, holds) {
		t.Errorf("alone for the first time: %v, want %v", got, holds)
	}
	remembers[0] = guarded // the queue has seen the other process not long ago
	if got := next(p); !slices.Equal(got, remembers) {
		t.Errorf("alone again: %v, want %v", got, remembers)
	}
	checkMap(t, w, eventID)
}

// If the time that a plan guards turns out to be wrong, it is read again. That is not a sign of another process,
// which would make this one hold the event.
func TestSeated_AWrongTimeIsNoContest(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var r recorder
	eventID := newSeated(t, w)
	p := newProcess(t, watched(t, w, r.monitor()))
	submit(t, p, eventID, named(eventID, "a-1-1"))
	for row, until := range map[string]holdfast.Until{
		"a-2": {At: time.Now().Add(-time.Hour), Ahead: true}, "a-3": {At: time.Now().Add(1000 * time.Hour)},
	} {
		wrong := named(eventID, row+"-1")
		wrong.Until = until
		_, err := p.Submit(w.Ctx(), eventID, wrong)
		wantCode(t, err, holdfast.CodeInvalid)
		got := r.of(func() { submit(t, p, eventID, named(eventID, row+"-3")) })
		if want := []string{write, insert, insert, commit}; !slices.Equal(got, want) {
			t.Errorf("the next lock sends %v, want %v", got, want)
		}
	}
}
