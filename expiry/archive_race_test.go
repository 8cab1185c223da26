package expiry_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A rival locks a seat at a moment of the job: before it looks for open locks or bookings, before it
// writes the mark, and before that is committed. The event is then not archived, or the rival has taken
// the mark away.
func TestArchive_RaceWithARival(t *testing.T) {
	t.Parallel()
	type moment struct{ command, collection string }
	for _, at := range []moment{
		{"aggregate", "seatlocks"}, {"aggregate", "bookings"}, {"update", "events"}, {"commitTransaction", ""},
	} {
		for what, rival := range map[string]func(w *testenv.Env, id holdfast.ID){
			"lock": func(w *testenv.Env, id holdfast.ID) { w.Acquire(id, 1, testenv.Soon()) },
			"booking": func(w *testenv.Env, id holdfast.ID) {
				w.Book(w.Acquire(id, 1, testenv.Soon()), testenv.Soon())
			},
		} {
			t.Run(fmt.Sprint(what, " before ", at.command, " ", at.collection), func(t *testing.T) {
				t.Parallel()
				w := testenv.New(t)
				id, _ := settled(w)
				var once sync.Once
				acted := make(chan struct{})
				process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
					o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
						name, _ := e.Command.Lookup(at.command).StringValueOK()
						if e.CommandName == at.command && name == at.collection {
							once.Do(func() {
								go func() {
									defer close(acted)
									rival(w, id)
								}()
								if at.command != "commitTransaction" { // the archiving transaction would make it wait
									<-acted
								}
							})
						}
					}}
				})
				archive(t, process)
				<-acted
				if got := archivedAt(w, id); got != nil {
					t.Errorf("the mark is %v", got)
				}
			})
		}
	}
}
