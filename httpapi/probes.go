package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"path"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Readiness is what /readyz tells.
type Readiness struct {
	Ready    bool // may be sent traffic
	Degraded bool // serves, but something wants looking at
	Checks   map[string]string
}

func (r Readiness) word() string {
	switch {
	case !r.Ready:
		return "unavailable"
	case r.Degraded:
		return "degraded"
	default:
		return "ok"
	}
}

// Operations serves /livez, /readyz and /metrics: beside the API on another
// address, and for the worker.
func Operations(ready func(context.Context) Readiness, metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", readyz(ready))
	mux.Handle("GET /metrics", metricsHandler(metrics))
	return withRequestID(problemsForUnknownRoutes(mux))
}

func livez(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func readyz(ready func(context.Context) Readiness) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		state := ready(r.Context())
		status := http.StatusOK
		if !state.Ready {
			status = http.StatusServiceUnavailable
		}
		writeJSON(w, status, map[string]any{"status": state.word(), "checks": state.Checks})
	}
}

func metricsHandler(metrics prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(metrics, promhttp.HandlerOpts{})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) //nolint:errcheck // the client may be gone
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	for key, values := range p.GetHeaders() {
		w.Header()[key] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(p) //nolint:errcheck // the client may be gone
}

// problemsForUnknownRoutes replaces the mux's plain-text answers.
func problemsForUnknownRoutes(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if clean := path.Clean(r.URL.Path); r.URL.Path != clean && r.URL.Path != clean+"/" { // the mux would redirect
			writeProblem(w, newProblem(http.StatusNotFound, codeNotFound, "There is nothing at this path."))
			return
		}
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		asked := &headerOnly{header: http.Header{}}
		mux.ServeHTTP(asked, r)
		if asked.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", asked.header.Get("Allow"))
			writeProblem(w, newProblem(http.StatusMethodNotAllowed, codeMethodNotAllowed, "This path does not take that method."))
			return
		}
		writeProblem(w, newProblem(http.StatusNotFound, codeNotFound, "There is nothing at this path."))
	})
}

// headerOnly takes an answer and keeps its head.
type headerOnly struct {
	header http.Header
	status int
}

func (h *headerOnly) Header() http.Header         { return h.header }
func (h *headerOnly) WriteHeader(status int)      { h.status = status }
func (h *headerOnly) Write(b []byte) (int, error) { return len(b), nil }
