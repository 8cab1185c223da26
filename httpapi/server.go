package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/swaggest/swgui/v5emb"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/ratelimit"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/live"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/users"
)

// Services are what the API serves.
type Services struct {
	Users    *users.Service
	Seats    *seats.Service
	Bookings *booking.Service
	Jobs     *jobs.Runner

	Log     *slog.Logger
	Clock   clock.Clock
	Metrics *telemetry.Metrics
	Keys    []config.Key // none: the server listens on loopback only
	Tokens  *Tokens      // of customers; nil: there are none
	Limits  Limits
	Rates   *ratelimit.Limiter // nil only where Limits has no rates

	// Serving is false until recovery has ended; only /livez, /readyz and
	// /metrics answer before.
	Serving func() bool
	Live    *live.Hub // who listens to availability
	Ready   func(context.Context) Readiness

	Survey func(context.Context) (recovery.Survey, error)
	Lines  func() []telemetry.Line // the last warnings and errors of the log
	Demo   bool                    // serve the shop at /demo
}

const (
	maxBody = 64 << 10 // bytes; the largest body that means anything has some hundred
	// requestTime bounds the work on one request.
	requestTime = 10 * time.Second
	version     = "1.0.0"
	// timeLimit is the key of an operation's own bound in its metadata.
	timeLimit = "timeLimit"
)

// api is the routes with what their handlers need.
type api struct {
	Services
	huma      huma.API
	looking   turn // of overviews, which sum the locks of many events
	surveying turn // of surveys, which read everything
}

// shapeErrors: huma's builder of error answers is one for the process.
var shapeErrors sync.Once

// New returns the API's handler.
func New(s Services) http.Handler {
	shapeErrors.Do(func() { huma.NewError = refusedByShape })
	conf := huma.DefaultConfig("Holdfast", version)
	conf.Info.Description = "Seats of events are locked for some minutes, booked and paid for, or they come back. " +
		"Times are RFC 3339 in UTC. Errors are application/problem+json; decide by their code."
	conf.OpenAPIPath, conf.DocsPath, conf.SchemasPath = "", "", ""
	conf.CreateHooks = nil // they would add $schema to every answer
	conf.RejectUnknownQueryParameters = true
	conf.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	conf.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key": {Type: "http", Scheme: "bearer", Description: "The secret of one of API_KEYS, or a customer's token."},
	}
	mux := http.NewServeMux()
	a := &api{Services: s, huma: humago.New(mux, conf), looking: make(turn, 1), surveying: make(turn, 1)}
	a.userRoutes()
	a.eventRoutes()
	a.streamRoutes()
	a.lockRoutes()
	a.bookingRoutes()
	a.jobRoutes()
	a.overviewRoutes()
	ring := newKeyring(s.Keys)
	a.openRoutes(mux)

	h := problemsForUnknownRoutes(mux)
	h = a.whileServing(h)
	h = a.bounded(h)
	h = guardOrigin(len(ring) == 0, h)
	h = a.observed(mux, h)
	h = a.withCaller(ring, h)
	return withRequestID(h)
}

// openRoutes need no key, but for the metrics where others can reach them.
func (a *api) openRoutes(mux *http.ServeMux) {
	document, err := a.huma.OpenAPI().MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("the OpenAPI document: %v", err)) // wrong in the code, not in a request
	}
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(document) //nolint:errcheck,gosec // the client may be gone; JSON of our own
	})
	docs := v5emb.New("Holdfast", "/openapi.json", "/docs/")
	mux.Handle("GET /docs/", docs)
	mux.Handle("GET /docs", docs)
	a.pageRoutes(mux)
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", readyz(a.Ready))
	metrics := metricsHandler(a.Metrics.Registry)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if !config.IsLoopback(hostOf(r.RemoteAddr)) {
			if err := allow(r.Context(), config.ScopeAdmin); err != nil {
				writeProblem(w, problemOf(err))
				return
			}
		}
		metrics.ServeHTTP(w, r)
	})
}

func (a *api) withCaller(ring keyring, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.identify(ring, r, visitOf(r.Context()))
		next.ServeHTTP(w, r)
	})
}

// whileServing holds everything back but the process's own state until
// recovery has ended.
func (a *api) whileServing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/livez", path == "/readyz", path == "/metrics", isPage(path):
		default:
			if !a.Serving() {
				writeProblem(w, newProblem(http.StatusServiceUnavailable, mongodb.CodeUnavailable, "Recovery is under way; ask again."))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// observed counts requests, and turns a panic into an answer.
func (a *api) observed(mux *http.ServeMux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.Clock()
		seen := &statusWriter{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				a.Log.ErrorContext(r.Context(), "A request panicked", "requestId", requestID(r.Context()), "error", p, "stack", string(debug.Stack()))
				if seen.status == 0 {
					writeProblem(seen, problemOf(fmt.Errorf("panic: %v", p)))
				}
			}
			route := routeOf(mux, r)
			telemetry.NameRequest(r.Context(), method(r), route, requestID(r.Context()))
			a.Metrics.Requests.WithLabelValues(method(r), route, strconv.Itoa(seen.status)).Inc()
			a.Metrics.RequestSeconds.WithLabelValues(method(r), route).Observe(a.Clock.Since(start).Seconds())
		}()
		next.ServeHTTP(seen, r)
	})
}

// routeOf is a label: the pattern that the request was served by, or would be.
func routeOf(mux *http.ServeMux, r *http.Request) string {
	route := r.Pattern
	if route == "" {
		_, route = mux.Handler(r)
	}
	return cmp.Or(route, "none")
}

// method is a label: what is no method of ours shares one.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions, http.MethodPut:
		return r.Method
	default:
		return "other"
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// route registers an operation that asks for scope. The handler runs once the
// request's shape is right and its key reaches scope.
func route[I, O any](a *api, op huma.Operation, scope config.Scope, handle func(context.Context, *I) (*O, error)) {
	op.MaxBodyBytes = maxBody
	op.Security = []map[string][]string{{"key": {}}}
	op.Description += fmt.Sprintf(" Scope: %s.", cmp.Or(map[config.Scope]string{
		scopeCustomer: "booking, or a customer's own token"}[scope], string(scope)))
	op.Errors = append([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusServiceUnavailable,
	}, op.Errors...)
	if op.Method != http.MethodGet && op.Method != http.MethodDelete {
		op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	limit, own := op.Metadata[timeLimit].(time.Duration)
	if !own {
		limit = requestTime
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := allow(ctx, scope)
		if err == nil {
			err = a.limit(ctx)
		}
		var out *O
		if err == nil {
			out, err = handle(ctx, in)
		}
		if err != nil {
			p := problemOf(err)
			logFailure(ctx, a.Log, p)
			return nil, p
		}
		return out, nil
	})
}

// NewServer returns a server with bounds on slow and large requests.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	const (
		headerTime = 10 * time.Second
		readTime   = 15 * time.Second
		writeTime  = 40 * time.Second // a run by hand is waited for
		idleTime   = 2 * time.Minute
		maxHeader  = 32 << 10
	)
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
