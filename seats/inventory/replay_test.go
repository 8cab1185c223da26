package inventory_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestReplay_AnswersWithTheLockAsItIsNow(t *testing.T) {
	ask := keyed(1, 2, "key")
	for _, status := range holdfast.LockStatuses() {
		for name, change := range map[string]func(*pipeline){
			"as before":        func(*pipeline) {},
			"sold out":         func(p *pipeline) { p.store.event.TotalSeats, p.store.event.AvailableSeats = p.store.taken(), 0 },
			"closed":           func(p *pipeline) { p.store.event.Status = holdfast.Closed },
			"cancelled":        func(p *pipeline) { p.store.event.Status = holdfast.Cancelled },
			"over a limit":     func(p *pipeline) { p.rules.MaxSeatsPerLock = 1 },
			"over a user's":    func(p *pipeline) { p.store.event.MaxSeatsPerUser = 1 },
			"due":              func(p *pipeline) { p.store.now = in(minutes(20)) },
			"beyond the cap":   func(p *pipeline) { p.rules.MaxLockTTL = time.Second },
			"after a conflict": func(p *pipeline) { p.remember = false },
		} {
			t.Run(fmt.Sprint(status, ", ", name), func(t *testing.T) {
				s := newStore(5).withLock(9, 2, status, in(minutes(10)), keyedBy(ask))
				p := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event)}
				change(p)
				before := s.clone()
				r := p.batch(t, ask)[0]
				wantCode(t, r, "")
				if !reflect.DeepEqual(r.Lock, before.locks[lockID(9)].Lock) || !r.Replayed || r.Acquires() {
					t.Errorf("got %+v, want lock 9 as a replay", r)
				}
				s.wantCounter(t, before.event.AvailableSeats, 0)
			})
		}
	}
}

func TestReplay_AnotherRequestIsRefused(t *testing.T) {
	ask := keyed(1, 2, "key")
	for _, row := range []struct {
		name string
		ask  func(*inventory.Acquire)
		made func(*inventory.Lock)
		code holdfast.Code
	}{
		{name: "the same", ask: func(*inventory.Acquire) {}, made: keyedBy(ask)},
		{name: "other seats", ask: func(c *inventory.Acquire) { c.Seats = 1 }, made: keyedBy(ask), code: holdfast.CodeIdempotencyKeyReused},
		{
			name: "another duration", ask: func(c *inventory.Acquire) { c.Until.For = time.Minute }, made: keyedBy(ask),
			code: holdfast.CodeIdempotencyKeyReused,
		},
		{
			name: "another time", ask: func(c *inventory.Acquire) { c.Until.At = in(time.Minute) }, made: keyedBy(ask),
			code: holdfast.CodeIdempotencyKeyReused,
		},
		{name: "without a hash, the same seats", ask: func(c *inventory.Acquire) { c.Until.For = time.Minute }, made: withoutHash(ask)},
		{
			name: "without a hash, other seats", ask: func(c *inventory.Acquire) { c.Seats = 1 }, made: withoutHash(ask),
			code: holdfast.CodeIdempotencyKeyReused,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5).withLock(9, 2, holdfast.LockActive, in(minutes(10)), row.made)
			c := ask
			row.ask(&c)
			r := s.one(t, c)
			wantCode(t, r, row.code)
			if row.code == "" && r.Lock.ID != lockID(9) {
				t.Errorf("got %+v, want lock 9", r.Lock)
			}
			s.wantCounter(t, 3, 0)
		})
	}
}

func withoutHash(c inventory.Acquire) func(*inventory.Lock) {
	return func(l *inventory.Lock) {
		keyedBy(c)(l)
		l.RequestHash = ""
	}
}

func TestReplay_KeysAreUniquePerUser(t *testing.T) {
	s := newStore(5).withLock(9, 2, holdfast.LockActive, in(minutes(10)), keyedBy(keyed(9, 2, "key")), ofUser(bob))
	if r := s.one(t, keyed(1, 2, "key")); r.Replayed || r.Lock.ID != lockID(1) {
		t.Errorf("got %+v, want a new lock", r)
	}
}

func TestReplay_InTheSameBatch(t *testing.T) {
	s := newStore(5)
	other := keyed(3, 1, "key")
	unkeyed := acquire(4, 2)
	p := &pipeline{store: s, rules: theRules}
	results := p.batch(t, keyed(1, 2, "key"), keyed(2, 2, "key"), other, unkeyed)
	for i, want := range []holdfast.Code{"", "", holdfast.CodeIdempotencyKeyReused, ""} {
		wantCode(t, results[i], want)
	}
	if !reflect.DeepEqual(results[1].Lock, results[0].Lock) || !results[1].Replayed ||
		results[1].Acquires() || results[1].Lock.ExpiresAt.IsZero() {
		t.Errorf("got %+v, want a replay of %+v", results[1], results[0])
	}
	if len(s.locks) != 2 {
		t.Errorf("%d locks were made, want 2", len(s.locks))
	}
}

// If the first command of a batch is refused, its key is looked up, but not yet the keys
// of the next commands.
func TestReplay_EachKeyOfABatchIsLookedUp(t *testing.T) {
	for _, row := range []struct {
		name  string
		seats int64 // that are available
		seen  int64 // that the process remembers
	}{
		{"the repeat would fit", 3, 3},
		{"the repeat would be refused", 1, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(2+row.seats).withLock(9, 2, holdfast.LockActive, in(minutes(10)), keyedBy(keyed(9, 2, "used")))
			p := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event)}
			p.remembered.AvailableSeats = row.seen
			results := p.batch(t, keyed(1, 5, "new"), keyed(2, 2, "used"))
			wantCode(t, results[0], holdfast.CodeSeatsUnavailable)
			wantCode(t, results[1], "")
			if results[1].Lock.ID != lockID(9) || !results[1].Replayed {
				t.Errorf("got %+v, want lock 9 as a replay", results[1])
			}
		})
	}
}

// The lock of a repeat may have been reclaimed for a command before it.
func TestReplay_OfALockThatThisBatchEnds(t *testing.T) {
	for name, before := range map[string]inventory.Command{"reclaims it": acquire(1, 3), "releases it": inventory.Release{LockID: lockID(9)}} {
		t.Run(name, func(t *testing.T) {
			expires := begin
			if name == "releases it" {
				expires = in(time.Minute)
			}
			s := newStore(4).withLock(9, 2, holdfast.LockActive, expires, keyedBy(keyed(9, 2, "key")))
			p := &pipeline{store: s, rules: theRules}
			results := p.batch(t, before, keyed(2, 2, "key"), keyed(3, 9, "other"))
			wantCode(t, results[1], "")
			if want := s.locks[lockID(9)].Lock; !reflect.DeepEqual(results[1].Lock, want) || want.Status == holdfast.LockActive {
				t.Errorf("got %+v, want %+v", results[1].Lock, want)
			}
		})
	}
}

// The write finds a key that another process has used meanwhile.
func TestReplay_OfAKeyThatWasUsedBetweenDecisionAndWrite(t *testing.T) {
	s := newStore(5)
	ask := keyed(1, 2, "key")
	p := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event)}
	p.beforeApply = func(inventory.Plan) {
		p.beforeApply = nil
		s.one(t, keyed(9, 2, "key"))
	}
	r := p.batch(t, ask, acquire(2, 1))[0]
	wantCode(t, r, "")
	if r.Lock.ID != lockID(9) || !r.Replayed {
		t.Errorf("got %+v, want lock 9 as a replay", r)
	}
	s.wantCounter(t, 2, 0)
}
