package mongodb_test

import (
	"context"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// proofs observes the reads that follow a barrier.
type proofs struct {
	mu       sync.Mutex
	barriers map[int64]bool // requests that are barriers
	at       bson.Timestamp // of the first barrier
	tied     int            // number of reads after it that name its time, or a later one
	loose    []string       // the other reads
}

func (p *proofs) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{Started: p.started, Succeeded: p.succeeded}
}

func (p *proofs) started(_ context.Context, e *event.CommandStartedEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	level, _ := e.Command.Lookup("readConcern", "level").StringValueOK()
	if level == "linearizable" {
		p.barriers[e.RequestID] = true
		return
	}
	isRead := e.CommandName == "find" || e.CommandName == "aggregate"
	_, err := e.Command.LookupErr("autocommit")
	_, startErr := e.Command.LookupErr("startTransaction")
	if inTx, starts := err == nil, startErr == nil; p.at.IsZero() || !starts && (inTx || !isRead) {
		return
	}
	for _, field := range []string{"afterClusterTime", "atClusterTime"} {
		if t, i, ok := e.Command.Lookup("readConcern", field).TimestampOK(); ok && !(bson.Timestamp{T: t, I: i}).Before(p.at) {
			p.tied++
			return
		}
	}
	p.loose = append(p.loose, e.Command.String())
}

func (p *proofs) succeeded(_ context.Context, e *event.CommandSucceededEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.barriers[e.RequestID] && p.at.IsZero() {
		p.at.T, p.at.I = e.Reply.Lookup("operationTime").Timestamp()
	}
}

// doubtful is a request whose answer a deposed primary could give by mistake.
type doubtful struct {
	code holdfast.Code // "" if it is not a refusal
	ask  func(ctx context.Context, c *core.Core) error
}

func doubtfulRequests(sold, initiated, user holdfast.ID, key holdfast.CreationKey) map[string]doubtful {
	none := mongodb.NewID()
	return map[string]doubtful{
		"an event": {"EVENT_NOT_FOUND", func(ctx context.Context, c *core.Core) error {
			_, err := c.Seats.GetEvent(ctx, none)
			return err
		}},
		"a lock": {"LOCK_NOT_FOUND", func(ctx context.Context, c *core.Core) error {
			_, err := c.Seats.GetLock(ctx, none)
			return err
		}},
		"a booking": {"BOOKING_NOT_FOUND", func(ctx context.Context, c *core.Core) error {
			_, err := c.Bookings.GetBooking(ctx, none)
			return err
		}},
		"a user": {"USER_NOT_FOUND", func(ctx context.Context, c *core.Core) error {
			_, err := c.Users.GetUser(ctx, none)
			return err
		}},
		"an address": {"", func(ctx context.Context, c *core.Core) error {
			_, _, err := c.Users.FindUser(ctx, "none@example.com")
			return err
		}},
		"an extension": {"LOCK_NOT_FOUND", func(ctx context.Context, c *core.Core) error {
			_, err := c.Seats.ExtendLock(ctx, none, testenv.Soon())
			return err
		}},
		// a refusal that writes needs no confirmation
		"a confirmation": {"BOOKING_NOT_FOUND", func(ctx context.Context, c *core.Core) error {
			_, err := c.Bookings.ConfirmBooking(ctx, none, holdfast.Charge{})
			return err
		}},
		"a change of an event": {"EVENT_NOT_FOUND", func(ctx context.Context, c *core.Core) error {
			_, err := c.Seats.UpdateEvent(ctx, none, holdfast.EventChange{Name: new("F")})
			return err
		}},
		"a lock of no event": {"EVENT_NOT_FOUND", func(ctx context.Context, c *core.Core) error {
			_, _, err := c.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: none, UserID: user, Seats: 1})
			return err
		}},
		"a lock of no user": {"USER_NOT_FOUND", func(ctx context.Context, c *core.Core) error {
			if _, _, err := c.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: sold, UserID: user, Seats: 1}); err != nil {
				return err // it reads the event while the user is looked up
			}
			_, _, err := c.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: sold, UserID: none, Seats: 1})
			return err
		}},
		"an address in use": {"EMAIL_TAKEN", func(ctx context.Context, c *core.Core) error {
			_, err := c.Users.CreateUser(ctx, "A", "A@example.com")
			return err
		}},
		"a key that was used": {"", func(ctx context.Context, c *core.Core) error {
			_, _, err := c.DB.Create(ctx, mongodb.Creation{
				Collection: "users", ID: none, Key: key, Hash: holdfast.NewUser{Name: "A", Email: "a@example.com"}.Hash(),
			})
			return err
		}},
		"a key of another request": {"IDEMPOTENCY_KEY_REUSED", func(ctx context.Context, c *core.Core) error {
			_, _, err := c.Users.CreateUserOnce(ctx, holdfast.NewUser{Name: "B", Email: "a@example.com"}, key)
			return err
		}},
	}
}

// A primary that was deposed after it had confirmed its role may answer the following read with old data, and so may
// an earlier primary that does not know yet that it was deposed. So that read names the time of the barrier, which a
// deposed primary can't have.
func TestConfirmRefusal_TheReadHasTheTimeOfTheBarrier(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	sold := w.Event(10)
	lock := w.Acquire(sold, 1, testenv.Soon())
	initiated := w.Book(lock, holdfast.Until{})
	key := holdfast.CreationKey{Key: "key"}
	user, _, err := w.Users.CreateUserOnce(t.Context(), holdfast.NewUser{Name: "A", Email: "a@example.com"}, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range doubtfulRequests(sold, initiated.ID, user.ID, key) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &proofs{barriers: map[int64]bool{}}
			process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) { o.Monitor = p.monitor() })
			err := c.ask(t.Context(), testenv.Core(process.DB, nil))
			if holdfast.CodeOf(err) != c.code || err != nil && c.code == "" {
				t.Fatal(err)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.tied == 0 || len(p.loose) > 0 {
				t.Errorf("%d reads have the time of the barrier; without it: %v", p.tied, p.loose)
			}
		})
	}
}
