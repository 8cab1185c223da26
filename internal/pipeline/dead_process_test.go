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

// holdLock writes a lock in a transaction that stays open, like a process that dies while
// it confirms a booking.
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
	_, err = w.DB.Collection("seatlocks").UpdateByID(mongo.NewSessionContext(w.Ctx(), session), id,
		bson.D{{Key: "$inc", Value: bson.D{{Key: "internal.rev", Value: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
}

// deadProcessCase is a command, and the document that the dead process holds.
type deadProcessCase struct {
	holdsLock bool // else it holds the event
	do        func(p *pipeline.Pipeline, eventID, lockID holdfast.ID) error
	want      holdfast.Code
	waits     bool
}

// A dead process left its transaction open on the server. A command that needs a document
// it holds ends it, and has its answer within 9 s. Other commands do not wait.
func TestDeadProcess_HoldsUpNoCommandForLong(t *testing.T) {
	t.Parallel()
	type call = func(p *pipeline.Pipeline, eventID, lockID holdfast.ID) error
	viaQueue := func(command func(eventID, lockID holdfast.ID) inventory.Command) call {
		return func(p *pipeline.Pipeline, eventID, lockID holdfast.ID) error {
			_, err := p.Submit(t.Context(), eventID, command(eventID, lockID))
			return err
		}
	}
	acquire := func(seats int64, key string) call {
		return viaQueue(func(eventID, _ holdfast.ID) inventory.Command { return acquire(eventID, seats, key) })
	}
	release := viaQueue(func(_, lockID holdfast.ID) inventory.Command { return inventory.Release{LockID: lockID} })
	rename := viaQueue(func(_, _ holdfast.ID) inventory.Command {
		name := "name"
		return inventory.ChangeEvent{EventChange: holdfast.EventChange{Name: &name}}
	})
	extend := func(p *pipeline.Pipeline, _, lockID holdfast.ID) error {
		_, err := p.Do(t.Context(), inventory.Extend{LockID: lockID, Until: testenv.Soon()})
		return err
	}
	sweep := func(p *pipeline.Pipeline, eventID, lockID holdfast.ID) error {
		_, err := p.Sweep(t.Context(), eventID, inventory.ExpireLocks{LockIDs: []holdfast.ID{lockID}})
		return err
	}
	repair := func(p *pipeline.Pipeline, eventID, _ holdfast.ID) error {
		_, err := p.Repair(t.Context(), eventID, "run")
		return err
	}
	var rows sync.WaitGroup // the rows mostly wait: all run at once, whatever -parallel says
	for title, c := range map[string]deadProcessCase{
		"acquire":                      {do: acquire(1, "key"), waits: true},
		"acquire too many":             {do: acquire(9, ""), want: holdfast.CodeSeatsUnavailable},
		"acquire too many, with a key": {do: acquire(9, "key"), want: holdfast.CodeSeatsUnavailable, waits: true}, // it holds the event
		"release":                      {do: release, waits: true},
		"rename":                       {do: rename, waits: true},
		"sweep":                        {do: sweep, waits: true},
		"repair of a right counter":    {do: repair},
		"extend":                       {do: extend},
		"extend a lock that it holds":  {holdsLock: true, do: extend, waits: true},
		"release a lock that it holds": {holdsLock: true, do: release, waits: true},
	} {
		rows.Go(func() { t.Run(title, c.run) })
	}
	rows.Wait()
}

// run carries out the command while the dead process's transaction is open.
func (c deadProcessCase) run(t *testing.T) {
	w := testenv.New(t)
	eventID := w.Event(10)
	lock := w.Acquire(eventID, 2, testenv.Soon())
	p := newProcess(t, w)
	if c.holdsLock {
		holdLock(t, w, lock.ID)
	} else {
		t.Cleanup(w.HoldEvent(eventID.String()))
	}
	start := time.Now()
	wantCode(t, c.do(p, eventID, lock.ID), c.want)
	if took := time.Since(start); took > 9*time.Second || !c.waits && took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if ended := len(w.Log.Lines("Ended orphaned transactions")) > 0; ended != c.waits {
		t.Errorf("orphaned transactions were ended: %v, want %v", ended, c.waits)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
