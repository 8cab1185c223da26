package httpapi_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const tokenSecret = "a secret of more than 32 bytes, for tests only"

// openWithAccess opens a site with the keys shop and ops, one of each scope, and
// with tokens.
func openWithAccess(t *testing.T) *site {
	t.Helper()
	tokens, err := httpapi.NewTokens(config.Access{JWTSecret: tokenSecret}, mongodb.SystemTime)
	if err != nil {
		t.Fatal(err)
	}
	return openWith(t, func(s *httpapi.Services, _ *core.Settings) {
		s.Keys = []config.Key{
			{Name: "shop", Scope: config.ScopeBooking, Secret: "s-shop"},
			{Name: "ops", Scope: config.ScopeAdmin, Secret: "s-ops"},
		}
		s.Tokens = tokens
	})
}

// tokenFor returns the header value for a customer's token that is valid for an hour.
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

// access is a route and the callers that may use it.
type access struct {
	route, callers string
	body           any
}

// routeAccess lists every route.
func routeAccess(id string) []access {
	event := fields{"name": "E", "totalSeats": 10, "eventDate": "2026-06-15T10:00:00Z"}
	plan := smallPlan("P")
	const all, backEnd, admin = "customer booking admin", "booking admin", "admin"
	return slices.Concat(accessInEvents(id), accessAfterSale(), accessToWaitlists(id), []access{
		{"POST /api/users", backEnd, fields{"name": "A", "email": "a@example.com"}},
		{"GET /api/users", backEnd, nil},
		{"GET /api/users/{id}", all, nil},
		{"POST /api/users/{id}/erase", admin, nil},
		{"POST /api/holders/erase", admin, fields{"holder": "cart-1"}},
		{"PATCH /api/users/{id}", backEnd, fields{"name": "A"}},
		{"POST /api/seating-plans", admin, plan},
		{"GET /api/seating-plans", all, nil},
		{"GET /api/seating-plans/{id}", all, nil},
		{"POST /api/events", admin, event},
		{"GET /api/events", all, nil},
		{"GET /api/events/{id}", all, nil},
		{"GET /api/events/{id}/stream", all, nil},
		{"GET /api/events/{id}/report", backEnd, nil},
		{"PATCH /api/events/{id}", admin, fields{"name": "N"}},
		{"DELETE /api/events/{id}", admin, nil},
		{"POST /api/locks", all, fields{"eventId": id, "userId": id, "seats": 1}},
		{"GET /api/locks", all, nil},
		{"GET /api/locks/{id}", all, nil},
		{"POST /api/locks/{id}/extend", all, fields{"ttlSeconds": 5}},
		{"DELETE /api/locks/{id}", all, nil},
		{"PUT /api/locks/{id}/seats", all, fields{"seats": 1}},
		{"PATCH /api/locks/{id}", backEnd, fields{"reference": "A"}},
		{"PATCH /api/bookings/{id}", backEnd, fields{"reference": "A"}},
		{"GET /api/events/{id}/seats", all, nil},
		{"GET /api/events/{id}/seats/stream", all, nil},
		{"GET /api/events/{id}/seats/{seatId}", admin, nil},
		{"POST /api/events/{id}/seats/block", admin, fields{"seatIds": []string{"A-1-1"}}},
		{"POST /api/events/{id}/seats/unblock", admin, fields{"seatIds": []string{"A-1-1"}}},
		{"POST /api/bookings", all, fields{"userId": id, "lockId": id, "eventId": id}},
		{"GET /api/bookings", all, nil},
		{"GET /api/bookings/{id}", all, nil},
		{"POST /api/bookings/{id}/pay", all, fields{"paymentTtlSeconds": 5}},
		{"POST /api/bookings/{id}/confirm", backEnd, nil},
		{"POST /api/bookings/{id}/cancel", all, nil},
		{"POST /api/admin/events/{id}/cancel", admin, nil},
		{"GET /api/payments", backEnd, nil},
		{"GET /api/payments/{id}", backEnd, nil},
		{"POST /api/payments/{id}/refunded", backEnd, fields{"refundReference": "r"}},
		{"GET /api/admin/refunds-due", admin, nil},
		{"GET /api/changes", admin, nil},
		{"POST /api/webhooks", admin, fields{"url": "https://example.com/hook", "types": []string{"*"}}},
		{"GET /api/webhooks", admin, nil},
		{"GET /api/webhooks/{id}", admin, nil},
		{"PATCH /api/webhooks/{id}", admin, fields{"state": "DISABLED"}},
		{"DELETE /api/webhooks/{id}", admin, nil},
		{"POST /api/webhooks/{id}/rotate-secret", admin, nil},
		{"POST /api/webhooks/{id}/test", admin, nil},
		{"GET /api/webhooks/{id}/deliveries", admin, nil},
		{"POST /api/webhooks/{id}/replay", admin, nil},
		{"GET /api/admin/jobs", admin, nil},
		{"POST /api/admin/jobs/{job}/run", admin, nil},
		{"GET /api/admin/jobs/{job}/runs", admin, nil},
		{"DELETE /api/admin/jobs/{job}/lease", admin, nil},
		{"GET /api/admin/overview", admin, nil},
		{"GET /api/admin/events/{id}/seats", admin, nil},
		{"GET /api/admin/health", admin, nil},
		{"GET /api/admin/survey", admin, nil},
		{"GET /api/admin/audit", admin, nil},
		{"POST /api/admin/seating-plans/convert", admin, plan},
		{"POST /api/admin/seating-plans/preview", admin, fields{"plan": plan, "seats": []int{1}}},
		{"POST /api/admin/seating-plans/export", admin, plan},
		{"GET /api/admin/search", admin, nil},
		{"GET /api/admin/events/{id}", admin, nil},
		{"GET /api/admin/events/{id}/sales", admin, nil},
	})
}

// accessInEvents lists the routes with the event of a lock or a booking in the path.
func accessInEvents(id string) []access {
	const all, backEnd = "customer booking admin", "booking admin"
	return []access{
		{"POST /api/events/{eventId}/locks", all, fields{"userId": id, "seats": 1}},
		{"POST /api/events/{eventId}/locks/{id}/extend", all, fields{"ttlSeconds": 5}},
		{"DELETE /api/events/{eventId}/locks/{id}", all, nil},
		{"PUT /api/events/{eventId}/locks/{id}/seats", all, fields{"seats": 1}},
		{"PATCH /api/events/{eventId}/locks/{id}", backEnd, fields{"reference": "A"}},
		{"POST /api/events/{eventId}/bookings", all, fields{"userId": id, "lockId": id}},
		{"PATCH /api/events/{eventId}/bookings/{id}", backEnd, fields{"reference": "A"}},
		{"GET /api/events/{eventId}/bookings/{id}", all, nil},
		{"POST /api/events/{eventId}/bookings/{id}/pay", all, fields{"paymentTtlSeconds": 5}},
		{"POST /api/events/{eventId}/bookings/{id}/confirm", backEnd, nil},
		{"POST /api/events/{eventId}/bookings/{id}/cancel", all, nil},
	}
}

// accessAfterSale lists the routes that change what was sold, and sell at once.
func accessAfterSale() []access {
	const backEnd = "booking admin"
	return []access{
		{"POST /api/payments/{id}/refunds", backEnd, fields{"amount": 1}},
		{"POST /api/payments/{id}/refunds/{refundId}/refunded", backEnd, fields{"refundReference": "r"}},
		{"PUT /api/bookings/{id}/seats", backEnd, fields{"seats": 1}},
		{"POST /api/bookings/{id}/transfer", backEnd, fields{"holder": "cart-1"}},
		{"PUT /api/events/{eventId}/bookings/{id}/seats", backEnd, fields{"seats": 1}},
		{"POST /api/events/{eventId}/bookings/{id}/transfer", backEnd, fields{"holder": "cart-1"}},
		{"POST /api/events/{eventId}/sales", backEnd, fields{"holder": "cart-1", "seats": 1}},
	}
}

// accessToWaitlists lists the routes of waiting lists.
func accessToWaitlists(id string) []access {
	const all = "customer booking admin"
	return []access{
		{"POST /api/events/{id}/waitlist", all, fields{"userId": id, "seats": 1}},
		{"GET /api/events/{id}/waitlist", all, nil},
		{"GET /api/waitlist/{id}", all, nil},
		{"POST /api/waitlist/{id}/decline", all, nil},
		{"DELETE /api/waitlist/{id}", all, nil},
	}
}

func TestAccess_TableHasEveryRoute(t *testing.T) {
	t.Parallel()
	s := open(t)
	listed := map[string]bool{}
	for _, r := range routeAccess("") {
		listed[r.route] = true
	}
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal([]byte(s.call("GET", "/openapi.json", nil).raw), &document); err != nil {
		t.Fatal(err)
	}
	for path, operations := range document.Paths {
		for method := range operations {
			if route := strings.ToUpper(method) + " " + path; !listed[route] {
				t.Errorf("routeAccess lacks %s", route)
			}
		}
	}
}

func TestAccess_EveryRouteByEveryCaller(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	close(s.jobDone) // manual runs end at once
	none := mongodb.NewID().String()
	callers := map[string]string{
		"no key": "", "wrong key": "Bearer wrong", "not bearer": "Basic s-ops", "empty": "Bearer ",
		"key's name": "Bearer ops", "upper case": "Bearer S-OPS",
		"customer": tokenFor(t, none), "booking": "Bearer s-shop", "admin": "bearer s-ops",
	}
	for _, r := range routeAccess(none) {
		method, path, _ := strings.Cut(r.route, " ")
		path = strings.NewReplacer("{id}", none, "{eventId}", none, "{refundId}", none, "{job}", "nothing").Replace(path)
		for caller, authorization := range callers {
			t.Run(r.route+" by "+caller, func(t *testing.T) {
				s := s.in(t)
				a := s.call(method, path, r.body, "Authorization", authorization)
				switch {
				case slices.Contains(strings.Fields(r.callers), caller):
					if a.status == 401 || a.status == 403 || a.status >= 500 {
						t.Errorf("%d %s", a.status, a.raw)
					}
				case slices.Contains([]string{"customer", "booking", "admin"}, caller):
					s.want(a, 403, "FORBIDDEN")
					if least := strings.Fields(r.callers)[0]; !strings.Contains(a.text("detail"), "the scope "+least+".") {
						t.Errorf("the refusal does not name the scope %s: %s", least, a.raw)
					}
				default:
					s.want(a, 401, "UNAUTHENTICATED")
					if challenge := a.header.Get("WWW-Authenticate"); challenge != "Bearer" {
						t.Errorf("WWW-Authenticate is %q", challenge)
					}
				}
			})
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/openapi.json", "/docs/", "/console"} {
		t.Run(path+" without a key", func(t *testing.T) {
			if a := s.in(t).call("GET", path, nil); a.status != 200 {
				t.Errorf("%d", a.status)
			}
		})
	}
	for _, secret := range []string{"s-shop", "s-ops", tokenSecret} {
		if len(s.w.Log.Lines(secret)) > 0 {
			t.Errorf("the log contains the secret %q", secret)
		}
	}
}

// To a customer, the locks and bookings of other users do not exist.
func TestAccess_CustomerCannotActForAnotherUser(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	key := []string{"Authorization", "Bearer s-ops"}
	user := func(email string) (string, []string) {
		id := s.want(s.call("POST", "/api/users", fields{"name": "A", "email": email}, key...), 201, "").text("id")
		return id, []string{"Authorization", tokenFor(t, id)}
	}
	ada, asAda := user("ada@example.com")
	_, asBob := user("bob@example.com")
	request := fields{"name": "E", "totalSeats": 10, "eventDate": "2026-06-15T10:00:00Z"}
	event := s.want(s.call("POST", "/api/events", request, key...), 201, "").text("id")
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
		{method: "GET", path: "/api/users/" + ada, code: "USER_NOT_FOUND"},
		{method: "GET", path: "/api/locks/" + lock, code: "LOCK_NOT_FOUND"},
		{method: "POST", path: "/api/locks/" + lock + "/extend", code: "LOCK_NOT_FOUND", body: fields{"ttlSeconds": 3600}},
		{method: "GET", path: "/api/locks?userId=" + ada, code: "USER_NOT_FOUND"},
		{method: "GET", path: "/api/bookings?userId=" + ada, code: "USER_NOT_FOUND"},
		{method: "GET", path: "/api/bookings/" + booking, code: "BOOKING_NOT_FOUND"},
		{method: "POST", path: "/api/bookings/" + booking + "/pay", code: "BOOKING_NOT_FOUND", body: fields{"paymentTtlSeconds": 60}},
		{method: "POST", path: "/api/bookings/" + booking + "/cancel", code: "BOOKING_NOT_FOUND"},
		{method: "DELETE", path: "/api/locks/" + lock, code: "LOCK_NOT_FOUND"},
		{method: "DELETE", path: "/api/events/" + event + "/locks/" + lock, code: "LOCK_NOT_FOUND"},
		{method: "GET", path: "/api/events/" + event + "/bookings/" + booking, code: "BOOKING_NOT_FOUND"},
		{method: "POST", path: "/api/events/" + event + "/bookings/" + booking + "/cancel", code: "BOOKING_NOT_FOUND"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			s := s.in(t)
			s.want(s.call(c.method, c.path, c.body, asBob...), 404, c.code)
			if c.method == "GET" {
				s.want(s.call(c.method, c.path, c.body, asAda...), 200, "")
			}
		})
	}
	for _, list := range []string{"/api/locks", "/api/bookings", "/api/locks?eventId=" + event} {
		t.Run("GET "+list, func(t *testing.T) {
			s := s.in(t)
			if items := s.want(s.call("GET", list, nil, asBob...), 200, "").body["items"].([]any); len(items) != 0 {
				t.Errorf("the list has items of another user: %v", items)
			}
			if items := s.want(s.call("GET", list, nil, asAda...), 200, "").body["items"].([]any); len(items) != 1 {
				t.Errorf("the list lacks the user's own item: %v", items)
			}
		})
	}
	// A customer can't assert that the payment was received.
	s.want(s.call("POST", "/api/bookings/"+booking+"/confirm", nil, asAda...), 403, "FORBIDDEN")
	if got := s.want(s.call("GET", "/api/bookings/"+booking, nil, key...), 200, ""); got.text("status") != "PAYMENT_PENDING" {
		t.Errorf("the booking is %s", got.text("status"))
	}
	s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil, asAda...), 200, "")
}

func TestAccess_InvalidTokensAreRefused(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	user, hour := mongodb.NewID().String(), time.Now().Add(time.Hour).Unix()
	good := jwt.MapClaims{"sub": user, "exp": hour}
	secret := []byte(tokenSecret)
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	valid := sign(t, jwt.SigningMethodHS256, secret, good)
	s.want(s.call("GET", "/api/events", nil, "Authorization", valid), 200, "")
	custom := sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user, "exp": hour, "Sub": mongodb.NewID().String(), "EXP": 0})
	s.want(s.call("GET", "/api/bookings?userId="+user, nil, "Authorization", custom), 200, "")
	over := time.Now().Add(-time.Minute).Unix()
	for name, authorization := range map[string]string{
		"sub in another case":  sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"Sub": user, "exp": hour}),
		"exp in another case":  sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user, "Exp": hour}),
		"expired, another exp": sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user, "exp": over, "eXp": hour, "EXP": hour}),
		"exp is a text":        sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user, "exp": strconv.FormatInt(hour, 10)}),
		"another secret":       sign(t, jwt.SigningMethodHS256, []byte("another"), good),
		"none":                 sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good),
		"HS512":                sign(t, jwt.SigningMethodHS512, secret, good),
		"RS256":                sign(t, jwt.SigningMethodRS256, private, good),
		"expired":              sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user, "exp": time.Now().Add(-time.Second).Unix()}),
		"no expiry":            sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user}),
		"not yet":              sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user, "exp": hour, "nbf": hour}),
		"no sub":               sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"exp": hour}),
		"zero sub":             sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": strings.Repeat("0", 24), "exp": hour}),
		"sub is a query":       sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": map[string]string{"$ne": ""}, "exp": hour}),
		"huge":                 sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": user, "exp": hour, "x": strings.Repeat("x", 5000)}),
		"truncated":            valid[:60],
		"no signature":         valid[:strings.LastIndex(valid, ".")+1],
	} {
		t.Run(name, func(t *testing.T) {
			if a := s.in(t).call("GET", "/api/events", nil, "Authorization", authorization); a.status != 401 {
				t.Errorf("%d %s", a.status, a.raw)
			}
		})
	}
}

// An identity provider signs tokens of the same user for other programs, and for other uses.
func TestTokens_AreForThisProgramAndThisUse(t *testing.T) {
	t.Parallel()
	access := config.Access{JWTSecret: tokenSecret, JWTAudience: "tickets", JWTIssuer: "https://id.example"}
	tokens, err := httpapi.NewTokens(access, mongodb.SystemTime)
	if err != nil {
		t.Fatal(err)
	}
	const absent = "absent"
	for name, c := range map[string]struct {
		field string
		value any
		valid bool
	}{
		"both":               {valid: true},
		"one of two":         {field: "aud", value: []string{"chat", "tickets"}, valid: true},
		"another audience":   {field: "aud", value: "chat"},
		"audience, any case": {field: "aud", value: "Tickets"},
		"no audience":        {field: "aud", value: absent},
		"another issuer":     {field: "iss", value: "https://id.example/other"},
		"no issuer":          {field: "iss", value: absent},
		"access token":       {field: "typ", value: "AT+JWT", valid: true},
		"long type":          {field: "typ", value: "application/at+jwt", valid: true},
		"no type":            {field: "typ", value: absent, valid: true},
		"logout token":       {field: "typ", value: "logout+jwt"},
		"proof":              {field: "typ", value: "dpop+jwt"},
		"type of a number":   {field: "typ", value: 5},
	} {
		t.Run(name, func(t *testing.T) {
			claims := jwt.MapClaims{
				"sub": mongodb.NewID().String(), "exp": time.Now().Add(time.Hour).Unix(), "aud": "tickets", "iss": "https://id.example",
			}
			token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
			part := map[string]any(claims)
			if c.field == "typ" {
				part = token.Header
			}
			switch c.value {
			case absent:
				delete(part, c.field)
			case nil:
			default:
				part[c.field] = c.value
			}
			text, err := token.SignedString([]byte(tokenSecret))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tokens.Claims(text); (err == nil) != c.valid {
				t.Errorf("got %v", err)
			}
		})
	}
}

// ed25519Keys returns a JSON Web Key Set with one public key, and the pair.
func ed25519Keys(t *testing.T) (set string, public ed25519.PublicKey, private ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x := base64.RawURLEncoding.EncodeToString(public)
	return `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"` + x + `"}]}`, public, private
}

func tokensOf(t *testing.T, set string) (*httpapi.Tokens, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(file, []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	return httpapi.NewTokens(config.Access{JWKSFile: file}, mongodb.SystemTime)
}

// A token that demands an extension is refused, whatever the extension.
func TestTokens_WithCriticalExtensionsAreRefused(t *testing.T) {
	t.Parallel()
	tokens, err := httpapi.NewTokens(config.Access{JWTSecret: tokenSecret}, mongodb.SystemTime)
	if err != nil {
		t.Fatal(err)
	}
	for extension, valid := range map[string]bool{"crit": false, "other": true} {
		t.Run(extension, func(t *testing.T) {
			token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
				"sub": mongodb.NewID().String(), "exp": time.Now().Add(time.Hour).Unix(),
			})
			token.Header[extension], token.Header["b64"] = []string{"b64"}, true
			text, err := token.SignedString([]byte(tokenSecret))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tokens.Claims(text); (err == nil) != valid {
				t.Errorf("got %v", err)
			}
		})
	}
}

// rsaKeys returns a JSON Web Key Set with one RSA key.
func rsaKeys(t *testing.T, bits int, more string) string {
	t.Helper()
	modulus := new(big.Int).SetBit(big.NewInt(1), bits-1, 1)
	return `{"keys":[{"kty":"RSA","kid":"1","e":"AQAB","n":"` + base64.RawURLEncoding.EncodeToString(modulus.Bytes()) + `"` + more + `}]}`
}

// The error says what to do.
func TestTokens_RefuseWeakKeysAndKeysThatDoNotSign(t *testing.T) {
	t.Parallel()
	set, _, _ := ed25519Keys(t)
	with := func(more string) string { return strings.Replace(set, `"kid"`, more+`,"kid"`, 1) }
	for name, c := range map[string]struct{ set, want string }{
		"Ed25519":               {set: with(`"use":"sig","alg":"EdDSA","key_ops":["verify"]`)},
		"RSA":                   {set: rsaKeys(t, 2048, `,"use":"sig","alg":"PS256"`)},
		"RSA, 2047 bits":        {set: rsaKeys(t, 2047, ""), want: "modulus of 2047 bits: make a new key of at least 2048 bits"},
		"RSA without a modulus": {set: `{"keys":[{"kty":"RSA","kid":"1","e":"AQAB"}]}`, want: "make a new key"},
		"for encryption":        {set: with(`"use":"enc"`), want: "keep the keys that sign tokens"},
		"for wrapping keys":     {set: with(`"key_ops":["wrapKey"]`), want: "keep the keys that sign tokens"},
		"alg of another type":   {set: with(`"alg":"RS256"`), want: "use one of [EdDSA], or leave alg out"},
		"alg for encryption":    {set: rsaKeys(t, 2048, `,"alg":"RSA-OAEP"`), want: "use one of [RS256"},
		"HMAC alg":              {set: rsaKeys(t, 2048, `,"alg":"HS256"`), want: "use one of [RS256"},
		"X25519":                {set: strings.Replace(set, "Ed25519", "X25519", 1), want: "is of the type OKP X25519: replace it"},
		"two keys with one kid": {set: strings.Replace(set, `}]`, `},`+set[len(`{"keys":[`):len(set)-1], 1), want: "give each key its own"},
		"private RSA key":       {set: rsaKeys(t, 2048, `,"d":"AAAA"`), want: "contains a secret"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tokensOf(t, c.set)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A token selects its key by kid, but not the algorithm.
func TestTokens_AcceptOnlySignaturesOfThePublicKey(t *testing.T) {
	t.Parallel()
	set, public, private := ed25519Keys(t)
	tokens, err := tokensOf(t, set)
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.MapClaims{"sub": mongodb.NewID().String(), "exp": time.Now().Add(time.Hour).Unix()}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	_, _, otherPrivate := ed25519Keys(t)
	for name, c := range map[string]struct {
		token string
		valid bool
	}{
		"signed by the key":            {sign(t, jwt.SigningMethodEdDSA, private, claims), true},
		"signed by another key":        {sign(t, jwt.SigningMethodEdDSA, otherPrivate, claims), false},
		"HMAC with the public key":     {sign(t, jwt.SigningMethodHS256, []byte(public), claims), false},
		"HMAC with the PEM public key": {sign(t, jwt.SigningMethodHS256, publicPEM, claims), false},
		"no signature, algorithm none": {sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tokens.Claims(strings.TrimPrefix(c.token, "Bearer "))
			if (err == nil) != c.valid || (c.valid && got.UserID.String() != claims["sub"]) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestTokens_RefuseInvalidKeySets(t *testing.T) {
	t.Parallel()
	set, _, _ := ed25519Keys(t)
	for name, text := range map[string]string{
		"empty file":  ``,
		"no keys":     `{}`,
		"empty keys":  `{"keys":[]}`,
		"not JSON":    `no JSON`,
		"HMAC secret": `{"keys":[{"kty":"oct","kid":"1","k":"c2VjcmV0"}]}`,
		"no kid":      strings.Replace(set, `"kid":"1",`, "", 1),
		"private key": strings.Replace(set, `"x":`, `"d":"AAAA","x":`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tokensOf(t, text); err == nil || !strings.Contains(err.Error(), "JWKS_FILE") {
				t.Errorf("got %v", err)
			}
		})
	}
}
