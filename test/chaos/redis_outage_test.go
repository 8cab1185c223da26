package chaos_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// leaseMode is how a worker that cannot reach Redis behaves.
type leaseMode struct {
	name, setting, fallback string
	failClosed              bool
}

// A worker boots while Redis is down and uses it once it is up. Then Redis is frozen, flushed
// and stopped. Meanwhile a fail-closed worker starts no run, and a single-instance worker goes
// on. /readyz and the metrics show it, and afterwards everything works again by itself.
func TestWorkers_SurviveRedisOutages(t *testing.T) {
	t.Parallel()
	for _, mode := range []leaseMode{
		{name: "fail-closed", setting: "true", fallback: "disable", failClosed: true},
		{name: "single-instance", setting: "false", fallback: "single-instance"},
	} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			r := testenv.OwnRedis(t)
			r.Stop()
			ws := startWorkers(t, jobs.StoreNone, 1, "REDIS_URL="+r.URL, "DISABLE_CRONS_ON_REDIS_DOWN="+mode.setting)
			ws.checkRedisDown("down at boot", mode)
			r.Restart()
			ws.checkRedisUp("started")
			r.Freeze()
			ws.checkRedisDown("frozen", mode)
			r.Wake()
			ws.checkRedisUp("woken")
			if err := testenv.RedisClient(t, r.URL).FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			ws.checkRedisUp("flushed")
			r.Stop()
			ws.checkRedisDown("stopped", mode)
			r.Restart()
			ws.checkRedisUp("restarted")
			ws.checkOutageLogged(mode)
			r.Stop()
			if err := ws.processes["pod-0"].stop(t); err != nil { // It cannot release its leases.
				t.Error(err)
			}
		})
	}
}

func (ws *workers) checkRedisDown(situation string, mode leaseMode) {
	ws.t.Helper()
	if mode.failClosed {
		ws.awaitReadiness(readiness{status: "degraded", redis: "does not answer", leases: "waiting: Redis does not answer"})
		ws.awaitMetric("holdfast_leader 0")
		ws.awaitMetric(`holdfast_lease_mode{mode="waiting"} 1`)
		before := len(ws.findRuns(nil))
		delay(context.Background(), 3*workerTickInterval) // Nothing signals that no run starts.
		if n := len(ws.findRuns(nil)); n != before {
			ws.t.Errorf("%s: %d runs, want none", situation, n-before)
		}
	} else {
		ws.awaitReadiness(readiness{status: "degraded", redis: "does not answer", leases: "single-instance: Redis does not answer"})
		ws.awaitMetric("holdfast_leader 1")
		ws.awaitMetric(`holdfast_lease_mode{mode="single-instance"} 1`)
		ws.awaitCompletedRuns(situation)
	}
	ws.awaitMetric("holdfast_redis_up 0")
}

func (ws *workers) checkRedisUp(situation string) {
	ws.t.Helper()
	ws.awaitCompletedRuns(situation)
	ws.awaitReadiness(readiness{status: "ok", redis: "ok", leases: "ok: redis"})
	ws.awaitMetric("holdfast_redis_up 1")
	ws.awaitMetric("holdfast_leader 1")
	ws.awaitMetric(`holdfast_lease_mode{mode="redis"} 1`)
}

// checkOutageLogged fails the test unless the worker has logged why it had no lease and how it
// went on.
func (ws *workers) checkOutageLogged(mode leaseMode) {
	ws.t.Helper()
	p := ws.processes["pod-0"]
	for _, line := range p.log.lines("Lease unavailable") {
		if line["lockKey"] == jobs.LeaderLease && line["reason"] == "redis_unavailable" &&
			line["acquired"] == !mode.failClosed && line["fallbackMode"] == mode.fallback {
			return
		}
	}
	ws.t.Errorf("the log does not contain the outage: %s", p.log)
}

// readiness is an answer of /readyz: the status, the check of Redis, and how the check of
// leases begins.
type readiness struct{ status, redis, leases string }

func (ws *workers) awaitReadiness(want readiness) {
	ws.t.Helper()
	var fields map[string]any
	var lastErr error
	ready := poll(10*time.Second, 20*time.Millisecond, func() bool {
		_, fields, lastErr = ws.caller("pod-0").call(ws.t.Context(), "GET", "/readyz", nil)
		checks, _ := fields["checks"].(map[string]any)
		leases, _ := checks["leases"].(string)
		return fields["status"] == want.status && checks["redis"] == want.redis && strings.HasPrefix(leases, want.leases)
	})
	if !ready {
		ws.t.Errorf("/readyz answers %v, %v; want %+v", fields, lastErr, want)
	}
}

// awaitMetric waits until the metrics contain a line.
func (ws *workers) awaitMetric(line string) {
	ws.t.Helper()
	shown := poll(10*time.Second, 20*time.Millisecond, func() bool {
		for l := range strings.Lines(ws.scrape("pod-0")) {
			if l == line+"\n" {
				return true
			}
		}
		return false
	})
	if !shown {
		ws.t.Errorf("the metrics do not contain %q", line)
	}
}
