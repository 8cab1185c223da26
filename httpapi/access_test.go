package httpapi_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/seats"
)

const tokenSecret = "a secret of more than 32 bytes, for tests only"

// guarded is a site with a key of each scope, shop and ops, and with tokens.
func guarded(t *testing.T) *site {
	t.Helper()
	tokens, err := httpapi.NewTokens(config.Access{JWTSecret: tokenSecret}, clock.System)
	if err != nil {
		t.Fatal(err)
	}
	return openWith(t, func(s *httpapi.Services, _ *seats.Limits) {
		s.Keys = []config.Key{{Name: "shop", Scope: config.ScopeBooking, Secret: "s-shop"}, {Name: "ops", Scope: config.ScopeAdmin, Secret: "s-ops"}}
		s.Tokens = tokens
	})
}

// tokenFor is a customer's, good for an hour.
func tokenFor(t *testing.T, user string) string {
	t.Helper()
	return sign(t, jwt.SigningMethodHS256, []byte(tokenSecret), jwt.MapClaims{"sub": user, "exp": time.Now().Add(time.Hour).Unix()})
}

func sign(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = "1"
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + text
}

// Who reaches what: every route of the OpenAPI document by every kind of caller.
func TestAccess_EveryRouteByEveryCaller(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	close(s.end) // runs by hand end at once
	none := ids.New().String()
	event := fields{"name": "E", "totalSeats": 10, "eventDate": "2026-06-15T10:00:00Z"}
	const all, backEnd, admin = "customer booking admin", "booking admin", "admin"
	routes := []struct {
		route, reach string
		body         any
	}{
		{"POST /api/users", backEnd, fields{"name": "A", "email": "a@example.com"}},
		{"GET /api/users/{id}", all, nil},
		{"POST /api/events", admin, event},
		{"GET /api/events", all, nil},
		{"GET /api/events/{id}", all, nil},
		{"GET /api/events/{id}/stream", all, nil},
		{"PATCH /api/events/{id}", admin, fields{"name": "N"}},
		{"POST /api/locks", all, fields{"eventId": none, "userId": none, "seats": 1}},
		{"GET /api/locks", all, nil},
		{"GET /api/locks/{id}", all, nil},
		{"POST /api/locks/{id}/extend", all, fields{"ttlSeconds": 5}},
		{"DELETE /api/locks/{id}", all, nil},
		{"POST /api/bookings", all, fields{"userId": none, "lockId": none, "eventId": none}},
		{"GET /api/bookings", all, nil},
		{"GET /api/bookings/{id}", all, nil},
		{"POST /api/bookings/{id}/pay", all, fields{"paymentTtlSeconds": 5}},
		{"POST /api/bookings/{id}/confirm", backEnd, nil},
		{"POST /api/bookings/{id}/cancel", all, nil},
		{"GET /api/admin/jobs", admin, nil},
		{"POST /api/admin/jobs/{job}/run", admin, nil},
		{"GET /api/admin/jobs/{job}/runs", admin, nil},
		{"DELETE /api/admin/jobs/{job}/lease", admin, nil},
		{"GET /api/admin/overview", admin, nil},
		{"GET /api/admin/health", admin, nil},
		{"GET /api/admin/survey", admin, nil},
	}
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal([]byte(s.call("GET", "/openapi.json", nil).raw), &document); err != nil {
		t.Fatal(err)
	}
	for path, operations := range document.Paths {
		for method := range operations {
			if !slices.ContainsFunc(routes, func(r struct {
				route, reach string
				body         any
			}) bool {
				return r.route == strings.ToUpper(method)+" "+path
			}) {
				t.Errorf("%s %s is in the document and not in this table", method, path)
			}
		}
	}
	callers := map[string]string{
		"nobody": "", "wrong": "Bearer wrong", "not bearer": "Basic s-ops", "empty": "Bearer ", "name for secret": "Bearer ops", "other case": "Bearer S-OPS",
		"customer": tokenFor(t, none), "booking": "Bearer s-shop", "admin": "bearer s-ops",
	}
	for _, r := range routes {
		method, path, _ := strings.Cut(r.route, " ")
		path = strings.NewReplacer("{id}", none, "{job}", "nothing").Replace(path)
		for name, authorization := range callers {
			a := s.call(method, path, r.body, "Authorization", authorization)
			switch {
			case strings.Contains(r.reach, name):
				if a.status == 401 || a.status == 403 || a.status >= 500 {
					t.Errorf("%s as %s: %d %s", r.route, name, a.status, a.raw)
				}
			case slices.Contains([]string{"customer", "booking", "admin"}, name):
				s.want(a, 403, "FORBIDDEN")
			default:
				s.want(a, 401, "UNAUTHENTICATED")
				if a.header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%s as %s: WWW-Authenticate is %q", r.route, name, a.header.Get("WWW-Authenticate"))
				}
			}
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/openapi.json", "/docs/", "/console"} {
		if a := s.call("GET", path, nil); a.status != 200 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	for _, secret := range []string{"s-shop", "s-ops", tokenSecret} {
		if len(s.w.Log.Lines(secret)) > 0 {
			t.Errorf("the log shows the secret %q", secret)
		}
	}
}

// A customer's own things are theirs, another's are not there, and nothing of
// another's changes.
func TestAccess_ACustomerActsForNobodyElse(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	key := []string{"Authorization", "Bearer s-ops"}
	user := func(email string) (string, []string) {
		id := s.want(s.call("POST", "/api/users", fields{"name": "A", "email": email}, key...), 201, "").text("id")
		return id, []string{"Authorization", tokenFor(t, id)}
	}
	ada, asAda := user("ada@example.com")
	_, asBob := user("bob@example.com")
	event := s.want(s.call("POST", "/api/events", fields{"name": "E", "totalSeats": 10, "eventDate": "2026-06-15T10:00:00Z"}, key...), 201, "").text("id")
	wanted := fields{"eventId": event, "userId": ada, "seats": 2}
	s.want(s.call("POST", "/api/locks", wanted, asBob...), 404, "USER_NOT_FOUND")
	lock := s.want(s.call("POST", "/api/locks", wanted, asAda...), 201, "").text("id")
	book := fields{"userId": ada, "lockId": lock, "eventId": event, "paymentTtlSeconds": 60}
	s.want(s.call("POST", "/api/bookings", book, asBob...), 404, "USER_NOT_FOUND")
	booking := s.want(s.call("POST", "/api/bookings", book, asAda...), 201, "").text("id")

	for _, c := range []struct {
		method, path, code string
		body               any
	}{
		{"GET", "/api/users/" + ada, "USER_NOT_FOUND", nil},
		{"GET", "/api/locks/" + lock, "LOCK_NOT_FOUND", nil},
		{"POST", "/api/locks/" + lock + "/extend", "LOCK_NOT_FOUND", fields{"ttlSeconds": 3600}},
		{"GET", "/api/locks?userId=" + ada, "USER_NOT_FOUND", nil},
		{"GET", "/api/bookings?userId=" + ada, "USER_NOT_FOUND", nil},
		{"GET", "/api/bookings/" + booking, "BOOKING_NOT_FOUND", nil},
		{"POST", "/api/bookings/" + booking + "/pay", "BOOKING_NOT_FOUND", fields{"paymentTtlSeconds": 60}},
		{"POST", "/api/bookings/" + booking + "/cancel", "BOOKING_NOT_FOUND", nil},
		{"DELETE", "/api/locks/" + lock, "LOCK_NOT_FOUND", nil},
	} {
		s.want(s.call(c.method, c.path, c.body, asBob...), 404, c.code)
		if c.method == "GET" {
			s.want(s.call(c.method, c.path, c.body, asAda...), 200, "")
		}
	}
	for _, list := range []string{"/api/locks", "/api/bookings", "/api/locks?eventId=" + event} {
		if items := s.want(s.call("GET", list, nil, asBob...), 200, "").body["items"].([]any); len(items) != 0 {
			t.Errorf("%s shows another's: %v", list, items)
		}
		if items := s.want(s.call("GET", list, nil, asAda...), 200, "").body["items"].([]any); len(items) != 1 {
			t.Errorf("%s does not show one's own: %v", list, items)
		}
	}
	s.want(s.call("POST", "/api/bookings/"+booking+"/confirm", nil, asAda...), 403, "FORBIDDEN") // who pays does not say so
	if got := s.want(s.call("GET", "/api/bookings/"+booking, nil, key...), 200, ""); got.text("status") != "PAYMENT_PENDING" {
		t.Errorf("the booking is %s", got.text("status"))
	}
	s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil, asAda...), 200, "")
}

// Tokens that nobody should be let in by.
func TestAccess_BadTokensAreNobodys(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	user, hour := ids.New().String(), time.Now().Add(time.Hour).Unix()
	good := jwt.MapClaims{"sub": user, "exp": hour}
	secret := []byte(tokenSecret)
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s.want(s.call("GET", "/api/events", nil, "Authorization", sign(t, jwt.SigningMethodHS256, secret, good)), 200, "")
	for name, authorization := range map[string]string{
		"another secret":      sign(t, jwt.SigningMethodHS256, []byte("another"), good),
		"none":                sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good),
		"HS512":               sign(t, jwt.SigningMethodHS512, secret, good),
		"RS256":               sign(t, jwt.SigningMethodRS256, private, good),
		"expired":             sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user, "exp": time.Now().Add(-time.Second).Unix()}),
		"no expiry":           sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user}),
		"not yet":             sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user, "exp": hour, "nbf": hour}),
		"no sub":              sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"exp": hour}),
		"zero sub":            sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": strings.Repeat("0", 24), "exp": hour}),
		"sub that is no ID":   sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "admin", "exp": hour}),
		"sub that is a query": sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": map[string]string{"$ne": ""}, "exp": hour}),
		"huge":                sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user, "exp": hour, "x": strings.Repeat("x", 5000)}),
		"cut":                 strings.TrimSuffix(sign(t, jwt.SigningMethodHS256, secret, good), "="[:0])[:60],
		"no signature":        sign(t, jwt.SigningMethodHS256, secret, good)[:strings.LastIndex(sign(t, jwt.SigningMethodHS256, secret, good), ".")+1],
	} {
		if a := s.call("GET", "/api/events", nil, "Authorization", authorization); a.status != 401 {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
}

// Public keys check tokens by their kid, and by their own algorithm only.
func TestAccess_TokensByPublicKeys(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "jwks.json")
	write := func(text string) config.Access {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Access{JWKSFile: file}
	}
	x := base64.RawURLEncoding.EncodeToString(public)
	tokens, err := httpapi.NewTokens(write(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"`+x+`"}]}`), clock.System)
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.MapClaims{"sub": ids.New().String(), "exp": time.Now().Add(time.Hour).Unix()}
	asPEM, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	_, stranger, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		token string
		good  bool
	}{
		"signed by the key":           {sign(t, jwt.SigningMethodEdDSA, private, claims), true},
		"signed by another":           {sign(t, jwt.SigningMethodEdDSA, stranger, claims), false},
		"public key as HMAC's":        {sign(t, jwt.SigningMethodHS256, []byte(public), claims), false},
		"public key in PEM as HMAC's": {sign(t, jwt.SigningMethodHS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: asPEM}), claims), false},
		"none":                        {sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims), false},
	} {
		user, err := tokens.User(strings.TrimPrefix(c.token, "Bearer "))
		if (err == nil) != c.good || (c.good && user.String() != claims["sub"]) {
			t.Errorf("%s: %v, %v", name, user, err)
		}
	}
	for _, text := range []string{
		``, `{}`, `{"keys":[]}`, `no JSON`, `{"keys":[{"kty":"oct","kid":"1","k":"c2VjcmV0"}]}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}]}`,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"` + x + `","d":"` + x + `"}]}`,
	} {
		if _, err := httpapi.NewTokens(write(text), clock.System); err == nil || !strings.Contains(err.Error(), "JWKS_FILE") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
