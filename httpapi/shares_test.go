package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// as is the site for a caller: every request has the header.
func (s *site) as(authorization string) *site {
	sub := *s
	sub.client = &http.Client{Transport: withHeader{s.client.Transport, authorization}}
	return &sub
}

type withHeader struct {
	http.RoundTripper
	authorization string
}

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", h.authorization)
	return h.RoundTripper.RoundTrip(r)
}

// A customer has a number of streams of both kinds together, which takes nothing from others. A key acts for all customers.
func TestShares_StreamsOfACustomer(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{CustomerStreams: 2})
	ops := s.as("Bearer s-ops")
	path := "/api/events/" + ops.seatedEvent(nil)
	customer, other, shop := s.as(tokenFor(t, mongodb.NewID().String())), s.as(tokenFor(t, mongodb.NewID().String())), s.as("Bearer s-shop")
	first := customer.listenTo(path+"/stream", "")
	customer.listenTo(path+"/seats/stream", "")
	for _, kind := range []string{"/stream", "/seats/stream"} {
		if a := customer.call("HEAD", path+kind, nil); a.status != 429 || a.header.Get("Retry-After") == "" { // HEAD ends at once
			t.Fatal(a)
		}
		customer.want(customer.call("GET", path+kind, nil), 429, "TOO_MANY_REQUESTS")
	}
	customer.want(customer.call("GET", path, nil), 200, "")
	other.listenTo(path+"/stream", "")
	for range 5 {
		shop.listenTo(path+"/stream", "")
	}
	first.disconnect()
	testenv.WaitFor(t, func() bool { return customer.call("HEAD", path+"/stream", nil).status == 200 })
	none := "/api/events/" + mongodb.NewID().String() + "/stream"
	for range 3 { // a stream that was refused counts no more
		customer.want(customer.call("GET", none, nil), 404, "EVENT_NOT_FOUND")
	}
	customer.listenTo(path+"/stream", "")
}

// A stream ends when its token expires, as when the server stops, so that its client reconnects with a new token.
func TestShares_StreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{})
	path := "/api/events/" + s.as("Bearer s-ops").seatedEvent(nil)
	for _, kind := range []string{"/stream", "/seats/stream"} {
		t.Run(kind, func(t *testing.T) {
			expires := time.Now().Add(3 * time.Second).Unix()
			claims := jwt.MapClaims{"sub": mongodb.NewID().String(), "exp": expires}
			token := sign(t, jwt.SigningMethodHS256, []byte(tokenSecret), claims)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path+kind, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", token)
			response, err := s.client.Do(request)
			if err != nil || response.StatusCode != 200 {
				t.Fatal(response, err)
			}
			defer func() { _ = response.Body.Close() }()
			ended := make(chan string, 1)
			go func() {
				text, err := io.ReadAll(response.Body)
				ended <- fmt.Sprint(string(text), err)
			}()
			select {
			case text := <-ended:
				if !strings.HasSuffix(text, "<nil>") || !strings.Contains(text, "event: ") || time.Now().Unix() < expires {
					t.Errorf("the stream ended with %q", text)
				}
			case <-time.After(streamTimeout):
				t.Error("the stream has outlived its token")
			}
		})
	}
}

// A customer has a number of requests in flight, which takes nothing from others.
func TestShares_RequestsOfACustomer(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{CustomerRequests: 2})
	shop, ops := s.as("Bearer s-shop"), s.as("Bearer s-ops")
	user, event := ops.user(), ops.event(10)
	customer, other := s.as(tokenFor(t, user)), s.as(tokenFor(t, mongodb.NewID().String()))
	release := s.w.HoldEvent(event)
	answers := make(chan answer, 4)
	for _, caller := range []*site{customer, customer, shop, shop} {
		go func() {
			answers <- caller.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1})
		}()
	}
	testenv.WaitFor(t, func() bool {
		return strings.Contains(s.call("GET", "/metrics", nil).raw, "holdfast_http_requests_in_flight 4\n")
	})
	for range 3 {
		customer.want(customer.call("GET", "/api/events", nil), 429, "TOO_MANY_REQUESTS")
	}
	other.want(other.call("GET", "/api/events", nil), 200, "")
	shop.want(shop.call("GET", "/api/events", nil), 200, "")
	release()
	for range 4 {
		s.want(<-answers, 201, "")
	}
	customer.want(customer.call("GET", "/api/events", nil), 200, "")
}
