package chaos_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// With an address for traces, a request is a trace that contains its commands to MongoDB. A commit
// is linked to the requests that it answers. A run is a trace with its correlation ID. No trace
// contains the content of documents or keys.
func TestTraces_ConnectRequestsCommitsAndRuns(t *testing.T) {
	t.Parallel()
	collected := &traceCollector{t: t}
	server := httptest.NewServer(collected)
	defer server.Close()
	env := testenv.New(t)
	p, c := startAPI(t, env, 4,
		"OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "JOB_LEASES=auto", "REDIS_URL="+testenv.OwnRedis(t).URL, "API_KEYS=")
	user := mustCreate(t, c, "/api/users", map[string]any{"name": "Ada Secret", "email": "ada.secret@example.com"})
	mustCreate(t, c, "/api/locks",
		map[string]any{"eventId": createEvent(t, c, 10), "userId": user, "seats": 1, "idempotencyKey": "the-secret-key"})
	status, run, err := c.call(t.Context(), http.MethodPost, "/api/admin/jobs/lock-expiry/run", nil)
	if err != nil || status != http.StatusOK {
		t.Fatal(status, run, err)
	}
	if err := p.stop(t); err != nil {
		t.Error(err)
	}
	collected.mu.Lock()
	defer collected.mu.Unlock()
	requests, commits, runs := collected.named("POST /api/locks"), collected.named("commit seats"), collected.named("run lock-expiry")
	if len(requests) != 1 || len(commits) != 1 || len(runs) != 1 || attribute(runs[0], "holdfast.correlation_id") != run["id"] {
		t.Fatalf("%d requests, %d commits, %d runs of %v", len(requests), len(commits), len(runs), run["id"])
	}
	if links := commits[0].Links; len(links) != 1 || !slices.Equal(links[0].TraceId, requests[0].TraceId) {
		t.Errorf("the commit is linked to %v", links)
	}
	collected.checkWithin("insert seatlocks", commits[0])
	collected.checkWithin("aggregate seatlocks", runs[0])
	if len(collected.named("set")) == 0 && !strings.Contains(collected.raw, "redis") {
		t.Error("there is no span of Redis")
	}
	for _, secret := range []string{"the-secret-key", "ada.secret", "Ada Secret"} {
		if strings.Contains(collected.raw, secret) {
			t.Errorf("traces contain %q", secret)
		}
	}
}

// traceCollector receives spans as an OpenTelemetry collector does.
type traceCollector struct {
	t     *testing.T
	mu    sync.Mutex
	spans []*otlp.Span
	raw   string
}

func (c *traceCollector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw += string(body)
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// named returns the spans with a name.
func (c *traceCollector) named(name string) (found []*otlp.Span) {
	for _, s := range c.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// checkWithin fails the test unless a span with a name belongs to a root's trace.
func (c *traceCollector) checkWithin(name string, root *otlp.Span) {
	c.t.Helper()
	if !slices.ContainsFunc(c.named(name), func(s *otlp.Span) bool { return slices.Equal(s.TraceId, root.TraceId) }) {
		c.t.Errorf("%s is not part of %s", name, root.Name)
	}
}

func attribute(s *otlp.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}
