package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Kinds of stores.
const (
	StoreRedis = "redis"
	StoreMongo = "mongo"
	StoreNone  = "none" // this process alone
)

// Prefix begins the name of every lease. Leader is the lease of the process
// that schedules the jobs.
const (
	leasePrefix = "locks:holdfast:"
	LeaderLease = leasePrefix + "leader"
)

// LeaseOf returns the name of a job's lease.
func LeaseOf(job string) string { return leasePrefix + job }

// NewHolder returns a name for this process as a holder: <pod>/<pid>/<random>.
func NewHolder(pod string) string {
	const length = 8
	return pod + "/" + strconv.Itoa(os.Getpid()) + "/" + strings.ToLower(rand.Text()[:length])
}

// LeaseStore keeps leases. Every method takes a bounded time. Its errors are
// *HeldError and *UnavailableError.
type LeaseStore interface {
	// Kind is one of the constants.
	Kind() string
	// Acquire tries once. The end of ctx does not cancel it, so that the outcome
	// is always known. *HeldError: a process holds the lease; it may be this one.
	// *UnavailableError: the outcome is unknown. If the lease was acquired after
	// all, it expires.
	Acquire(ctx context.Context, name, holder string) (Lease, error)
	// Read returns the holder of a lease; the zero Holding means that it is free.
	Read(ctx context.Context, name string) (Holding, error)
	// Free removes a lease and returns its previous holder, which
	// notices the loss at its next renewal if it is alive.
	Free(ctx context.Context, name string) (Holding, error)
	// Ping returns nil if the store answers, and the named leases can be acquired
	// once they are free.
	Ping(ctx context.Context, names ...string) error
}

// Lease is a lease that this process acquired.
type Lease interface {
	// Renew restarts the lease's TTL. *HeldError: this process no longer holds
	// the lease, and perhaps no other does. *UnavailableError: the outcome is
	// unknown.
	Renew(ctx context.Context) error
	// Release frees the lease if this process still holds it. It ignores the end
	// of ctx, because it is called during shutdown. It may be called twice.
	Release(ctx context.Context) error
}

// Holding is a holder, and when its lease expires unless it is renewed.
type Holding struct {
	Holder    string
	Until     time.Time     // for display; zero if the lease has no end, or the end is unknown
	Remaining time.Duration // by the store's clock; 0 if Until is zero
}

// Held reports whether there is a holder.
func (h Holding) Held() bool { return h.Holder != "" }

// HeldError means that another acquisition holds the lease. The holder is empty
// if the lease was released before the store could be asked for the holder.
type HeldError struct {
	Name string
	Holding
}

func (e *HeldError) Error() string {
	if !e.Held() {
		return e.Name + " was held a moment ago"
	}
	return fmt.Sprintf("%s is held by %s", e.Name, e.Holder)
}

// Reasons of an UnavailableError.
const (
	RedisUnavailable = "redis_unavailable" // no answer
	RedisError       = "redis_error"       // the answer was an error
	MongoUnavailable = "mongo_unavailable"
)

// UnavailableError means that the store did not answer, or answered with an
// error.
type UnavailableError struct {
	Reason string // one of the constants
	Cause  error
}

func (e *UnavailableError) Error() string { return e.Reason + ": " + e.Cause.Error() }

// DescribeUnavailable says what an unavailable store does, such as "does not answer" or "refuses
// (OOM)". Unlike the error's text it contains no data and no address.
func DescribeUnavailable(err error) string {
	if unavailable, ok := IsUnavailable(err); ok {
		if class := unavailable.class(); class != "" {
			return "refuses (" + class + ")"
		}
	}
	return "does not answer"
}

// class names the kind of error that the store answered with, such as OOM of Redis or
// "error 121" of MongoDB. It is empty if the store did not answer.
func (e *UnavailableError) class() string {
	var answer redis.Error
	if e.Reason == RedisError && errors.As(e.Cause, &answer) {
		class, _, _ := strings.Cut(answer.Error(), " ")
		return class
	}
	if code, rejected := mongodb.Rejection(e.Cause); rejected {
		return "error " + strconv.Itoa(code)
	}
	return ""
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// IsHeld returns the *HeldError in err, if there is one.
func IsHeld(err error) (*HeldError, bool) {
	var held *HeldError
	return held, errors.As(err, &held)
}

// IsUnavailable returns the *UnavailableError in err, if there is one.
func IsUnavailable(err error) (*UnavailableError, bool) {
	var unavailable *UnavailableError
	return unavailable, errors.As(err, &unavailable)
}

// isRejected reports whether MongoDB answers, and rejects leases for what they are: a validator, a view.
func isRejected(err error) bool {
	unavailable, ok := IsUnavailable(err)
	if !ok {
		return false
	}
	_, rejected := mongodb.Rejection(unavailable.Cause)
	return rejected
}

// LeaseTerms derives all durations of a lease from TTL: the time within which a
// successor takes over from a holder that died or hangs.
type LeaseTerms struct{ TTL time.Duration }

// MaxLeaseTTL is the longest TTL that the settings allow.
const MaxLeaseTTL = time.Hour

const (
	noticeShare    = 10          // of TTL, for the successor to notice
	maxNoticeDelay = time.Second // and at most this
	driftShare     = 100         // of StoreTTL, for clocks that run at different speeds
	renewals       = 3           // per StoreTTL
)

// StoreTTL is how long a store keeps a lease that is not renewed: a little less
// than TTL, so that a successor can take over within TTL.
func (t LeaseTerms) StoreTTL() time.Duration { return t.TTL - min(t.TTL/noticeShare, maxNoticeDelay) }

// HolderTTL is how long a holder may assume that it holds the lease, counted
// from the moment it sent its last successful renewal.
func (t LeaseTerms) HolderTTL() time.Duration { return t.StoreTTL() - t.StoreTTL()/driftShare }

// RenewInterval is the time between two renewals.
func (t LeaseTerms) RenewInterval() time.Duration { return t.StoreTTL() / renewals }
