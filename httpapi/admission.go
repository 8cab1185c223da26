package httpapi

import (
	"bytes"
	"cmp"
	linked "container/list"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// admission has the checks of a route before its request is decoded.
type admission struct {
	scope   config.Scope
	maxBody int64
	isLong  bool // the route takes no slot: it lasts long, and something else limits it
}

// admit returns the middleware that lets a request in: first the key and its scope, so that a
// caller without a key costs nothing; then the rate; then the body is read; then the request
// takes a slot. So a client that sends slowly holds no slot. Refusals from then on, including those of the
// body, are audited: the slots limit how many entries are written at a time.
func (a *api) admit(d admission) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		if err := a.authorize(r, d.scope); err != nil {
			writeProblem(w, problemOf(err))
			return
		}
		if err := a.limitCaller(r.Context()); err != nil {
			writeProblem(w, problemOf(err))
			return
		}
		if !d.isLong {
			free, err := a.requests.take(requestInfoOf(r.Context()), "requests")
			if err != nil {
				writeProblem(w, problemOf(err))
				return
			}
			defer free()
		}
		request := requests.Get().(*admitted)
		request.humaContext, request.arrival.response = ctx, w
		defer request.free()
		refusal := a.readBody(request, r, d.maxBody)
		if refusal != nil && problemOf(refusal).Status == http.StatusServiceUnavailable {
			writeProblem(w, problemOf(refusal)) // too busy, also for an entry of the audit
			return
		}
		if !d.isLong {
			if !a.takeSlot() {
				writeProblem(w, newProblem(http.StatusServiceUnavailable, holdfast.CodeUnavailable,
					"Too many requests are in flight. Retry the request."))
				return
			}
			defer a.freeSlot()
		}
		if isAudited(r, ctx.Operation()) {
			kept := auditedBody(ctx.Operation(), request.body.Bytes())
			defer func() { a.audit(r, w, kept) }() // also after a panic
		}
		if refusal == nil {
			refusal = cmp.Or(checkKey(r, ctx.Operation()), checkBody(&request.body, r, w, ctx.Operation()))
		}
		if refusal != nil {
			writeProblem(w, problemOf(refusal))
			return
		}
		next(request)
	}
}

// checkKey refuses an idempotency key that the route does not take: its client would rely on it.
func checkKey(r *http.Request, op *huma.Operation) error {
	takes := slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.Name == headerKey })
	if _, isThere := r.Header[headerKey]; isThere && !takes {
		return holdfast.RefuseInput("header."+headerKey, "The route takes no idempotency key. Leave the header out.")
	}
	return nil
}

// emptyObject is the body of clients that always send one. A POST route that takes none takes it as none.
var emptyObject = regexp.MustCompile(`^\s*{\s*}\s*$`)

// checkBody refuses a body that the route does not take, or that has a content coding.
func checkBody(body *bytes.Buffer, r *http.Request, w http.ResponseWriter, op *huma.Operation) error {
	switch {
	case op.RequestBody == nil && r.Method == http.MethodPost && !isEncoded(r) && emptyObject.Match(body.Bytes()):
		body.Reset()
	case body.Len() > 0 && op.RequestBody == nil:
		return holdfast.RefuseInput("body", "The route takes no body. Send none.")
	case body.Len() > 0 && isEncoded(r):
		w.Header().Set("Accept-Encoding", identity)
		return newProblem(http.StatusUnsupportedMediaType, codeMediaType, "The body has a content coding. Send it without Content-Encoding.")
	}
	return nil
}

// identity is the content coding of a body that is sent as it is.
const identity = "identity"

// isEncoded reports whether a request names another content coding than identity for its body.
func isEncoded(r *http.Request) bool {
	for _, list := range r.Header["Content-Encoding"] {
		for coding := range strings.SplitSeq(list, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, identity) {
				return true
			}
		}
	}
	return false
}

// authorize refuses a caller whose key or token does not include the scope. A caller without a
// valid one counts against the rate of its address.
func (a *api) authorize(r *http.Request, scope config.Scope) error {
	err := requireScope(r.Context(), scope)
	if err != nil && requestInfoOf(r.Context()).scope == "" {
		return cmp.Or(a.limitAddress(r), err)
	}
	return err
}

// takeSlot counts a request in flight, unless there are too many.
func (a *api) takeSlot() bool {
	select {
	case a.slots <- struct{}{}:
		a.Metrics.InFlight.Inc()
		return true
	default:
		a.Metrics.Rejected.Inc()
		return false
	}
}

func (a *api) freeSlot() {
	a.Metrics.InFlight.Dec()
	<-a.slots
}

// humaContext gives the embedded field another name than the method Context.
type humaContext = huma.Context

// admitted is a request whose body was read.
type admitted struct {
	humaContext
	body    bytes.Buffer
	arrival arrival
	place   semaphore // of a large body, to be released; else nil
}

// BodyReader implements huma.Context.
func (c *admitted) BodyReader() io.Reader { return &c.body }

// SetReadDeadline implements huma.Context. The body has come, so no deadline is due.
func (c *admitted) SetReadDeadline(time.Time) error { return nil }

// Unwrap lets humago reach the request.
func (c *admitted) Unwrap() huma.Context { return c.humaContext }

// requests has requests to use again, with buffers of at most about maxBodyBytes.
var requests = sync.Pool{New: func() any { return new(admitted) }}

// free gives the request up. Nothing reads it after its handler has returned. The buffer of a large
// body is not kept.
func (c *admitted) free() {
	if c.place != nil {
		c.place.release()
		return
	}
	c.humaContext, c.arrival = nil, arrival{}
	c.body.Reset()
	requests.Put(c)
}

// defaultBodies is how many bodies may be on their way at a time. They need at most 64 KiB each.
const defaultBodies = 4096

// bodies reads the bodies of requests, a limited number at a time. A body that is there at once
// is always read: when the limit is reached, the body that has been on its way for the longest
// time is given up. The server's ReadTimeout bounds the time of each. Neither needs a timer.
type bodies struct {
	max int

	mu       sync.Mutex
	arriving linked.List // of *arrival, the oldest first
}

// arrival is a body that is being read.
type arrival struct {
	response http.ResponseWriter
	limited  io.LimitedReader
	givenUp  bool
}

// read reads the body of a request, of at most limit bytes.
func (b *bodies) read(into *admitted, r *http.Request, limit int64) error {
	if r.ContentLength == 0 { // -1 if it is not known
		return nil
	}
	if r.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	into.arrival.limited = io.LimitedReader{R: r.Body, N: limit + 1}
	place := b.begin(&into.arrival)
	n, err := into.body.ReadFrom(&into.arrival.limited)
	switch givenUp := b.end(place); {
	case givenUp:
		return newProblem(http.StatusServiceUnavailable, holdfast.CodeUnavailable,
			"Too many bodies arrive at the same time, and this one was slow. Retry the request.")
	case n > limit:
		return bodyTooLarge(limit)
	case err != nil:
		return incompleteBody(err)
	}
	return nil
}

func bodyTooLarge(limit int64) error {
	return newProblem(http.StatusRequestEntityTooLarge, codeBodyTooLarge,
		fmt.Sprintf("The body is too large. Send at most %d bytes.", limit))
}

func incompleteBody(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return newProblem(http.StatusBadRequest, codeMalformed, "The body did not arrive in time. Send it faster.")
	}
	return newProblem(http.StatusBadRequest, codeMalformed, "The body is incomplete, or its chunks are invalid.")
}

// begin counts a body.
func (b *bodies) begin(this *arrival) (place *linked.Element) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.arriving.Len() >= b.max {
		oldest := b.arriving.Remove(b.arriving.Front()).(*arrival)
		oldest.givenUp = true
		_ = http.NewResponseController(oldest.response).SetReadDeadline(mongodb.Deadline(0)) // ends its read at once
	}
	return b.arriving.PushBack(this)
}

// end ends what begin began, and reports whether the body was given up meanwhile.
func (b *bodies) end(place *linked.Element) (givenUp bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arriving.Remove(place) // nothing if it was given up
	return place.Value.(*arrival).givenUp
}

// count returns how many bodies are on their way.
func (b *bodies) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.arriving.Len()
}
