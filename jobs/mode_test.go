package jobs_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// expectMode waits for a mode, and for what the store does, as jobs.DescribeUnavailable says.
func (p pod) expectMode(t *testing.T, mode jobs.Mode, does string) {
	t.Helper()
	var got jobs.Mode
	var err error
	defer func() {
		if t.Failed() {
			t.Errorf("mode %s, %v; want %s, %s", got, err, mode, does)
		}
	}()
	testenv.WaitFor(t, func() bool {
		got, err = p.Mode(t.Context())
		return got == mode && (err == nil) == (does == "") && (err == nil || jobs.DescribeUnavailable(err) == does)
	})
}

// A Redis that answers but refuses the leases is not called available: jobs can't run.
func TestMode_RedisThatRefusesLeasesIsUnavailable(t *testing.T) {
	t.Parallel()
	env, r := testenv.New(t), testenv.OwnRedis(t)
	client := testenv.RedisClient(t, r.URL)
	p := open(t, env, []jobs.Job{job("j", succeed)}, waitForRedis(t, r.URL))
	for class, change := range map[string]struct{ begin, end func() *redis.StatusCmd }{
		"OOM": {func() *redis.StatusCmd { return client.ConfigSet(t.Context(), "maxmemory", "1") },
			func() *redis.StatusCmd { return client.ConfigSet(t.Context(), "maxmemory", "0") }},
		"READONLY": {func() *redis.StatusCmd { return client.ReplicaOf(t.Context(), "127.0.0.1", "1") },
			func() *redis.StatusCmd { return client.ReplicaOf(t.Context(), "NO", "ONE") }},
	} {
		if err := change.begin().Err(); err != nil {
			t.Fatal(err)
		}
		p.expectMode(t, jobs.ModeWaiting, "refuses ("+class+")")
		if err := change.end().Err(); err != nil {
			t.Fatal(err)
		}
		p.expectMode(t, jobs.ModeRedis, "")
	}
	for _, key := range []string{jobs.LeaderLease, jobs.LeaseOf("j")} {
		if err := client.LPush(t.Context(), key, "not a lease").Err(); err != nil {
			t.Fatal(err)
		}
		p.expectMode(t, jobs.ModeWaiting, "refuses (WRONGTYPE)")
		if h, err := p.Leases.Free(t.Context(), key); err != nil || h.Holder != "unknown" {
			t.Errorf("freed from %q, %v", h.Holder, err)
		}
		p.expectMode(t, jobs.ModeRedis, "")
	}
	testenv.WaitFor(t, func() bool { // the key that it writes expires
		n, err := client.DBSize(t.Context()).Result()
		return err == nil && n == 0
	})
}

// A MongoDB that is up but refuses the leases' writes is not called available either.
func TestMode_MongoDBThatRefusesLeasesIsUnavailable(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	p := open(t, env, []jobs.Job{job("j", succeed)}, func(o *jobs.Options) { o.Leases = jobs.NewMongoLeases(env.DB, terms) })
	idle := open(t, env, nil) // a process that runs no jobs, and never campaigns
	p.schedule(t)
	p.awaitLeader(t)
	p.expectMode(t, jobs.ModeMongo, "")
	idle.expectMode(t, jobs.ModeMongo, "")
	validate := func(validator bson.D) {
		t.Helper()
		err := env.DB.RunCommand(t.Context(), bson.D{{Key: "collMod", Value: jobs.LeaseCollection}, {Key: "validator", Value: validator}}).Err()
		if err != nil {
			t.Fatal(err)
		}
	}
	validate(bson.D{{Key: "never", Value: bson.D{{Key: "$exists", Value: true}}}})
	p.expectMode(t, jobs.ModeWaiting, "refuses (error 121)")
	idle.expectMode(t, jobs.ModeWaiting, "refuses (error 121)")
	validate(bson.D{})
	p.expectMode(t, jobs.ModeMongo, "")
	idle.expectMode(t, jobs.ModeMongo, "")
	if n, err := env.DB.Collection(jobs.LeaseCollection).CountDocuments(t.Context(), bson.D{}); err != nil || n > 1 {
		t.Errorf("%d leases are stored: %v", n, err)
	}
}
