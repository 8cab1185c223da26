package pipeline_test

import (
	"cmp"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Seats are refused that are taken as far as a process remembers, and others granted in the same batch. What the refusals rely
// on is read first: a request that was granted before is answered with its lock, a due lock's seats are sold again, and only the rest
// is refused.
func TestSeated_RefusalsBesideGrants(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for _, row := range []struct {
		name    string
		refused func(eventID holdfast.ID, locked inventory.Acquire) inventory.Acquire
		code    holdfast.Code // "": granted
		replay  bool
	}{
		{"the seat is locked", func(eventID holdfast.ID, _ inventory.Acquire) inventory.Acquire { return named(eventID, "a-1-1") },
			holdfast.CodeSeatsUnavailable, false},
		{"its own lock", func(_ holdfast.ID, locked inventory.Acquire) inventory.Acquire { return locked }, "", true},
		{"a due lock", func(eventID holdfast.ID, _ inventory.Acquire) inventory.Acquire { return named(eventID, "a-2-2") }, "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newProcess(t, w)
			eventID := newSeated(t, w)
			locked := named(eventID, "a-1-1")
			locked.Key = "key"
			lock := submit(t, p, eventID, locked).Lock
			due := named(eventID, "a-2-2")
			due.Until = holdfast.Until{At: time.Now().Add(-time.Minute)}
			submit(t, p, eventID, due)
			asked := row.refused(eventID, locked)
			asked.LockID = mongodb.NewID()
			results, err := p.Commit(w.Ctx(), map[holdfast.ID][]inventory.Command{eventID: {named(eventID, "a-3-3"), asked}})
			if err != nil {
				t.Fatal(err)
			}
			granted, got := results[eventID][0], results[eventID][1]
			switch {
			case granted.Err != nil:
				t.Error(granted.Err)
			case row.code != "":
				wantCode(t, got.Err, row.code)
				details, _ := holdfast.DetailsOf[holdfast.SeatsUnavailable](got.Err)
				if len(details.Unavailable) != 1 || details.Unavailable[0] != "a-1-1" {
					t.Errorf("refused with %+v", details)
				}
			case got.Err != nil:
				t.Error(got.Err)
			case got.Replayed != row.replay, row.replay && got.Lock.ID != lock.ID:
				t.Errorf("answers lock %v, replayed: %v; the first lock is %v", got.Lock.ID, got.Replayed, lock.ID)
			}
			checkMap(t, w, eventID)
		})
	}
}

// Another process has taken the seat that would be granted: nothing is left to write.
func TestSeated_RefusalsBesideAGrantThatIsGone(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p, other, eventID := newProcess(t, w), newProcess(t, w), newSeated(t, w)
	submit(t, p, eventID, named(eventID, "a-1-1"))
	submit(t, other, eventID, named(eventID, "a-3-3"))
	results, err := p.Commit(w.Ctx(), map[holdfast.ID][]inventory.Command{eventID: {named(eventID, "a-3-3"), named(eventID, "a-1-1")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results[eventID] {
		wantCode(t, r.Err, holdfast.CodeSeatsUnavailable)
	}
	wantTaken(t, w, eventID, "a-1-1", "a-3-3")
}

// Refusals alone are decided on what is read, not on the remembered map.
func TestSeated_RefusalsAlone(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, row := range map[string]struct {
		change func(t *testing.T, eventID, lockID holdfast.ID) // since the map was remembered
		code   holdfast.Code                                   // "": granted
	}{
		"nothing has changed": {func(*testing.T, holdfast.ID, holdfast.ID) {}, holdfast.CodeSeatsUnavailable},
		"its lock is due": {func(_ *testing.T, _, lockID holdfast.ID) {
			w.Set("seatlocks", lockID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Minute)}})
		}, ""},
		"released by another process": {func(t *testing.T, eventID, lockID holdfast.ID) {
			submit(t, newProcess(t, w), eventID, inventory.Release{LockID: lockID})
		}, ""},
		"closed by hand": {func(_ *testing.T, eventID, _ holdfast.ID) {
			w.Set("events", eventID, bson.D{{Key: "status", Value: "CLOSED"}})
		}, holdfast.CodeEventNotOnSale},
	} {
		t.Run(name, func(t *testing.T) {
			p, eventID := newProcess(t, w), newSeated(t, w)
			lock := submit(t, p, eventID, named(eventID, "a-1-1")).Lock
			row.change(t, eventID, lock.ID)
			results, err := p.Commit(w.Ctx(), map[holdfast.ID][]inventory.Command{eventID: {named(eventID, "a-1-1"), named(eventID, "a-1-1")}})
			if err != nil {
				t.Fatal(err)
			}
			first, second := results[eventID][0], results[eventID][1]
			if row.code == "" && first.Err != nil {
				t.Error(first.Err)
			} else if row.code != "" {
				wantCode(t, first.Err, row.code)
			}
			wantCode(t, second.Err, cmp.Or(row.code, holdfast.CodeSeatsUnavailable))
			checkMap(t, w, eventID)
		})
	}
}

// A rule or a limit that was changed by hand counts at once, in a process that remembers the event too.
func TestSeated_RulesChangedByHandCount(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	userID := mongodb.NewID()
	for name, row := range map[string]struct {
		change bson.E
		next   func(eventID holdfast.ID) inventory.Acquire
		code   holdfast.Code
	}{
		"orphans are refused": {bson.E{Key: "orphanRule", Value: "REFUSE"}, func(eventID holdfast.ID) inventory.Acquire {
			return named(eventID, "a-1-3")
		}, holdfast.CodeSeatOrphaned},
		"customers are limited": {bson.E{Key: "maxSeatsPerUser", Value: 1}, func(eventID holdfast.ID) inventory.Acquire {
			c := named(eventID, "a-1-2")
			c.UserID = userID
			return c
		}, holdfast.CodeSeatLimitReached},
	} {
		t.Run(name, func(t *testing.T) {
			p, eventID := newProcess(t, w), newSeated(t, w)
			first := named(eventID, "a-1-1")
			first.UserID = userID
			submit(t, p, eventID, first)
			w.Set("events", eventID, bson.D{row.change})
			_, err := p.Submit(w.Ctx(), eventID, row.next(eventID))
			wantCode(t, err, row.code)
			wantTaken(t, w, eventID, "a-1-1")
		})
	}
}
