package chaos_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// Five processes start at once on a database full of due locks. One runs recovery, and those that started meanwhile
// share the next one: they are ready only when a pass has ended that began after their start. A process that starts
// later recovers too.
func TestBoot_OneOfFiveProcessesRecovers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{jobs.StoreRedis, jobs.StoreMongo} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ws := startWorkers(t, kind, 0, "LOCK_EXPIRY_INTERVAL=1h", "BOOKING_EXPIRY_INTERVAL=1h", "RECOVERY_BOOT_WAIT=10m",
				"LEASE_TTL=30s") // a busy machine must not lose a lease
			events := ws.createEvents(100)
			ws.insertDueLocks(events, 20_000)
			for _, pod := range []string{"a", "b", "c", "d", "e"} {
				ws.start(pod)
			}
			ws.awaitReady()
			ws.awaitAllExpired(events)
			passes := ws.checkRecovered("completed", 1, 4)
			ws.start("late")
			ws.awaitReady()
			ws.checkRecovered("completed", passes+1, passes+1)
			ws.stop()
			ws.checkNoLeases()
		})
	}
}

// Ten APIs and ten workers start at once on a database with events that recovery may not be able to
// repair. Passes are shared, and each process is ready within the default RECOVERY_BOOT_WAIT.
func TestBoot_TwentyProcessesWithAPoisonedEvent(t *testing.T) {
	t.Parallel()
	ws := startWorkers(t, jobs.StoreMongo, 0, "LOCK_EXPIRY_INTERVAL=1h", "BOOKING_EXPIRY_INTERVAL=1h")
	for _, event := range ws.createEvents(3) {
		ws.env.Set("events", event, bson.D{{Key: "internal", Value: "3-abc"}, {Key: "availableSeats", Value: 7}})
	}
	for i := range 10 {
		ws.startProgram("api", fmt.Sprintf("api-%d", i))
		ws.startProgram("worker", fmt.Sprintf("worker-%d", i))
	}
	ws.awaitReady()
	for pod, p := range ws.processes { // On a busy machine the wait begins long after the start of the process.
		if len(p.log.lines(servesEarly)) > 0 {
			t.Errorf("%s waited for RECOVERY_BOOT_WAIT: %s", pod, p.log)
		}
	}
	ws.checkRecovered("completed", 1, int64(len(ws.processes))) // perhaps with documents left over
	ws.stop()
}

// servesEarly is what a process logs if it was not ready within RECOVERY_BOOT_WAIT.
const servesEarly = "Serving before recovery has ended"

// A process waits for the recovery of another one for RECOVERY_BOOT_WAIT. Then it serves, is
// degraded, and goes on waiting.
func TestBoot_ServesAfterTheWait(t *testing.T) {
	t.Parallel()
	ws := startWorkers(t, jobs.StoreMongo, 0, "RECOVERY_BOOT_WAIT=3s")
	ws.env.Insert(jobs.LeaseCollection, bson.D{{Key: "_id", Value: jobs.LeaseOf("recovery")}, {Key: "lockedBy", Value: "other/1/x"},
		{Key: "token", Value: "x"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
	started := time.Now()
	ws.start("a")
	c := ws.caller("a")
	alive := poll(startTimeout, 10*time.Millisecond, func() bool {
		status, _, err := c.call(t.Context(), http.MethodGet, "/livez", nil)
		return err == nil && status == http.StatusOK
	})
	if !alive {
		t.Fatal("the process is not alive while it waits")
	}
	ws.awaitReady()
	if took := time.Since(started); took < 3*time.Second || len(ws.processes["a"].log.lines(servesEarly)) != 1 {
		t.Errorf("ready after %v, before the wait has ended: %s", took, ws.processes["a"].log)
	}
	_, ready, err := c.call(t.Context(), http.MethodGet, "/readyz", nil)
	if checks, ok := ready["checks"].(map[string]any); !ok || ready["status"] != "degraded" || checks["recovery"] != "running" {
		t.Errorf("after the wait: %v, %v", ready, err)
	}
	recovery := bson.D{{Key: "_id", Value: jobs.LeaseOf("recovery")}}
	if _, err := ws.env.DB.Collection(jobs.LeaseCollection).DeleteOne(t.Context(), recovery); err != nil {
		t.Fatal(err)
	}
	if !poll(startTimeout, 50*time.Millisecond, func() bool {
		_, ready, _ = c.call(t.Context(), http.MethodGet, "/readyz", nil)
		return ready["status"] == "ok"
	}) {
		t.Errorf("after the other process has gone: %v", ready)
	}
	ws.checkRecovered("completed", 1, 1)
	ws.stop()
}

// An index of a large collection takes longer to build than RECOVERY_BOOT_WAIT. The process is
// alive meanwhile, serves after the wait, and says what is still missing.
func TestBoot_IsAliveWhileAnIndexIsBuilt(t *testing.T) {
	t.Parallel()
	env := testenv.Open(t, testenv.OwnServer(t), "holdfast_boot")
	env.Acquire(env.Event(10), 1, testenv.Past()) // an index of an empty collection is built at once
	if err := env.DB.Collection("seatlocks").Indexes().DropAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	failPoint := func(mode string) {
		t.Helper()
		err := env.DB.Client().Database("admin").RunCommand(t.Context(), bson.D{
			{Key: "configureFailPoint", Value: "hangAfterStartingIndexBuild"}, {Key: "mode", Value: mode},
		}).Err()
		if err != nil {
			t.Fatal(err)
		}
	}
	failPoint("alwaysOn")
	ws := newWorkers(t, env, jobs.StoreMongo, "RECOVERY_BOOT_WAIT=5s")
	ws.start("a")
	c := ws.caller("a")
	var seen struct{ alive, waiting bool }
	is := func(path string, status int) bool {
		got, _, err := c.call(t.Context(), http.MethodGet, path, nil)
		return err == nil && got == status
	}
	schemaIs := func(state string) bool {
		_, ready, _ := c.call(t.Context(), http.MethodGet, "/readyz", nil)
		checks, _ := ready["checks"].(map[string]any)
		return checks["schema"] == state
	}
	serves := poll(startTimeout, 20*time.Millisecond, func() bool {
		alive := is("/livez", http.StatusOK)
		if seen.alive && !alive {
			t.Error("/livez did not answer while the index was built")
		}
		seen.alive = seen.alive || alive
		seen.waiting = seen.waiting || is("/readyz", http.StatusServiceUnavailable)
		return is("/readyz", http.StatusOK)
	})
	if !serves || !seen.alive || !seen.waiting || !schemaIs("indexes are being built") {
		t.Errorf("serves %v, %+v, schema %v", serves, seen, schemaIs("indexes are being built"))
	}
	failPoint("off")
	if !poll(startTimeout, 50*time.Millisecond, func() bool { return schemaIs("ok") && is("/livez", http.StatusOK) }) {
		t.Error("the index is not complete")
	}
	ws.stop()
}

// checkRecovered checks that each process says how recovery went, and how many passes were
// run at the start of processes.
func (ws *workers) checkRecovered(state string, least, most int64) (passes int64) {
	ws.t.Helper()
	for pod := range ws.processes {
		status, ready, err := ws.caller(pod).call(ws.t.Context(), http.MethodGet, "/readyz", nil)
		checks, ok := ready["checks"].(map[string]any)
		if recovery := fmt.Sprint(checks["recovery"]); err != nil || status != http.StatusOK || !ok || !strings.HasPrefix(recovery, state) {
			ws.t.Errorf("%s: %d %v, %v", pod, status, ready, err)
		}
	}
	runs := bson.D{{Key: "job", Value: "recovery"}, {Key: "trigger", Value: "startup"}}
	passes, err := ws.env.DB.Collection("jobruns").CountDocuments(ws.t.Context(), runs)
	if err != nil || passes < least || passes > most {
		ws.t.Errorf("%d runs of recovery are stored, %v; want %d to %d", passes, err, least, most)
	}
	return passes
}
