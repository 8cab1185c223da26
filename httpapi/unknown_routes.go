package httpapi

import (
	"net/http"
	"path"
)

// withUnknownRoutes answers requests that match no route with a problem, in place
// of the plain text and the redirects of the mux.
func withUnknownRoutes(mux *http.ServeMux) http.Handler {
	notFound := newProblem(http.StatusNotFound, codeNotFound, "No route has this path. See /docs for the routes.")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isRedirected(r) {
			writeProblem(w, notFound)
			return
		}
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		answer := &headRecorder{header: http.Header{}}
		mux.ServeHTTP(answer, r)
		if answer.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", answer.header.Get("Allow"))
			writeProblem(w, newProblem(http.StatusMethodNotAllowed, codeMethodNotAllowed,
				"This path does not support the method. Use one of those in the header Allow."))
			return
		}
		writeProblem(w, notFound)
	})
}

// isRedirected reports whether the mux would redirect a request to the clean form of its path.
func isRedirected(r *http.Request) bool {
	clean := path.Clean(r.URL.Path)
	return r.URL.Path != clean && (clean == "/" || r.URL.Path != clean+"/")
}

// headRecorder keeps the status and headers of a response and drops its body.
type headRecorder struct {
	header http.Header
	status int
}

func (h *headRecorder) Header() http.Header         { return h.header }
func (h *headRecorder) WriteHeader(status int)      { h.status = status }
func (h *headRecorder) Write(b []byte) (int, error) { return len(b), nil }
