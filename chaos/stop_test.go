package chaos_test

import (
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// MongoDB hangs in the midst of a run, and the processes are told to stop: they
// do, within 10 s, whatever they wait for.
func TestStop_ThoughMongoDBHangs(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{lease.KindRedis, lease.KindMongo} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mongod := testenv.OwnMongod(t)
			c := crewOn(t, testenv.Open(t, mongod.URI, "holdfast"), kind)
			events := c.events(4)
			c.start("pod-0")
			api := start(t, "api", append(c.env[:len(c.env):len(c.env)], "MONGODB_URI="+mongod.URI, "HTTP_ADDR="+address(t))...)
			c.ready()
			c.feedAtOnce(events, 40_000)
			c.awaitRun()
			mongod.Freeze()
			var stopping sync.WaitGroup
			for name, p := range map[string]*process{"worker": c.workers["pod-0"], "api": api} {
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
			testenv.CheckInvariants(t, c.w.DB.Database)
		})
	}
}
