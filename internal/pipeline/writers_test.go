package pipeline_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// writersOf are the processes that an event has noted.
func writersOf(t *testing.T, w *env, eventID holdfast.ID) []int32 {
	t.Helper()
	var doc struct {
		Internal struct {
			Writers []int32 `bson:"writers"`
		} `bson:"internal"`
	}
	if err := w.DB.Collection("events").FindOne(w.Ctx(), mongodb.Is("_id", eventID)).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc.Internal.Writers
}

// An event notes which processes write it, the last one last, but only if there are several.
func TestWriters_OfSeveralProcessesAreNoted(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(1000)
	processes := []*pipeline.Pipeline{newProcess(t, w), newProcess(t, w)}
	for range 3 {
		submit(t, processes[0], eventID, acquire(eventID, 1, ""))
	}
	if got := writersOf(t, w, eventID); len(got) > 0 {
		t.Errorf("one process: %v are noted", got)
	}
	for i := range 100 {
		submit(t, processes[i%2], eventID, acquire(eventID, 1, ""))
	}
	got := writersOf(t, w, eventID)
	if len(got) != 40 {
		t.Fatalf("%d writers are noted, want 40", len(got))
	}
	for i := range got[2:] {
		if got[i] == 0 || got[i] == got[i+1] || got[i] != got[i+2] {
			t.Fatalf("the writers are %v", got)
		}
	}
}
