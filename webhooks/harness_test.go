package webhooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// errLeaseLost is the cause of a context whose lease was lost.
var errLeaseLost = errors.New("the lease was lost")

// told is a delivery that a receiver has received.
type told struct {
	ID, Type, Subject, Sequence string
	body                        string
}

// receiver is an endpoint whose responses the test determines.
type receiver struct {
	t      testing.TB
	server *httptest.Server

	mu       sync.Mutex
	all      []told // every try, in the order of arrival
	accepted []told
	inFlight map[string]int // by subject
	maximum  int
	verifier *standardwebhooks.Webhook
	answer   func(told, http.ResponseWriter) int // nil: 200
	failures []string
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{t: t, inFlight: map[string]int{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.server.CloseClientConnections()
		r.server.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, f := range r.failures {
			t.Error(f)
		}
	})
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var one told
	err = errors.Join(err, json.Unmarshal(body, &one))
	one.body = string(body)
	r.mu.Lock()
	if r.verifier != nil {
		err = errors.Join(err, r.verifier.Verify(body, request.Header))
	}
	if request.Header.Get("Content-Type") != webhooks.ContentType || request.Header.Get("webhook-id") != one.ID {
		err = errors.Join(err, errors.New("the headers are not those of a delivery"))
	}
	if err != nil {
		r.failures = append(r.failures, one.ID+": "+err.Error())
	}
	if r.inFlight[one.Subject]++; r.inFlight[one.Subject] > 1 {
		r.failures = append(r.failures, "two of one subject at a time: "+one.Subject)
	}
	r.all = append(r.all, one)
	r.maximum = max(r.maximum, len(r.inFlight))
	answer := r.answer
	r.mu.Unlock()
	status := http.StatusOK
	if answer != nil {
		status = answer(one, w)
	}
	r.mu.Lock()
	if r.inFlight[one.Subject]--; r.inFlight[one.Subject] == 0 {
		delete(r.inFlight, one.Subject)
	}
	if status/100 == 2 {
		r.accepted = append(r.accepted, one)
	}
	r.mu.Unlock()
	w.WriteHeader(status)
}

func (r *receiver) answers(answer func(told, http.ResponseWriter) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) answersAlways(status int) {
	r.answers(func(told, http.ResponseWriter) int { return status })
}

func (r *receiver) got() (all, accepted []told) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]told(nil), r.all...), append([]told(nil), r.accepted...)
}

// refusesFirst refuses the first tries of every n-th change.
func (r *receiver) refusesFirst(tries, every, status int) {
	var mu sync.Mutex
	left := map[string]int{}
	r.answers(func(one told, _ http.ResponseWriter) int {
		mu.Lock()
		defer mu.Unlock()
		if _, isKnown := left[one.ID]; !isKnown && len(left)%every == 0 {
			left[one.ID] = tries
		} else if !isKnown {
			left[one.ID] = 0
		}
		if left[one.ID]--; left[one.ID] >= 0 {
			return status
		}
		return http.StatusOK
	})
}

// hasAccepted reports whether each change was accepted at least once.
func (r *receiver) hasAccepted(ids []string) bool {
	_, accepted := r.got()
	have := map[string]bool{}
	for _, one := range accepted {
		have[one.ID] = true
	}
	for _, id := range ids {
		if !have[id] {
			return false
		}
	}
	return true
}

// checkOrder fails if the first deliveries of a subject's changes were not accepted in their order.
func (r *receiver) checkOrder() {
	r.t.Helper()
	_, accepted := r.got()
	last, seen := map[string]string{}, map[string]bool{}
	for _, one := range accepted {
		if seen[one.ID] {
			continue
		}
		seen[one.ID] = true
		if one.Sequence < last[one.Subject] {
			r.t.Errorf("%s: %s after %s", one.ID, one.Sequence, last[one.Subject])
		}
		last[one.Subject] = one.Sequence
	}
}

// bench is a database with a dispatcher.
type bench struct {
	*testenv.Env
	hooks   *webhooks.Service
	encoder webhooks.Encode
}

const tryTimeout = 400 * time.Millisecond

func newBench(t testing.TB) *bench {
	w := testenv.New(t)
	return benchOn(w, webhooks.Hooks{Timeout: tryTimeout})
}

func benchOn(w *testenv.Env, h webhooks.Hooks) *bench {
	return &bench{Env: w, hooks: webhooks.New(w.DB, w.Changes, true).With(h), encoder: httpapi.NewChangeEncoder(httpapi.Services{
		Seats: w.Seats, Plans: w.Plans, Changes: w.Changes, Log: slog.New(w.Log),
	})}
}

// endpoint creates an endpoint at a receiver, which verifies its signatures.
func (b *bench) endpoint(r *receiver, types ...string) holdfast.ID {
	b.T.Helper()
	if types == nil {
		types = []string{"*"}
	}
	e, secret, _, err := b.hooks.Create(b.Ctx(), webhooks.NewEndpoint{URL: r.server.URL + "/hook", Types: types}, holdfast.CreationKey{})
	if err != nil {
		b.T.Fatal(err)
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		b.T.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verifier = verifier
	return e.ID
}

// run starts a dispatcher, and the job changes. stop ends both, and waits for them.
func (b *bench) run() (stop func()) {
	b.T.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if _, err := b.Changes.Number(ctx); err != nil && ctx.Err() == nil {
				b.T.Error(err)
			}
			testenv.Poll(20*time.Millisecond, func() bool { return ctx.Err() != nil })
		}
	})
	end := b.dispatcher()
	stop = sync.OnceFunc(func() {
		end()
		cancel(nil)
		running.Wait()
	})
	b.T.Cleanup(stop)
	return stop
}

// dispatcher starts a dispatcher alone. stop ends it, and waits.
func (b *bench) dispatcher() (stop func()) {
	b.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d := b.hooks.NewDispatcher(b.encoder, webhooks.Observer{}, errLeaseLost)
		if err := d.Run(ctx, slog.New(b.Log), false); err != nil && ctx.Err() == nil {
			b.T.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	b.T.Cleanup(stop)
	return stop
}

// dispatchOnce numbers all changes and runs a dispatcher until it is idle.
func (b *bench) dispatchOnce() {
	b.T.Helper()
	b.number()
	if err := b.hooks.NewDispatcher(b.encoder, webhooks.Observer{}, errLeaseLost).Run(b.Ctx(), slog.New(b.Log), true); err != nil {
		b.T.Fatal(err)
	}
}

func (b *bench) number() {
	b.T.Helper()
	for {
		n, err := b.Changes.Number(b.Ctx())
		if err != nil {
			b.T.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// changeIDs lists the IDs of all changes.
func (b *bench) changeIDs() (ids []string) {
	b.T.Helper()
	b.number()
	var from *changes.Position
	for {
		list, next, err := b.Changes.List(b.Ctx(), from, changes.Filter{}, 500)
		if err != nil {
			b.T.Fatal(err)
		}
		for _, c := range list {
			ids = append(ids, c.ID())
		}
		if from != nil && *from == next {
			return ids
		}
		from = &next
	}
}

// sell makes changes: locks that are extended and released.
func (b *bench) sell(event holdfast.ID, n int) {
	b.T.Helper()
	for range n {
		lock := b.Acquire(event, 1, testenv.Soon())
		if _, err := b.Seats.ExtendLock(b.Ctx(), lock.ID, holdfast.Until{For: 90 * time.Minute}); err != nil {
			b.T.Fatal(err)
		}
		if _, err := b.Seats.ReleaseLock(b.Ctx(), lock.ID); err != nil {
			b.T.Fatal(err)
		}
	}
}

func (b *bench) deliveries(id holdfast.ID, state string) (all []webhooks.Delivery) {
	b.T.Helper()
	token := ""
	for {
		list, next, err := b.hooks.Deliveries(b.Ctx(), id, state, holdfast.Page{Size: 7, Token: token})
		if err != nil {
			b.T.Fatal(err)
		}
		if all = append(all, list...); next == "" {
			return all
		}
		token = next
	}
}
