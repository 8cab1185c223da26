package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// apiCaller sends requests to a process, once each; the process may be down.
type apiCaller struct {
	base string
	http *http.Client
}

// newAPICaller keeps some connections to an address open; 0 opens one for each request.
func newAPICaller(t *testing.T, addr string, connections int, timeout time.Duration) *apiCaller {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: connections, DisableKeepAlives: connections == 0}
	t.Cleanup(transport.CloseIdleConnections)
	return &apiCaller{base: "http://" + addr, http: &http.Client{Timeout: timeout, Transport: transport}}
}

// call returns the answer's status and its JSON fields.
func (c *apiCaller) call(ctx context.Context, method, path string, body any) (status int, fields map[string]any, err error) {
	status, _, raw, err := c.send(ctx, method, path, body)
	if err != nil {
		return 0, nil, err
	}
	return status, fields, json.Unmarshal(raw, &fields)
}

// send returns the answer with its header and its whole body.
func (c *apiCaller) send(ctx context.Context, method, path string, body any) (status int, header http.Header, raw []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer closeQuietly(response.Body)
	raw, err = io.ReadAll(response.Body)
	return response.StatusCode, response.Header, raw, err
}

// mustCreate sends a POST that has to answer 201, and returns the ID.
func mustCreate(t *testing.T, c *apiCaller, path string, body map[string]any) string {
	t.Helper()
	status, fields, err := c.call(t.Context(), "POST", path, body)
	if err != nil || status != http.StatusCreated {
		t.Fatal(status, fields, err)
	}
	return fields["id"].(string)
}

func createUser(t *testing.T, c *apiCaller) string {
	t.Helper()
	return mustCreate(t, c, "/api/users", map[string]any{"name": "A", "email": "a@example.com"})
}

func createEvent(t *testing.T, c *apiCaller, totalSeats int) string {
	t.Helper()
	return mustCreate(t, c, "/api/events", map[string]any{"name": "E", "totalSeats": totalSeats, "eventDate": "2026-06-15T10:00:00Z"})
}

func parseID(t *testing.T, id string) holdfast.ID {
	t.Helper()
	parsed, err := holdfast.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// startAPI starts an API on a test's database, and its caller; see newAPICaller.
func startAPI(t *testing.T, env *testenv.Env, connections int, settings ...string) (*process, *apiCaller) {
	t.Helper()
	addr := address(t)
	p := start(t, "api", append(apiSettings(env, addr), settings...)...)
	t.Cleanup(p.kill)
	c := newAPICaller(t, addr, connections, 30*time.Second)
	awaitReady(t, c, p)
	return p, c
}

// apiSettings are the environment variables of an API on a test's database, without leases.
func apiSettings(env *testenv.Env, addr string) []string {
	return []string{"MONGODB_URI=" + env.URI, "MONGODB_DATABASE=" + env.DB.Name(), "HTTP_ADDR=" + addr, "JOB_LEASES=none", "LOG_LEVEL=warn"}
}
