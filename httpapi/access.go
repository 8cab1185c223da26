package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/users"
)

// keyring knows keys by their hashes only.
type keyring []hashedKey

type hashedKey struct {
	name  string
	scope config.Scope
	hash  [sha256.Size]byte
}

func newKeyring(keys []config.Key) keyring {
	ring := make(keyring, 0, len(keys))
	for _, k := range keys {
		ring = append(ring, hashedKey{k.Name, k.Scope, sha256.Sum256([]byte(k.Secret))})
	}
	return ring
}

// find compares with every key, in constant time.
func (ring keyring) find(secret string) (found hashedKey, ok bool) {
	hash := sha256.Sum256([]byte(secret))
	for _, k := range ring {
		if subtle.ConstantTimeCompare(hash[:], k.hash[:]) == 1 {
			found, ok = k, true
		}
	}
	return found, ok
}

// scopeCustomer marks what a customer's token reaches, and keys of the scope
// booking reach too.
const scopeCustomer config.Scope = "customer"

// visit is what is known of a request before its handler runs.
type visit struct {
	requestID string
	header    http.Header // of the answer
	scope     config.Scope
	key       string // name of the key
	user      ids.ID // of a customer's token
}

type visitKey struct{}

// visitOf is never nil.
func visitOf(ctx context.Context) *visit {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{header: http.Header{}}
}

// identify notes what the request's key or token reaches, nothing if it is none.
// Whether it is enough is asked after the request's shape, by allow.
func (a *api) identify(ring keyring, r *http.Request, v *visit) {
	if len(ring) == 0 { // no keys: whoever reaches this loopback address may do all
		v.scope = config.ScopeAdmin
		return
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return
	}
	secret = strings.TrimSpace(secret)
	if key, ok := ring.find(secret); ok {
		v.scope, v.key = key.scope, key.name
		return
	}
	if user, err := a.Tokens.User(secret); err == nil {
		v.scope, v.user = scopeCustomer, user
	}
}

// allow refuses a caller whose key or token does not reach scope.
func allow(ctx context.Context, scope config.Scope) error {
	switch has := visitOf(ctx).scope; {
	case has == config.ScopeAdmin, has == scope, has == config.ScopeBooking && scope == scopeCustomer:
		return nil
	case has == "":
		return newProblem(http.StatusUnauthorized, codeUnauthenticated, "Send a key or a token as Authorization: Bearer <secret>.")
	default:
		return newProblem(http.StatusForbidden, codeForbidden, "The key does not allow this.")
	}
}

// asUser refuses a customer who names another user than the one of their token;
// keys stand for back ends, which may name any.
func asUser(ctx context.Context, user ids.ID) error {
	if v := visitOf(ctx); v.scope == scopeCustomer && v.user != user {
		return users.NotFound()
	}
	return nil
}

// filterUser is the user whose things a list may show: a customer's own.
func filterUser(ctx context.Context, asked ids.ID) (ids.ID, error) {
	if v := visitOf(ctx); v.scope == scopeCustomer && asked.IsZero() {
		return v.user, nil
	}
	return asked, asUser(ctx, asked)
}

// ownLock refuses a customer another's lock, as one that is not there. Whose a
// lock is never changes.
func (a *api) ownLock(ctx context.Context, id ids.ID) error {
	v := visitOf(ctx)
	if v.scope != scopeCustomer {
		return nil
	}
	lock, err := a.Seats.Lock(ctx, id)
	if err == nil && lock.UserID != v.user {
		err = seats.LockNotFound()
	}
	return err
}

// ownBooking is ownLock for bookings.
func (a *api) ownBooking(ctx context.Context, id ids.ID) error {
	v := visitOf(ctx)
	if v.scope != scopeCustomer {
		return nil
	}
	b, err := a.Bookings.Get(ctx, id)
	if err == nil && b.UserID != v.user {
		err = booking.NotFound()
	}
	return err
}

// guardOrigin refuses what a foreign page has a browser send; and, without
// keys, names that a foreign page can point at this machine.
func guardOrigin(keyless bool, next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := protection.Check(r); err != nil {
			writeProblem(w, newProblem(http.StatusForbidden, codeForbidden, "Requests from another origin may not change anything."))
			return
		}
		if keyless && !config.IsLoopback(hostOf(r.Host)) {
			writeProblem(w, newProblem(http.StatusForbidden, codeForbidden, "Without keys, this server answers to localhost only."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

var goodRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// withRequestID takes the client's ID over, or makes one, and echoes it.
func withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !goodRequestID.MatchString(id) {
			id = rand.Text()
		}
		w.Header().Set("X-Request-Id", id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, &visit{requestID: id, header: w.Header()})))
	})
}

func requestID(ctx context.Context) string { return visitOf(ctx).requestID }

// logFailure logs the cause of an answer that is our failure rather than the
// client's.
func logFailure(ctx context.Context, log *slog.Logger, p *Problem) {
	if p.Status >= http.StatusInternalServerError {
		log.WarnContext(ctx, "Request failed", "requestId", requestID(ctx), "code", p.Code, "error", p.cause)
	}
}
