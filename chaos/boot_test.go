package chaos_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// Five processes start at once on a database full of due locks. One runs recovery. The other
// four wait for its end, log this, and do not repeat it.
func TestBoot_OneOfFiveProcessesRecovers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{lease.KindRedis, lease.KindMongo} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ws := startWorkers(t, kind, 0, "LOCK_EXPIRY_INTERVAL=1h", "BOOKING_EXPIRY_INTERVAL=1h")
			events := ws.createEvents(100)
			ws.insertDueLocks(events, 20_000)
			for _, pod := range []string{"a", "b", "c", "d", "e"} {
				ws.start(pod)
			}
			ws.awaitReady()
			recovered, waited, skipped := 0, 0, 0
			for _, p := range ws.processes {
				recovered += len(p.log.lines("[RECOVERY] Starting system recovery from partial failures..."))
				for _, line := range p.log.lines("Another process runs this job; waiting for the run's end") {
					if line["job"] == "recovery" {
						waited++
					}
				}
				skipped += len(p.log.lines("[RECOVERY] Another process completed the recovery pass; it is not repeated"))
			}
			ws.stop()
			if recovered != 1 || waited != 4 || skipped != 4 {
				t.Errorf("%d processes recovered, %d waited, %d skipped it; want 1, 4, 4", recovered, waited, skipped)
			}
			runs := bson.D{{Key: "job", Value: "recovery"}, {Key: "trigger", Value: "startup"}}
			n, err := ws.env.DB.Collection("jobruns").CountDocuments(t.Context(), runs)
			if err != nil || n != 1 {
				t.Errorf("%d runs of recovery are stored, %v; want 1", n, err)
			}
			ws.awaitAllExpired(events)
			ws.checkNoLeases()
		})
	}
}
