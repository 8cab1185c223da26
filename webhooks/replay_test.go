package webhooks_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// record commits one record with n changes, of a lock each, of an event that does not exist.
func (b *bench) record(n int, what holdfast.ChangeType) (event holdfast.ID) {
	b.T.Helper()
	record := changes.Record{EventID: ids.New(), At: time.Now()}
	for range n {
		record.Add(&holdfast.Change{Type: what, Lock: &holdfast.Lock{ID: ids.New(), UserID: ids.New(), Seats: 1, Status: holdfast.LockActive}})
	}
	err := mongodb.Do(b.Ctx(), b.DB, func(ctx context.Context) error {
		if _, err := b.DB.Collection("other").InsertOne(ctx, bson.D{}); err != nil {
			return err
		}
		return changes.Insert(ctx, b.DB, &record)
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return record.EventID
}

// pending counts the PENDING deliveries of an endpoint, of one change or, for "", of all.
func (b *bench) pending(id holdfast.ID, changeID string) int64 {
	b.T.Helper()
	which := bson.D{{Key: "webhookId", Value: id}, {Key: "state", Value: webhooks.Pending}}
	if changeID != "" {
		which = append(which, bson.E{Key: "changeId", Value: changeID})
	}
	n, err := b.DB.Collection("webhookdeliveries").CountDocuments(b.Ctx(), which)
	if err != nil {
		b.T.Fatal(err)
	}
	return n
}

// A replay stops at so many deliveries that it plans, not at so many that it finds: else what lies behind those that are PENDING
// would never be told.
func TestReplay_StopsAtWhatItPlans(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.endpoint(newReceiver(t))
	b.set(id, webhooks.Disabled)
	const before, rest = 70, 120
	b.record(before, holdfast.ChangeLockExtended)
	b.record(webhooks.MaxReplayed+rest, holdfast.ChangeLockCreated)
	b.number()
	for _, part := range []struct {
		types []string
		want  int
	}{{[]string{string(holdfast.ChangeLockExtended)}, before}, {nil, webhooks.MaxReplayed}, {nil, rest}, {nil, 0}} {
		if n, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{Types: part.types}); err != nil || n != part.want {
			t.Fatalf("%d planned, want %d: %v", n, part.want, err)
		}
	}
	if n := b.pending(id, ""); n != before+webhooks.MaxReplayed+rest {
		t.Errorf("%d are pending", n)
	}
}

// Each page of a replay is planned as it is read, and of other types nothing is read: a replay that fails, or has no time left, has
// planned the first pages.
func TestReplay_PlansPageByPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.endpoint(newReceiver(t), "holdfast.*")
	b.set(id, webhooks.Disabled)
	const first, others = 600, 10
	b.record(first, holdfast.ChangeLockCreated)
	broken := b.record(1, holdfast.ChangeBookingCreated)
	b.record(others, holdfast.ChangeLockReleased)
	b.number()
	if _, err := b.DB.Collection("changes").UpdateOne(t.Context(), bson.D{{Key: "eventId", Value: broken}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "items", Value: "no list"}}}}); err != nil {
		t.Fatal(err)
	}
	planned, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{})
	if n := b.pending(id, ""); err == nil || planned == 0 || n != int64(planned) {
		t.Errorf("%d planned, %d pending: %v", planned, n, err)
	}
	n, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{Types: []string{"holdfast.lock.*"}})
	if err != nil || n != first+others-planned {
		t.Errorf("%d planned after %d: %v", n, planned, err)
	}
}

// ended makes deliveries that ended, of changes with these numbers, in the order of the documents. Those of a list were delivered
// together.
func (b *bench) ended(id holdfast.ID, state string, numbers ...[]int64) {
	b.T.Helper()
	item := func(seq int64) bson.D {
		return bson.D{
			{Key: "changeId", Value: fmt.Sprint("c", seq)}, {Key: "type", Value: holdfast.ChangeLockCreated},
			{Key: "subject", Value: fmt.Sprint("locks/", seq)}, {Key: "seq", Value: seq}, {Key: "item", Value: 0},
			{Key: "changedAt", Value: time.Now()},
		}
	}
	var docs []bson.D
	doc := func(rest bson.D) {
		var key [12]byte
		n := len(docs) + 1
		key[10], key[11] = byte(n>>8), byte(n)
		docs = append(docs, append(bson.D{
			{Key: "_id", Value: bson.ObjectID(key)}, {Key: "webhookId", Value: id}, {Key: "state", Value: state}, {Key: "at", Value: time.Now()},
		}, rest...))
	}
	for _, batch := range numbers {
		items := bson.A{}
		for _, seq := range batch {
			if items = append(items, item(seq)); state == webhooks.Dead {
				doc(item(seq))
			}
		}
		if state == webhooks.Delivered {
			doc(bson.D{{Key: "items", Value: items}})
		}
	}
	if _, err := b.DB.Collection("webhookdeliveries").InsertMany(b.Ctx(), docs); err != nil {
		b.T.Fatal(err)
	}
}

// With a state too a replay begins with the oldest changes, whenever they were delivered or given up: what it leaves out is newer.
func TestReplay_OfAStateBeginsWithTheOldestChange(t *testing.T) {
	t.Parallel()
	for state, last := range map[string][]int64{webhooks.Delivered: {1, 1}, webhooks.Dead: {1}} { // delivered twice, and late
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := b.endpoint(newReceiver(t))
			var batches [][]int64
			const size = 500
			for from := int64(2); from < webhooks.MaxReplayed; from += size {
				var batch []int64
				for seq := from; seq < from+size; seq++ {
					batch = append(batch, seq)
				}
				batches = append(batches, batch)
			}
			b.ended(id, state, append(batches, last)...)
			newest := fmt.Sprint("c", webhooks.MaxReplayed+1)
			for _, part := range []struct {
				want               int
				oldestIs, newestIs int64
			}{{webhooks.MaxReplayed, 1, 0}, {1, 1, 1}, {0, 1, 1}} {
				n, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{State: state})
				if err != nil || n != part.want || b.pending(id, "c1") != part.oldestIs || b.pending(id, newest) != part.newestIs {
					t.Fatalf("%d planned, %d of the oldest and %d of the newest change are pending, want %+v: %v",
						n, b.pending(id, "c1"), b.pending(id, newest), part, err)
				}
			}
		})
	}
}

// With a state a replay selects by types and times as without one.
func TestReplay_OfAStateSelects(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.endpoint(newReceiver(t))
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	types := []holdfast.ChangeType{holdfast.ChangeLockCreated, holdfast.ChangeLockReleased, holdfast.ChangeBookingCreated}
	items := bson.A{"no delivery"}
	for n, what := range types {
		items = append(items, bson.D{
			{Key: "changeId", Value: fmt.Sprint("c", n)}, {Key: "type", Value: what}, {Key: "subject", Value: fmt.Sprint("locks/", n)},
			{Key: "seq", Value: n + 1}, {Key: "item", Value: 0}, {Key: "changedAt", Value: noon.Add(time.Duration(n) * time.Millisecond)},
		})
	}
	b.Insert("webhookdeliveries", bson.D{
		{Key: "webhookId", Value: id}, {Key: "state", Value: webhooks.Delivered}, {Key: "items", Value: items},
	})
	for _, c := range []struct {
		r    webhooks.Replay
		want int
	}{
		{webhooks.Replay{}, 3},
		{webhooks.Replay{Since: noon.Add(time.Millisecond)}, 2}, {webhooks.Replay{Until: noon.Add(time.Millisecond)}, 1},
		{webhooks.Replay{Since: noon.Add(time.Microsecond)}, 2}, {webhooks.Replay{Until: noon.Add(1001 * time.Microsecond)}, 2},
		{webhooks.Replay{Types: []string{"holdfast.lock.*"}}, 2}, {webhooks.Replay{Types: []string{"*"}}, 3},
		{webhooks.Replay{Types: []string{string(holdfast.ChangePaymentRefunded)}}, 0},
	} {
		c.r.State = webhooks.Delivered
		if n, err := b.hooks.Replay(t.Context(), id, c.r); err != nil || n != c.want {
			t.Errorf("%+v plans %d, want %d: %v", c.r, n, c.want, err)
		}
		if _, err := b.DB.Collection("webhookdeliveries").DeleteMany(t.Context(), bson.D{{Key: "state", Value: webhooks.Pending}}); err != nil {
			t.Fatal(err)
		}
	}
}
