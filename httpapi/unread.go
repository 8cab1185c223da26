package httpapi

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// lingerTimeout is how long a connection stays open after an answer to a request whose body was
// not read, so that the client can read the answer.
const lingerTimeout = time.Second

// withUnreadBodies sends every response at once, also if no handler has read the request's body:
// a refusal, an unknown route, a probe. Otherwise the server would first read the body (up to
// 256 KiB), to use the connection again, and a body that does not arrive would delay the response.
// The request must be a copy of the server's (withRequestID makes one): the server looks at its own.
func withUnreadBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 { // -1 if it is not known
			next.ServeHTTP(w, r)
			return
		}
		closer := &unreadCloser{ResponseWriter: w, body: watchedBody{ReadCloser: r.Body}}
		r.Body = &closer.body
		next.ServeHTTP(closer, r)
		closer.begin()
	})
}

// watchedBody records whether it was read to its end.
type watchedBody struct {
	io.ReadCloser
	ended bool
}

func (b *watchedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// unreadCloser is the response to a request with a body.
type unreadCloser struct {
	http.ResponseWriter
	body  watchedBody
	begun bool
}

// begin is called before the response's header is written. A connection on which the rest of a
// body may come is not used again.
func (w *unreadCloser) begin() {
	if w.begun {
		return
	}
	if w.begun = true; w.body.ended {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(mongodb.Deadline(lingerTimeout)) // else the server's own applies
}

func (w *unreadCloser) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

func (w *unreadCloser) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *unreadCloser) Unwrap() http.ResponseWriter { return w.ResponseWriter }
