package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	redislock "github.com/go-co-op/gocron-redis-lock/v2"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// A Redis that does not answer is detected within a second: no command is
// retried, and none waits in a queue for a connection.
const (
	redisStepTimeout = 400 * time.Millisecond // to connect, to write, to read
	redisTimeout     = 900 * time.Millisecond // for all commands of one method
)

const tokenLength = 8

// RedisLeases keeps leases in Redis, as keys that expire. gocron-redis-lock acquires
// and releases the leases of runs. Redsync, on which it is built, acquires and
// releases the leader's lease. Redsync renews both, because the renewals of
// gocron-redis-lock end silently at their first error.
type RedisLeases struct {
	client redis.UniversalClient
	sync   *redsync.Redsync
	terms  LeaseTerms
	clock  mongodb.Clock
}

// NewRedisLeases returns a store on the Redis that o describes. It does not connect:
// the server may start later.
func NewRedisLeases(o redis.Options, terms LeaseTerms, now mongodb.Clock) *RedisLeases {
	client := OpenRedis(o, redisStepTimeout)
	return &RedisLeases{client: client, sync: redsync.New(goredis.NewPool(client)), terms: terms, clock: now}
}

// Close closes the connections.
func (r *RedisLeases) Close() error { return r.client.Close() }

// Kind is KindRedis.
func (r *RedisLeases) Kind() string { return StoreRedis }

// pingKey is written by Ping, for pingTTL. It is not a lease.
const (
	pingKey = leasePrefix + "ping"
	pingTTL = time.Millisecond
)

// Ping returns nil if Redis writes, and can read the named leases; see Store. A Redis that
// is full, or a replica, answers PING but refuses to write.
func (r *RedisLeases) Ping(ctx context.Context, names ...string) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	commands, _ := r.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its error
		p.Set(ctx, pingKey, "", pingTTL)
		for _, name := range names {
			p.Get(ctx, name)
		}
		return nil
	})
	for _, command := range commands {
		if err := command.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return redisError(fmt.Errorf("%v %v: %w", command.Args()[0], command.Args()[1], err))
		}
	}
	return nil
}

// tokenSeparator stands between the holder and the acquisition's token in a value.
const tokenSeparator = "#"

// Acquire tries once; see Store.
func (r *RedisLeases) Acquire(ctx context.Context, name, holder string) (Lease, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTimeout)
	defer cancel()
	value := holder + tokenSeparator + rand.Text()[:tokenLength]
	options := []redsync.Option{
		redsync.WithExpiry(r.terms.StoreTTL()), redsync.WithTries(1), redsync.WithValue(value),
		redsync.WithGenValueFunc(func() (string, error) { return value, nil }),
		redsync.WithTimeoutFactor(min(1, redisTimeout.Seconds()/r.terms.StoreTTL().Seconds())),
	}
	l := &redisLease{mutex: r.sync.NewMutex(name, options...)}
	if name == LeaderLease {
		l.unlock = func(ctx context.Context) error {
			_, err := l.mutex.UnlockContext(ctx)
			return err
		}
		if err := l.mutex.TryLockContext(ctx); err != nil {
			return nil, r.acquireError(ctx, l, err)
		}
		return l, nil
	}
	locker, err := redislock.NewRedisLockerAlways(r.client, options...)
	if err != nil { // NewRedisLockerAlways pings
		return nil, redisError(err)
	}
	lock, err := locker.Lock(ctx, name)
	if err != nil {
		return nil, r.acquireError(ctx, l, err)
	}
	l.unlock = lock.Unlock
	return l, nil
}

// acquireError distinguishes a held lease from an unavailable Redis: both
// libraries report the two in the same way.
func (r *RedisLeases) acquireError(ctx context.Context, l *redisLease, cause error) error {
	ctx = context.WithoutCancel(ctx) // its timeout may have passed
	var failed *redsync.RedisError
	if errors.As(cause, &failed) {
		return redisError(failed.Err)
	}
	value, holding, err := r.read(ctx, l.mutex.Name())
	if err != nil {
		return err
	}
	if value == l.mutex.Value() { // acquired, but too late to be of use
		_, err := l.mutex.UnlockContext(ctx)
		return &UnavailableError{RedisError, errors.Join(cause, err)}
	}
	return &HeldError{l.mutex.Name(), holding}
}

// Read returns the holder of a lease; see Store.
func (r *RedisLeases) Read(ctx context.Context, name string) (Holding, error) {
	_, holding, err := r.read(ctx, name)
	return holding, err
}

// Free removes a lease; see Store.
func (r *RedisLeases) Free(ctx context.Context, name string) (Holding, error) {
	_, holding, err := r.read(ctx, name, func(p redis.Pipeliner) { p.Del(ctx, name) })
	if redis.HasErrorPrefix(err, "WRONGTYPE") { // the key was not a lease; it is deleted too
		return Holding{Holder: unknownHolder}, nil
	}
	return holding, err
}

// read returns a key's value and holder. Further commands run in the same
// transaction, after the reads.
func (r *RedisLeases) read(ctx context.Context, name string, further ...func(redis.Pipeliner)) (value string, h Holding, err error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	var get *redis.StringCmd
	var ttl *redis.DurationCmd
	_, err = r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		get, ttl = p.Get(ctx, name), p.PTTL(ctx, name)
		for _, command := range further {
			command(p)
		}
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return "", Holding{}, nil
	}
	if err != nil {
		return "", Holding{}, redisError(err)
	}
	value = get.Val()
	h.Holder = value
	if i := strings.LastIndex(value, tokenSeparator); i >= 0 {
		h.Holder = value[:i]
	}
	if ttl.Val() > 0 {
		h.Remaining, h.Until = ttl.Val(), r.clock().Add(ttl.Val()).UTC()
	}
	return value, h, nil
}

type redisLease struct {
	mutex  *redsync.Mutex
	unlock func(context.Context) error
	once   sync.Once
}

// Renew restarts the TTL; see Lease.
func (l *redisLease) Renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	_, err := l.mutex.ExtendContext(ctx)
	var taken *redsync.ErrTaken
	var failed *redsync.RedisError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &taken):
		return &HeldError{Name: l.mutex.Name()}
	case errors.As(err, &failed):
		return redisError(failed.Err)
	default: // renewed, but the answer came after the lease had expired
		return &UnavailableError{RedisError, err}
	}
}

// Release deletes the lease; see Lease. gocron-redis-lock panics if a lock is
// released twice.
func (l *redisLease) Release(ctx context.Context) (err error) {
	l.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTimeout)
		defer cancel()
		if err = l.unlock(ctx); err != nil {
			err = &UnavailableError{RedisError, err}
		}
	})
	return err
}

// redisError distinguishes a Redis that did not answer from one that answered
// with an error.
func redisError(err error) error {
	if err == nil {
		return nil
	}
	var answer redis.Error
	if errors.As(err, &answer) && !errors.Is(err, redis.Nil) {
		return &UnavailableError{RedisError, err}
	}
	return &UnavailableError{RedisUnavailable, err}
}
