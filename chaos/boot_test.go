package chaos_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// Five processes boot at once on a database full of stale locks: one recovers,
// the others wait for its end, say so, and don't repeat it.
func TestBoot_OneOfFiveRecovers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{lease.KindRedis, lease.KindMongo} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := newCrew(t, kind, 0, "LOCK_EXPIRY_INTERVAL=1h", "BOOKING_EXPIRY_INTERVAL=1h")
			events := c.events(100)
			c.feedAtOnce(events, 20_000)
			for _, pod := range []string{"a", "b", "c", "d", "e"} {
				c.start(pod)
			}
			c.ready()
			recovered, waited, spared := 0, 0, 0
			for pod, p := range c.workers {
				did := len(p.log.lines("[RECOVERY] Starting system recovery from partial failures..."))
				recovered += did
				for _, line := range p.log.lines("Another process runs this job; waiting for the run's end") {
					if line["job"] == "recovery" {
						waited++
					}
				}
				spared += len(p.log.lines("[RECOVERY] Another process completed the recovery pass; it is not repeated"))
				if err := p.stop(t); err != nil {
					t.Errorf("%s: %v", pod, err)
				}
			}
			if recovered != 1 || waited != 4 || spared != 4 {
				t.Errorf("%d recovered, %d waited, %d were spared; want 1, 4, 4", recovered, waited, spared)
			}
			n, err := c.w.DB.Collection("jobruns").CountDocuments(t.Context(), bson.D{{Key: "job", Value: "recovery"}, {Key: "trigger", Value: "startup"}})
			if err != nil || n != 1 {
				t.Errorf("%d recoveries are kept, %v", n, err)
			}
			c.settle(events)
			c.nothingLeft()
		})
	}
}

// Two runs by hand at once on two APIs: one runs, the other is refused with the
// holder's name. The API stops in the midst of a run and leaves no lease.
func TestRunNow_OnTwoAPIsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCrew(t, lease.KindRedis, 0)
	events := c.events(4)
	c.feedAtOnce(events, 20_000)
	api := map[string]*caller{}
	transport := &http.Transport{DisableKeepAlives: true}
	for _, pod := range []string{"x", "y"} {
		at := address(t)
		// Recovery would take the work away before the runs are asked for.
		c.workers[pod] = start(t, "api", append(c.env[:len(c.env):len(c.env)], "MONGODB_URI="+c.w.URI, "POD_NAME="+pod, "HTTP_ADDR="+at)...)
		api[pod] = &caller{"http://" + at, &http.Client{Timeout: 30 * time.Second, Transport: transport}}
	}
	for pod := range api {
		await(t, api[pod], c.workers[pod])
	}
	c.feedAtOnce(events, 20_000)
	type outcome struct {
		status int
		fields map[string]any
	}
	got := map[string]outcome{}
	var mu sync.Mutex
	var asked sync.WaitGroup
	for pod, a := range api {
		asked.Go(func() {
			status, fields, err := a.call(t.Context(), "POST", "/api/admin/jobs/lock-expiry/run", nil)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[pod] = outcome{status, fields}
		})
	}
	asked.Wait()
	ran, refused := "x", "y"
	if got["x"].status == http.StatusConflict {
		ran, refused = "y", "x"
	}
	if got[ran].status != http.StatusOK || got[ran].fields["outcome"] != "completed" || got[ran].fields["applied"] != 20_000.0 {
		t.Errorf("%s answered %+v", ran, got[ran])
	}
	if holder, _ := got[refused].fields["holder"].(string); got[refused].status != http.StatusConflict ||
		got[refused].fields["code"] != "JOB_RUNNING" || !strings.HasPrefix(holder, ran+"/") {
		t.Errorf("%s answered %+v, the holder is %s", refused, got[refused], ran)
	}

	c.feedAtOnce(events, 20_000)
	interrupted := make(chan outcome, 1)
	go func() {
		status, fields, err := api["x"].call(t.Context(), "POST", "/api/admin/jobs/lock-expiry/run", nil)
		if err != nil {
			t.Error(err)
		}
		interrupted <- outcome{status, fields}
	}()
	c.awaitRun()
	for pod := range api {
		if err := c.workers[pod].stop(t); err != nil {
			t.Errorf("%s after SIGTERM: %v", pod, err)
		}
	}
	if o := <-interrupted; o.status != http.StatusOK || o.fields["outcome"] != "failed" || o.fields["reason"] != "the process was stopped" {
		t.Errorf("the run that was stopped is told as %+v", o)
	}
	c.nothingLeft()
	testenv.CheckInvariants(t, c.w.DB.Database)
}
