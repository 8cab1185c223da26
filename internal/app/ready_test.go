package app

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// readyNow checks readiness without cached results.
func readyNow(t *testing.T, a *App) httpapi.Readiness {
	t.Helper()
	a.findings.turn <- struct{}{}
	a.findings.until = time.Time{}
	<-a.findings.turn
	return a.Ready(t.Context())
}

// What was found is kept for a second.
func TestFindings_AreKeptForAWhile(t *testing.T) {
	t.Parallel()
	now, reads := time.Now(), 0
	k := newKeptFindings(func() time.Time { return now }, func(context.Context) findings {
		reads++
		return findings{oversold: "none"}
	})
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {0, 1}, {time.Second - 1, 1}, {1, 2}, {time.Second, 3}} {
		now = now.Add(step.after)
		if found := k.get(t.Context()); reads != step.want || found.oversold != "none" {
			t.Fatalf("%+v: %d reads, found %+v", step, reads, found)
		}
	}
}

// Concurrent checks share one read, which goes on if its caller leaves. A check that has no time left does not wait for it.
func TestFindings_AreReadOnceForConcurrentChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads, proceed := 0, make(chan struct{})
		k := newKeptFindings(mongodb.SystemTime, func(ctx context.Context) findings {
			reads++
			<-proceed
			return findings{oversold: "none", isDegraded: ctx.Err() != nil}
		})
		leaving, leave := context.WithTimeout(t.Context(), checkTimeout)
		var checks sync.WaitGroup
		check := func(ctx context.Context) {
			checks.Go(func() {
				if found := k.get(ctx); found.oversold != "none" || found.isDegraded {
					t.Errorf("found %+v", found)
				}
			})
		}
		check(leaving)
		synctest.Wait()
		for range 10 {
			check(t.Context())
		}
		synctest.Wait()
		leave()
		late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if found := k.get(late); found.changes != unknown || found.oversold != unknown || !found.isDegraded {
			t.Errorf("without time, found %+v", found)
		}
		close(proceed)
		checks.Wait()
		if reads != 1 {
			t.Errorf("the checks made %d reads", reads)
		}
	})
}

// Whether MongoDB answers is asked by each check, and what else a check tells is kept.
func TestReady_AsksMongoDBEachTime(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	a.Boot(t.Context())
	if ready := a.Ready(t.Context()); !ready.Ready || ready.Checks["oversold"] != "none" {
		t.Errorf("at first: %+v", ready)
	}
	w.Set("events", w.Event(5), bson.D{{Key: "availableSeats", Value: int64(0)}, {Key: "oversold", Value: int64(3)}})
	if ready := a.Ready(t.Context()); !ready.Ready || ready.Checks["oversold"] != "none" {
		t.Errorf("shortly afterwards: %+v", ready)
	}
	away, cancel := context.WithCancel(t.Context())
	cancel()
	if ready := a.Ready(away); ready.Ready || ready.Checks["oversold"] != unknown || ready.Checks["changes"] != unknown {
		t.Errorf("without MongoDB: %+v", ready)
	}
	if ready := readyNow(t, a); !ready.Ready || !ready.Degraded || ready.Checks["oversold"] != "1 events" {
		t.Errorf("later: %+v", ready)
	}
	if n := testutil.ToFloat64(a.Metrics.OversoldEvents); n != 1 {
		t.Errorf("the gauge says %v", n)
	}
	w.Insert("eventcancels", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "runId", Value: "r"}, {Key: "requestedAt", Value: time.Now()},
		{Key: "left", Value: 2}, {Key: "why", Value: "its plan is missing"}})
	testenv.WaitFor(t, func() bool {
		ready := a.Ready(t.Context())
		return ready.Degraded && strings.Contains(ready.Checks["cancellations"], "1 stuck")
	})
}
