package jobs_test

import (
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// insertForeign writes a document for each field and each extreme value.
func insertForeign(t *testing.T, env *testenv.Env, collection string, template func(n int) bson.D) {
	t.Helper()
	var docs []any
	for field := range template(0) {
		for _, value := range testenv.Extremes() {
			docs = append(docs, testenv.With(template(len(docs)), field, value))
		}
	}
	// MongoDB refuses some, such as an _id that is an array or is not unique.
	_, err := env.DB.Collection(collection).InsertMany(t.Context(), docs, options.InsertMany().SetOrdered(false))
	if n, countErr := env.DB.Collection(collection).CountDocuments(t.Context(), bson.D{}); countErr != nil || n < int64(len(docs)*2/3) {
		t.Fatal(n, len(docs), err, countErr)
	}
}

// Records and heartbeats of other software neither stop a job, nor stand for its latest run, nor
// break the list of runs. No process takes them for a pass, or for a process that is alive.
func TestForeignDocuments_OfRunsAndProcesses(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	j := job("j", succeed)
	p := open(t, env, []jobs.Job{j})
	past := bson.NewDateTimeFromTime(time.Now().Add(-time.Hour))
	for _, outcome := range []string{"running", "completed", "failed"} {
		insertForeign(t, env, "jobruns", func(n int) bson.D {
			return bson.D{{Key: "_id", Value: outcome + time.Duration(n).String()}, {Key: "job", Value: "j"}, {Key: "pod", Value: "p"},
				{Key: "trigger", Value: "schedule"}, {Key: "startedAt", Value: past}, {Key: "finishedAt", Value: past},
				{Key: "outcome", Value: outcome},
				{Key: "reason", Value: "r"}, {Key: "contended", Value: 1}, {Key: "found", Value: 1}, {Key: "applied", Value: 1},
				{Key: "skipped", Value: 1}, {Key: "errors", Value: 1}, {Key: "seatsRestored", Value: 1}}
		})
	}
	insertForeign(t, env, "processes", func(n int) bson.D {
		return bson.D{{Key: "_id", Value: time.Duration(n).String()}, {Key: "beats", Value: n},
			{Key: "expiresAt", Value: bson.NewDateTimeFromTime(time.Now().Add(time.Hour))}}
	})
	if passed, err := p.PassedSince("j", time.Now())(t.Context()); err != nil || passed {
		t.Errorf("before the first pass: %v, %v", passed, err)
	}
	for range 2 {
		result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled)
		if err != nil || result.Outcome != jobs.Completed {
			t.Fatalf("%+v, %v", result, err)
		}
		states, _, err := p.States(t.Context())
		if err != nil || states[0].Last == nil || states[0].Last.ID != result.ID {
			t.Errorf("the last run: %+v, %v; want %s", states, err, result.ID)
		}
		if leftOver, err := p.LeftOver(t.Context(), "j"); err != nil || leftOver {
			t.Errorf("the pass left documents over: %v, %v", leftOver, err)
		}
	}
	// Another process that starts now has to run its own pass: none of the others is alive.
	if passed, err := p.PassedSince("j", time.Now().Add(time.Second))(t.Context()); err != nil || passed {
		t.Errorf("without a living process: %v, %v", passed, err)
	}
	if _, err := p.Failures(t.Context(), 100); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for page := (holdfast.Page{Size: 7}); ; {
		records, next, err := p.Runs(t.Context(), "j", page)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if seen[r.ID] || r.ID == "" {
				t.Fatalf("the run %q is listed again", r.ID)
			}
			seen[r.ID] = true
		}
		if page.Token = next; next == "" {
			break
		}
	}
	if len(seen) < 1000 {
		t.Errorf("%d runs are listed", len(seen))
	}
	if lines := env.Log.Lines("WARN"); len(lines) > 0 {
		t.Errorf("%v", lines)
	}
}

// A lease of other software, whose end no holder can have written, is taken over and reported.
// One that may be of a holder is respected.
func TestForeignDocuments_OfLeases(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	store, leases := lease.NewMongo(env.DB, terms), env.DB.Collection(lease.Collection)
	reported := 0
	for field, key := range []string{"lockedBy", "lockedAt", "expiresAt", "token"} {
		for _, value := range append(testenv.Extremes(), bson.NewDateTimeFromTime(time.Now().Add(30*time.Minute))) {
			doc := bson.D{{Key: "lockedBy", Value: "x"}, {Key: "lockedAt", Value: time.Now()}, {Key: "expiresAt", Value: time.Now().Add(-time.Hour)},
				{Key: "token", Value: "t"}}
			doc = append(bson.D{{Key: "_id", Value: lease.Of("j")}}, testenv.With(doc, field, value)...)
			env.Insert(lease.Collection, doc)
			at, isDate := value.(bson.DateTime)
			isHeld := key == "expiresAt" && isDate && at.Time().After(time.Now()) && at.Time().Before(time.Now().Add(time.Hour))
			if key == "expiresAt" && (!isDate || at == math.MaxInt64 || at.Time().Year() > 9998) {
				reported++
			}
			if holding, err := store.Read(t.Context(), lease.Of("j")); err != nil || holding.Held() != isHeld {
				t.Errorf("%s %v: held %+v, %v", key, value, holding, err)
			}
			l, err := store.Acquire(t.Context(), lease.Of("j"), "me")
			if _, held := lease.IsHeld(err); held != isHeld || !held && err != nil {
				t.Errorf("%s %v: %v", key, value, err)
			}
			if l != nil {
				if err := l.Renew(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if _, err := leases.DeleteMany(t.Context(), bson.D{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if lines := env.Log.Lines("WARN Took over a lease"); len(lines) != reported {
		t.Errorf("%d leases were reported, want %d", len(lines), reported)
	}
}
