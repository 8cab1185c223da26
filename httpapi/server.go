package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/live"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/users"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// OverviewReader reads the data of the console alone; store.Store implements it.
type OverviewReader interface {
	EventSummaries(ctx context.Context, f store.EventFilter, after holdfast.ID, limit int) ([]store.EventSummary, holdfast.ID, error)
	EventSummary(ctx context.Context, id holdfast.ID) (store.EventSummary, error)
	CancellationOfEvent(ctx context.Context, eventID holdfast.ID) (c store.Cancellation, found bool, err error)
	SalesOf(ctx context.Context, event holdfast.ID, unit string, span time.Duration, limit int) (store.Sales, error)
	BookingsByReference(ctx context.Context, reference string, limit int) ([]holdfast.Booking, error)
	Expiring(ctx context.Context, limit int) ([]holdfast.Lock, time.Time, error)
	RefundsDue(ctx context.Context, limit int64) (store.RefundsDue, error)
	OldestRefundsDue(ctx context.Context, limit int) ([]holdfast.Payment, error)
	CountDueLocks(ctx context.Context, limit int64) (int64, error)
	CountBookings(ctx context.Context, status holdfast.BookingStatus, limit int64) (int64, error)
}

// Services has the services that the API needs to answer requests.
type Services struct {
	Users    *users.Service
	Overview OverviewReader
	Plans    *seats.Plans
	Seats    *seats.Service
	Bookings *booking.Service
	Eraser   *expiry.Eraser
	Jobs     *jobs.Runner
	// CancelEvent cancels an event, and returns the run that cancels its locks and bookings.
	CancelEvent func(ctx context.Context, id holdfast.ID) (jobs.Record, error)
	Changes     *changes.Log
	Audit       *changes.AuditLog
	Webhooks    *webhooks.Service

	Log     *slog.Logger
	Clock   mongodb.Clock
	Metrics *telemetry.Metrics
	Keys    []config.Key // without keys every caller has the scope admin, and must be on loopback
	Tokens  *Tokens      // checks customers' tokens; nil if tokens are not accepted
	Origins []string     // origins whose pages may call customers' routes with a token; see guardOrigin
	Limits  Limits
	Rates   *RateLimiter // nil only if Limits has no rates

	// Serving reports whether recovery has ended. Until then only /livez, /readyz,
	// /metrics and the pages answer.
	Serving func() bool
	Live    *live.Hub // feeds the streams of availability and of seats
	Ready   func(context.Context) Readiness

	// Plan returns the plan of a recovery pass; see Plans for those of halls.
	Plan  func(context.Context) (recovery.Plan, error)
	Lines func() []telemetry.Line // the latest warnings and errors of the log
	Demo  bool                    // serve the demo shop at /demo
}

const (
	maxBodyBytes = 64 << 10 // a valid body has a few hundred bytes
	// requestTimeout bounds the work on one request.
	requestTimeout = 10 * time.Second
	// metadataTimeout is the key of an operation's own timeout in its metadata, metadataIsLong the key
	// of an operation that takes no slot, metadataMaxBody the key of its own limit of a body, and
	// metadataRepeats the key of the query parameter that may be given more than once. The key
	// metadataStoresNothing marks a POST route that changes nothing. metadataScopeLate marks a route for keys that checks the scope
	// of a customer's token in its handler, after the shape of the request.
	metadataTimeout = "timeout"
	metadataIsLong  = "isLong"
	metadataMaxBody = "maxBody"
	metadataRepeats = "repeats"

	metadataStoresNothing = "storesNothing"
	metadataScopeLate     = "scopeLate"
)

// api holds the routes and the state of their handlers.
type api struct {
	Services
	huma                huma.API
	customerRoutes      map[string]bool // patterns of the mux
	addresses           *RateLimiter    // limits callers without a valid key, in this process alone
	requests            *shares         // requests in flight of customers
	answers             *shares         // large answers of customers
	streams             *shares         // streams of customers
	slots               chan struct{}   // of requests in flight
	bodies              bodies
	largeBodies         semaphore // of bodies that need more memory than bodies counts on
	largeAnswers        semaphore // that are being sent
	answerTimeout       time.Duration
	answerRate          int
	overviewSemaphore   semaphore // an overview sums the locks of many events
	seatStatesSemaphore semaphore // the states of seats are read from all locks of an event
	reportSemaphore     semaphore // so is a report
	surveySemaphore     semaphore // a survey reads all locks and bookings
	webhookSemaphore    semaphore // a test waits for an endpoint; a replay reads many changes
	salesSemaphore      semaphore // a report of sales reads all sold locks of an event
	searchSemaphore     semaphore // a search by name reads many users
}

// setHumaGlobals sets huma's global variables. NewError describes errors in the OpenAPI document.
var setHumaGlobals = sync.OnceFunc(func() {
	huma.NewErrorWithContext, huma.ValidateStrictCasing = newHumaError, true
	huma.ErrorFormatter = formatRefusal
	huma.NewError = func(int, string, ...error) huma.StatusError { return &Problem{} }
})

// New returns the API's handler.
func New(s Services) http.Handler {
	h, _ := newAPI(s)
	return h
}

func newAPI(s Services) (http.Handler, *api) {
	setHumaGlobals()
	conf := huma.DefaultConfig("Holdfast", telemetry.Version())
	conf.Info.Description = "A client locks seats of an event for a few minutes, books them and pays. " +
		"Seats that are not paid for in time go back on sale. " +
		"Times are RFC 3339 in UTC. Errors are application/problem+json; a client decides by their code."
	conf.OpenAPIPath, conf.DocsPath, conf.SchemasPath = "", "", ""
	conf.CreateHooks = nil // the default hooks add $schema to every response
	conf.Components.Schemas = newSchemas()
	conf.RejectUnknownQueryParameters = true
	conf.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	conf.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key": {Type: "http", Scheme: "bearer", Description: "The secret of a key in API_KEYS, or a customer's token."},
	}
	for _, name := range []string{
		"Events", "Seats", "Locks", "Bookings", waitlistTag, "Users", "Seating plans", "Payments", "Changes", webhooksTag, "Jobs", "Operators",
	} { // customers' routes first
		conf.Tags = append(conf.Tags, &huma.Tag{Name: name})
	}
	mux := http.NewServeMux()
	a := &api{
		Services: s, huma: humago.New(mux, conf), customerRoutes: map[string]bool{},
		addresses:         NewRateLimiter(nil, s.Clock, s.Log),
		requests:          newShares(cmp.Or(s.Limits.CustomerRequests, defaultCustomerRequests)),
		answers:           newShares(cmp.Or(s.Limits.CustomerAnswers, defaultCustomerAnswers)),
		streams:           newShares(cmp.Or(s.Limits.CustomerStreams, defaultCustomerStreams)),
		slots:             make(chan struct{}, cmp.Or(s.Limits.InFlight, defaultInFlight)),
		bodies:            bodies{max: cmp.Or(s.Limits.Bodies, defaultBodies)},
		largeBodies:       make(semaphore, cmp.Or(s.Limits.LargeBodies, defaultLargeBodies)),
		largeAnswers:      make(semaphore, cmp.Or(s.Limits.LargeAnswers, defaultLargeAnswers)),
		answerTimeout:     cmp.Or(s.Limits.AnswerTimeout, defaultAnswerTimeout),
		answerRate:        cmp.Or(s.Limits.AnswerRate, mostRate),
		overviewSemaphore: make(semaphore, 1), seatStatesSemaphore: make(semaphore, 1), surveySemaphore: make(semaphore, 1),
		salesSemaphore: make(semaphore, 1), reportSemaphore: make(semaphore, 1), searchSemaphore: make(semaphore, 1),
		webhookSemaphore: make(semaphore, maxWebhookActions),
	}
	a.Metrics.RegisterBodies(a.bodies.count)
	a.registerUserRoutes()
	a.registerErasureRoutes()
	a.registerSeatingPlanRoutes()
	a.registerEventRoutes()
	a.registerReportRoute()
	a.registerStreamRoutes()
	a.registerSeatRoutes()
	a.registerVenueMapRoute()
	a.registerLockRoutes()
	a.registerBookingRoutes()
	a.registerWaitlistRoutes()
	a.registerPaymentRoutes()
	a.registerRefundRoutes()
	a.registerJobRoutes()
	a.registerChangeRoutes()
	a.registerWebhookRoutes()
	a.registerOverviewRoutes()
	a.registerSearchRoutes()
	a.registerEventReportRoutes()
	a.registerAuditRoutes()
	a.addSeatExamples()
	a.addWebhookExamples()
	a.addAfterSaleExamples()
	a.addWaitlistExamples()
	ring := newKeyring(s.Keys)
	a.registerPublicRoutes(mux)

	h := withUnknownRoutes(mux)
	h = a.requireServing(h)
	h = a.guardOrigin(h, mux)
	h = a.instrument(h, mux)
	h = a.withCaller(h, ring)
	return withRequestID(withUnreadBodies(h)), a
}

// registerPublicRoutes adds the routes that need no key. /metrics needs one if
// the request comes from another machine.
func (a *api) registerPublicRoutes(mux *http.ServeMux) {
	document := sync.OnceValue(func() []byte {
		text, err := a.huma.OpenAPI().MarshalJSON()
		if err != nil {
			panic(fmt.Sprintf("encode the OpenAPI document: %v", err)) // a programming error
		}
		return text
	})
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		writeBody(w, document())
	})
	a.registerPageRoutes(mux)
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", readyz(a.Ready))
	metrics := metricsHandler(a.Metrics.Registry)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if !config.IsLoopback(hostOf(r.RemoteAddr)) {
			if err := a.authorize(r, config.ScopeAdmin); err != nil {
				writeProblem(w, problemOf(err))
				return
			}
		}
		metrics.ServeHTTP(w, r)
	})
}

func (a *api) withCaller(next http.Handler, ring keyring) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.identify(ring, r, requestInfoOf(r.Context()))
		next.ServeHTTP(w, r)
	})
}

// requireServing refuses requests until recovery has ended, except for probes,
// metrics and pages.
func (a *api) requireServing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/livez", path == "/readyz", path == "/metrics", isPage(path):
		default:
			if !a.Serving() {
				writeProblem(w, newProblem(http.StatusServiceUnavailable, holdfast.CodeUnavailable,
					"The server is starting and recovery has not finished. Retry the request."))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// instrument counts and times requests, and turns a panic into a 503. http.ErrAbortHandler is not a
// failure of the program: the server ends the connection, so that the client sees that the response
// is incomplete.
func (a *api) instrument(next http.Handler, mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.Clock()
		recorder := &statusRecorder{ResponseWriter: w}
		defer func() {
			p := recover()
			aborted := p == http.ErrAbortHandler //nolint:errorlint // the server compares it so too
			if p != nil && !aborted {
				a.Log.ErrorContext(r.Context(), "A request panicked",
					slog.String("requestId", requestID(r.Context())), slog.Any("error", p), slog.String("stack", string(debug.Stack())))
				if recorder.status == 0 {
					writeProblem(recorder, outcomeOf(r.Method, fmt.Errorf("panic: %v", p)))
				}
			}
			method, route := methodLabel(r), routeLabel(mux, r)
			telemetry.NameRequest(r.Context(), method, route, requestID(r.Context()))
			a.Metrics.Requests.WithLabelValues(method, route, strconv.Itoa(recorder.status)).Inc()
			a.Metrics.RequestSeconds.WithLabelValues(method, route).Observe(a.Clock.Since(start).Seconds())
			if aborted {
				panic(p)
			}
		}()
		next.ServeHTTP(recorder, r)
	})
}

// routeLabel returns the pattern that matches the request, or "none".
func routeLabel(mux *http.ServeMux, r *http.Request) string {
	route := r.Pattern
	if route == "" {
		_, route = mux.Handler(r)
	}
	return cmp.Or(route, "none")
}

// methodLabel returns the request's method. Unknown methods share one label, so
// that a client can't create labels without bound.
func methodLabel(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions, http.MethodPut:
		return r.Method
	default:
		return "other"
	}
}

// statusRecorder keeps the status of the response.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (w *statusRecorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusRecorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// route registers an operation that requires a scope. The handler runs only for
// a valid request that was admitted.
func route[I, O any](a *api, op huma.Operation, scope config.Scope, handle func(context.Context, *I) (*O, error)) {
	isLong, _ := op.Metadata[metadataIsLong].(bool)
	ownMaxBody, _ := op.Metadata[metadataMaxBody].(int64)
	op.MaxBodyBytes = -1 // admit limits it
	admitted := scope
	if isLate, _ := op.Metadata[metadataScopeLate].(bool); isLate {
		admitted = scopeCustomer
	}
	op.Middlewares = huma.Middlewares{
		a.admit(admission{scope: admitted, maxBody: cmp.Or(ownMaxBody, maxBodyBytes), isLong: isLong}), readableQuery,
	}
	op.Security = []map[string][]string{{"key": {}}}
	scopeText := string(scope)
	if scope == scopeCustomer {
		a.customerRoutes[op.Method+" "+op.Path] = true
		scopeText = "booking, or the customer's own token"
	}
	op.Description = strings.TrimSpace(fmt.Sprintf("%s Scope: %s.", op.Description, scopeText))
	op.Errors = append([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusServiceUnavailable,
	}, op.Errors...)
	if op.Method != http.MethodGet && op.Method != http.MethodDelete {
		op.Errors = append(op.Errors,
			http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	describeErrors(a.huma.OpenAPI().Components.Schemas, &op)
	timeout, hasOwn := op.Metadata[metadataTimeout].(time.Duration)
	if !hasOwn {
		timeout = requestTimeout
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		out, err := handle(ctx, in)
		if err != nil {
			p := outcomeOf(op.Method, err)
			logServerError(ctx, a.Log, p)
			return nil, p
		}
		return out, nil
	})
}

// writeTimeout bounds the time until a response is written. It is longer than runWaitTimeout and eraseTimeout.
const writeTimeout = 40 * time.Second

// NewServer returns a server with timeouts and a maximum size of the headers.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	const (
		readHeaderTimeout = 10 * time.Second
		readTimeout       = 15 * time.Second
		idleTimeout       = 2 * time.Minute
		maxHeaderBytes    = 32 << 10
	)
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
