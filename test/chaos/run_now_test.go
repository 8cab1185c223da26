package chaos_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// runAnswer is the answer to a request to run a job.
type runAnswer struct {
	status int
	fields map[string]any
}

func requestRun(t *testing.T, api *apiCaller) runAnswer {
	t.Helper()
	status, fields, err := api.call(t.Context(), "POST", "/api/admin/jobs/lock-expiry/run", nil)
	if err != nil {
		t.Error(err)
	}
	return runAnswer{status, fields}
}

// Two APIs are requested at once to run a job: one runs it, the other refuses and names the holder
// of the lease. An API that is stopped during a run leaves no lease.
func TestRunNow_SecondAPIRefusesAndNamesTheHolder(t *testing.T) {
	t.Parallel()
	ws := startWorkers(t, jobs.StoreRedis, 0)
	events := ws.createEvents(4)
	ws.insertDueLocks(events, 20_000)
	apis := map[string]*apiCaller{}
	for _, pod := range []string{"x", "y"} {
		addr := address(t)
		settings := slices.Concat(ws.settings,
			[]string{"MONGODB_URI=" + ws.env.URI, "POD_NAME=" + pod, "HTTP_ADDR=" + addr, "RECOVERY_BOOT_WAIT=2m"})
		ws.processes[pod] = start(t, "api", settings...)
		apis[pod] = newAPICaller(t, addr, 0, 30*time.Second)
	}
	for pod := range apis {
		awaitReady(t, apis[pod], ws.processes[pod])
	}
	ws.insertDueLocks(events, 5_000) // Recovery has expired the first ones.
	answers := requestRunsAtOnce(t, apis)
	runner, refuser := "x", "y"
	if answers["x"].status == http.StatusConflict {
		runner, refuser = "y", "x"
	}
	if a := answers[runner]; a.status != http.StatusOK || a.fields["outcome"] != "completed" || a.fields["applied"] != 5_000.0 {
		t.Errorf("%s answered %+v", runner, a)
	}
	a := answers[refuser]
	holder, _ := a.fields["holder"].(string)
	if a.status != http.StatusConflict || a.fields["code"] != "JOB_RUNNING" || !strings.HasPrefix(holder, runner+"/") {
		t.Errorf("%s answered %+v, the holder is %s", refuser, a, runner)
	}

	ws.insertDueLocks(events, 20_000)
	interrupted := make(chan runAnswer, 1)
	go func() { interrupted <- requestRun(t, apis["x"]) }()
	ws.awaitRunning()
	ws.stop()
	if a := <-interrupted; a.status != http.StatusOK || a.fields["outcome"] != "failed" || a.fields["reason"] != "the process was stopped" {
		t.Errorf("the answer for the interrupted run is %+v", a)
	}
	ws.checkNoLeases()
	testenv.CheckInvariants(t, ws.env.DB.Database)
}

// requestRunsAtOnce has all APIs run the job at the same time, and returns their answers.
func requestRunsAtOnce(t *testing.T, apis map[string]*apiCaller) map[string]runAnswer {
	t.Helper()
	answers := map[string]runAnswer{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for pod, api := range apis {
		all.Go(func() {
			a := requestRun(t, api)
			mu.Lock()
			defer mu.Unlock()
			answers[pod] = a
		})
	}
	all.Wait()
	return answers
}
