package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

// codeTooMany refuses requests above the rate limit.
const codeTooMany holdfast.Code = "TOO_MANY_REQUESTS"

// Limits bounds the load on the API.
type Limits struct {
	PerKey, PerUser config.Rate
	// InFlight is the maximum number of concurrent requests; 0 means defaultInFlight.
	InFlight int
}

// defaultInFlight is about half a second of work. A longer queue would only make
// every request wait longer.
const defaultInFlight = 4096

// limitInFlight answers 503 at once while too many requests are in flight, so
// that the accepted ones are answered at full speed. Probes and metrics are always
// answered.
func (a *api) limitInFlight(next http.Handler) http.Handler {
	slots := make(chan struct{}, cmp.Or(a.Limits.InFlight, defaultInFlight))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/livez", "/readyz", "/metrics":
			next.ServeHTTP(w, r)
			return
		}
		if isStream(r) { // a stream is cheap and lasts long; the hub limits the number of streams
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
			a.Metrics.Rejected.Inc()
			writeProblem(w, newProblem(http.StatusServiceUnavailable, holdfast.CodeUnavailable,
				"Too many requests are in flight. Retry the request."))
		}
	})
}

// limitCaller counts a request against the rate of its key, or of its token's user.
func (a *api) limitCaller(ctx context.Context) error {
	info := requestInfoOf(ctx)
	if info.scope == scopeCustomer {
		return a.limitUser(ctx, info.user)
	}
	return a.count(ctx, "key", info.key, a.Limits.PerKey)
}

// limitNamedUser counts a request of a key against the rate of the user that it
// names. A customer's token was counted by limitCaller.
func (a *api) limitNamedUser(ctx context.Context, user holdfast.ID) error {
	if requestInfoOf(ctx).scope == scopeCustomer {
		return nil
	}
	return a.limitUser(ctx, user)
}

func (a *api) limitUser(ctx context.Context, user holdfast.ID) error {
	return a.count(ctx, "user", user.String(), a.Limits.PerUser)
}

// count counts a request and fails with codeTooMany above the rate. The response
// headers report the remaining requests (draft-ietf-httpapi-ratelimit-headers).
func (a *api) count(ctx context.Context, kind, name string, rate config.Rate) error {
	if rate.IsZero() {
		return nil
	}
	result := a.Rates.Allow(ctx, kind+":"+name, rate)
	h := requestInfoOf(ctx).header
	h.Add("RateLimit-Policy", fmt.Sprintf(`"%s";q=%d;w=%d`, kind, rate.Count, int(rate.Per/time.Second)))
	h.Add("RateLimit", fmt.Sprintf(`"%s";r=%d;t=%s`, kind, result.Remaining, formatSeconds(result.Reset)))
	if result.Allowed {
		return nil
	}
	p := newProblem(http.StatusTooManyRequests, codeTooMany,
		fmt.Sprintf("More than %d requests in %v. Wait as long as Retry-After says.", rate.Count, rate.Per))
	p.retryAfter = formatSeconds(result.RetryAfter)
	return p
}

// formatSeconds rounds up to whole seconds, so that a client never retries too early.
func formatSeconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
