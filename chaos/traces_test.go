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

// With an address for traces, a request is a trace with the commands that it asked
// of MongoDB, a commit is linked to the requests that it answers, a run is a trace
// with its correlation ID; and none of them holds what a document or a key says.
func TestTraces_TellOfRequestsCommitsAndRuns(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var spans []*otlp.Span
	raw := ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		raw += string(body)
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				spans = append(spans, scope.Spans...)
			}
		}
	}))
	defer server.Close()
	w := testenv.New(t)
	p, c := apiOf(t, w, 4, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "JOB_LEASES=auto", "REDIS_URL="+testenv.OwnRedis(t).URL, "API_KEYS=")
	user := must(t, c, "/api/users", map[string]any{"name": "Ada Secret", "email": "ada.secret@example.com"})
	must(t, c, "/api/locks", map[string]any{"eventId": event(t, c, 10), "userId": user, "seats": 1, "idempotencyKey": "the-secret-key"})
	status, run, err := c.call(t.Context(), http.MethodPost, "/api/admin/jobs/lock-expiry/run", nil)
	if err != nil || status != http.StatusOK {
		t.Fatal(status, run, err)
	}
	if err := p.stop(t); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	named := func(name string) (found []*otlp.Span) {
		for _, s := range spans {
			if s.Name == name {
				found = append(found, s)
			}
		}
		return found
	}
	attribute := func(s *otlp.Span, key string) string {
		for _, a := range s.Attributes {
			if a.Key == key {
				return a.Value.GetStringValue()
			}
		}
		return ""
	}
	asked, commits, runs := named("POST /api/locks"), named("commit seats"), named("run lock-expiry")
	if len(asked) != 1 || len(commits) != 1 || len(runs) != 1 || attribute(runs[0], "holdfast.correlation_id") != run["id"] {
		t.Fatalf("%d requests, %d commits, %d runs of %v", len(asked), len(commits), len(runs), run["id"])
	}
	if links := commits[0].Links; len(links) != 1 || !slices.Equal(links[0].TraceId, asked[0].TraceId) {
		t.Errorf("the commit is linked to %v", links)
	}
	within := func(what string, root *otlp.Span) {
		for _, s := range named(what) {
			if slices.Equal(s.TraceId, root.TraceId) {
				return
			}
		}
		t.Errorf("%s is no part of %s", what, root.Name)
	}
	within("insert seatlocks", commits[0])
	within("aggregate seatlocks", runs[0])
	if len(named("set")) == 0 && !strings.Contains(raw, "redis") {
		t.Error("nothing of Redis")
	}
	for _, secret := range []string{"the-secret-key", "ada.secret", "Ada Secret"} {
		if strings.Contains(raw, secret) {
			t.Errorf("traces hold %q", secret)
		}
	}
}
