package chaos_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// MongoDB hangs during a run. After SIGTERM the processes end within 10 s.
func TestStop_EndsInTimeWhileMongoDBHangs(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{jobs.StoreRedis, jobs.StoreMongo} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mongod := testenv.OwnMongod(t)
			ws := newWorkers(t, testenv.Open(t, mongod.URI, "holdfast"), kind)
			events := ws.createEvents(4)
			ws.start("pod-0")
			api := start(t, "api", slices.Concat(ws.settings, []string{"MONGODB_URI=" + mongod.URI, "HTTP_ADDR=" + address(t)})...)
			ws.awaitReady()
			ws.insertDueLocks(events, 40_000)
			ws.awaitRunning()
			mongod.Freeze()
			var stopping sync.WaitGroup
			for name, p := range map[string]*process{"worker": ws.processes["pod-0"], "api": api} {
				stopping.Go(func() {
					start := time.Now()
					if err := p.stop(t); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					t.Logf("%s: ended after %v", name, time.Since(start))
				})
			}
			stopping.Wait()
			mongod.Wake()
			testenv.CheckInvariants(t, ws.env.DB.Database)
		})
	}
}
