package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

// keyring holds the hashes of the API keys; the secrets are not kept.
type keyring []hashedKey

type hashedKey struct {
	name  string
	scope config.Scope
	hash  [sha256.Size]byte
}

func newKeyring(keys []config.Key) keyring {
	ring := make(keyring, 0, len(keys))
	for _, k := range keys {
		ring = append(ring, hashedKey{name: k.Name, scope: k.Scope, hash: sha256.Sum256([]byte(k.Secret))})
	}
	return ring
}

// find compares the secret with every key, so that its duration does not depend
// on which key matches.
func (ring keyring) find(secret string) (found hashedKey, ok bool) {
	hash := sha256.Sum256([]byte(secret))
	for _, k := range ring {
		if subtle.ConstantTimeCompare(hash[:], k.hash[:]) == 1 {
			found, ok = k, true
		}
	}
	return found, ok
}

// scopeCustomer is the scope of a customer's token. Keys with the scope booking
// include it.
const scopeCustomer config.Scope = "customer"

// requestInfo is what the middleware knows about a request.
type requestInfo struct {
	requestID string
	header    http.Header  // header of the response
	scope     config.Scope // "" without a valid key or token
	key       string       // the key's name, "" for a token
	Claims                 // of the token, zero for a key
}

type requestInfoKey struct{}

// Origin implements holdfast.Originator. Without API keys a caller has no name.
func (info *requestInfo) Origin() holdfast.Origin {
	return holdfast.Origin{Actor: cmp.Or(info.Actor, info.key), RequestID: info.requestID}
}

// requestInfoOf never returns nil.
func requestInfoOf(ctx context.Context) *requestInfo {
	if info, ok := ctx.Value(requestInfoKey{}).(*requestInfo); ok {
		return info
	}
	return &requestInfo{header: http.Header{}}
}

// identify records the scope of the request's key or token, if it is valid.
// requireScope decides later whether that scope is sufficient.
func (a *api) identify(ring keyring, r *http.Request, info *requestInfo) {
	if len(ring) == 0 { // without keys the server listens on loopback only and trusts every caller
		info.scope = config.ScopeAdmin
		return
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return
	}
	secret = strings.TrimSpace(secret)
	if key, ok := ring.find(secret); ok {
		info.scope, info.key = key.scope, key.name
		return
	}
	if claims, err := a.Tokens.Claims(secret); err == nil {
		info.scope, info.Claims = scopeCustomer, claims
	}
}

// requireScope refuses a caller whose key or token does not include the scope.
func requireScope(ctx context.Context, scope config.Scope) error {
	switch has := requestInfoOf(ctx).scope; {
	case has == config.ScopeAdmin, has == scope, has == config.ScopeBooking && scope == scopeCustomer:
		return nil
	case has == "":
		return newProblem(http.StatusUnauthorized, codeUnauthenticated,
			"No valid key or token. Send one in the header Authorization: Bearer <secret>.")
	default:
		return newProblem(http.StatusForbidden, codeForbidden,
			fmt.Sprintf("This route requires a key with the scope %s.", scope))
	}
}

// requireCustomer refuses a customer's token that names another customer. A key belongs
// to a back end, which may name any.
func requireCustomer(ctx context.Context, c Customer) error {
	if info := requestInfoOf(ctx); info.scope == scopeCustomer && info.Customer != c {
		return holdfast.NotFound(holdfast.CodeUserNotFound)
	}
	return nil
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// withRequestID uses the client's request ID if it is valid, else a new one, and
// returns it in the response.
func withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !validRequestID.MatchString(id) {
			id = rand.Text()
		}
		w.Header().Set("X-Request-Id", id)
		info := &requestInfo{requestID: id, header: w.Header()}
		ctx := context.WithValue(r.Context(), requestInfoKey{}, info)
		next.ServeHTTP(w, r.WithContext(holdfast.WithOrigin(ctx, info)))
	})
}

func requestID(ctx context.Context) string { return requestInfoOf(ctx).requestID }

// logServerError logs the cause of a 5xx answer.
func logServerError(ctx context.Context, log *slog.Logger, p *Problem) {
	if p.Status >= http.StatusInternalServerError {
		log.WarnContext(ctx, "Request failed",
			slog.String("requestId", requestID(ctx)), slog.Any("code", p.Code), slog.Any("error", p.cause))
	}
}
