package pipeline_test

import (
	"maps"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Requests that share a transaction are told apart by the origins of their changes.
func TestChanges_HaveTheOriginOfTheirCommand(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p, event := newProcess(t, w), w.Event(10)
	release := w.HoldEvent(event.String()) // the commands wait for one another
	want := map[string]string{}
	var answers []<-chan answer
	for n, name := range []string{"first", "a", "b", "c"} {
		origin := holdfast.Origin{Actor: "key " + name, RequestID: "request " + name}
		c := inventory.Acquire{LockRequest: holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1}, LockID: mongodb.NewID()}
		answers = append(answers, start(holdfast.WithOrigin(w.Ctx(), origin), p, event, c))
		want[c.LockID.String()] = origin.Actor + ", " + origin.RequestID
		testenv.WaitFor(t, func() bool { return p.Queue().InFlight() == 1 && p.Queue().Waiting(event) == n })
	}
	release()
	for _, a := range answers {
		if got := <-a; got.err != nil {
			t.Fatal(got.err)
		}
	}
	if _, err := w.Changes.Number(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	list, _, err := w.Changes.List(w.Ctx(), nil, changes.Filter{EventID: event, Types: []holdfast.ChangeType{holdfast.ChangeLockCreated}}, 10)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range list {
		got[c.Lock.ID.String()] = c.Actor + ", " + c.RequestID
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
