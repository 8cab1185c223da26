package webhooks_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// record commits one record with n changes, each of another lock, of an event that does not exist.
func (b *bench) record(n int, what holdfast.ChangeType) (event holdfast.ID) {
	b.T.Helper()
	return b.recordOf(time.Now(), n, what)
}

// recordOf is record for changes that were decided at a time.
func (b *bench) recordOf(at time.Time, n int, what holdfast.ChangeType) (event holdfast.ID) {
	b.T.Helper()
	record := changes.Record{EventID: mongodb.NewID(), At: at}
	for range n {
		record.Add(&holdfast.Change{Type: what, Lock: &holdfast.Lock{
			ID: mongodb.NewID(), UserID: mongodb.NewID(), Seats: 1, Status: holdfast.LockActive,
		}})
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

// The limit of a replay counts the deliveries that it plans, not those that it finds. Otherwise it would never reach
// changes behind many PENDING ones.
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

// A record that can't be decoded is neither fanned out nor planned. Other records are not affected.
func TestReplay_PassesByACorruptRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.*")
	first := b.record(3, holdfast.ChangeLockCreated)
	broken := b.record(1, holdfast.ChangeBookingCreated)
	b.record(2, holdfast.ChangeLockReleased)
	b.number()
	if _, err := b.DB.Collection("changes").UpdateOne(t.Context(), bson.D{{Key: "eventId", Value: broken}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "items", Value: "no list"}}}}); err != nil {
		t.Fatal(err)
	}
	b.dispatchOnce()
	if n := len(b.deliveries(id, webhooks.Delivered)); n != 5 {
		t.Errorf("%d are delivered", n)
	}
	if n, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{}); err != nil || n != 5 {
		t.Errorf("%d planned: %v", n, err)
	}
	if lines := b.Log.Lines("can't be decoded"); len(lines) != 1 {
		t.Errorf("logged %q", lines)
	}
	// A record that becomes corrupt after its fan-out makes its delivery DEAD.
	if _, err := b.DB.Collection("changes").UpdateOne(t.Context(), bson.D{{Key: "eventId", Value: first}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "items", Value: "no list"}}}}); err != nil {
		t.Fatal(err)
	}
	b.dispatchOnce()
	if dead, delivered := len(b.deliveries(id, webhooks.Dead)), len(b.deliveries(id, webhooks.Delivered)); dead != 3 || delivered != 2 {
		t.Errorf("%d are dead, %d delivered", dead, delivered)
	}
}

// ended makes deliveries that ended, of changes with these numbers.
func (b *bench) ended(id holdfast.ID, state string, numbers ...int64) {
	b.T.Helper()
	docs := make([]bson.D, len(numbers))
	for i, seq := range numbers {
		docs[i] = bson.D{
			{Key: "webhookId", Value: id}, {Key: "state", Value: state},
			{Key: "changeId", Value: fmt.Sprint("c", seq)}, {Key: "type", Value: holdfast.ChangeLockCreated},
			{Key: "subject", Value: fmt.Sprint("locks/", seq)}, {Key: "seq", Value: seq}, {Key: "item", Value: 0},
			{Key: "changedAt", Value: time.Now()},
		}
	}
	if _, err := b.DB.Collection("webhookdeliveries").InsertMany(b.Ctx(), docs); err != nil {
		b.T.Fatal(err)
	}
}

// A replay with a state also begins with the oldest changes, whenever they were delivered or given up: the changes
// that it leaves out are newer.
func TestReplay_OfAStateBeginsWithTheOldestChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.endpoint(newReceiver(t))
	var numbers []int64
	for seq := int64(2); seq <= webhooks.MaxReplayed+1; seq++ {
		numbers = append(numbers, seq)
	}
	b.ended(id, webhooks.Dead, append(numbers, 1)...) // the oldest one last
	newest := fmt.Sprint("c", webhooks.MaxReplayed+1)
	for _, part := range []struct {
		want               int
		oldestIs, newestIs int64
	}{{webhooks.MaxReplayed, 1, 0}, {1, 1, 1}, {0, 1, 1}} {
		n, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{State: webhooks.Dead})
		if err != nil || n != part.want || b.pending(id, "c1") != part.oldestIs || b.pending(id, newest) != part.newestIs {
			t.Fatalf("%d planned, %d of the oldest and %d of the newest change are pending, want %+v: %v",
				n, b.pending(id, "c1"), b.pending(id, newest), part, err)
		}
	}
}

// With a state a replay selects by types and times as without one.
func TestReplay_OfAStateSelects(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.endpoint(newReceiver(t))
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	types := []holdfast.ChangeType{holdfast.ChangeLockCreated, holdfast.ChangeLockReleased, holdfast.ChangeBookingCreated}
	insert := func() {
		for n, what := range types {
			b.Insert("webhookdeliveries", bson.D{
				{Key: "webhookId", Value: id}, {Key: "state", Value: webhooks.Delivered},
				{Key: "changeId", Value: fmt.Sprint("c", n)}, {Key: "type", Value: what}, {Key: "subject", Value: fmt.Sprint("locks/", n)},
				{Key: "seq", Value: n + 1}, {Key: "item", Value: 0}, {Key: "changedAt", Value: noon.Add(time.Duration(n) * time.Millisecond)},
			})
		}
	}
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
		insert()
		c.r.State = webhooks.Delivered
		if n, err := b.hooks.Replay(t.Context(), id, c.r); err != nil || n != c.want {
			t.Errorf("%+v plans %d, want %d: %v", c.r, n, c.want, err)
		}
		if _, err := b.DB.Collection("webhookdeliveries").DeleteMany(t.Context(), bson.D{{Key: "webhookId", Value: id}}); err != nil {
			t.Fatal(err)
		}
	}
}
