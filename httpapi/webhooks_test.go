package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

const hookURL = "https://example.com/hook"

func TestWebhooks_EndpointIsManaged(t *testing.T) {
	t.Parallel()
	s := open(t)
	wanted := fields{"url": hookURL, "types": []string{"holdfast.lock.*", "holdfast.event.created"}, "idempotencyKey": "k"}
	made := s.want(s.call("POST", "/api/webhooks", wanted), 201, "")
	id, secret := made.text("id"), made.text("secret")
	if !strings.HasPrefix(secret, "whsec_") || made.header.Get("Location") != "/api/webhooks/"+id || made.text("state") != "ENABLED" {
		t.Fatalf("%s", made.raw)
	}
	again := s.want(s.call("POST", "/api/webhooks", wanted), 201, "")
	if again.text("id") != id || again.header.Get("Idempotent-Replayed") != "true" || again.body["secret"] != nil {
		t.Errorf("a repeat: %s", again.raw)
	}
	wanted["types"] = []string{"*"}
	s.want(s.call("POST", "/api/webhooks", wanted), 422, "IDEMPOTENCY_KEY_REUSED")
	path := "/api/webhooks/" + id
	rotated := s.want(s.call("POST", path+"/rotate-secret", nil), 200, "")
	if rotated.text("secret") == secret || !strings.HasPrefix(rotated.text("secret"), "whsec_") {
		t.Errorf("%s", rotated.raw)
	}
	s.want(s.call("POST", path+"/rotate-secret", fields{"overlapSeconds": 0}), 200, "")
	for range 4 {
		s.want(s.call("POST", path+"/rotate-secret", nil), 200, "")
	}
	if a := s.want(s.call("POST", path+"/rotate-secret", nil), 409, "WEBHOOK_LIMIT_REACHED"); a.body["limit"] != 5.0 {
		t.Errorf("%s", a.raw)
	}
	s.want(s.call("POST", path+"/rotate-secret", fields{"overlapSeconds": 0}), 200, "")
	s.want(s.call("POST", path+"/rotate-secret", fields{"overlapSeconds": -1}), 422, "VALIDATION_FAILED")
	changed := s.want(s.call("PATCH", path, fields{"url": "https://example.com:8443/", "types": []string{"*"}, "state": "DISABLED"}), 200, "")
	if changed.text("reason") != "operator" || changed.text("url") != "https://example.com:8443/" ||
		fmt.Sprint(changed.body["types"]) != "[*]" {
		t.Errorf("%s", changed.raw)
	}
	for _, a := range []answer{s.call("GET", path, nil), s.call("GET", "/api/webhooks", nil), changed} {
		if a.status != 200 || strings.Contains(a.raw, "whsec_") || !strings.Contains(a.raw, id) {
			t.Errorf("%s", a.raw)
		}
	}
	if enabled := s.want(s.call("PATCH", path, fields{"state": "ENABLED"}), 200, ""); enabled.body["reason"] != nil {
		t.Errorf("%s", enabled.raw)
	}
	s.want(s.call("GET", path+"/deliveries?state=DEAD", nil), 200, "")
	s.want(s.call("POST", path+"/replay", nil), 202, "")
	s.want(s.call("DELETE", path, nil), 204, "")
	for _, a := range []answer{
		s.call("GET", path, nil), s.call("DELETE", path, nil), s.call("PATCH", path, fields{}), s.call("POST", path+"/replay", nil),
		s.call("POST", path+"/test", nil), s.call("POST", path+"/rotate-secret", nil), s.call("GET", path+"/deliveries", nil),
	} {
		s.want(a, 404, "WEBHOOK_NOT_FOUND")
	}
	if lines := s.w.Log.Lines("whsec_"); len(lines) > 0 {
		t.Errorf("the log has a secret: %q", lines)
	}
}

func TestWebhooks_InvalidEndpointsAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	types := []string{"*"}
	for name, body := range map[string]fields{
		"http": {"url": "http://example.com", "types": types}, "private": {"url": "https://10.0.0.1", "types": types},
		"port": {"url": "https://example.com:8080", "types": types}, "user": {"url": "https://a:b@example.com", "types": types},
		"no type": {"url": hookURL, "types": []string{}}, "unknown type": {"url": hookURL, "types": []string{"holdfast.lock.lost"}},
		"other prefix": {"url": hookURL, "types": []string{"other.*"}}, "two stars": {"url": hookURL, "types": []string{"holdfast.*.*"}},
		"no url": {"types": types}, "no types": {"url": hookURL}, "secret": {"url": hookURL, "types": types, "secret": "whsec_a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			refusal := s.want(s.call("POST", "/api/webhooks", body), 422, "VALIDATION_FAILED")
			inDevelopment := slices.Contains([]string{"http", "private", "port"}, name)
			if strings.Contains(refusal.raw, "WEBHOOK_ALLOW_PRIVATE") != inDevelopment {
				t.Error(refusal.raw)
			}
		})
	}
	for _, event := range []string{strings.Repeat("0", 24), mongodb.NewID().String()} {
		s.want(s.call("POST", "/api/webhooks", fields{"url": hookURL, "types": types, "eventId": event}), 404, "EVENT_NOT_FOUND")
	}
	id := s.want(s.call("POST", "/api/webhooks", fields{"url": hookURL, "types": types}), 201, "").text("id")
	for name, body := range map[string]fields{
		"http": {"url": "http://example.com"}, "no type": {"types": []string{}}, "state": {"state": "PAUSED"}, "null": {"state": nil},
	} {
		t.Run("PATCH "+name, func(t *testing.T) {
			s := s.in(t)
			s.want(s.call("PATCH", "/api/webhooks/"+id, body), 422, "VALIDATION_FAILED")
		})
	}
	for _, body := range []fields{{"since": "2030-01-02T00:00:00Z", "until": "2030-01-01T00:00:00Z"}, {"state": "PENDING"}} {
		s.want(s.call("POST", "/api/webhooks/"+id+"/replay", body), 422, "VALIDATION_FAILED")
	}
}

// Many create endpoints at once: there are never more than 50.
func TestWebhooks_LimitHoldsUnderAStampede(t *testing.T) {
	t.Parallel()
	s := open(t)
	var made, refused atomic.Int32
	var running sync.WaitGroup
	for worker := range 8 {
		running.Go(func() {
			for n := range 8 {
				a := s.call("POST", "/api/webhooks", fields{"url": hookURL, "types": []string{"*"}, "idempotencyKey": fmt.Sprint(worker, n)})
				switch {
				case a.status == 201:
					made.Add(1)
				case a.text("code") == "WEBHOOK_LIMIT_REACHED" && a.status == 409:
					refused.Add(1)
				default:
					t.Errorf("%d %s", a.status, a.raw)
				}
			}
		})
	}
	running.Wait()
	if made.Load() != webhooks.MaxEndpoints || refused.Load() != 64-webhooks.MaxEndpoints {
		t.Errorf("%d made, %d refused", made.Load(), refused.Load())
	}
	first := s.want(s.call("GET", "/api/webhooks?pageSize=1", nil), 200, "").body["items"].([]any)[0].(map[string]any)["id"]
	s.want(s.call("DELETE", fmt.Sprint("/api/webhooks/", first), nil), 204, "")
	s.want(s.call("POST", "/api/webhooks", fields{"url": hookURL, "types": []string{"*"}}), 201, "")
	s.want(s.call("POST", "/api/webhooks", fields{"url": hookURL, "types": []string{"*"}}), 409, "WEBHOOK_LIMIT_REACHED")
}

// A delivery has the bytes of the item of GET /api/changes, and is a valid CloudEvent.
func TestWebhooks_DeliverWhatChangesList(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fields{"name": "A & <B>", "totalSeats": 5, "eventDate": "2030-01-02T03:04:05Z"}
	event := s.want(s.call("POST", "/api/events", show), 201, "").text("id")
	claim := fields{"eventId": event, "userId": s.user(), "seats": 2, "idempotencyKey": "k"}
	lock := s.want(s.call("POST", "/api/locks", claim), 201, "").text("id")
	s.want(s.call("DELETE", "/api/locks/"+lock, nil), 200, "")
	s.want(s.call("POST", "/api/seating-plans", smallPlan("P")), 201, "")
	s.number()
	listed := s.want(s.call("GET", "/api/changes", nil), 200, "").raw
	encode := httpapi.NewChangeEncoder(httpapi.Services{Seats: s.w.Seats, Plans: s.w.Plans, Changes: s.w.Changes, Log: slog.New(s.w.Log)})
	list, _, err := s.w.Changes.List(t.Context(), nil, changes.Filter{}, 100)
	if err != nil || len(list) != 4 {
		t.Fatal(list, err)
	}
	for _, c := range list {
		body, err := encode(t.Context(), c)
		if err != nil || !strings.Contains(listed, string(body)) {
			t.Errorf("%s is not listed: %v", body, err)
		}
		var e cloudevents.Event
		if err := e.UnmarshalJSON(body); err != nil {
			t.Fatal(err)
		}
		if err := e.Validate(); err != nil || e.ID() != c.ID() || e.Type() != string(c.Type) || strings.Contains(string(body), "idempotencyKey") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// A delivery is not made while the plan of its seats can't be read: it would tell their IDs alone, for good.
func TestWebhooks_DeliverNoSeatsWithoutTheirPlaces(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	claim := fields{"eventId": event, "userId": s.user(), "seatIds": []string{"A-1-1"}}
	s.want(s.call("POST", "/api/locks", claim), 201, "")
	s.number()
	list, _, err := s.w.Changes.List(t.Context(), nil, changes.Filter{Types: []holdfast.ChangeType{holdfast.ChangeLockCreated}}, 100)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	lock := list[0]
	booking := holdfast.Booking{ID: mongodb.NewID(), EventID: lock.EventID, LockID: lock.Lock.ID, SeatIDs: lock.Lock.SeatIDs}
	for name, c := range map[string]holdfast.Change{
		"in the plan of its record": lock,
		"in the present plan":       {Type: holdfast.ChangeBookingExpired, EventID: lock.EventID, Booking: &booking}, // its lock ended first
	} {
		t.Run(name, func(t *testing.T) {
			other := testenv.Open(t, s.w.URI, s.w.DB.Name()) // a process that has not read the plan
			encode := httpapi.NewChangeEncoder(httpapi.Services{
				Seats: other.Seats, Plans: other.Plans, Changes: other.Changes, Log: slog.New(other.Log),
			})
			if body, err := encode(ended, c); err == nil {
				t.Errorf("%s", body)
			}
			if body, err := encode(t.Context(), c); err != nil || !strings.Contains(string(body), `"row"`) {
				t.Errorf("%s, %v", body, err)
			}
		})
	}
}

// A test makes one try, with an event that is not a change, and returns only the status of the answer.
func TestWebhooks_TestSendsOneEvent(t *testing.T) {
	t.Parallel()
	var verifier atomic.Pointer[standardwebhooks.Webhook]
	status := http.StatusOK
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verifier.Load().Verify(body, r.Header)
		}
		var e cloudevents.Event
		if err == nil {
			err = e.UnmarshalJSON(body)
		}
		if err != nil {
			t.Error(err)
		}
		got = append(got, e.Type())
		http.Error(w, "internal address 10.0.0.1", status)
	}))
	t.Cleanup(server.Close)
	s := open(t)
	private := webhooks.New(s.w.DB, s.w.Changes, true)
	e, secret, _, err := private.Create(t.Context(), webhooks.NewEndpoint{URL: server.URL, Types: []string{"*"}}, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	verifier.Store(key)
	if tested, err := private.Test(t.Context(), e.ID); err != nil || tested.Status != 200 || tested.Error != "" {
		t.Errorf("%+v, %v", tested, err)
	}
	status = http.StatusBadGateway
	tested, err := private.Test(t.Context(), e.ID)
	if err != nil || tested.Status != 502 || !strings.Contains(tested.Error, "another status") {
		t.Errorf("%+v, %v", tested, err)
	}
	if !slices.Equal(got, []string{webhooks.TypeTest, webhooks.TypeTest}) {
		t.Errorf("%v", got)
	}
	// The site's own service allows no private address, also of an endpoint that is there.
	a := s.want(s.call("POST", "/api/webhooks/"+e.ID.String()+"/test", nil), 200, "")
	said := a.text("error")
	if a.body["status"] != nil || !strings.Contains(said, "not public") || !strings.Contains(said, "WEBHOOK_ALLOW_PRIVATE") || len(got) != 2 {
		t.Errorf("%s", a.raw)
	}
}
