package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/config"
)

const (
	headerOrigin          = "Origin"
	headerRequestedMethod = "Access-Control-Request-Method" // of a preflight

	// preflightTTL is how long a browser keeps the answer to a preflight. Chromium keeps it no longer.
	preflightTTL = 2 * time.Hour
)

var (
	// sharedRequestHeaders are the headers that customers' routes read. Browsers let a page send other headers,
	// such as Accept, without asking.
	sharedRequestHeaders = strings.Join([]string{
		"Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID", "X-Request-Id",
	}, ", ")
	// sharedResponseHeaders are those of customers' routes that a page can't read otherwise.
	sharedResponseHeaders = strings.Join([]string{
		"Accept-Encoding", "Date", "ETag", "Idempotent-Replayed", "Location", "RateLimit", "RateLimit-Policy", "Retry-After",
		"WWW-Authenticate", "X-Request-Id",
	}, ", ")
)

// guardOrigin refuses cross-origin requests that change data, except the requests that share lets through. A
// server without keys also refuses host names other than loopback, because a foreign page can
// point its own host name at this machine (DNS rebinding).
func (a *api) guardOrigin(next http.Handler, mux *http.ServeMux) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(a.Keys) == 0 && !config.IsLoopback(hostOf(r.Host)) {
			writeProblem(w, newProblem(http.StatusForbidden, codeForbidden,
				"This server has no keys and accepts requests to localhost only. Use localhost, or set API_KEYS."))
			return
		}
		isShared := a.share(w.Header(), mux, r)
		switch {
		case isShared && isPreflight(r):
			w.WriteHeader(http.StatusNoContent)
		case isShared && requestInfoOf(r.Context()).key != "" && isForeign(protection, r):
			writeProblem(w, newProblem(http.StatusForbidden, codeForbidden,
				"A page of another origin may not use an API key. Send a customer's token, and keep keys in a back end."))
		case !isShared && protection.Check(r) != nil:
			writeProblem(w, newProblem(http.StatusForbidden, codeForbidden,
				"A page of another origin may not change data. Call the API from its own origin or from a back end."))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// share reports whether a request, or the one that a preflight asks for, calls a customers' route
// from an origin in CORS_ORIGINS. If so, it adds the headers by which the browser lets the page
// read the answer. They are added before anything answers, so that refusals have them too.
//
// Cookies and other credentials of the browser are never allowed: a page must have a token.
func (a *api) share(h http.Header, mux *http.ServeMux, r *http.Request) bool {
	if len(a.Origins) == 0 || isRedirected(r) {
		return false
	}
	called := r
	if isPreflight(r) {
		called = withMethod(r, r.Header.Get(headerRequestedMethod))
	}
	if _, route := mux.Handler(called); !a.customerRoutes[route] {
		return false
	}
	h.Add("Vary", headerOrigin) // caches must not give the answer for one origin to another
	origin := r.Header.Get(headerOrigin)
	if !slices.Contains(a.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if isPreflight(r) {
		h.Add("Vary", headerRequestedMethod)
		h.Set("Access-Control-Allow-Methods", called.Method)
		h.Set("Access-Control-Allow-Headers", sharedRequestHeaders)
		h.Set("Access-Control-Max-Age", strconv.Itoa(int(preflightTTL/time.Second)))
	} else {
		h.Set("Access-Control-Expose-Headers", sharedResponseHeaders)
	}
	return true
}

// isPreflight reports whether a browser asks by this request whether it may send another one. A
// preflight never has a key or a token.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get(headerRequestedMethod) != ""
}

// isForeign reports whether a page of another origin sent the request. The protection lets all
// requests pass that only read, so it is asked for one that writes.
func isForeign(protection *http.CrossOriginProtection, r *http.Request) bool {
	return protection.Check(withMethod(r, http.MethodPost)) != nil
}

// withMethod returns a copy of a request with another method.
func withMethod(r *http.Request, method string) *http.Request {
	other := r.WithContext(r.Context())
	other.Method = method
	return other
}
