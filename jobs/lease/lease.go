package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Kinds of stores.
const (
	KindRedis = "redis"
	KindMongo = "mongo"
	KindNone  = "none" // this process alone
)

// Prefix begins the name of every lease; Leader is the one of who schedules.
const (
	Prefix = "locks:holdfast:"
	Leader = Prefix + "leader"
)

// Of names the lease of a job.
func Of(job string) string { return Prefix + job }

// NewHolder names this process as a holder: <pod>/<pid>/<random>.
func NewHolder(pod string) string {
	const enough = 8
	return pod + "/" + strconv.Itoa(os.Getpid()) + "/" + strings.ToLower(rand.Text()[:enough])
}

// Store keeps leases. Every method is one short conversation, bounded in time;
// its errors are *HeldError and *UnavailableError.
type Store interface {
	// Kind is one of the constants.
	Kind() string
	// Acquire tries once, and is not cut short by the end of ctx, so that nothing
	// is left behind unknown. *HeldError: somebody holds it, this process included.
	// *UnavailableError: nothing is known, and if it was acquired after all, it
	// passes with its term.
	Acquire(ctx context.Context, name, holder string) (Lease, error)
	// Look tells who holds a lease; the zero Holding is nobody.
	Look(ctx context.Context, name string) (Holding, error)
	// Free takes a lease away from its holder and tells who that was. A holder
	// that lives learns of it at its next renewal.
	Free(ctx context.Context, name string) (Holding, error)
	// Ping returns nil if the store answers.
	Ping(ctx context.Context) error
}

// Lease is one that this process acquired.
type Lease interface {
	// Renew begins its term anew. *HeldError: it is ours no more, whoever has it
	// now. *UnavailableError: it may have been renewed or not.
	Renew(ctx context.Context) error
	// Release gives it back, if it is still ours. It ignores the end of ctx,
	// because shutdown is when it is called, and may be called twice.
	Release(ctx context.Context) error
}

// Holding is who has a lease, and until when if nothing is heard of them.
type Holding struct {
	Holder string
	Until  time.Time     // for people; zero if it has no end or is not known
	Left   time.Duration // by the store's clock; 0 as Until
}

// Held reports whether there is a holder.
func (h Holding) Held() bool { return h.Holder != "" }

// HeldError means that somebody else has the lease. The holder is "" if the lease was
// given back between the try and the question who has it.
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

// Reasons why a store is unavailable.
const (
	RedisUnavailable = "redis_unavailable" // no answer
	RedisError       = "redis_error"       // an answer that is an error
	MongoUnavailable = "mongo_unavailable"
)

// UnavailableError means that the store did not answer, or not as it should.
type UnavailableError struct {
	Reason string // one of the constants
	Cause  error
}

func (e *UnavailableError) Error() string { return e.Reason + ": " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// IsHeld returns the error if it says that a lease is held.
func IsHeld(err error) (*HeldError, bool) {
	var held *HeldError
	return held, errors.As(err, &held)
}

// IsUnavailable returns the error if it says that a store is unavailable.
func IsUnavailable(err error) (*UnavailableError, bool) {
	var down *UnavailableError
	return down, errors.As(err, &down)
}

// Terms are the times of leases whose holders, if they die or hang, are
// succeeded within TTL.
type Terms struct{ TTL time.Duration }

const (
	marginShare = 10 // of TTL, for the successor to notice
	maxMargin   = time.Second
	driftShare  = 100 // of the term, for clocks that run unlike
	renewals    = 3   // in one term
)

// Term is how long a store keeps a lease that is not renewed: a little less
// than TTL, so that a successor is there within it.
func (t Terms) Term() time.Duration { return t.TTL - min(t.TTL/marginShare, maxMargin) }

// Valid is how long, from the moment its last renewal was sent, a holder may
// think that the lease is its own.
func (t Terms) Valid() time.Duration { return t.Term() - t.Term()/driftShare }

// Every is the time between two renewals.
func (t Terms) Every() time.Duration { return t.Term() / renewals }
