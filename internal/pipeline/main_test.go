package pipeline_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type env = testenv.Env

var rules = inventory.Rules{DefaultLockTTL: testenv.DefaultTTL, MaxLockTTL: testenv.MaxTTL, MaxPaymentTTL: testenv.MaxPaymentTTL}

// newProcess returns the pipeline of one more process.
func newProcess(t *testing.T, w *env, change ...func(*pipeline.Options)) *pipeline.Pipeline {
	t.Helper()
	o := pipeline.Options{Rules: rules}
	for _, c := range change {
		c(&o)
	}
	p := pipeline.New(w.Store, o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

// watched opens the database once more, with a monitor of its commands.
func watched(t *testing.T, w *env, m *event.CommandMonitor) *env {
	t.Helper()
	return testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) { o.Monitor = m })
}

// recorder notes the commands that MongoDB receives.
type recorder struct {
	mu    sync.Mutex
	names []string
}

func (r *recorder) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		r.mu.Lock()
		defer r.mu.Unlock()
		name := e.CommandName
		if name == "findAndModify" {
			name = kindOfWrite(e.Command)
		}
		r.names = append(r.names, name)
	}}
}

// kindOfWrite is write or guarded.
func kindOfWrite(command bson.Raw) string {
	if _, err := command.LookupErr("query", "_id"); err != nil { // but $and
		return guarded
	}
	return write
}

// of returns the names of the commands that do sends.
func (r *recorder) of(do func()) []string {
	r.mu.Lock()
	r.names = nil
	r.mu.Unlock()
	do()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.names)
}

func acquire(eventID holdfast.ID, seats int64, key string) inventory.Acquire {
	request := holdfast.LockRequest{EventID: eventID, UserID: mongodb.NewID(), Seats: seats, Key: key}
	return inventory.Acquire{LockID: mongodb.NewID(), LockRequest: request}
}

// submit submits a command, and fails the test if it is refused.
func submit(t *testing.T, p *pipeline.Pipeline, eventID holdfast.ID, c inventory.Command) inventory.Result {
	t.Helper()
	result, err := p.Submit(t.Context(), eventID, c)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func wantCode(t *testing.T, err error, code holdfast.Code) {
	t.Helper()
	if (err == nil) != (code == "") || holdfast.CodeOf(err) != code {
		t.Errorf("got %v, want code %q", err, code)
	}
}

func wantAvailable(t *testing.T, w *env, eventID holdfast.ID, want int64) {
	t.Helper()
	if available, oversold := w.Available(eventID); available != want || oversold != 0 {
		t.Errorf("%d seats are available and %d oversold, want %d and 0", available, oversold, want)
	}
}
