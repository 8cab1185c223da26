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

	"github.com/holdfast-dev/holdfast/internal/config"
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

// identify reads what the request's key reaches; "" for nobody known. Whether it
// is enough is asked after the request's shape, by allow.
func (ring keyring) identify(r *http.Request) config.Scope {
	if len(ring) == 0 { // no keys: whoever reaches this loopback address may do all
		return config.ScopeAdmin
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	key, _ := ring.find(strings.TrimSpace(secret))
	return key.scope
}

// visit is what is known of a request before its handler runs.
type visit struct {
	requestID string
	scope     config.Scope
}

type visitKey struct{}

// visitOf is never nil.
func visitOf(ctx context.Context) *visit {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{}
}

// allow refuses a caller whose key does not reach scope.
func allow(ctx context.Context, scope config.Scope) error {
	switch visitOf(ctx).scope {
	case config.ScopeAdmin, scope:
		return nil
	case "":
		return newProblem(http.StatusUnauthorized, codeUnauthenticated, "Send a key as Authorization: Bearer <secret>.")
	default:
		return newProblem(http.StatusForbidden, codeForbidden, "The key does not allow this.")
	}
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
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, &visit{requestID: id})))
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
