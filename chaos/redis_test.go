package chaos_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// A worker boots while Redis is down, finds it when it comes, and lives through
// its being stopped, forgetful and frozen. Fail-closed starts no run meanwhile,
// single-instance goes on; /readyz and the metrics tell, and all is well again
// by itself.
func TestWorkers_LiveWithoutRedis(t *testing.T) {
	t.Parallel()
	for name, failClosed := range map[string]bool{"fail-closed": true, "single-instance": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := testenv.OwnRedis(t)
			r.Stop()
			setting := map[bool]string{true: "true", false: "false"}[failClosed]
			c := newCrew(t, lease.KindNone, 1, "REDIS_URL="+r.URL, "DISABLE_CRONS_ON_REDIS_DOWN="+setting)
			away := func(what string) {
				t.Helper()
				if failClosed {
					c.says("degraded", "does not answer", "waiting: Redis does not answer")
					c.metric("holdfast_leader", 0)
					c.metric(`holdfast_lease_mode{mode="waiting"}`, 1)
					seen := len(c.runs(nil))
					<-time.After(3 * tick)
					if n := len(c.runs(nil)); n != seen {
						t.Errorf("%s: %d runs", what, n-seen)
					}
				} else {
					c.says("degraded", "does not answer", "single-instance: Redis does not answer")
					c.metric("holdfast_leader", 1)
					c.metric(`holdfast_lease_mode{mode="single-instance"}`, 1)
					c.runsOn(what)
				}
				c.metric("holdfast_redis_up", 0)
			}
			back := func(what string) {
				t.Helper()
				c.runsOn(what)
				c.says("ok", "ok", "ok: redis")
				c.metric("holdfast_redis_up", 1)
				c.metric("holdfast_leader", 1)
				c.metric(`holdfast_lease_mode{mode="redis"}`, 1)
			}
			away("not there at the start")
			r.Restart()
			back("came")
			r.Freeze()
			away("frozen")
			r.Wake()
			back("woken")
			if err := testenv.RedisClient(t, r.URL).FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			back("flushed")
			r.Stop()
			away("stopped")
			r.Restart()
			back("restarted")
			p := c.workers["pod-0"]
			told := false
			for _, line := range p.log.lines("Lease unavailable") {
				told = told || (line["lockKey"] == lease.Leader && line["reason"] == "redis_unavailable" && line["acquired"] == !failClosed &&
					line["fallbackMode"] == map[bool]string{true: "disable", false: "single-instance"}[failClosed])
			}
			if !told {
				t.Errorf("the log does not say so: %s", p.log)
			}
			r.Stop()
			if err := p.stop(t); err != nil { // without anybody to give leases back to
				t.Error(err)
			}
		})
	}
}

// runsOn waits for two runs to begin and end.
func (c *crew) runsOn(what string) {
	c.t.Helper()
	now, err := c.w.DB.Now(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	since := bson.D{{Key: "startedAt", Value: bson.D{{Key: "$gt", Value: now}}}, {Key: "outcome", Value: "completed"}}
	for deadline := time.Now().Add(20 * time.Second); len(c.runs(since)) < 2; <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: no runs: %s", what, c.workers["pod-0"].log)
		}
	}
}

func (c *crew) client(pod string) *caller {
	return &caller{"http://" + c.metrics[pod], &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// says waits until /readyz says so.
func (c *crew) says(status, redis, leases string) {
	c.t.Helper()
	var fields map[string]any
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		_, fields, _ = c.client("pod-0").call(c.t.Context(), "GET", "/readyz", nil) //nolint:errcheck // it is asked again
		checks, _ := fields["checks"].(map[string]any)
		said, _ := checks["leases"].(string)
		if fields["status"] == status && checks["redis"] == redis && strings.HasPrefix(said, leases) {
			return
		}
	}
	c.t.Errorf("/readyz says %v, want %s, %s, %s", fields, status, redis, leases)
}

// metric waits until a metric has a value.
func (c *crew) metric(name string, want float64) {
	c.t.Helper()
	var text string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		text = c.scrape("pod-0")
		for line := range strings.Lines(text) {
			if line == name+map[float64]string{0: " 0\n", 1: " 1\n"}[want] {
				return
			}
		}
	}
	c.t.Errorf("%s is not %v", name, want)
}
