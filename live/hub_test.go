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

// script is a stream of changes that the test writes. How the hub hears MongoDB is
// tested in httpapi.
type script struct{ changes chan seats.Change }

func (s *script) Watch(ctx context.Context, begun func(context.Context, int64) error, changed func(seats.Change)) error {
	if err := begun(ctx, 1); err != nil {
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

func (s *script) EventAt(_ context.Context, id ids.ID) (seats.Event, int64, error) {
	return seats.Event{ID: id, TotalSeats: 10}, 1, nil
}

// A transaction may change an event twice, with one Seq: its messages have IDs that
// rise all the same, or who comes back between them would miss one.
func TestHub_IDsRiseWithinATransaction(t *testing.T) {
	t.Parallel()
	source := &script{make(chan seats.Change)}
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
		<-l.Woken()
		text, _ := l.Take(false)
		line, _, _ := strings.Cut(strings.TrimPrefix(string(text), "id: "), "\n")
		id, err := strconv.ParseInt(line, 10, 64)
		if err != nil || id <= last {
			t.Fatalf("after %d: %q", last, text)
		}
		last = id
	}
}
