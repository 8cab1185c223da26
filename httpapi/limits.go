package httpapi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// codeTooMany refuses who sends more than their rate.
const codeTooMany fault.Code = "TOO_MANY_REQUESTS"

// Limits bound how much is asked for.
type Limits struct {
	PerKey, PerUser config.Rate
	// InFlight is how many requests are worked on at a time; 0 means maxInFlight.
	InFlight int
}

// maxInFlight requests wait for half a second's work at most; beyond it, to wait
// longer would help nobody.
const maxInFlight = 4096

// bounded answers 503 at once where too many requests are in flight, so that
// those that were taken are answered at the best rate there is. What tells of the
// process itself is always answered.
func (a *api) bounded(next http.Handler) http.Handler {
	most := a.Limits.InFlight
	if most == 0 {
		most = maxInFlight
	}
	slots := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/livez", "/readyz", "/metrics":
			next.ServeHTTP(w, r)
			return
		}
		if isStream(r) { // it works little and lasts long; the hub bounds how many there are
			next.ServeHTTP(w, r)
			return
		}
		select {
		case slots <- struct{}{}:
			a.Metrics.InFlight.Inc()
			defer func() {
				a.Metrics.InFlight.Dec()
				<-slots
			}()
			next.ServeHTTP(w, r)
		default:
			a.Metrics.TurnedAway.Inc()
			writeProblem(w, newProblem(http.StatusServiceUnavailable, mongodb.CodeUnavailable, "Too many requests are in progress; ask again."))
		}
	})
}

// limit counts a request of a key, or of a customer's token.
func (a *api) limit(ctx context.Context) error {
	v := visitOf(ctx)
	if v.scope == scopeCustomer {
		return a.limitUser(ctx, v.user)
	}
	return a.count(ctx, "key", v.key, a.Limits.PerKey)
}

// limitNamed counts a request that names the user whom it is made for.
func (a *api) limitNamed(ctx context.Context, user ids.ID) error {
	if visitOf(ctx).scope == scopeCustomer {
		return nil // counted already
	}
	return a.limitUser(ctx, user)
}

func (a *api) limitUser(ctx context.Context, user ids.ID) error {
	return a.count(ctx, "user", user.String(), a.Limits.PerUser)
}

// count refuses with codeTooMany, and tells in headers how many more may come:
// draft-ietf-httpapi-ratelimit-headers.
func (a *api) count(ctx context.Context, kind, name string, rate config.Rate) error {
	if rate.IsZero() {
		return nil
	}
	result := a.Rates.Allow(ctx, kind+":"+name, rate)
	h := visitOf(ctx).header
	h.Add("RateLimit-Policy", fmt.Sprintf(`"%s";q=%d;w=%d`, kind, rate.Count, int(rate.Per/time.Second)))
	h.Add("RateLimit", fmt.Sprintf(`"%s";r=%d;t=%s`, kind, result.Left, seconds(result.Reset)))
	if result.Allowed {
		return nil
	}
	p := newProblem(http.StatusTooManyRequests, codeTooMany, fmt.Sprintf("More than %d requests in %v.", rate.Count, rate.Per))
	p.retryAfter = seconds(result.RetryAfter)
	return p
}

// seconds are whole, and enough.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
