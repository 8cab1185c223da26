package lease_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// An index of other software rejects a second lease of one holder: that is no other holder.
func TestForeignIndex_IsNoOtherHolder(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	store := lease.NewMongo(env.DB, terms)
	env.ForeignIndex(lease.Collection, "lockedBy")
	if _, err := store.Acquire(t.Context(), "a", "me"); err != nil {
		t.Fatal(err)
	}
	_, err := store.Acquire(t.Context(), "b", "me")
	if _, unavailable := lease.IsUnavailable(err); !unavailable || !strings.Contains(err.Error(), "index: theirs") {
		t.Errorf("the second lease: %v", err)
	}
	if _, err := store.Acquire(t.Context(), "a", "other"); err == nil {
		t.Error("a lease has two holders")
	} else if _, held := lease.IsHeld(err); !held {
		t.Errorf("a held lease: %v", err)
	}
}

// A lease that ends later than the longest TTL allows is of other software, and holds nothing up. The
// clocks of the database's members may differ by some minutes.
func TestForeignLease_HoldsNoLongerThanALeaseCan(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	store := lease.NewMongo(env.DB, terms)
	const limit = lease.MaxTTL + 15*time.Minute
	for ahead, isHeld := range map[time.Duration]bool{limit - 5*time.Minute: true, limit + 5*time.Minute: false, 23 * time.Hour: false} {
		name := ahead.String()
		env.Insert(lease.Collection, bson.D{{Key: "_id", Value: name}, {Key: "lockedBy", Value: "x"}, {Key: "token", Value: "t"},
			{Key: "expiresAt", Value: time.Now().Add(ahead)}})
		if holding, err := store.Read(t.Context(), name); err != nil || holding.Held() != isHeld {
			t.Errorf("it ends in %v: held %+v, %v", ahead, holding, err)
		}
		_, err := store.Acquire(t.Context(), name, "me")
		if _, held := lease.IsHeld(err); held != isHeld || !held && err != nil {
			t.Errorf("it ends in %v: %v", ahead, err)
		}
	}
	if lines := env.Log.Lines("WARN Took over a lease"); len(lines) != 2 {
		t.Errorf("%q", lines)
	}
}
