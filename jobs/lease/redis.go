package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	redislock "github.com/go-co-op/gocron-redis-lock/v2"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/redisclient"
)

// A Redis that does not answer is known as such within a second: no command is
// tried twice, and none waits in a queue for a connection to come back.
const (
	redisStep = 400 * time.Millisecond // to connect, to write, to read
	redisTime = 900 * time.Millisecond // for a conversation
)

// Redis keeps leases in Redis, as keys with a term. Leases of runs are taken
// and given back by gocron-redis-lock, the leader's by redsync, on which that
// is built. Renewals are redsync's in both cases: gocron-redis-lock's own end
// silently at their first error.
type Redis struct {
	client redis.UniversalClient
	sync   *redsync.Redsync
	terms  Terms
	clock  clock.Clock
}

// NewRedis opens a store that o tells where to find. It does not connect: the
// server may come later, and go.
func NewRedis(o redis.Options, terms Terms, now clock.Clock) *Redis {
	client := redisclient.Open(o, redisStep)
	return &Redis{client: client, sync: redsync.New(goredis.NewPool(client)), terms: terms, clock: now}
}

// Close ends the connections.
func (r *Redis) Close() error { return r.client.Close() }

// Kind is KindRedis.
func (r *Redis) Kind() string { return KindRedis }

// Ping returns nil if Redis answers.
func (r *Redis) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTime)
	defer cancel()
	return redisDown(r.client.Ping(ctx).Err())
}

// separator parts the holder from the acquisition's token in a key's value.
const separator = "#"

// Acquire tries once; see Store.
func (r *Redis) Acquire(ctx context.Context, name, holder string) (Lease, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTime)
	defer cancel()
	const enough = 8
	value := holder + separator + rand.Text()[:enough]
	options := []redsync.Option{
		redsync.WithExpiry(r.terms.Term()), redsync.WithTries(1), redsync.WithValue(value),
		redsync.WithGenValueFunc(func() (string, error) { return value, nil }),
		redsync.WithTimeoutFactor(min(1, redisTime.Seconds()/r.terms.Term().Seconds())),
	}
	l := &redisLease{mutex: r.sync.NewMutex(name, options...)}
	if name == Leader {
		l.unlock = func(ctx context.Context) error {
			_, err := l.mutex.UnlockContext(ctx)
			return err
		}
		if err := l.mutex.TryLockContext(ctx); err != nil {
			return nil, r.whyNot(ctx, l, err)
		}
		return l, nil
	}
	locker, err := redislock.NewRedisLockerAlways(r.client, options...)
	if err != nil { // Redis was asked whether it is there
		return nil, redisDown(err)
	}
	lock, err := locker.Lock(ctx, name)
	if err != nil {
		return nil, r.whyNot(ctx, l, err)
	}
	l.unlock = lock.Unlock
	return l, nil
}

// whyNot tells a lease that is held from a Redis that is away, which both
// libraries report alike.
func (r *Redis) whyNot(ctx context.Context, l *redisLease, cause error) error {
	ctx = context.WithoutCancel(ctx) // the time of the try may be over
	var down *redsync.RedisError
	if errors.As(cause, &down) {
		return redisDown(down.Err)
	}
	value, holding, err := r.look(ctx, l.mutex.Name())
	if err != nil {
		return err
	}
	if value == l.mutex.Value() { // acquired, but too slowly to be of use
		l.mutex.UnlockContext(ctx) //nolint:errcheck // it passes with its term
		return &UnavailableError{RedisError, cause}
	}
	return &HeldError{l.mutex.Name(), holding}
}

// Look tells who holds a lease; see Store.
func (r *Redis) Look(ctx context.Context, name string) (Holding, error) {
	_, holding, err := r.look(ctx, name)
	return holding, err
}

func (r *Redis) look(ctx context.Context, name string) (value string, h Holding, err error) {
	return r.read(ctx, name, func(redis.Pipeliner) {})
}

// Free takes a lease away; see Store.
func (r *Redis) Free(ctx context.Context, name string) (Holding, error) {
	_, holding, err := r.read(ctx, name, func(p redis.Pipeliner) { p.Del(ctx, name) })
	return holding, err
}

// read reads a key's value and term at one moment, and what also does.
func (r *Redis) read(ctx context.Context, name string, also func(redis.Pipeliner)) (value string, h Holding, err error) {
	ctx, cancel := context.WithTimeout(ctx, redisTime)
	defer cancel()
	var get *redis.StringCmd
	var left *redis.DurationCmd
	_, err = r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		get, left = p.Get(ctx, name), p.PTTL(ctx, name)
		also(p)
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return "", Holding{}, nil
	}
	if err != nil {
		return "", Holding{}, redisDown(err)
	}
	value = get.Val()
	h.Holder = value
	if i := strings.LastIndex(value, separator); i >= 0 {
		h.Holder = value[:i]
	}
	if left.Val() > 0 {
		h.Left, h.Until = left.Val(), r.clock().Add(left.Val()).UTC()
	}
	return value, h, nil
}

type redisLease struct {
	mutex  *redsync.Mutex
	unlock func(context.Context) error
	once   sync.Once
}

// Renew begins the term anew; see Lease.
func (l *redisLease) Renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTime)
	defer cancel()
	_, err := l.mutex.ExtendContext(ctx)
	var taken *redsync.ErrTaken
	var down *redsync.RedisError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &taken):
		return &HeldError{Name: l.mutex.Name()}
	case errors.As(err, &down):
		return redisDown(down.Err)
	default: // renewed, but the answer came when the term was over
		return &UnavailableError{RedisError, err}
	}
}

// Release gives the lease back; see Lease. gocron-redis-lock panics when a lock
// is given back twice.
func (l *redisLease) Release(ctx context.Context) (err error) {
	l.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTime)
		defer cancel()
		if err = l.unlock(ctx); err != nil {
			err = &UnavailableError{RedisError, err}
		}
	})
	return err
}

// redisDown says whether Redis was silent or answered with an error.
func redisDown(err error) error {
	if err == nil {
		return nil
	}
	var answer redis.Error
	if errors.As(err, &answer) && !errors.Is(err, redis.Nil) {
		return &UnavailableError{RedisError, err}
	}
	return &UnavailableError{RedisUnavailable, err}
}
