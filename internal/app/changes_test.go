package app

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A process that runs jobs numbers changes within a second; one that does not says after a while that they wait.
func TestChanges_AreNumberedByTheProcessThatLeads(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	a.Boot(t.Context())
	w.Event(10)
	if state := readyNow(t, a).Checks["changes"]; state != "ok" {
		t.Errorf("at first: %s", state)
	}
	setRecord(t, w, 0, bson.E{Key: "t", Value: bson.Timestamp{T: uint32(time.Now().Unix() - 60)}})
	if ready := readyNow(t, a); !ready.Degraded || !strings.HasPrefix(ready.Checks["changes"], "waiting for 1m") {
		t.Errorf("a minute later: %+v", ready)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- a.Jobs.Schedule(ctx) }()
	testenv.WaitFor(t, func() bool {
		list, _, err := a.Changes.List(t.Context(), nil, changes.Filter{}, 10)
		return err == nil && len(list) == 1
	})
	w.Event(10)
	testenv.WaitFor(t, func() bool {
		list, _, err := a.Changes.List(t.Context(), nil, changes.Filter{}, 10)
		return err == nil && len(list) == 2
	})
	if ready := readyNow(t, a); ready.Degraded {
		t.Errorf("then: %+v", ready)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	states, _, err := a.Jobs.States(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		if state.Name == "changes" && (state.Last == nil || state.Last.Outcome != "completed" || state.Last.Applied != 2 || state.Lease.Held()) {
			t.Errorf("the run: %+v %+v", state.Last, state.Lease)
		}
	}
}

// Retention removes old records.
func TestRetention_RemovesOldChanges(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	a.Boot(t.Context())
	w.Event(10)
	w.Event(10)
	if result, err := a.RunManually(t.Context(), "changes"); err != nil || result.Applied != 2 {
		t.Fatal(result, err)
	}
	setRecord(t, w, 1, bson.E{Key: "t", Value: bson.Timestamp{
		T: uint32(time.Now().Add(-a.Config.ChangesRetention.Age - time.Hour).Unix()),
	}})
	if _, err := a.RunManually(t.Context(), "retention"); err != nil {
		t.Fatal(err)
	}
	numbered := bson.D{{Key: "seq", Value: bson.D{{Key: "$gt", Value: 0}}}}
	if n, err := w.DB.Collection("changes").CountDocuments(t.Context(), numbered); err != nil || n != 1 {
		t.Errorf("%d records are left: %v", n, err)
	}
}

// setRecord changes the record with a number.
func setRecord(t *testing.T, w *testenv.Env, seq int64, field bson.E) {
	t.Helper()
	which, change := bson.D{{Key: "seq", Value: seq}}, bson.D{{Key: "$set", Value: bson.D{field}}}
	result, err := w.DB.Collection("changes").UpdateOne(t.Context(), which, change)
	if err != nil || result.MatchedCount != 1 {
		t.Fatal(result, err)
	}
}
