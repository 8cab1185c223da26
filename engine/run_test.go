//go:build unix

package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// run runs jobs until the test ends, and fails the test if Run fails.
func run(t *testing.T, e *engine.Engine, o engine.RunOptions) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx, o) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// soon makes sweeps frequent.
var soon = map[string]time.Duration{"lock-expiry": 50 * time.Millisecond}

func isExpired(w *testenv.Env, lock holdfast.Lock) func() bool {
	return func() bool {
		now, err := w.Seats.GetLock(w.Ctx(), lock.ID)
		return err == nil && now.Status == holdfast.LockExpired
	}
}

// Two programs run the same jobs. One of them sweeps, once, and numbers the changes.
func TestRun_OneOfTwoEnginesRunsTheJobs(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	for range 2 {
		run(t, openOn(t, w), engine.RunOptions{Intervals: soon})
	}
	testenv.WaitFor(t, func() bool { return len(leaders(t, w)) == 1 && len(w.Log.Lines("Lease contention")) > 0 })
	lock := w.Acquire(event, 4, testenv.Past())
	testenv.WaitFor(t, isExpired(w, lock))
	testenv.WaitFor(t, func() bool {
		list, _, err := w.Changes.List(t.Context(), nil, changes.Filter{}, 10)
		return err == nil && len(list) == 3 // of the event, the lock, and its end
	})
	testenv.WaitFor(t, func() bool {
		applied := records(t, w, bson.D{{Key: "job", Value: "lock-expiry"}, {Key: "applied", Value: bson.D{{Key: "$gt", Value: 0}}}})
		return len(applied) == 1 && applied[0].Applied == 1 && applied[0].Outcome == jobs.Completed
	})
	var holders []string
	for _, r := range records(t, w, bson.D{}) {
		holders = append(holders, r.Pod)
	}
	slices.Sort(holders)
	if holders = slices.Compact(holders); len(holders) != 1 {
		t.Errorf("jobs were run by %q", holders)
	}
}

func records(t *testing.T, w *testenv.Env, filter bson.D) (list []jobs.Record) {
	t.Helper()
	cursor, err := w.DB.Collection("jobruns").Find(t.Context(), filter)
	if err == nil {
		err = cursor.All(t.Context(), &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// leaders returns the leases of processes that schedule.
func leaders(t *testing.T, w *testenv.Env) (names []string) {
	t.Helper()
	filter := bson.D{{Key: "_id", Value: bson.Regex{Pattern: "^" + jobs.LeaderLease}}}
	if err := w.DB.Collection("jobleases").Distinct(t.Context(), "_id", filter).Decode(&names); err != nil {
		t.Fatal(err)
	}
	return names
}

// The leader of some jobs does not keep other programs from running the others.
func TestRun_EachChoiceOfJobsHasItsLeader(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	run(t, openOn(t, w), engine.RunOptions{Jobs: []string{"reconcile"}})
	testenv.WaitFor(t, func() bool { return len(leaders(t, w)) == 1 })
	lock := w.Acquire(w.Event(10), 4, testenv.Past())
	run(t, openOn(t, w), engine.RunOptions{Jobs: []string{"lock-expiry"}, Intervals: soon})
	testenv.WaitFor(t, isExpired(w, lock))
	for _, r := range records(t, w, bson.D{}) {
		if r.Job != "lock-expiry" && r.Job != "reconcile" {
			t.Errorf("%s was run, which is not among the jobs", r.Job)
		}
	}
}

// A program that only embeds the engine removes what is old, and archives what is over.
func TestRun_Retains(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	past := time.Now().Add(-48 * time.Hour)
	e := openOn(t, w)
	event, err := e.Seats.CreateEvent(w.Ctx(), holdfast.NewEvent{Name: "E", TotalSeats: 10, EventDate: past})
	if err != nil {
		t.Fatal(err)
	}
	old, recent := w.Acquire(event.ID, 1, testenv.Soon()), w.Acquire(event.ID, 1, testenv.Soon())
	for _, lock := range []holdfast.Lock{old, recent} {
		if _, err := e.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
			t.Fatal(err)
		}
	}
	w.Set("seatlocks", old.ID, bson.D{{Key: "updatedAt", Value: past}})
	if _, err := w.Changes.Number(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DB.Collection("changes").UpdateOne(w.Ctx(), bson.D{{Key: "seq", Value: 1}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "t", Value: bson.Timestamp{T: uint32(past.Unix())}}}}}); err != nil {
		t.Fatal(err)
	}
	run(t, e, engine.RunOptions{
		Jobs: []string{"retention"}, Intervals: map[string]time.Duration{"retention": 50 * time.Millisecond},
		EndedRetention: 24 * time.Hour, ChangesRetention: 24 * time.Hour, ArchiveAfter: 24 * time.Hour,
	})
	count := func(collection string, filter bson.D) int64 {
		n, err := w.DB.Collection(collection).CountDocuments(w.Ctx(), filter)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	testenv.WaitFor(t, func() bool {
		return count("seatlocks", bson.D{{Key: "_id", Value: old.ID}}) == 0 && count("changes", bson.D{{Key: "seq", Value: 1}}) == 0 &&
			count("events", bson.D{{Key: "internal.archivedAt", Value: bson.D{{Key: "$exists", Value: true}}}}) == 1
	})
	if count("seatlocks", bson.D{{Key: "_id", Value: recent.ID}}) != 1 || count("changes", bson.D{}) != 4 {
		t.Error("recent documents were removed")
	}
}

// Run refuses wrong options before it starts, and says what to do.
func TestRun_RefusesWrongOptions(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	e := openOn(t, w)
	const all = "use lock-expiry, booking-expiry, reconcile, retention, changes, waitlist, event-cancel"
	every := func(job string, d time.Duration) map[string]time.Duration { return map[string]time.Duration{job: d} }
	for name, row := range map[string]struct {
		options engine.RunOptions
		want    string
	}{
		"an unknown job":         {engine.RunOptions{Jobs: []string{"sweep"}}, `RunOptions.Jobs has "sweep", which is not a job of Run: ` + all},
		"an interval of no job":  {engine.RunOptions{Intervals: every("sweep", time.Second)}, "which is not among its jobs: " + all},
		"an interval of another": {engine.RunOptions{Jobs: []string{"changes"}, Intervals: every("retention", 1)}, "its jobs: use changes"},
		"no interval":            {engine.RunOptions{Intervals: every("retention", 0)}, "the interval of retention is 0s, but must"},
		"a short retention": {engine.RunOptions{EndedRetention: time.Hour},
			"EndedRetention is 1h0m0s, but must be at least 24h0m0s: raise it, or set it to Forever"},
		"another short retention": {engine.RunOptions{ChangesRetention: -2}, "ChangesRetention is -2ns, but must be at least 24h0m0s"},
		"no archiving":            {engine.RunOptions{ArchiveAfter: engine.Forever}, "ArchiveAfter is -1ns, but must be greater than 0"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // so that right options would not block
			if err := e.Run(ctx, row.options); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
