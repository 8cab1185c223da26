package jobs_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

func notDone(context.Context) (bool, error) { return false, nil }

// MongoDB rejects all leases: a job that needs none runs. If only Redis is down, it has its lease in MongoDB.
func TestRunAtBoot_WithoutALease(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	var leased int64
	j := job("j", func(ctx context.Context) (err error) {
		leased, err = env.DB.Collection(jobs.LeaseCollection).CountDocuments(ctx, bson.D{{Key: "_id", Value: jobs.LeaseOf("j")}})
		return err
	})
	j.NeedsNoLease = true
	p := open(t, env, []jobs.Job{j}, waitForRedis(t, "redis://127.0.0.1:1"))
	if result, err := p.RunAtBoot(t.Context(), j, notDone); err != nil || result.Outcome != jobs.Completed || leased != 1 {
		t.Errorf("without Redis: %+v, %v; %d leases", result, err, leased)
	}
	env.Command(bson.D{{Key: "collMod", Value: jobs.LeaseCollection}, {Key: "validator", Value: bson.D{{Key: "never", Value: 1}}}})
	if result, err := p.RunAtBoot(t.Context(), j, notDone); err != nil || result.Outcome != jobs.Completed || leased != 0 {
		t.Errorf("without leases: %+v, %v; %d leases", result, err, leased)
	}
	needing := j
	needing.NeedsNoLease = false
	if result, err := p.RunExclusive(t.Context(), needing, jobs.Startup); err != nil || result.Outcome != jobs.Skipped {
		t.Errorf("a job that needs its lease: %+v, %v", result, err)
	}
}
