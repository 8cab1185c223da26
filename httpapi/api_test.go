package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestAPI_BookingFromLockToCancellation(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(100)
	wanted := fields{"eventId": event, "userId": user, "seats": 2, "idempotencyKey": "k"}
	lock := s.want(s.call("POST", "/api/locks", wanted), 201, "")
	for field, want := range map[string]string{"status": "ACTIVE", "seats": "2", "idempotencyKey": "k"} {
		if lock.text(field) != want {
			t.Errorf("%s is %s, want %s", field, lock.text(field), want)
		}
	}
	if replayed := lock.header.Get("Idempotent-Replayed"); replayed != "" {
		t.Errorf("Idempotent-Replayed is %q on the first answer", replayed)
	}
	if !strings.HasSuffix(lock.text("expiresAt"), "Z") || len(lock.text("expiresAt")) != len("2026-01-01T00:00:00.000Z") {
		t.Errorf("expiresAt %s", lock.text("expiresAt"))
	}
	replay := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 2}, "Idempotency-Key", "k"), 201, "")
	if replay.header.Get("Idempotent-Replayed") != "true" || replay.text("id") != lock.text("id") {
		t.Errorf("replay: %v %s", replay.header, replay.raw)
	}
	changed := fields{"eventId": event, "userId": user, "seats": 3, "idempotencyKey": "k"}
	s.want(s.call("POST", "/api/locks", changed), 422, "IDEMPOTENCY_KEY_REUSED")
	s.want(s.call("POST", "/api/locks", wanted, "Idempotency-Key", "other"), 422, "VALIDATION_FAILED")

	request := fields{"userId": user, "lockId": lock.text("id"), "eventId": event}
	b := s.want(s.call("POST", "/api/bookings", request), 201, "")
	if b.text("status") != "INITIATED" || b.text("lockId") != lock.text("id") || b.header.Get("Location") != "/api/bookings/"+b.text("id") {
		t.Errorf("booking: %s", b.raw)
	}
	s.want(s.call("POST", "/api/bookings", request), 200, "")
	path := "/api/bookings/" + b.text("id")
	s.want(s.call("POST", path+"/confirm", nil), 409, "BOOKING_NOT_PAYABLE")
	if paid := s.want(s.call("POST", path+"/pay", fields{"paymentTtlSeconds": 900}), 200, ""); paid.text("status") != "PAYMENT_PENDING" {
		t.Errorf("paid: %s", paid.raw)
	}
	s.want(s.call("POST", path+"/confirm", fields{"paymentReference": "r"}), 200, "")
	s.want(s.call("POST", path+"/confirm", nil), 200, "")
	s.want(s.call("POST", path+"/confirm", fields{"paymentReference": "other"}), 409, "BOOKING_CONFIRMED")
	s.want(s.call("DELETE", "/api/locks/"+lock.text("id"), nil), 409, "LOCK_CONSUMED")
	s.want(s.call("POST", path+"/cancel", nil), 200, "")
	s.want(s.call("POST", path+"/cancel", nil), 200, "")
	if e := s.want(s.call("GET", "/api/events/"+event, nil), 200, ""); e.text("availableSeats") != "100" || e.text("status") != "ON_SALE" {
		t.Errorf("event: %s", e.raw)
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// JSON has one type of numbers: 2.0 and 2e0 are integers like 2.
func TestAPI_AcceptsIntegersInEveryNotation(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(100)
	for _, seats := range []string{"2", "2.0", "2e0", "20e-1"} {
		t.Run(seats, func(t *testing.T) {
			s := s.in(t)
			body := fmt.Sprintf(`{"eventId":%q,"userId":%q,"seats":%s,"ttlSeconds":60.0}`, event, user, seats)
			if a := s.want(s.call("POST", "/api/locks", body), 201, ""); a.text("seats") != "2" {
				t.Errorf("got %s", a.raw)
			}
		})
	}
}

func TestAPI_ListsHavePages(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(100)
	for range 5 {
		s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}), 201, "")
	}
	for name, filter := range map[string]string{
		"by event": "eventId=" + event, "by user": "userId=" + user, "by status": "status=ACTIVE", "without a filter": "",
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			seen, token := map[any]bool{}, ""
			for range 3 {
				page := s.want(s.call("GET", "/api/locks?pageSize=2&"+filter+token, nil), 200, "")
				for _, item := range page.body["items"].([]any) {
					seen[item.(map[string]any)["id"]] = true
				}
				token = "&pageToken=" + page.text("nextPageToken")
			}
			if len(seen) != 5 || token != "&pageToken=" {
				t.Errorf("%d locks, then %q", len(seen), token)
			}
		})
	}
	s.want(s.call("GET", "/api/locks?pageToken=none", nil), 422, "VALIDATION_FAILED")
	s.want(s.call("GET", "/api/locks?pageSize=501", nil), 422, "VALIDATION_FAILED")
	s.want(s.call("GET", "/api/bookings?status=WRONG", nil), 422, "VALIDATION_FAILED")
	if a := s.want(s.call("GET", "/api/bookings", nil), 200, ""); a.raw != `{"items":[],"nextPageToken":""}`+"\n" {
		t.Errorf("an empty list: %q", a.raw)
	}
}

// invalidRequest is a request and the refusal that it must get.
type invalidRequest struct {
	method, path string
	body         any
	status       int
	code         string
}

func invalidLockRequests(event, user, none string) []invalidRequest {
	lockOf := func(field string, value any) fields {
		f := fields{"eventId": event, "userId": user, "seats": 1}
		f[field] = value
		return f
	}
	post := func(body any, status int, code string) invalidRequest {
		return invalidRequest{method: "POST", path: "/api/locks", body: body, status: status, code: code}
	}
	return []invalidRequest{
		post(`{"eventId"`, 400, "MALFORMED_REQUEST"),
		post(``, 400, "MALFORMED_REQUEST"),
		post(nil, 400, "MALFORMED_REQUEST"),
		post(`null`, 422, "VALIDATION_FAILED"),
		post(`[]`, 422, "VALIDATION_FAILED"),
		post(`{} {}`, 400, "MALFORMED_REQUEST"),
		post(`{}`, 422, "VALIDATION_FAILED"),
		post(lockOf("extra", 1), 422, "VALIDATION_FAILED"),
		post(lockOf("seats", "2"), 422, "VALIDATION_FAILED"),
		post(lockOf("seats", 1.5), 422, "VALIDATION_FAILED"),
		post(lockOf("seats", 0), 422, "VALIDATION_FAILED"),
		post(lockOf("seats", -1), 422, "VALIDATION_FAILED"),
		post(lockOf("seats", json.Number("99999999999999999999999")), 422, "VALIDATION_FAILED"),
		post(lockOf("seats", json.Number("1e999")), 422, "VALIDATION_FAILED"),
		post(lockOf("seats", nil), 422, "VALIDATION_FAILED"),
		post(lockOf("eventId", fields{"$ne": nil}), 422, "VALIDATION_FAILED"),
		post(lockOf("eventId", "x"), 422, "VALIDATION_FAILED"),
		post(lockOf("eventId", none), 404, "EVENT_NOT_FOUND"),
		post(lockOf("userId", none), 404, "USER_NOT_FOUND"),
		post(lockOf("expiresAt", "yesterday"), 422, "VALIDATION_FAILED"),
		post(lockOf("expiresAt", "9999-12-31T23:59:59Z"), 422, "VALIDATION_FAILED"),
		post(lockOf("expiresAt", 5), 422, "VALIDATION_FAILED"),
		post(lockOf("ttlSeconds", 0), 422, "VALIDATION_FAILED"),
		post(lockOf("ttlSeconds", 7201), 422, "VALIDATION_FAILED"),
		post(lockOf("ttlSeconds", int64(1)<<62), 422, "VALIDATION_FAILED"),
		post(lockOf("idempotencyKey", strings.Repeat("k", 201)), 422, "VALIDATION_FAILED"),
		post(lockOf("idempotencyKey", ""), 422, "VALIDATION_FAILED"),
		post(lockOf("idempotencyKey", strings.Repeat("k", 70_000)), 413, "BODY_TOO_LARGE"),
		post(lockOf("seats", 11), 409, "SEATS_UNAVAILABLE"),
	}
}

func otherInvalidRequests(event, user, none string) []invalidRequest {
	return []invalidRequest{
		{method: "POST", path: "/api/users", body: fields{"name": " ", "email": "a@b.c"}, status: 422, code: "VALIDATION_FAILED"},
		{method: "POST", path: "/api/users", body: fields{"name": "A", "email": "nobody"}, status: 422, code: "VALIDATION_FAILED"},
		{method: "POST", path: "/api/users", body: fields{"name": "A", "email": "Bob <bob@example.com>"}, status: 422, code: "VALIDATION_FAILED"},
		{
			method: "POST", path: "/api/events", status: 422, code: "VALIDATION_FAILED",
			body: fields{"name": "E", "totalSeats": 0, "eventDate": "2026-06-15T10:00:00Z"},
		},
		{
			method: "POST", path: "/api/events", status: 422, code: "VALIDATION_FAILED",
			body: fields{"name": "E", "totalSeats": 10_000_001, "eventDate": "2026-06-15T10:00:00Z"},
		},
		{
			method: "POST", path: "/api/events", status: 422, code: "VALIDATION_FAILED",
			body: fields{"name": "E", "totalSeats": 1, "eventDate": "soon"},
		},
		{method: "PATCH", path: "/api/events/" + event, body: fields{"status": "SOLD"}, status: 422, code: "VALIDATION_FAILED"},
		{method: "PATCH", path: "/api/events/" + none, body: fields{"name": "x"}, status: 404, code: "EVENT_NOT_FOUND"},
		{method: "GET", path: "/api/events/zz", status: 422, code: "VALIDATION_FAILED"},
		{method: "GET", path: "/api/events?where=1", status: 422, code: "VALIDATION_FAILED"},
		{method: "GET", path: "/api/locks/" + none, status: 404, code: "LOCK_NOT_FOUND"},
		{method: "DELETE", path: "/api/locks/" + none, status: 404, code: "LOCK_NOT_FOUND"},
		{method: "POST", path: "/api/locks/" + none + "/extend", body: fields{"ttlSeconds": 5}, status: 404, code: "LOCK_NOT_FOUND"},
		{method: "POST", path: "/api/locks/" + none + "/extend", body: fields{}, status: 422, code: "VALIDATION_FAILED"},
		{
			method: "POST", path: "/api/bookings", status: 404, code: "LOCK_NOT_FOUND",
			body: fields{"userId": user, "eventId": event, "lockId": none},
		},
		{
			method: "POST", path: "/api/bookings", status: 404, code: "USER_NOT_FOUND",
			body: fields{"userId": none, "eventId": event, "lockId": none},
		},
		{method: "POST", path: "/api/bookings/" + none + "/pay", body: fields{"paymentTtlSeconds": 60}, status: 404, code: "BOOKING_NOT_FOUND"},
		{method: "POST", path: "/api/bookings/" + none + "/pay", body: fields{}, status: 422, code: "VALIDATION_FAILED"},
		{method: "POST", path: "/api/bookings/" + none + "/confirm", status: 404, code: "BOOKING_NOT_FOUND"},
		{method: "POST", path: "/api/bookings/" + none + "/cancel", status: 404, code: "BOOKING_NOT_FOUND"},
		{method: "GET", path: "/api/bookings/" + none, status: 404, code: "BOOKING_NOT_FOUND"},
		{method: "GET", path: "/api/users/" + none, status: 404, code: "USER_NOT_FOUND"},
		{method: "PUT", path: "/api/locks", body: fields{}, status: 405, code: "METHOD_NOT_ALLOWED"},
		{method: "GET", path: "/nowhere", status: 404, code: "NOT_FOUND"},
		{method: "GET", path: "//api//events", status: 404, code: "NOT_FOUND"},
		{method: "GET", path: "/api/locks?eventId=", status: 422, code: "VALIDATION_FAILED"},
		{method: "GET", path: "/api/bookings?userId=&status=EXPIRED", status: 422, code: "VALIDATION_FAILED"},
		{method: "POST", path: "/api/users", body: fields{"name": "a\x00b", "email": "a@b.c"}, status: 422, code: "VALIDATION_FAILED"},
		{method: "POST", path: "/api/users", body: fields{"name": "a\nb", "email": "a@b.c"}, status: 422, code: "VALIDATION_FAILED"},
		{method: "GET", path: "/api/locks/../../etc", status: 404, code: "NOT_FOUND"},
	}
}

// Every kind of invalid input gets a 4xx with a code, and nothing is written.
func TestAPI_InvalidInputIsRefusedAndWritesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event, none := s.user(), s.event(10), mongodb.NewID().String()
	for _, c := range slices.Concat(invalidLockRequests(event, user, none), otherInvalidRequests(event, user, none)) {
		t.Run(fmt.Sprintf("%s %s %.60v", c.method, c.path, fmt.Sprint(c.body)), func(t *testing.T) {
			s := s.in(t)
			a := s.want(s.call(c.method, c.path, c.body), c.status, c.code)
			if c.code == "VALIDATION_FAILED" && a.body["errors"] == nil {
				t.Errorf("no errors[]: %s", a.raw)
			}
		})
	}
	text, err := json.Marshal(fields{"eventId": event, "userId": user, "seats": 1})
	if err != nil {
		t.Fatal(err)
	}
	s.want(s.call("POST", "/api/locks", string(text), "Content-Type", "text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE")
	for _, coding := range []string{"gzip", "Identity, br", "zstd"} {
		a := s.want(s.call("POST", "/api/locks", string(text), "Content-Encoding", coding), 415, "UNSUPPORTED_MEDIA_TYPE")
		if accepted := a.header.Get("Accept-Encoding"); accepted != "identity" {
			t.Errorf("%s: the codings that are accepted: %q", coding, accepted)
		}
	}
	for collection, want := range map[string]int64{"seatlocks": 0, "bookings": 0, "users": 1, "events": 1} {
		if n, err := s.w.DB.Collection(collection).CountDocuments(s.w.Ctx(), bson.D{}); err != nil || n != want {
			t.Errorf("%s holds %d documents, want %d: %v", collection, n, want, err)
		}
	}
}

// A body without a coding may say so, and a request without a body has nothing to decode.
func TestAPI_IdentityIsNoCoding(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, coding := range []string{"", "identity", "Identity , IDENTITY"} {
		email := fmt.Sprintf("a%d@example.com", i)
		s.want(s.call("POST", "/api/users", fields{"name": "A", "email": email}, "Content-Encoding", coding), 201, "")
	}
	s.want(s.call("GET", "/api/events", nil, "Content-Encoding", "gzip"), 200, "")
}

func TestAPI_EmailsAreUniqueCaseInsensitively(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.call("POST", "/api/users", fields{"name": "A", "email": "Some@Example.com"}), 201, "")
	s.want(s.call("POST", "/api/users", fields{"name": "B", "email": "some@example.COM"}), 409, "EMAIL_TAKEN")

	given := "Jos\u00e9@Ex\u00e4mple.de"
	made := s.want(s.call("POST", "/api/users", fields{"name": "A", "email": given}), 201, "")
	if read := s.call("GET", "/api/users/"+made.text("id"), nil); made.text("email") != given || read.text("email") != given {
		t.Errorf("%s, then %s", made.raw, read.raw)
	}
	for _, same := range []string{
		given, "Jose\u0301@exa\u0308mple.de", "jos\u00e9@xn--exmple-cua.de", "JOS\u00c9@XN--EXMPLE-CUA.DE", "jos\u00e9@ex\u00e4mple\u3002de",
	} {
		s.want(s.call("POST", "/api/users", fields{"name": "B", "email": same}), 409, "EMAIL_TAKEN")
		found := s.want(s.call("GET", "/api/users?email="+url.QueryEscape(same), nil), 200, "")
		if !strings.Contains(found.raw, made.text("id")) {
			t.Errorf("%s is not found: %s", same, found.raw)
		}
	}
	s.want(s.call("POST", "/api/users", fields{"name": "B", "email": "jose@ex\u00e4mple.de"}), 201, "")
}

func TestAPI_LockOfAnotherUserOrEventIsNotFound(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, other, event, elsewhere := s.user(), s.user(), s.event(10), s.event(10)
	lock := s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}).text("id")
	s.want(s.call("POST", "/api/bookings", fields{"userId": other, "eventId": event, "lockId": lock}), 404, "LOCK_NOT_FOUND")
	s.want(s.call("POST", "/api/bookings", fields{"userId": user, "eventId": elsewhere, "lockId": lock}), 404, "LOCK_NOT_FOUND")
}

func TestAPI_CrossOriginRequestsAndForeignHostsAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := fields{"name": "A", "email": "a@example.com"}
	s.want(s.call("POST", "/api/users", body, "Origin", "https://evil.example"), 403, "FORBIDDEN")
	s.want(s.call("POST", "/api/users", body, "Sec-Fetch-Site", "cross-site"), 403, "FORBIDDEN")
	s.want(s.call("GET", "/api/events", nil, "Host", "evil.example"), 403, "FORBIDDEN")
	s.want(s.call("POST", "/api/users", body), 201, "")
	keyed := open(t, config.Key{Name: "ops", Scope: config.ScopeAdmin, Secret: "s"})
	keyed.want(keyed.call("GET", "/api/events", nil, "Host", "shop.example", "Authorization", "Bearer s"), 200, "")
}

func TestAPI_EchoesValidRequestIDs(t *testing.T) {
	t.Parallel()
	s := open(t)
	for id, valid := range map[string]bool{
		"abc-1.2_3": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false, "a b": false, "a\u00e9": false,
	} {
		t.Run(id, func(t *testing.T) {
			got := s.in(t).call("GET", "/livez", nil, "X-Request-Id", id).header.Get("X-Request-Id")
			if (got == id) != valid || got == "" {
				t.Errorf("answered with %q", got)
			}
		})
	}
}

func TestAPI_ServesOnlyProbesUntilRecoveryHasEnded(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.serving.Store(false)
	a := s.want(s.call("GET", "/api/events", nil), 503, "UNAVAILABLE")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if a := s.call("GET", "/livez", nil); a.status != 200 {
		t.Errorf("/livez: %d", a.status)
	}
	if a := s.call("GET", "/readyz", nil); a.status != 503 || a.text("status") != "unavailable" {
		t.Errorf("/readyz: %d %s", a.status, a.raw)
	}
}

// 500 concurrent requests compete for 100 seats.
func TestAPI_StampedeSellsEverySeatOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(100)
	var mu sync.Mutex
	sold, smallestRefused := 0, 5
	var requests sync.WaitGroup
	for range 500 {
		n := 1 + rand.IntN(4)
		requests.Go(func() {
			a := s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": n})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.status == 201:
				sold += n
			case a.status == 409 && a.text("code") == "SEATS_UNAVAILABLE" && a.text("requested") == fmt.Sprint(n):
				smallestRefused = min(smallestRefused, n)
			default:
				t.Errorf("%d %s", a.status, a.raw)
			}
		})
	}
	requests.Wait()
	left := int(s.call("GET", "/api/events/"+event, nil).body["availableSeats"].(float64))
	if sold+left != 100 || left >= smallestRefused {
		t.Errorf("sold %d, left %d, smallest refused %d", sold, left, smallestRefused)
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// All seats are in due locks, and no worker runs that would sweep them.
func TestAPI_SellsSeatsOfDueLocksWithoutAWorker(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(4)
	past := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for _, at := range []string{past, "0001-01-01T00:00:00Z"} {
		s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 2, "expiresAt": at}), 201, "")
	}
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 4}), 201, "")
	testenv.CheckInvariants(t, s.w.DB.Database)
}

func TestAPI_OpenAPIListsEveryRoute(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := s.call("GET", "/openapi.json", nil)
	paths, _ := a.body["paths"].(map[string]any)
	if a.text("openapi")[:3] != "3.1" || len(paths) != 70 {
		t.Errorf("OpenAPI %s with %d paths", a.text("openapi"), len(paths))
	}
	docs := s.want(s.call("GET", "/docs/", nil), 200, "")
	if strings.Contains(docs.raw, "https://cdn") || strings.Contains(docs.raw, "unpkg") {
		t.Errorf("/docs needs the network: %s", docs.raw)
	}
}
