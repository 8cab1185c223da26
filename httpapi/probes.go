package httpapi

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready    bool // the process can serve requests
	Degraded bool // the process serves requests, but an operator must look at a check
	Checks   map[string]string
}

func (r Readiness) status() string {
	switch {
	case !r.Ready:
		return "unavailable"
	case r.Degraded:
		return "degraded"
	default:
		return "ok"
	}
}

// Operations serves /livez, /readyz and /metrics on a separate address, for the
// API and for the worker.
func Operations(ready func(context.Context) Readiness, metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", readyz(ready))
	mux.Handle("GET /metrics", metricsHandler(metrics))
	return withRequestID(withUnreadBodies(withUnknownRoutes(mux)))
}

func livez(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, "application/json", map[string]string{"status": "ok"})
}

func readyz(ready func(context.Context) Readiness) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		state := ready(r.Context())
		status := http.StatusOK
		if !state.Ready {
			status = http.StatusServiceUnavailable
		}
		writeJSON(w, status, "application/json", map[string]any{"status": state.status(), "checks": state.Checks})
	}
}

func metricsHandler(metrics prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(metrics, promhttp.HandlerOpts{})
}
