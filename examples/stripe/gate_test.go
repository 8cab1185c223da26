package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"
)

// lateDelay is after how long the effect of a call comes whose connection was closed.
const lateDelay = 100 * time.Millisecond

// killPoint is a call of the shop at which it is killed.
type killPoint struct {
	call   string
	nth    int // of this call, since the shop's last start
	moment moment
}

// moment is when the shop is killed: in no case does it get the reply.
type moment int

const (
	killBefore   moment = iota // the call has no effect
	killAfter                  // the call has its effect
	killOnTheWay               // the call has its effect later, when the shop runs again
	killMoments
)

// gate passes the shop's calls on, to the fake and to Holdfast. It kills the shop at a call, or lets the call go wrong.
type gate struct {
	fake   *fakeStripe
	api    string // of Holdfast
	client http.Client
	kill   func() // kills the shop and waits until it has ended
	// fault decides what goes wrong with a call.
	fault func(call string) fault
	// before may do something before a call takes effect, and returns the body to pass on.
	before func(call string, body []byte) []byte

	mu       sync.Mutex
	point    *killPoint
	counts   map[string]int // of calls since the shop's last start
	requests []recorded     // to Stripe, for the test of their shape
	killed   chan killPoint
	late     sync.WaitGroup
}

// recorded is a call of the shop to Stripe, and the fake's answer.
type recorded struct {
	call, method, path, query string
	key                       string // for idempotency
	body, answer              []byte
	status                    int
}

func newGate(fake *fakeStripe, api string) *gate {
	g := &gate{fake: fake, api: api, counts: map[string]int{}, killed: make(chan killPoint, 100)}
	g.fault = func(string) fault { return faultNone }
	g.before = func(_ string, body []byte) []byte { return body }
	return g
}

// arm says where the shop that starts now is killed; nil means nowhere.
func (g *gate) arm(p *killPoint) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.point, g.counts = p, map[string]int{}
}

// hit counts a call and reports whether it is the one to kill at.
func (g *gate) hit(call string) *killPoint {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts[call]++
	if p := g.point; p != nil && p.call == call && g.counts[call] == p.nth {
		g.point = nil
		return p
	}
	return nil
}

// seen returns how often each call was made since the shop's last start.
func (g *gate) seen() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	copied := map[string]int{}
	for call, n := range g.counts {
		copied[call] = n
	}
	return copied
}

var idsInPaths = regexp.MustCompile(`[0-9a-f]{24}|pi_[A-Z0-9]+`)

// serve returns the handler of a target: "stripe" or "holdfast".
func (g *gate) serve(target string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the shop was killed while it sent the call
		}
		call := target + " " + r.Method + " " + idsInPaths.ReplaceAllString(r.URL.Path, "{id}")
		point, wrong := g.hit(call), g.fault(call)
		execute := func() *httptest.ResponseRecorder { return g.execute(target, call, r, body, wrong) }
		later := func() {
			g.late.Add(1)
			time.AfterFunc(lateDelay, func() { defer g.late.Done(); execute() })
		}
		if point != nil && point.moment != killAfter {
			if point.moment == killOnTheWay {
				later()
			}
			g.end(*point)
		}
		switch wrong {
		case faultRefused:
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		case faultLate:
			later()
			panic(http.ErrAbortHandler)
		}
		reply := execute()
		if point != nil {
			g.end(*point)
		}
		if wrong == faultLost {
			panic(http.ErrAbortHandler)
		}
		for name, values := range reply.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(reply.Code)
		_, _ = w.Write(reply.Body.Bytes()) // the shop may have been killed
	}
}

// end kills the shop. The call gets no reply.
func (g *gate) end(p killPoint) {
	g.kill()
	g.killed <- p
	panic(http.ErrAbortHandler)
}

// execute gives a call its effect, also if the shop that made it has been killed.
func (g *gate) execute(target, call string, r *http.Request, body []byte, wrong fault) *httptest.ResponseRecorder {
	passed := g.before(call, body)
	if target == "stripe" {
		reply := g.fake.call(r, passed, wrong)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.requests = append(g.requests, recorded{
			call: call, method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, key: r.Header.Get("Idempotency-Key"),
			body: body, answer: reply.Body.Bytes(), status: reply.Code,
		})
		return reply
	}
	reply := httptest.NewRecorder()
	if wrong == faultServer {
		reply.WriteHeader(http.StatusInternalServerError)
		return reply
	}
	request, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, g.api+r.URL.RequestURI(), bytes.NewReader(passed))
	if err != nil {
		panic(err)
	}
	request.Header = r.Header.Clone()
	response, err := g.client.Do(request)
	if err != nil {
		reply.WriteHeader(http.StatusBadGateway)
		return reply
	}
	for name, values := range response.Header {
		reply.Header()[name] = slices.Clone(values)
	}
	reply.WriteHeader(response.StatusCode)
	_, err = io.Copy(reply.Body, response.Body)
	_ = response.Body.Close() // it was read
	if err != nil || wrong == faultDoneError {
		reply = httptest.NewRecorder()
		reply.WriteHeader(http.StatusBadGateway)
	}
	return reply
}

// listen serves a target until the test ends, and returns its address.
func (g *gate) listen(t *testing.T, target string) string {
	server := httptest.NewServer(g.serve(target))
	t.Cleanup(server.Close)
	return server.URL
}
