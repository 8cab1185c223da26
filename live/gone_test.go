package live_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/live"
)

// goneSource loses its events, and its change stream, when the test says so.
type goneSource struct {
	*fakeSource
	gone      atomic.Bool
	endStream chan error
}

func newGoneSource() *goneSource {
	return &goneSource{fakeSource: &fakeSource{changes: make(chan store.Change)}, endStream: make(chan error)}
}

func (s *goneSource) EventAt(ctx context.Context, id holdfast.ID) (holdfast.Event, int64, error) {
	if s.gone.Load() {
		return holdfast.Event{}, 0, holdfast.NotFound(holdfast.CodeEventNotFound)
	}
	return s.fakeSource.EventAt(ctx, id)
}

func (s *goneSource) Watch(ctx context.Context, started func(context.Context, int64) error, changed func(store.Change)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-s.endStream:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	return s.fakeSource.Watch(ctx, started, changed)
}

// An event is removed while its first state is being read, for its availability and for its seats.
func TestHub_AnEventThatIsRemovedInItsFirstReadIsNotFound(t *testing.T) {
	listens := map[string]func(context.Context, *live.Hub, holdfast.ID) (*live.Listener, error){
		"availability": func(ctx context.Context, h *live.Hub, id holdfast.ID) (*live.Listener, error) {
			return h.Listen(ctx, id, 0)
		},
		"seats": func(ctx context.Context, h *live.Hub, id holdfast.ID) (*live.Listener, error) {
			return h.ListenToSeats(ctx, id, nil, 0)
		},
	}
	for name, listen := range listens {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := slowSource{&fakeSource{changes: make(chan store.Change)}, make(chan struct{})}
				hub := live.NewHub(source, slog.New(slog.DiscardHandler))
				defer hub.Close()
				errs := make(chan error)
				listenTo := func(id holdfast.ID) {
					l, err := listen(t.Context(), hub, id)
					if err == nil {
						defer l.Close()
					}
					errs <- err
				}
				other, event := mongodb.NewID(), mongodb.NewID()
				go listenTo(other) // starts the change stream
				source.read <- struct{}{}
				if err := <-errs; err != nil && !holdfast.IsNotFound(err) { // it has no seats
					t.Fatal(err)
				}
				go listenTo(event)
				synctest.Wait()
				source.changes <- store.Change{EventID: event, Seq: 500, Gone: true}
				synctest.Wait()
				close(source.read)
				if err := <-errs; !holdfast.HasCode(err, holdfast.CodeEventNotFound) {
					t.Errorf("the client got %v, want %s", err, holdfast.CodeEventNotFound)
				}
			})
		})
	}
}

// An event is removed while the change stream is down: its streams end, and nothing of it is kept.
func TestHub_ForgetsAnEventThatIsGoneWhenTheChangeStreamRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newGoneSource()
		hub := live.NewHub(source, slog.New(slog.DiscardHandler))
		defer hub.Close()
		event := mongodb.NewID()
		l, err := hub.Listen(t.Context(), event, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		receivedIDs(l)
		source.gone.Store(true)
		source.endStream <- errors.New("lost")
		advance(time.Minute)
		if _, ended := l.Receive(); !ended {
			t.Error("the stream goes on")
		}
		if n := hub.Topics(); n != 0 {
			t.Errorf("%d topics remain", n)
		}
		if _, err := hub.Listen(t.Context(), event, 0); !holdfast.HasCode(err, holdfast.CodeEventNotFound) {
			t.Errorf("a new client got %v, want %s", err, holdfast.CodeEventNotFound)
		}
		source.gone.Store(false) // it was restored
		advance(time.Second)     // the refused client is forgotten
		again, err := hub.Listen(t.Context(), event, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		receivedIDs(again)
		source.publish(event, 100, 100)
		if got := receivedIDs(again); len(got) != 1 {
			t.Errorf("received %v, want the change", got)
		}
	})
}
