package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/live"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// site is an API on a new database, and an HTTP client.
type site struct {
	t       testing.TB
	w       *testenv.Env
	server  *httptest.Server
	client  *http.Client
	serving *atomic.Bool
	recent  *telemetry.Recent

	jobs              *jobs.Runner
	jobBegun, jobDone chan struct{} // of the job lock-expiry, see testJobs
}

// in returns the site for a subtest: it reports failures to t.
func (s *site) in(t testing.TB) *site {
	sub := *s
	sub.t = t
	return &sub
}

func open(t testing.TB, keys ...config.Key) *site {
	t.Helper()
	return openWith(t, func(s *httpapi.Services, _ *core.Settings) { s.Keys = keys })
}

// openWith opens a site after change has changed its services and settings.
func openWith(t testing.TB, change func(*httpapi.Services, *core.Settings)) *site {
	t.Helper()
	return openOn(t, testenv.New(t), change)
}

// openOn opens a site on a database.
func openOn(t testing.TB, w *testenv.Env, change func(*httpapi.Services, *core.Settings)) *site {
	t.Helper()
	s := &site{t: t, w: w, serving: &atomic.Bool{}, recent: telemetry.NewRecent(w.Log)}
	s.serving.Store(true)
	var services httpapi.Services
	settings := testenv.Settings()
	change(&services, &settings)
	w.Core = testenv.CoreWith(w.DB, nil, settings)
	metrics := telemetry.NewMetrics()
	terms := jobs.LeaseTerms{TTL: 2 * time.Second}
	s.jobBegun, s.jobDone = make(chan struct{}), make(chan struct{})
	s.jobs = jobs.New(jobs.Options{
		Log: slog.New(w.Log), Clock: mongodb.SystemTime, Holder: jobs.NewHolder("pod"), Leases: jobs.NewMongoLeases(w.DB, terms), Terms: terms,
		History: &jobs.History{DB: w.DB}, Metrics: jobs.NewMetrics(metrics.Registry),
	}, s.testJobs()...)
	services.Eraser, services.Users, services.Overview, services.Seats, services.Bookings, services.Jobs = w.Eraser, w.Users,
		w.Store, w.Seats, w.Bookings, s.jobs
	services.Plans, services.Changes, services.Audit, services.Webhooks = w.Plans, w.Changes, w.Audit, w.Webhooks
	services.Live = live.NewHub(w.Store, slog.New(w.Log))
	services.Log, services.Clock, services.Metrics, services.Serving = slog.New(w.Log), mongodb.SystemTime, metrics, s.serving.Load
	services.Ready = func(context.Context) httpapi.Readiness {
		return httpapi.Readiness{Ready: s.serving.Load(), Checks: map[string]string{"mongo": "ok"}}
	}
	services.CancelEvent = func(ctx context.Context, id holdfast.ID) (jobs.Record, error) {
		runID, err := (&expiry.Canceller{Sweeper: w.Sweeper}).Ask(ctx, id)
		if err != nil {
			return jobs.Record{}, err
		}
		return s.jobs.Await(ctx, expiry.EventCancel, runID), nil
	}
	services.Lines = s.recent.Lines
	if services.Plan == nil {
		services.Plan = w.Recovery.Plan
	}
	s.server = httptest.NewUnstartedServer(nil)
	s.server.Config = httpapi.NewServer(httpapi.New(services), slog.New(w.Log))
	s.server.Start()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		services.Live.Close()
		s.jobs.Stop()
		if err := s.jobs.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		s.server.Close()
		if err := w.Pipeline.Close(context.Background()); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
	return s
}

// answer is a response that was read completely.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	raw    string
}

func (a answer) text(field string) string { return fmt.Sprint(a.body[field]) }

// call sends a request. A string is sent as the body as it is, any other value as JSON, and nil
// without a body. headers are pairs of a name and a value.
func (s *site) call(method, path string, body any, headers ...string) answer {
	s.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.server.URL+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Error(err)
		return answer{}
	}
	raw, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		s.t.Error(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, raw: string(raw)}
	if json.Unmarshal(raw, &a.body) != nil {
		a.body = map[string]any{}
	}
	return a
}

type fields map[string]any

// want fails unless the answer has the status and, unless it is "", the code.
func (s *site) want(a answer, status int, code string) answer {
	s.t.Helper()
	if a.status != status || (code != "" && a.text("code") != code) {
		s.t.Errorf("got %d %s, want %d %s", a.status, a.raw, status, code)
	}
	if a.status >= 400 && a.header.Get("Content-Type") != "application/problem+json" {
		s.t.Errorf("an error has the content type %s: %s", a.header.Get("Content-Type"), a.raw)
	}
	if a.header.Get("X-Request-Id") == "" {
		s.t.Error("no X-Request-Id")
	}
	return a
}

func (s *site) user() string {
	s.t.Helper()
	a := s.want(s.call("POST", "/api/users", fields{"name": "A", "email": mongodb.NewID().String() + "@example.com"}), 201, "")
	if a.header.Get("Location") != "/api/users/"+a.text("id") {
		s.t.Errorf("Location %q", a.header.Get("Location"))
	}
	return a.text("id")
}

func (s *site) event(total int) string {
	s.t.Helper()
	request := fields{"name": "E", "totalSeats": total, "eventDate": "2026-06-15T10:00:00Z"}
	return s.want(s.call("POST", "/api/events", request), 201, "").text("id")
}
