// Package ratelimit counts requests by name against rates. The count is shared by
// all processes where there is a Redis, and is each process's own otherwise, and
// while Redis does not answer: a limit is never a reason not to sell.
package ratelimit

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

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/config"
)

const (
	// askTime bounds the question to Redis.
	askTime = 200 * time.Millisecond
	// maxNames bounds the memory of a process's own counts; who is forgotten may
	// begin anew.
	maxNames = 100_000
	// sayAgain passes between two lines about a Redis that does not answer.
	sayAgain = time.Minute
	prefix   = "holdfast:"
)

// Limiter counts. Its zero value is of no use.
type Limiter struct {
	redis *redis_rate.Limiter // nil: there is none
	own   *lru.Cache[string, *rate.Limiter]
	now   clock.Clock
	log   *slog.Logger
	said  atomic.Int64 // when it was last said that Redis does not answer, Unix nanoseconds
}

// New returns a limiter; without a client it counts for this process only.
func New(client *redis.Client, now clock.Clock, log *slog.Logger) *Limiter {
	own, err := lru.New[string, *rate.Limiter](maxNames)
	if err != nil {
		panic(err) // maxNames is above 0
	}
	l := &Limiter{own: own, now: now, log: log}
	if client != nil {
		l.redis = redis_rate.NewLimiter(client)
	}
	return l
}

// Result is what became of a request, and how many more may come.
type Result struct {
	Allowed    bool
	Left       int
	RetryAfter time.Duration // where it was not allowed
	Reset      time.Duration // until as many may come as ever
}

// Allow counts a request of name, which may come in bursts of the rate's count.
func (l *Limiter) Allow(ctx context.Context, name string, r config.Rate) Result {
	if l.redis != nil {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		res, err := l.redis.Allow(ctx, prefix+name, redis_rate.Limit{Rate: r.Count, Burst: r.Count, Period: r.Per})
		if err == nil {
			return Result{res.Allowed > 0, res.Remaining, max(0, res.RetryAfter), res.ResetAfter}
		}
		l.say(ctx, err)
	}
	return l.allowAlone(name, r)
}

func (l *Limiter) allowAlone(name string, r config.Rate) Result {
	each := r.Per / time.Duration(r.Count) // between two requests in the long run
	limiter, known := l.own.Get(name)
	if !known {
		limiter = rate.NewLimiter(rate.Every(each), r.Count)
		if before, there, _ := l.own.PeekOrAdd(name, limiter); there {
			limiter = before
		}
	}
	now := l.now()
	allowed := limiter.AllowN(now, 1)
	tokens := limiter.TokensAt(now)
	result := Result{Allowed: allowed, Left: max(0, int(tokens)), Reset: time.Duration((float64(r.Count) - tokens) * float64(each))}
	if !allowed {
		result.RetryAfter = time.Duration(math.Ceil((1 - tokens) * float64(each)))
	}
	return result
}

func (l *Limiter) say(ctx context.Context, err error) {
	now, last := l.now().UnixNano(), l.said.Load()
	if now-last > int64(sayAgain) && l.said.CompareAndSwap(last, now) {
		l.log.WarnContext(ctx, "Redis does not count requests; this process counts its own", "error", err)
	}
}
