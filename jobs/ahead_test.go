package jobs_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// A lease that ends later than the longest TTL allows was not written by a holder, and holds nothing up. The
// clocks of the database's members may differ by some minutes.
func TestLease_HoldsNoLongerThanALeaseCan(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	store := jobs.NewMongoLeases(env.DB, leaseTerms)
	const limit = jobs.MaxLeaseTTL + 15*time.Minute
	for ahead, isHeld := range map[time.Duration]bool{limit - 5*time.Minute: true, limit + 5*time.Minute: false, 23 * time.Hour: false} {
		name := ahead.String()
		env.Insert(jobs.LeaseCollection, bson.D{{Key: "_id", Value: name}, {Key: "lockedBy", Value: "x"}, {Key: "token", Value: "t"},
			{Key: "expiresAt", Value: time.Now().Add(ahead)}})
		if holding, err := store.Read(t.Context(), name); err != nil || holding.Held() != isHeld {
			t.Errorf("it ends in %v: held %+v, %v", ahead, holding, err)
		}
		_, err := store.Acquire(t.Context(), name, "me")
		if _, held := jobs.IsHeld(err); held != isHeld || !held && err != nil {
			t.Errorf("it ends in %v: %v", ahead, err)
		}
	}
	if lines := env.Log.Lines("WARN Took over a lease"); len(lines) != 2 {
		t.Errorf("%q", lines)
	}
}
