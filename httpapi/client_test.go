package httpapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// shop is a client of an API on a new database.
type shop struct {
	*client.Client
	env   *testenv.Env
	url   string
	calls atomic.Int64
}

// handler is a fake proxy: it may answer in place of the API, or drop its answer.
type handler func(w http.ResponseWriter, r *http.Request, api http.Handler)

// refuse answers as the API does.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"code":"` + code + `","detail":"?"}`))
}

func passThrough(w http.ResponseWriter, r *http.Request, api http.Handler) { api.ServeHTTP(w, r) }

// openShop opens a shop whose requests go through proxy. The options come after the
// default ones.
func openShop(t *testing.T, proxy handler, options ...client.Option) *shop {
	t.Helper()
	w := testenv.New(t)
	api := httpapi.New(httpapi.Services{
		Users: w.Users, Eraser: w.Eraser, Plans: w.Plans, Seats: w.Seats, Bookings: w.Bookings, Changes: w.Changes,
		Webhooks: webhooks.New(w.DB, w.Changes, true),
		Log:      slog.New(w.Log), Clock: mongodb.SystemTime, Metrics: telemetry.NewMetrics(),
		Keys:    []config.Key{{Name: "shop", Scope: config.ScopeAdmin, Secret: "sesame"}},
		Serving: func() bool { return true }, Ready: func(context.Context) httpapi.Readiness { return httpapi.Readiness{} },
	})
	s := &shop{env: w}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		proxy(w, r, api)
	}))
	s.url = server.URL
	transport := &http.Transport{}
	httpClient := &http.Client{Timeout: 10 * time.Second, Transport: transport}
	options = append([]client.Option{client.WithKey("sesame"), client.WithHTTPClient(httpClient)}, options...)
	s.Client = client.New(server.URL+"/", options...)
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return s
}

// createSale creates an event with 10 seats, and a user.
func (s *shop) createSale(t *testing.T) (client.Event, client.User) {
	t.Helper()
	date := time.Date(2027, 6, 15, 19, 0, 0, 0, time.UTC)
	event, err := s.CreateEvent(t.Context(), client.NewEvent{Name: "E", TotalSeats: 10, EventDate: date})
	if err != nil {
		t.Fatal(err)
	}
	user, err := s.CreateUser(t.Context(), "Ada", "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return event, user
}

// A holder is named in place of a user, and the server refuses both together.
func TestClient_ActsForHolders(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	event, user := s.createSale(t)
	ctx, cart := t.Context(), "cart 1"
	lock, err := s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, Holder: cart, Seats: 2})
	if err != nil || lock.Holder != cart || lock.UserID != "" {
		t.Fatalf("%+v, %v", lock, err)
	}
	booking, err := s.CreateBooking(ctx, client.BookingRequest{LockID: lock.ID, EventID: event.ID, Holder: cart, PaymentTTL: time.Minute})
	if err != nil || booking.Holder != cart || booking.UserID != "" {
		t.Fatalf("%+v, %v", booking, err)
	}
	if _, err := s.ConfirmBooking(ctx, booking.ID, "r"); err != nil {
		t.Error(err)
	}
	other, err := s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, Holder: "another", Seats: 1})
	if err == nil {
		_, err = s.CreateBooking(ctx, client.BookingRequest{LockID: other.ID, EventID: event.ID, Holder: "another", PaymentTTL: time.Minute})
	}
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for found, err := range s.ListBookings(ctx, client.Filter{Holder: &cart}) {
		if listed++; err != nil || found.ID != booking.ID {
			t.Errorf("%+v, %v", found, err)
		}
	}
	if listed != 1 {
		t.Errorf("%d bookings are listed", listed)
	}
	if erased, err := s.EraseHolder(ctx, cart); err != nil || erased != (client.Erased{Locks: 1, Bookings: 1}) {
		t.Errorf("erased %+v, %v", erased, err)
	}
	if _, err := s.EraseHolder(ctx, "another"); !client.Is(err, client.HoldsSeats) {
		t.Errorf("erased a holder with an open booking: %v", err)
	}
	if erased, err := s.EraseUser(ctx, user.ID); err != nil || erased != (client.Erased{}) {
		t.Errorf("erased %+v, %v", erased, err)
	}
	if _, err := s.GetUser(ctx, user.ID); !client.Is(err, client.UserNotFound) {
		t.Errorf("the erased user: %v", err)
	}
	_, err = s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, Holder: cart, Seats: 2})
	if !client.Is(err, client.ValidationFailed) {
		t.Errorf("both together: %v", err)
	}
}

func TestClient_ChangesAUser(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	_, user := s.createSale(t)
	if _, err := s.CreateUser(t.Context(), "Bob", "bob@example.com"); err != nil {
		t.Fatal(err)
	}
	changed, err := s.UpdateUser(t.Context(), user.ID, client.UserChange{Email: new("ada@example.org")})
	if user.Email = "ada@example.org"; err != nil || changed != user {
		t.Errorf("%+v %v, want %+v", changed, err, user)
	}
	if _, err := s.UpdateUser(t.Context(), user.ID, client.UserChange{Email: new("BOB@example.com")}); !client.Is(err, client.EmailTaken) {
		t.Errorf("the address of another user: %v", err)
	}
}

func TestClient_BooksAndCancels(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, user := s.createSale(t)
	request := client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 4, TTL: 10 * time.Minute}
	lock, err := s.AcquireLock(ctx, request)
	if err != nil || lock.Status != "ACTIVE" || lock.IdempotencyKey == "" || lock.Replayed {
		t.Fatalf("%+v %v", lock, err)
	}
	request.IdempotencyKey = lock.IdempotencyKey
	replay, err := s.AcquireLock(ctx, request)
	if err != nil || replay.ID != lock.ID || !replay.Replayed {
		t.Errorf("the replay: %+v %v", replay, err)
	}
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	if l, err := s.ExtendLock(ctx, lock.ID, until); err != nil || !l.ExpiresAt.Equal(until) {
		t.Errorf("extended: %+v %v", l, err)
	}
	_, err = s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 7})
	var refusal *client.Error
	if !client.Is(err, client.SeatsUnavailable) || !errors.As(err, &refusal) {
		t.Fatalf("7 of 6 seats: %v", err)
	}
	if refusal.Requested != 7 || refusal.Available != 6 || refusal.RequestID == "" {
		t.Errorf("7 of 6 seats: %+v", refusal)
	}
	b, err := s.CreateBooking(ctx, client.BookingRequest{LockID: lock.ID, EventID: event.ID, UserID: user.ID})
	if err != nil || b.Status != "INITIATED" {
		t.Fatalf("%+v %v", b, err)
	}
	if _, err = s.ConfirmBooking(ctx, b.ID, ""); !client.Is(err, client.BookingNotPayable) {
		t.Errorf("confirmed an INITIATED booking: %v", err)
	}
	if b, err = s.PayBooking(ctx, b.ID, until); err != nil || b.Status != "PAYMENT_PENDING" {
		t.Errorf("%+v %v", b, err)
	}
	for range 2 {
		if b, err = s.ConfirmBooking(ctx, b.ID, "ref"); err != nil || b.Status != "CONFIRMED" || b.PaymentReference != "ref" {
			t.Errorf("%+v %v", b, err)
		}
	}
	if _, err = s.ReleaseLock(ctx, lock.ID); !client.Is(err, client.LockConsumed, client.LockReleased) {
		t.Errorf("released a CONSUMED lock: %v", err)
	}
	e, err := s.UpdateEvent(ctx, event.ID, client.EventChange{Status: new("CLOSED")})
	if err != nil || e.Status != "CLOSED" || e.AvailableSeats != 6 {
		t.Errorf("%+v %v", e, err)
	}
	if b, err = s.CancelBooking(ctx, b.ID); err != nil || b.Status != "CANCELLED" {
		t.Errorf("%+v %v", b, err)
	}
	if l, err := s.GetLock(ctx, lock.ID); err != nil || l.Status != "RELEASED" {
		t.Errorf("%+v %v", l, err)
	}
	if _, err := s.GetBooking(ctx, "not an ID"); !client.Is(err, client.ValidationFailed) {
		t.Errorf("an invalid ID: %v", err)
	}
	if _, err := s.CreateUser(ctx, "Ada", "ada@example.com"); !client.Is(err, client.EmailTaken) {
		t.Errorf("the same address: %v", err)
	}
	if u, err := s.GetUser(ctx, user.ID); err != nil || u.Email != "ada@example.com" {
		t.Errorf("%+v %v", u, err)
	}
}

// A client of one event names it in every path of a lock or a booking.
func TestClient_InEventNamesTheEventInItsPaths(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var paths []string
	s := openShop(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		mu.Lock()
		paths = append(paths, r.Method+" "+r.URL.Path)
		mu.Unlock()
		api.ServeHTTP(w, r)
	})
	ctx := t.Context()
	event, user := s.createSale(t)
	paths = nil
	in := s.InEvent(event.ID)
	lock, err := in.AcquireLock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 2, TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour)
	if _, err = in.ExtendLock(ctx, lock.ID, until); err != nil {
		t.Error(err)
	}
	if lock, err = in.ChangeSeats(ctx, lock.ID, client.Wish{Seats: 1}); err != nil || lock.Seats != 1 {
		t.Errorf("%+v %v", lock, err)
	}
	b, err := in.CreateBooking(ctx, client.BookingRequest{LockID: lock.ID, EventID: event.ID, UserID: user.ID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = in.PayBooking(ctx, b.ID, until); err != nil {
		t.Error(err)
	}
	if _, err = in.ConfirmBooking(ctx, b.ID, "ref"); err != nil {
		t.Error(err)
	}
	if b, err = in.GetBooking(ctx, b.ID); err != nil || b.Status != "CONFIRMED" {
		t.Errorf("%+v %v", b, err)
	}
	if _, err = in.CancelBooking(ctx, b.ID); err != nil {
		t.Error(err)
	}
	if _, err = in.ReleaseLock(ctx, lock.ID); err != nil {
		t.Error(err)
	}
	locks, bookings := "/api/events/"+event.ID+"/locks", "/api/events/"+event.ID+"/bookings"
	l, of := locks+"/"+lock.ID, bookings+"/"+b.ID
	want := []string{
		"POST " + locks, "POST " + l + "/extend", "PUT " + l + "/seats", "POST " + bookings, "POST " + of + "/pay",
		"POST " + of + "/confirm", "GET " + of, "POST " + of + "/cancel", "DELETE " + l,
	}
	if !slices.Equal(paths, want) {
		t.Errorf("called %q, want %q", paths, want)
	}
	other := s.InEvent(user.ID)
	if _, err := other.ReleaseLock(ctx, lock.ID); !client.Is(err, client.LockNotFound) {
		t.Errorf("the lock in another event: %v", err)
	}
	if _, err := other.GetBooking(ctx, b.ID); !client.Is(err, client.BookingNotFound) {
		t.Errorf("the booking in another event: %v", err)
	}
}

// An iteration reads as many pages as it needs.
func TestClient_ListsReadPageAfterPage(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	event, user := s.createSale(t)
	const totalSeats = 2000
	if _, err := s.UpdateEvent(t.Context(), event.ID, client.EventChange{TotalSeats: new(int64(totalSeats))}); err != nil {
		t.Fatal(err)
	}
	var requests sync.WaitGroup
	for range 16 {
		requests.Go(func() {
			for range 40 {
				if _, err := s.AcquireLock(t.Context(), client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	requests.Wait()
	seen := map[string]bool{}
	for lock, err := range s.ListLocks(t.Context(), client.Filter{EventID: &event.ID, Status: new("ACTIVE")}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[lock.ID] = true
	}
	before := s.calls.Load()
	for _, err := range s.ListLocks(t.Context(), client.Filter{UserID: &user.ID}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if len(seen) != 640 || s.calls.Load() != before+1 {
		t.Errorf("%d locks; then %d calls", len(seen), s.calls.Load()-before)
	}
	for _, err := range s.ListBookings(t.Context(), client.Filter{Status: new("SOLD")}) {
		if !client.Is(err, client.ValidationFailed) {
			t.Errorf("an unknown status: %v", err)
		}
	}
	for lock, err := range s.ListLocks(t.Context(), client.Filter{UserID: new("")}) { // an ID that was never set
		if !client.Is(err, client.ValidationFailed) {
			t.Errorf("an empty filter: %+v %v", lock, err)
		}
	}
	for e, err := range s.ListEvents(t.Context(), client.EventFilter{}) {
		if err != nil || e.AvailableSeats != totalSeats-640 {
			t.Errorf("%+v %v", e, err)
		}
	}
}

// Retries acquire one lock, and create one user and one event, whatever fails. A change of an
// event is not repeated when its outcome is unknown.
func TestClient_RetriesHaveOneEffect(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]handler{
		"response lost": func(w http.ResponseWriter, r *http.Request, api http.Handler) {
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		},
		"request lost": func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
		"outcome unknown": func(w http.ResponseWriter, r *http.Request, api http.Handler) {
			api.ServeHTTP(httptest.NewRecorder(), r)
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, "OUTCOME_UNKNOWN")
		},
		"bad gateway": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(w, "<html>", http.StatusBadGateway)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failures atomic.Int64 // requests that fail from now on
			s := openShop(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
				if failures.Add(-1) >= 0 {
					fail(w, r, api)
					return
				}
				api.ServeHTTP(w, r)
			})
			event, user := s.createSale(t)
			failures.Store(2)
			if _, err := s.AcquireLock(t.Context(), client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 3}); err != nil {
				t.Error(err)
			}
			failures.Store(0)
			if e, err := s.GetEvent(t.Context(), event.ID); err != nil || e.AvailableSeats != 7 {
				t.Errorf("%d seats are available, %v", e.AvailableSeats, err)
			}
			failures.Store(2)
			bob, err := s.CreateUser(t.Context(), "Bob", "bob@example.com")
			if found, exists, findErr := s.FindUser(t.Context(), "BOB@example.com"); err != nil || !exists || findErr != nil || found != bob {
				t.Errorf("CreateUser: %+v, %v; found %+v, %v", bob, err, found, findErr)
			}
			failures.Store(2)
			if _, err := s.CreateEvent(t.Context(), client.NewEvent{Name: "F", TotalSeats: 1, EventDate: time.Now()}); err != nil {
				t.Error(err)
			}
			failures.Store(0)
			var names []string
			for e, err := range s.ListEvents(t.Context(), client.EventFilter{}) {
				if names = append(names, e.Name); err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(names, []string{"E", "F"}) {
				t.Errorf("the events are %q", names)
			}
			before := s.calls.Load()
			failures.Store(1)
			_, err = s.UpdateEvent(t.Context(), event.ID, client.EventChange{Name: new("G")})
			if err == nil || s.calls.Load() != before+1 {
				t.Errorf("UpdateEvent sent %d requests: %v", s.calls.Load()-before, err)
			}
		})
	}
}

// A creation by Do whose answer was lost is repeated if it has a key, and has one effect.
func TestClient_DoRepeatsAChangeWithAKeyOnly(t *testing.T) {
	t.Parallel()
	var failures atomic.Int64 // requests whose answer is lost from now on
	s := openShop(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		if failures.Add(-1) < 0 {
			api.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
	for key, sent := range map[string]int64{"": 1, "k": 2} {
		create := client.RawRequest{Method: "POST", Path: "/api/users", Header: http.Header{"Idempotency-Key": {key}}}
		if key == "" {
			create.Header = nil
		}
		create.Body = []byte(`{"name":"C","email":"c` + key + `@example.com"}`)
		before := s.calls.Load()
		failures.Store(1)
		answer, err := s.Do(t.Context(), create)
		isCreated := strings.Contains(string(answer), `"email":"ck@example.com"`)
		if s.calls.Load() != before+sent || isCreated != (key != "") || isCreated != (err == nil) {
			t.Errorf("Do with the key %q sent %d requests: %s %v", key, s.calls.Load()-before, answer, err)
		}
	}
}

// The lease of a job may be another process's when the request comes again.
func TestClient_DoDeletesOnce(t *testing.T) {
	t.Parallel()
	s := openShop(t, func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) })
	_, err := s.Do(t.Context(), client.RawRequest{Method: "DELETE", Path: "/api/admin/jobs/lock-expiry/lease"})
	if err == nil || s.calls.Load() != 1 {
		t.Errorf("Do sent %d requests: %v", s.calls.Load(), err)
	}
}

// A redirect makes a GET of a POST: what that returns is not what was created.
func TestClient_FollowsNoRedirects(t *testing.T) {
	t.Parallel()
	s := openShop(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		if path, isMoved := strings.CutPrefix(r.URL.Path, "/moved"); isMoved {
			http.Redirect(w, r, path+"?to=1", http.StatusFound)
			return
		}
		api.ServeHTTP(w, r)
	})
	for name, options := range map[string][]client.Option{
		"own HTTP client":        {client.WithKey("sesame")},
		"HTTP client of the app": {client.WithKey("sesame"), client.WithHTTPClient(&http.Client{})},
	} {
		before := s.calls.Load()
		moved := client.New(s.url+"/moved", options...)
		_, err := moved.CreateEvent(t.Context(), client.NewEvent{Name: "E", TotalSeats: 1, EventDate: time.Now()})
		want := s.url + "/moved/api/events redirects to " + s.url + "/api/events, and the client follows no redirects: " +
			"give it the base URL of that address"
		var refusal *client.Error
		if !errors.As(err, &refusal) || refusal.Status != http.StatusFound || refusal.Detail != want || s.calls.Load() != before+1 {
			t.Errorf("%s: %d requests, %v", name, s.calls.Load()-before, err)
		}
	}
}

// The server may take longer for some calls than for others.
func TestClient_WaitsForLongCalls(t *testing.T) {
	t.Parallel()
	var delay atomic.Int64
	s := openShop(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		select {
		case <-time.After(time.Duration(delay.Load())):
		case <-r.Context().Done():
		}
		api.ServeHTTP(w, r)
	})
	event, user := s.createSale(t)
	delay.Store(int64(300 * time.Millisecond))
	hasty := client.New(s.url, client.WithKey("sesame"), client.WithRetryTimeout(0),
		client.WithHTTPClient(&http.Client{Timeout: 100 * time.Millisecond}))
	if _, err := hasty.GetEvent(t.Context(), event.ID); err == nil {
		t.Error("a short call had time")
	}
	_, reportErr := hasty.GetEventReport(t.Context(), event.ID)
	_, userErr := hasty.EraseUser(t.Context(), user.ID)
	_, holderErr := hasty.EraseHolder(t.Context(), "nobody")
	if err := errors.Join(reportErr, userErr, holderErr); err != nil {
		t.Error(err)
	}
}

// A path can't change the host to which the key is sent.
func TestClient_DoRefusesPathsWithoutASlash(t *testing.T) {
	t.Parallel()
	sent := senderFunc(func(r *http.Request) (*http.Response, error) {
		t.Errorf("sent to %s", r.URL)
		return nil, http.ErrAbortHandler
	})
	c := client.New("https://api.example.com", client.WithKey("sesame"), client.WithRetryTimeout(0),
		client.WithHTTPClient(&http.Client{Transport: sent}))
	for _, path := range []string{"", "@example.org/x", ".example.org/x", "//example.org/x", "api/events"} {
		if _, err := c.Do(t.Context(), client.RawRequest{Method: "GET", Path: path}); err == nil {
			t.Errorf("%q is not refused", path)
		}
	}
}

type senderFunc func(*http.Request) (*http.Response, error)

func (f senderFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An attempt that was not executed says nothing about an earlier one that got no answer.
func TestClient_UnavailableDoesNotHideAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"UNAVAILABLE", "TOO_MANY_REQUESTS"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			var down atomic.Bool
			var attempts atomic.Int64
			s := openShop(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
				switch {
				case !down.Load():
					api.ServeHTTP(w, r)
				case attempts.Add(1) == 1:
					api.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				default:
					refuse(w, http.StatusServiceUnavailable, code)
				}
			}, client.WithRetryTimeout(500*time.Millisecond))
			event, user := s.createSale(t)
			down.Store(true)
			_, err := s.AcquireLock(t.Context(), client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 3})
			if !client.Is(err, client.OutcomeUnknown) || attempts.Load() < 2 {
				t.Errorf("%d attempts: %v", attempts.Load(), err)
			}
			if _, err := s.GetEvent(t.Context(), event.ID); !client.Is(err, client.Code(code)) {
				t.Errorf("a read: %v", err)
			}
		})
	}
}

func rateLimited(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusTooManyRequests, "TOO_MANY_REQUESTS")
}

const someID = "6b0166d19f73b711049e40f1"

func TestClient_WaitsForRetryAfter(t *testing.T) {
	t.Parallel()
	s := openShop(t, rateLimited)
	ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
	defer cancel()
	if _, err := s.GetEvent(ctx, someID); err == nil || s.calls.Load() < 2 || s.calls.Load() > 3 {
		t.Errorf("%d requests in 2.5 s, %v", s.calls.Load(), err)
	}
}

func TestClient_RetryTimeoutZeroDisablesRetries(t *testing.T) {
	t.Parallel()
	s := openShop(t, rateLimited, client.WithRetryTimeout(0))
	if _, err := s.GetEvent(t.Context(), someID); !client.Is(err, client.TooManyRequests) || s.calls.Load() != 1 {
		t.Errorf("%d requests, %v", s.calls.Load(), err)
	}
}

func TestClient_ErrorsDoNotContainTheKey(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough, client.WithKey("wrong"))
	if _, err := s.GetEvent(t.Context(), someID); !client.Is(err, client.Unauthenticated) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("got %v", err)
	}
}

// The package has a constant for every code of the API.
func TestClient_HasEveryCode(t *testing.T) {
	t.Parallel()
	constants := []client.Code{
		client.Malformed, client.Unauthenticated, client.Forbidden, client.NotFound, client.EventNotFound,
		client.UserNotFound, client.LockNotFound, client.BookingNotFound, client.JobNotFound, client.MethodNotAllowed,
		client.BodyTooLarge, client.UnsupportedMediaType, client.SeatsUnavailable, client.SeatLimitReached,
		client.EventNotOnSale, client.EmailTaken, client.HoldsSeats, client.CapacityBelowTaken, client.LockConsumed, client.LockReleased,
		client.LockExpired, client.BookingConfirmed, client.BookingCancelled, client.BookingNotPayable,
		client.BookingExpired, client.JobRunning, client.ValidationFailed, client.IdempotencyKeyReused,
		client.TooManyRequests, client.Unavailable, client.OutcomeUnknown, client.SeatingPlanNotFound, client.SeatNotFound,
		client.SeatOrphaned, client.SeatsNotAdjacent, client.LockHasBooking, client.ChangesGone,
		client.PaymentNotFound, client.RefundNotFound, client.PaymentReferenceUsed, client.PaymentRefundDue,
		client.PaymentRefunded, client.PaymentAccepted,
		client.WebhookNotFound, client.WebhookLimitReached, client.SaleNotOpen, client.EventHasLocks,
		client.EntryNotFound, client.EntryExists, client.WaitlistClosed, client.NotOffered, client.WaitlistFull, client.SeatsStillAvailable,
	}
	for _, code := range httpapi.Codes() {
		if !slices.Contains(constants, client.Code(code)) {
			t.Errorf("no constant for %s", code)
		}
	}
}
