package live_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/live"
	"github.com/holdfast-dev/holdfast/seats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSource provides the changes that a test sends. Package httpapi tests the hub
// with MongoDB.
type fakeSource struct{ changes chan seats.Change }

func (s *fakeSource) Watch(ctx context.Context, started func(context.Context, int64) error, changed func(seats.Change)) error {
	if err := started(ctx, 1); err != nil {
		return err
	}
	for {
		select {
		case c := <-s.changes:
			changed(c)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *fakeSource) EventAt(_ context.Context, id ids.ID) (seats.Event, int64, error) {
	return seats.Event{ID: id, TotalSeats: 10}, 1, nil
}

// A transaction may change an event twice with one Seq. Each message still has an ID
// of its own, or a client that reconnects between the two would miss the second.
func TestHub_IDsRiseWithinATransaction(t *testing.T) {
	t.Parallel()
	source := &fakeSource{changes: make(chan seats.Change)}
	hub := live.NewHub(source, slog.New(slog.DiscardHandler))
	defer hub.Close()
	event := ids.New()
	l, err := hub.Listen(t.Context(), event, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	last := int64(0)
	for _, seq := range []int64{0, 500, 500, 501} {
		if seq > 0 {
			source.changes <- seats.Change{EventID: event, Seq: seq}
		}
		<-l.Ready()
		text, _ := l.Receive()
		line, _, _ := strings.Cut(strings.TrimPrefix(string(text), "id: "), "\n")
		id, err := strconv.ParseInt(line, 10, 64)
		if err != nil || id <= last {
			t.Fatalf("after ID %d: %q", last, text)
		}
		last = id
	}
}
