package httpapi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/netip"
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
	// PerAddress limits requests without a valid key or token, in this process.
	PerAddress config.Rate
	// InFlight is the maximum number of concurrent requests; 0 means defaultInFlight.
	InFlight int
	// Bodies is the maximum number of bodies that are being received; 0 means defaultBodies.
	Bodies int
	// LargeBodies is the maximum number of bodies above 64 KiB in memory, being received or
	// processed; 0 means defaultLargeBodies.
	LargeBodies int
	// LargeAnswers is the maximum number of answers above smallAnswer that are being sent; 0 means defaultLargeAnswers.
	LargeAnswers int
	// AnswerTimeout is the time of a large answer, in addition to what its length allows; 0 means defaultAnswerTimeout.
	AnswerTimeout time.Duration
	// AnswerRate is the most bytes of large answers that a customer gets a second in each of its places; 0 means mostRate.
	AnswerRate int
	// CustomerRequests, CustomerAnswers and CustomerStreams are how many requests in flight, large answers and streams one
	// customer's token may have; 0 means the defaults.
	CustomerRequests, CustomerAnswers, CustomerStreams int
}

// defaultInFlight is about half a second of work. A longer queue would only make
// every request wait longer.
const defaultInFlight = 4096

// limitCaller counts a request against the rate of its key, or of its token's customer.
func (a *api) limitCaller(ctx context.Context) error {
	info := requestInfoOf(ctx)
	if info.scope == scopeCustomer {
		return a.limitUser(ctx, info.UserID)
	}
	return a.count(ctx, a.Rates, caller{"key", info.key}, a.Limits.PerKey)
}

// limitAddress counts a request without a valid key or token against the rate of its address. A
// network of IPv6 that one customer has (/64) counts as one address. Behind a proxy, all callers
// have the proxy's address; a valid key or token is never refused by this rate.
func (a *api) limitAddress(r *http.Request) error {
	address := hostOf(r.RemoteAddr)
	if ip, err := netip.ParseAddr(address); err == nil {
		const network = 64 // bits
		if ip = ip.Unmap().WithZone(""); ip.Is6() {
			ip = netip.PrefixFrom(ip, network).Masked().Addr()
		}
		address = ip.String()
	}
	return a.count(r.Context(), a.addresses, caller{"address", address}, a.Limits.PerAddress)
}

// admitCustomer refuses a customer's token that names another customer. It counts a request of a key against the rate of
// the customer that it names; one of a token was counted by limitCaller.
func (a *api) admitCustomer(ctx context.Context, c Customer) error {
	if requestInfoOf(ctx).scope == scopeCustomer {
		return requireCustomer(ctx, c)
	}
	return a.limitUser(ctx, c.UserID)
}

func (a *api) limitUser(ctx context.Context, user holdfast.ID) error {
	return a.count(ctx, a.Rates, caller{"user", user.String()}, a.Limits.PerUser)
}

// caller is the subject of a rate.
type caller struct{ kind, name string }

// count counts a request and fails with codeTooMany above the rate. The response
// headers report the remaining requests (draft-ietf-httpapi-ratelimit-headers).
func (a *api) count(ctx context.Context, rates *RateLimiter, c caller, rate config.Rate) error {
	if rate.IsZero() {
		return nil
	}
	result := rates.Allow(ctx, c.kind+":"+c.name, rate)
	h := requestInfoOf(ctx).header
	h.Add("RateLimit-Policy", fmt.Sprintf(`"%s";q=%d;w=%d`, c.kind, rate.Count, int(rate.Per/time.Second)))
	h.Add("RateLimit", fmt.Sprintf(`"%s";r=%d;t=%s`, c.kind, result.Remaining, formatSeconds(result.Reset)))
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
