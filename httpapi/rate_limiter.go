package httpapi

import (
	"context"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// redisTimeout bounds a request to Redis.
	redisTimeout = 200 * time.Millisecond
	// defaultPatience is how long requests wait for the answer to another one before they count
	// locally. A Redis that works answers within a few milliseconds.
	defaultPatience = 20 * time.Millisecond
	// maxLocalNames bounds the memory of the local counts. The least recently used
	// name is dropped and starts with a full allowance again.
	maxLocalNames = 100_000
	// retryInterval is how long a Redis that failed is left alone. Then it is asked in the
	// background, so that no request waits for a Redis that still fails.
	retryInterval = time.Second
	// warnInterval is the time between two warnings about Redis.
	warnInterval = time.Minute
	keyPrefix    = "holdfast:"
)

// RateLimiter limits the rate of requests by name. With Redis, all processes share the counts.
// Without Redis, or while it does not answer, each process counts its own requests: a failing
// Redis never stops the sale. Use NewRateLimiter; the zero value does not work.
type RateLimiter struct {
	redis    *redis_rate.Limiter // nil without Redis
	retryAt  atomic.Int64        // when to ask a failed Redis again, in Unix nanoseconds; 0 while Redis answers
	first    atomic.Pointer[question]
	patience time.Duration
	local    *lru.Cache[string, *rate.Limiter]
	now      mongodb.Clock
	log      *slog.Logger
	warnedAt atomic.Int64 // time of the last warning about Redis, Unix nanoseconds
}

// NewRateLimiter returns a limiter. With a nil client this process counts on its own.
func NewRateLimiter(client *redis.Client, now mongodb.Clock, log *slog.Logger) *RateLimiter {
	local, err := lru.New[string, *rate.Limiter](maxLocalNames)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	l := &RateLimiter{local: local, now: now, log: log, patience: defaultPatience}
	if client != nil {
		l.redis = redis_rate.NewLimiter(client)
	}
	return l
}

// RateResult is the decision on a request.
type RateResult struct {
	Allowed    bool
	Remaining  int           // requests that are allowed at once after this one
	RetryAfter time.Duration // until the next request is allowed; 0 if this one was
	Reset      time.Duration // until the full rate is available again
}

// Allow counts a request of name and decides whether it is within the rate. A
// burst may have as many requests as the rate's count.
func (l *RateLimiter) Allow(ctx context.Context, name string, r config.Rate) RateResult {
	if l.redis == nil {
		return l.allowLocal(name, r)
	}
	q, ask := l.join(ctx)
	if !ask {
		return l.allowLocal(name, r)
	}
	result, err := l.ask(ctx, name, r)
	if err != nil && ctx.Err() == nil { // otherwise the caller gave up, which does not mean that Redis failed
		l.retryAt.Store(l.now().Add(retryInterval).UnixNano())
		l.warn(ctx, err)
	}
	l.leave(q, err == nil)
	if err != nil {
		return l.allowLocal(name, r)
	}
	return result
}

func (l *RateLimiter) ask(ctx context.Context, name string, r config.Rate) (RateResult, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	res, err := l.redis.Allow(ctx, keyPrefix+name, redis_rate.Limit{Rate: r.Count, Burst: r.Count, Period: r.Per})
	if err != nil {
		return RateResult{}, err
	}
	return RateResult{
		Allowed:    res.Allowed > 0,
		Remaining:  res.Remaining,
		RetryAfter: max(0, res.RetryAfter), // -1 if allowed
		Reset:      res.ResetAfter,
	}, nil
}

// question is a request to Redis whose answer other requests wait for.
type question struct {
	since    time.Time
	ended    chan struct{}
	answered bool // may be read when ended is closed
}

// join decides whether a request asks Redis. If no other request is asking, it asks, and leave must
// be called with the question. Otherwise it asks after the other one got an answer, and does not
// ask if there is none within patience. So only one request waits for a Redis that hangs, however
// many come at the same time.
func (l *RateLimiter) join(ctx context.Context) (own *question, ask bool) {
	for l.redisAnswers(ctx) {
		other := l.first.Load()
		if other == nil {
			own = &question{since: l.now(), ended: make(chan struct{})}
			if l.first.CompareAndSwap(nil, own) {
				return own, true
			}
			continue
		}
		select {
		case <-other.ended:
			if other.answered {
				return nil, true
			}
		case <-time.After(l.patience - l.now().Sub(other.since)):
			return nil, false
		case <-ctx.Done():
			return nil, false
		}
	}
	return nil, false
}

// leave reports to the requests that wait for a question whether Redis answered it. A nil question has
// none.
func (l *RateLimiter) leave(q *question, answered bool) {
	if q == nil {
		return
	}
	q.answered = answered
	l.first.Store(nil)
	close(q.ended)
}

// redisAnswers reports whether Redis answered when it was last asked. If it did not, it is asked
// in the background, once each retryInterval.
func (l *RateLimiter) redisAnswers(ctx context.Context) bool {
	at := l.retryAt.Load()
	if at == 0 {
		return true
	}
	if now := l.now(); now.UnixNano() >= at && l.retryAt.CompareAndSwap(at, now.Add(retryInterval).UnixNano()) {
		go l.probe(context.WithoutCancel(ctx))
	}
	return false
}

// probe counts a request under a key of its own, because a Redis may answer and refuse to write.
func (l *RateLimiter) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if _, err := l.redis.Allow(ctx, keyPrefix+"probe", redis_rate.PerSecond(1)); err == nil {
		l.retryAt.Store(0)
	}
}

func (l *RateLimiter) allowLocal(name string, r config.Rate) RateResult {
	interval := r.Per / time.Duration(r.Count)
	limiter, ok := l.local.Get(name)
	if !ok {
		limiter = rate.NewLimiter(rate.Every(interval), r.Count)
		if concurrent, found, _ := l.local.PeekOrAdd(name, limiter); found {
			limiter = concurrent
		}
	}
	now := l.now()
	allowed := limiter.AllowN(now, 1)
	tokens := limiter.TokensAt(now)
	result := RateResult{
		Allowed:   allowed,
		Remaining: max(0, int(tokens)),
		Reset:     time.Duration((float64(r.Count) - tokens) * float64(interval)),
	}
	if !allowed {
		result.RetryAfter = time.Duration(math.Ceil((1 - tokens) * float64(interval)))
	}
	return result
}

func (l *RateLimiter) warn(ctx context.Context, err error) {
	now, last := l.now().UnixNano(), l.warnedAt.Load()
	if now-last > int64(warnInterval) && l.warnedAt.CompareAndSwap(last, now) {
		l.log.WarnContext(ctx, "Redis does not count requests; this process counts its own", slog.Any("error", err))
	}
}
