package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// largest is metadata of 41 KB, the most that a lock can have.
func largest() map[string]string {
	all := map[string]string{}
	for i := range holdfast.MaxMetadata {
		all[fmt.Sprintf("%040d", i)] = strings.Repeat("\U0001f3ab", holdfast.MaxMetadataValueLength)
	}
	return all
}

// The locks of a batch, each with the most metadata, exceed what MongoDB takes in one command.
func TestApply_InsertsLocksWithTheMostMetadata(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	const n = 450
	plan := inventory.Plan{Event: &inventory.EventWrite{AtLeast: 0}, TTL: make([]time.Duration, n)}
	metadata := largest()
	for i := range n {
		lock := f.newLock(1, "")
		lock.ShopData = holdfast.ShopData{Reference: fmt.Sprint(i), Metadata: metadata}
		plan.Acquired, plan.TTL[i] = append(plan.Acquired, lock), time.Hour
		plan.Changes = append(plan.Changes, inventory.Change{Type: holdfast.ChangeLockCreated, Acquired: i + 1})
	}
	if _, err := f.apply(plan); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, n / 2, n - 1} {
		if got := f.Lock(plan.Acquired[i].ID); !got.SameShopData(plan.Acquired[i].ShopData) {
			t.Errorf("lock %d has the reference %q and %d keys", i, got.Reference, len(got.Metadata))
		}
	}
	count, err := f.DB.Collection("seatlocks").CountDocuments(f.Ctx(), mongodb.Is("eventId", f.event))
	if err != nil || count != n+1 {
		t.Errorf("%d locks, %v", count, err)
	}
}

// Due locks with the most metadata exceed what one answer can have. They are read in a transaction, one kind after the other.
func TestLoad_ReadsLocksWithTheMostMetadata(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	const n = 450
	var docs []any
	metadata := largest()
	for range n {
		docs = append(docs, bson.D{
			field("eventId", f.event), field("userId", mongodb.NewID()), field("seats", 1), field("status", "ACTIVE"),
			field("expiresAt", time.Now().Add(-time.Hour)), field("metadata", metadata),
		})
	}
	if _, err := f.DB.Collection("seatlocks").InsertMany(f.Ctx(), docs); err != nil {
		t.Fatal(err)
	}
	needs := inventory.Needs{Due: inventory.MaxReclaim}
	if _, err := f.Store.Load(f.Ctx(), f.event, needs); !errors.Is(err, store.ErrTooLarge) {
		t.Fatal(err)
	}
	needs.Apart = true
	state, err := f.Store.Load(f.Ctx(), f.event, needs)
	if err != nil || state.Event == nil || state.Now.IsZero() || len(*state.Due) != n {
		t.Fatalf("%v, %+v", err, state.Event)
	}
	if got := len((*state.Due)[0].Metadata); got != holdfast.MaxMetadata {
		t.Errorf("%d keys", got)
	}
	report := f.SweepLocks()
	if report.Applied != n {
		t.Errorf("swept %+v", report)
	}
}
