package pipeline_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// holdLock writes a lock in a transaction that stays open, as a process does that dies
// while it confirms a booking.
func holdLock(t *testing.T, w *env, id holdfast.ID) {
	t.Helper()
	session, err := w.DB.Client().StartSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.EndSession(context.Background()) })
	if err := session.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	_, err = w.DB.Collection("seatlocks").UpdateByID(mongo.NewSessionContext(w.Ctx(), session), id, bson.D{{Key: "$inc", Value: bson.D{{Key: "rev", Value: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
}

// A process that died in a transaction left it open on the server. Whatever needs what
// it holds ends it, and has its answer within 9 s; the rest does not wait at all.
func TestDeadProcess_HoldsUpNoCommandForLong(t *testing.T) {
	t.Parallel()
	name := "name"
	var rows sync.WaitGroup // they wait most of the time: all at once, whatever -parallel says
	for title, c := range map[string]struct {
		holdsLock bool // else it holds the event
		do        func(p *pipeline.Pipeline, ctx context.Context, eventID holdfast.ID, lock holdfast.Lock) error
		want      holdfast.Code
		waits     bool
	}{
		"acquire": {do: func(p *pipeline.Pipeline, ctx context.Context, eventID holdfast.ID, _ holdfast.Lock) error {
			_, err := p.Submit(ctx, eventID, acquire(eventID, 1, "key"))
			return err
		}, waits: true},
		"acquire too many": {do: func(p *pipeline.Pipeline, ctx context.Context, eventID holdfast.ID, _ holdfast.Lock) error {
			_, err := p.Submit(ctx, eventID, acquire(eventID, 9, ""))
			return err
		}, want: holdfast.CodeSeatsUnavailable},
		"acquire too many with a key, which is fenced": {do: func(p *pipeline.Pipeline, ctx context.Context, eventID holdfast.ID, _ holdfast.Lock) error {
			_, err := p.Submit(ctx, eventID, acquire(eventID, 9, "key"))
			return err
		}, want: holdfast.CodeSeatsUnavailable, waits: true},
		"release": {do: func(p *pipeline.Pipeline, ctx context.Context, eventID holdfast.ID, lock holdfast.Lock) error {
			_, err := p.Submit(ctx, eventID, inventory.Release{LockID: lock.ID})
			return err
		}, waits: true},
		"rename": {do: func(p *pipeline.Pipeline, ctx context.Context, eventID holdfast.ID, _ holdfast.Lock) error {
			_, err := p.Submit(ctx, eventID, inventory.ChangeEvent{EventChange: holdfast.EventChange{Name: &name}})
			return err
		}, waits: true},
		"sweep": {do: func(p *pipeline.Pipeline, ctx context.Context, eventID holdfast.ID, lock holdfast.Lock) error {
			_, err := p.Sweep(ctx, eventID, inventory.ExpireLocks{LockIDs: []holdfast.ID{lock.ID}})
			return err
		}, waits: true},
		"repair of a right counter": {do: func(p *pipeline.Pipeline, ctx context.Context, eventID holdfast.ID, _ holdfast.Lock) error {
			_, err := p.Repair(ctx, eventID, "run")
			return err
		}},
		"extend": {do: func(p *pipeline.Pipeline, ctx context.Context, _ holdfast.ID, lock holdfast.Lock) error {
			_, err := p.Do(ctx, inventory.Extend{LockID: lock.ID, Until: testenv.Soon()})
			return err
		}},
		"extend a lock that it holds": {holdsLock: true, do: func(p *pipeline.Pipeline, ctx context.Context, _ holdfast.ID, lock holdfast.Lock) error {
			_, err := p.Do(ctx, inventory.Extend{LockID: lock.ID, Until: testenv.Soon()})
			return err
		}, waits: true},
		"release a lock that it holds": {holdsLock: true, do: func(p *pipeline.Pipeline, ctx context.Context, eventID holdfast.ID, lock holdfast.Lock) error {
			_, err := p.Submit(ctx, eventID, inventory.Release{LockID: lock.ID})
			return err
		}, waits: true},
	} {
		rows.Go(func() {
			t.Run(title, func(t *testing.T) {
				w := testenv.New(t)
				eventID := w.Event(10)
				lock := w.Take(eventID, 2, testenv.Soon())
				p := newProcess(t, w)
				if c.holdsLock {
					holdLock(t, w, lock.ID)
				} else {
					t.Cleanup(w.HoldEvent(eventID.String()))
				}
				start := time.Now()
				wantCode(t, c.do(p, w.Ctx(), eventID, lock), c.want)
				if took := time.Since(start); took > 9*time.Second || !c.waits && took > 3*time.Second {
					t.Errorf("it took %v", took)
				}
				if ended := len(w.Log.Lines("Ended orphaned transactions")) > 0; ended != c.waits {
					t.Errorf("orphaned transactions were ended: %v, want %v", ended, c.waits)
				}
				testenv.CheckInvariants(t, w.DB.Database)
			})
		})
	}
	rows.Wait()
}
