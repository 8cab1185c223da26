package jobs_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// A corrupt record of a run stops no list, and does not keep an abandoned run from being marked.
func TestRuns_LeaveOutCorruptRecords(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	p := open(t, env, []jobs.Job{job("j", succeed)})
	insert := func(id string, change bson.E) {
		doc := bson.D{change}
		for _, e := range []bson.E{
			{Key: "_id", Value: id}, {Key: "job", Value: "j"}, {Key: "trigger", Value: "schedule"}, {Key: "outcome", Value: "running"},
			{Key: "startedAt", Value: time.Now()}, {Key: "found", Value: 1},
		} {
			if e.Key != change.Key {
				doc = append(doc, e)
			}
		}
		env.Insert("jobruns", doc)
	}
	for field, value := range map[string]any{
		"startedAt": "yesterday", "finishedAt": 7, "pod": 5, "found": 1.5, "errors": "x", "reason": bson.A{}, "trigger": "moon",
	} {
		insert("j-corrupt-"+field, bson.E{Key: field, Value: value})
	}
	insert("j-failed", bson.E{Key: "outcome", Value: "failed"})
	insert("j-failed-corrupt", bson.E{Key: "outcome", Value: bson.A{"failed"}})
	insert("j-abandoned", bson.E{Key: "found", Value: 2})
	if records, err := p.Failures(t.Context(), 10); err != nil || len(records) != 1 || records[0].ID != "j-failed" {
		t.Errorf("failures: %+v, %v", records, err)
	}
	if result, err := p.RunExclusive(t.Context(), job("j", succeed), jobs.Manual); err != nil || result.Outcome != jobs.Completed {
		t.Errorf("it ran: %+v, %v", result, err)
	}
	records, _, err := p.Runs(t.Context(), "j", holdfast.Page{})
	if err != nil || len(records) != 3 {
		t.Fatalf("runs: %+v, %v", records, err)
	}
	for _, r := range records {
		if r.ID == "j-abandoned" && r.Outcome != jobs.Failed {
			t.Errorf("the abandoned run: %+v", r)
		}
	}
	states, _, err := p.States(t.Context())
	if err != nil || len(states) != 1 || states[0].Last == nil || states[0].Last.Outcome != jobs.Completed {
		t.Errorf("states: %+v, %v", states, err)
	}
}

// A corrupt lease is free: the next process that wants it takes it over, and the document is valid again.
func TestLease_CorruptIsTakenOver(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	store := jobs.NewMongoLeases(env.DB, leaseTerms)
	ahead := time.Now().Add(time.Hour)
	corrupt := map[string]bson.D{
		"a holder":      {{Key: "lockedBy", Value: 5}, {Key: "expiresAt", Value: ahead}},
		"a token":       {{Key: "token", Value: bson.D{}}, {Key: "lockedBy", Value: "x"}, {Key: "expiresAt", Value: ahead}},
		"a date":        {{Key: "lockedAt", Value: "now"}, {Key: "lockedBy", Value: "x"}, {Key: "expiresAt", Value: ahead}},
		"an end":        {{Key: "lockedBy", Value: "x"}, {Key: "expiresAt", Value: "soon"}},
		"several ends":  {{Key: "lockedBy", Value: "x"}, {Key: "expiresAt", Value: bson.A{ahead}}},
		"no end at all": {{Key: "lockedBy", Value: "x"}},
	}
	for name, doc := range corrupt {
		env.Insert(jobs.LeaseCollection, append(doc, bson.E{Key: "_id", Value: name}))
		if holding, err := store.Read(t.Context(), name); err != nil || holding.Held() {
			t.Errorf("%s: held %+v, %v", name, holding, err)
		}
		if lease, err := store.Acquire(t.Context(), name, "me"); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if err := lease.Renew(t.Context()); err != nil {
			t.Errorf("%s: the new holder: %v", name, err)
		}
		if holding, err := store.Read(t.Context(), name); err != nil || holding.Holder != "me" {
			t.Errorf("%s: held %+v, %v", name, holding, err)
		}
	}
	if lines := env.Log.Lines("WARN Took over a lease"); len(lines) != len(corrupt) {
		t.Errorf("%q", lines)
	}
}
