package httpapi_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

// website answers all requests alike, and counts them. It is something else at the URL of the API.
func website(t *testing.T, status int, contentType string, body []byte) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// A successful answer that the API would not send is an error at once, not a value without content.
func TestClient_SaysThatTheURLMayBeWrong(t *testing.T) {
	t.Parallel()
	const json, tooMuch = "application/json", 16<<20 + 1
	for name, answer := range map[string]struct {
		contentType string
		body        []byte
	}{
		"a page":    {"text/html", []byte("<html>")},
		"null":      {json, []byte("null")},
		"a list":    {json, []byte("[]")},
		"nothing":   {json, nil},
		"too large": {json, append([]byte("{}"), bytes.Repeat([]byte(" "), tooMuch)...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, requests := website(t, http.StatusOK, answer.contentType, answer.body)
			api := client.New(url)
			_, lockErr := api.AcquireLock(t.Context(), client.LockRequest{EventID: someID, Holder: "h", Seats: 1})
			_, eventErr := api.GetEvent(t.Context(), someID)
			for _, err := range []error{lockErr, eventErr, api.DeleteEvent(t.Context(), someID)} {
				if err == nil || !strings.Contains(err.Error(), "the base URL may be wrong") || client.CodeOf(err) != "" {
					t.Error(err)
				}
			}
			if requests.Load() != 3 {
				t.Errorf("%d requests", requests.Load())
			}
			if raw, err := api.Do(t.Context(), client.RawRequest{Method: "GET", Path: "/api/events"}); err != nil || !bytes.Equal(raw, answer.body) {
				t.Errorf("Do: %d bytes, %v", len(raw), err)
			}
		})
	}
}

// What a gateway has to say about itself is not the API's answer, so the outcome of a change is unknown.
func TestClient_KnowsTheCodesOfAGateway(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"code":"GATEWAY_TIMEOUT"}`, `{"code":504}`, `{"code":"SEATS_UNAVAILABLE"}`} {
		url, _ := website(t, http.StatusGatewayTimeout, "application/json", []byte(body))
		api := client.New(url, client.WithRetryTimeout(0))
		_, err := api.AcquireLock(t.Context(), client.LockRequest{EventID: someID, Holder: "h", Seats: 1})
		var refusal *client.Error
		if !errors.As(err, &refusal) || refusal.Code != "" || refusal.Detail != "504 Gateway Timeout" {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestClient_RefusesKeysThatNoHeaderMayHave(t *testing.T) {
	t.Parallel()
	const begin, end = "0123456789abcdef", "fedcba9876543210"
	url, requests := website(t, http.StatusOK, "application/json", []byte("{}"))
	for _, wrong := range []string{"\n", "\r\nX-Other: ", "\x00", " ", "\x7f", "é"} {
		_, err := client.New(url, client.WithKey(begin+wrong+end)).GetEvent(t.Context(), someID)
		if !errors.Is(err, client.ErrInvalidKey) || strings.Contains(err.Error(), begin) || strings.Contains(err.Error(), end) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests", requests.Load())
	}
	s := openShop(t, passThrough, client.WithKey(" sesame\r\n"))
	if _, err := s.GetEvent(t.Context(), someID); !client.Is(err, client.EventNotFound) {
		t.Errorf("a key with white space around it: %v", err)
	}
}

func TestClient_RefusesAMalformedURL(t *testing.T) {
	t.Parallel()
	malformed := []string{"", "127.0.0.1:8080", "ftp://holdfast", "http://", "https://:80", "http://[::1", "http://u:hush@a:b", "http://a\n"}
	for _, url := range malformed {
		_, err := client.New(url, client.WithKey("sesame")).GetEvent(t.Context(), someID)
		if err == nil || !strings.Contains(err.Error(), "must be http:// or https:// with a host") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", url, err)
		}
	}
	s := openShop(t, passThrough)
	_, err := client.New(strings.Replace(s.url, "http", "HTTP", 1), client.WithKey("sesame")).GetEvent(t.Context(), someID)
	if !client.Is(err, client.EventNotFound) {
		t.Errorf("a scheme in capitals: %v", err)
	}
	before := s.calls.Load()
	if _, err := s.Do(t.Context(), client.RawRequest{Method: "GET", Path: "/api/%zz"}); err == nil || s.calls.Load() != before {
		t.Errorf("a malformed path: %v", err)
	}
}

func TestClient_RefusesIDsThatNameNothing(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	_, getErr := s.GetEvent(t.Context(), "")
	_, dotsErr := s.GetEvent(t.Context(), "..")
	_, entryErr := s.JoinWaitlist(t.Context(), client.JoinRequest{Holder: "h", EntryWish: client.EntryWish{Seats: 1}})
	for _, err := range []error{getErr, dotsErr, entryErr} {
		if err == nil || !strings.Contains(err.Error(), "an ID is empty or dots in the path /api/events/") {
			t.Errorf("got %v", err)
		}
	}
	if s.calls.Load() != 0 {
		t.Errorf("%d requests", s.calls.Load())
	}
}

// An event of the year 1 would be archived at once.
func TestClient_SendsNoZeroDate(t *testing.T) {
	t.Parallel()
	_, err := openShop(t, passThrough).CreateEvent(t.Context(), client.NewEvent{Name: "Gala", TotalSeats: 1})
	if !client.Is(err, client.ValidationFailed) || !strings.Contains(err.Error(), "eventDate") {
		t.Errorf("got %v", err)
	}
}

func TestClient_ReadsATimeInRetryAfter(t *testing.T) {
	t.Parallel()
	const at = "Fri, 31 Dec 1999 23:59:59 GMT"
	dates := map[string]time.Duration{"Fri, 31 Dec 1999 23:59:29 GMT": 30 * time.Second, "Sat, 01 Jan 2000 00:00:00 GMT": 0, "now": 0}
	for date, want := range dates {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", at)
			w.Header().Set("Date", date)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		defer server.Close()
		_, err := client.New(server.URL, client.WithRetryTimeout(0)).GetEvent(t.Context(), someID)
		var refusal *client.Error
		if !errors.As(err, &refusal) || refusal.RetryAfter != want {
			t.Errorf("at %s: %v, want %s", date, err, want)
		}
	}
}
