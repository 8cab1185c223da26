package client_test

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
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// shop is an API on a database of its own. between stands before it: it may answer
// in its place, or lose its answer.
type shop struct {
	*client.Client
	calls atomic.Int64
}

func open(t *testing.T, between func(n int64, w http.ResponseWriter, r *http.Request, api http.Handler)) *shop {
	t.Helper()
	w := testenv.New(t)
	api := httpapi.New(httpapi.Services{
		Users: w.Users, Seats: w.Seats, Bookings: w.Bookings, Log: slog.New(w.Log), Clock: clock.System, Metrics: telemetry.NewMetrics(),
		Keys:    []config.Key{{Name: "shop", Scope: config.ScopeAdmin, Secret: "sesame"}},
		Serving: func() bool { return true }, Ready: func(context.Context) httpapi.Readiness { return httpapi.Readiness{} },
	})
	s := &shop{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.calls.Add(1)
		if between != nil {
			between(n, w, r, api)
			return
		}
		api.ServeHTTP(w, r)
	}))
	transport := &http.Transport{}
	s.Client = client.New(server.URL+"/", client.WithKey("sesame"), client.WithHTTP(&http.Client{Timeout: 10 * time.Second, Transport: transport}))
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return s
}

func (s *shop) sale(t *testing.T) (client.Event, client.User) {
	t.Helper()
	event, err := s.CreateEvent(t.Context(), client.NewEvent{Name: "E", TotalSeats: 10, EventDate: time.Date(2027, 6, 15, 19, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	user, err := s.CreateUser(t.Context(), "Ada", "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return event, user
}

// A purchase from the lock to the sale and back, each step twice.
func TestClient_BuysAndCancels(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	ctx := t.Context()
	event, user := s.sale(t)
	lock, err := s.Lock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 4, TTL: 10 * time.Minute})
	if err != nil || lock.Status != "ACTIVE" || lock.IdempotencyKey == "" || lock.Replayed {
		t.Fatalf("%+v %v", lock, err)
	}
	again, err := s.Lock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 4, TTL: 10 * time.Minute, IdempotencyKey: lock.IdempotencyKey})
	if err != nil || again.ID != lock.ID || !again.Replayed {
		t.Errorf("again: %+v %v", again, err)
	}
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	if l, err := s.Extend(ctx, lock.ID, until); err != nil || !l.ExpiresAt.Equal(until) {
		t.Errorf("extended: %+v %v", l, err)
	}
	_, err = s.Lock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 7})
	var refused *client.Error
	if !client.Is(err, client.SeatsUnavailable) || !errors.As(err, &refused) || refused.Requested != 7 || refused.Available != 6 || refused.RequestID == "" {
		t.Errorf("seven of six: %v", err)
	}
	b, err := s.Book(ctx, client.BookingRequest{LockID: lock.ID, EventID: event.ID, UserID: user.ID})
	if err != nil || b.Status != "INITIATED" {
		t.Fatalf("%+v %v", b, err)
	}
	if _, err = s.Confirm(ctx, b.ID, ""); !client.Is(err, client.BookingNotPayable) {
		t.Errorf("confirmed unpaid: %v", err)
	}
	if b, err = s.Pay(ctx, b.ID, until); err != nil || b.Status != "PAYMENT_PENDING" {
		t.Errorf("%+v %v", b, err)
	}
	for range 2 {
		if b, err = s.Confirm(ctx, b.ID, "ref"); err != nil || b.Status != "CONFIRMED" || b.PaymentReference != "ref" {
			t.Errorf("%+v %v", b, err)
		}
	}
	if _, err = s.Release(ctx, lock.ID); !client.Is(err, client.LockConsumed, client.LockReleased) {
		t.Errorf("released a sold lock: %v", err)
	}
	closed := "CLOSED"
	if e, err := s.UpdateEvent(ctx, event.ID, client.EventChange{Status: &closed}); err != nil || e.Status != "CLOSED" || e.AvailableSeats != 6 {
		t.Errorf("%+v %v", e, err)
	}
	if b, err = s.Cancel(ctx, b.ID); err != nil || b.Status != "CANCELLED" {
		t.Errorf("%+v %v", b, err)
	}
	if l, err := s.ReadLock(ctx, lock.ID); err != nil || l.Status != "RELEASED" {
		t.Errorf("%+v %v", l, err)
	}
	if _, err := s.ReadBooking(ctx, "not an ID"); !client.Is(err, client.ValidationFailed) {
		t.Errorf("a booking without an ID: %v", err)
	}
	if _, err := s.CreateUser(ctx, "Ada", "ada@example.com"); !client.Is(err, client.EmailTaken) {
		t.Errorf("the same address: %v", err)
	}
	if u, err := s.User(ctx, user.ID); err != nil || u.Email != "ada@example.com" {
		t.Errorf("%+v %v", u, err)
	}
}

// Lists are walked page after page, and no further than wanted.
func TestClient_WalksLists(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	event, user := s.sale(t)
	many := int64(2000)
	if _, err := s.UpdateEvent(t.Context(), event.ID, client.EventChange{TotalSeats: &many}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 40 {
				if _, err := s.Lock(t.Context(), client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for lock, err := range s.Locks(t.Context(), client.Filter{EventID: event.ID, Status: "ACTIVE"}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[lock.ID] = true
	}
	before := s.calls.Load()
	for _, err := range s.Locks(t.Context(), client.Filter{UserID: user.ID}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if len(seen) != 640 || s.calls.Load() != before+1 {
		t.Errorf("%d locks; then %d calls", len(seen), s.calls.Load()-before)
	}
	for _, err := range s.Bookings(t.Context(), client.Filter{Status: "SOLD"}) {
		if !client.Is(err, client.ValidationFailed) {
			t.Errorf("a status that there is not: %v", err)
		}
	}
	for e, err := range s.Events(t.Context()) {
		if err != nil || e.AvailableSeats != many-640 {
			t.Errorf("%+v %v", e, err)
		}
	}
}

// Whatever becomes of the answers, a lock is made once; what has no key is not
// asked for again in doubt.
func TestClient_AsksAgainAndHasOneEffect(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w http.ResponseWriter, r *http.Request, api http.Handler){
		"answer lost": func(w http.ResponseWriter, r *http.Request, api http.Handler) {
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		},
		"request lost": func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
		"unknown": func(w http.ResponseWriter, r *http.Request, api http.Handler) {
			api.ServeHTTP(httptest.NewRecorder(), r)
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"code":"OUTCOME_UNKNOWN","detail":"?"}`, http.StatusServiceUnavailable)
		},
		"a balancer's word": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(w, "<html>", http.StatusBadGateway)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var losing atomic.Int64
			s := open(t, func(_ int64, w http.ResponseWriter, r *http.Request, api http.Handler) {
				if losing.Add(-1) >= 0 {
					lose(w, r, api)
					return
				}
				api.ServeHTTP(w, r)
			})
			event, user := s.sale(t)
			losing.Store(2)
			if _, err := s.Lock(t.Context(), client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 3}); err != nil {
				t.Error(err)
			}
			losing.Store(0)
			if e, err := s.Event(t.Context(), event.ID); err != nil || e.AvailableSeats != 7 {
				t.Errorf("%d seats are left, %v", e.AvailableSeats, err)
			}
			before := s.calls.Load()
			losing.Store(1)
			_, err := s.CreateEvent(t.Context(), client.NewEvent{Name: "F", TotalSeats: 1, EventDate: time.Now()})
			if err == nil || s.calls.Load() != before+1 {
				t.Errorf("an event was asked for %d times: %v", s.calls.Load()-before, err)
			}
		})
	}
}

// It comes again when it is told to, and gives up with its patience or its context.
func TestClient_IsPatientWithinBounds(t *testing.T) {
	t.Parallel()
	busy := func(_ int64, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		w.Write([]byte(`{"code":"TOO_MANY_REQUESTS","detail":"slow down"}`)) //nolint:errcheck // the test fails without
	}
	s := open(t, busy)
	ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
	defer cancel()
	if _, err := s.Event(ctx, "6b0166d19f73b711049e40f1"); err == nil || s.calls.Load() < 2 || s.calls.Load() > 3 {
		t.Errorf("%d calls, %v", s.calls.Load(), err)
	}
	once := open(t, busy)
	client.WithPatience(0)(once.Client)
	if _, err := once.Event(t.Context(), "6b0166d19f73b711049e40f1"); !client.Is(err, client.TooManyRequests) || once.calls.Load() != 1 {
		t.Errorf("%d calls, %v", once.calls.Load(), err)
	}
	client.WithKey("wrong")(once.Client)
	strangers := open(t, nil)
	client.WithKey("wrong")(strangers.Client)
	if _, err := strangers.Event(t.Context(), "6b0166d19f73b711049e40f1"); !client.Is(err, client.Unauthenticated) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("got %v", err)
	}
}

// Each code that the API may answer with has a name here.
func TestClient_KnowsEveryCode(t *testing.T) {
	t.Parallel()
	known := []client.Code{
		client.Malformed, client.Unauthenticated, client.Forbidden, client.NotFound, client.EventNotFound, client.UserNotFound, client.LockNotFound,
		client.BookingNotFound, client.JobNotFound, client.MethodNotAllowed, client.BodyTooLarge, client.UnsupportedMediaType, client.SeatsUnavailable,
		client.SeatLimitReached, client.EventNotOnSale, client.EmailTaken, client.CapacityBelowTaken, client.LockConsumed, client.LockReleased,
		client.LockExpired, client.BookingConfirmed, client.BookingCancelled, client.BookingNotPayable, client.BookingExpired, client.JobRunning,
		client.ValidationFailed, client.IdempotencyKeyReused, client.TooManyRequests, client.Unavailable, client.OutcomeUnknown,
	}
	for _, code := range httpapi.Codes() {
		if !slices.Contains(known, client.Code(code)) {
			t.Errorf("%s has no name", code)
		}
	}
}
