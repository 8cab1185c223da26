package httpapi_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/core"
)

const maxPlanBytes = 20_000_000

// planOf returns a valid plan of exactly this many bytes.
func planOf(length int) string {
	const plan = `{"name":"P","categories":[{"key":"c","name":"C"}],"sections":[{"key":"A","name":"A","category":"c","capacity":1}]}`
	return plan + strings.Repeat(" ", length-len(plan))
}

// chunked hides the length of a text, so that the client sends it in chunks.
func chunked(text string) io.Reader { return io.MultiReader(strings.NewReader(text)) }

// upload sends a plan without an own timeout of the client.
func (s *site) upload(ctx context.Context, url string, body io.Reader) (status int, text string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+plansPath, body)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(raw)
}

// The limit of a plan is 20,000,000 bytes, and the one of every other route stays what it was.
func TestLargeBodies_ArePlansOnly(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, c := range map[string]struct {
		body   io.Reader
		status int
		says   string
	}{
		"small":                         {strings.NewReader(planOf(1000)), 201, ""},
		"above the limit of the others": {strings.NewReader(planOf(65_537)), 201, ""},
		"the largest":                   {strings.NewReader(planOf(maxPlanBytes)), 201, ""},
		"a byte too large":              {strings.NewReader(planOf(maxPlanBytes + 1)), 413, "BODY_TOO_LARGE"},
		"in chunks":                     {chunked(planOf(3 << 20)), 201, ""},
		"the largest in chunks":         {chunked(planOf(maxPlanBytes)), 201, ""},
		"too large in chunks":           {chunked(planOf(maxPlanBytes + 1)), 413, "BODY_TOO_LARGE"},
		"small in chunks":               {chunked(planOf(1000)), 201, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if status, text := s.in(t).upload(t.Context(), s.server.URL, c.body); status != c.status || !strings.Contains(text, c.says) {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	for _, path := range []string{"/api/users", "/api/events", "/api/locks"} {
		s.want(s.call("POST", path, planOf(65_537)), 413, "BODY_TOO_LARGE")
	}
}

// At most as many large bodies as configured are in memory. Small ones pass them, and a place is
// free again after its request, however that ended.
func TestLargeBodies_AreLimited(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(services *httpapi.Services, _ *core.Settings) { services.Limits.LargeBodies = 1 })
	for range 3 {
		if status, text := s.upload(t.Context(), s.server.URL, strings.NewReader(planOf(1<<20)+"]")); status != 400 {
			t.Errorf("not JSON: %d %s", status, text)
		}
	}
	slow := s.begin(t, strings.Replace(headOf("POST "+plansPath, "none", 1<<20), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1))
	if line, err := slow.response.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") { // it has the place
		t.Fatal(line, err)
	}
	if status, text := s.upload(t.Context(), s.server.URL, strings.NewReader(planOf(1000))); status != 201 {
		t.Errorf("a small plan at the same time as a large one: %d %s", status, text)
	}
	status, text := s.upload(t.Context(), s.server.URL, strings.NewReader(planOf(1<<20)))
	if status != 503 || !strings.Contains(text, `"UNAVAILABLE"`) {
		t.Errorf("a second large plan: %d %s", status, text)
	}
	if err := slow.conn.Close(); err != nil {
		t.Error(err)
	}
	if status, text := s.upload(t.Context(), s.server.URL, strings.NewReader(planOf(1<<20))); status != 201 {
		t.Errorf("after the first one has left: %d %s", status, text)
	}
}

// The time of an upload is its own: the server's timeouts, which are for small bodies, neither cut
// it off nor its answer.
func TestLargeBodies_MayBeSlow(t *testing.T) {
	t.Parallel()
	s := open(t)
	impatient := httptest.NewUnstartedServer(nil)
	impatient.Config = httpapi.NewServer(s.server.Config.Handler, slog.New(s.w.Log))
	impatient.Config.ReadTimeout, impatient.Config.WriteTimeout = 300*time.Millisecond, 400*time.Millisecond
	impatient.Start()
	t.Cleanup(impatient.Close)
	const parts = 10
	text := []byte(planOf(parts << 17))
	slow, give := io.Pipe()
	go func() {
		defer func() { _ = give.Close() }()
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for i := range parts {
			<-ticker.C
			if _, err := give.Write(text[i<<17 : (i+1)<<17]); err != nil {
				return
			}
		}
	}()
	if status, text := s.upload(t.Context(), impatient.URL, slow); status != 201 {
		t.Errorf("a plan that took a second: %d %s", status, text)
	}
	if status, text := s.upload(t.Context(), impatient.URL, strings.NewReader(planOf(1000))); status != 201 {
		t.Errorf("the next request of the connection: %d %s", status, text)
	}
}
