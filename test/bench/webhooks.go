package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// withWebhooks measures what webhooks cost the sale, and how late an endpoint is notified. The worker that sends,
// and the endpoint, are on the same cores.
func withWebhooks(s settings) (rows []*result) {
	const rate = 2000
	atRate := httpRow{
		load: fmt.Sprintf("%d a second", rate), run: func(ctx context.Context, t target) (measurement, error) {
			m, _, err := lockOnSchedule(ctx, s, t.servers[0], rate, t.oneSeat)
			return m, err
		},
	}
	for _, row := range []httpRow{atRate, closedRow(s, httpRow{variant: engineName}, mostClients)} {
		row.variant, row.processes, row.seats = engineName, 1, ampleSeats
		sell := row.run
		for _, variant := range []string{"no endpoint", "one endpoint"} {
			row.run = func(ctx context.Context, t target) (measurement, error) {
				return withWorker(ctx, s, t, variant == "one endpoint", sell)
			}
			r := overHTTP(s, row)
			r.Variant = variant
			rows = append(rows, r)
		}
	}
	return rows
}

// withWorker runs a sale while a worker runs. If there is an endpoint for all changes, it notes what that received.
func withWorker(
	ctx context.Context, s settings, t target, hasEndpoint bool, sell func(context.Context, target) (measurement, error),
) (m measurement, err error) {
	var r *webhookReceiver
	if hasEndpoint {
		if r, err = newWebhookReceiver(ctx, t.env, "*"); err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, r.Shutdown()) }()
	}
	worker, err := startWorker(ctx, s, t.DB.Name())
	if err != nil {
		return m, err
	}
	defer worker.Stop()
	if !hasEndpoint {
		return sell(ctx, t)
	}
	if err := r.warmUp(ctx, t.env); err != nil {
		return m, err
	}
	before, err := readProcess(ctx, worker.address)
	if err != nil {
		return m, err
	}
	if m, err = sell(ctx, t); err != nil {
		return m, err
	}
	if err := r.noteIn(ctx, &m); err != nil {
		return m, err
	}
	after, err := readProcess(ctx, worker.address)
	const micros = 1e6
	m.addNote("%.0f µs of the worker's processor time a change", micros*(after.cpu-before.cpu)/float64(max(1, m.Granted)))
	return m, err
}

// startWorker starts a worker, and returns when it is ready. environment has additional settings.
func startWorker(ctx context.Context, s settings, database string, environment ...string) (*server, error) {
	return startProgram(ctx, s, "worker", "METRICS_ADDR", database, append(environment, "WEBHOOK_ALLOW_PRIVATE=true")...)
}

// webhookReceiver is an endpoint that accepts every request at once.
type webhookReceiver struct {
	fasthttp.Server

	mu   sync.Mutex
	lags []time.Duration // from the commit of each change to its arrival
}

// newWebhookReceiver creates an endpoint for changes of some types.
func newWebhookReceiver(ctx context.Context, e *env, types string) (*webhookReceiver, error) {
	listen, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &webhookReceiver{}
	r.Handler = r.receive
	go func() { _ = r.Serve(listen) }() // it ends when the server is shut down
	_, _, _, err = webhooks.New(e.DB, e.Changes, true).Create(ctx,
		webhooks.NewEndpoint{URL: "http://" + listen.Addr().String(), Types: []string{types}}, holdfast.CreationKey{})
	return r, err
}

func (r *webhookReceiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lags)
}

// warmUp returns when the endpoint has received a change that warmUp makes.
func (r *webhookReceiver) warmUp(ctx context.Context, e *env) error {
	if _, err := e.createEvent(ctx, 1); err != nil {
		return err
	}
	for r.count() == 0 {
		if sleep(ctx, time.Millisecond); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	sleep(ctx, time.Second) // for the remaining changes, such as the creation of the other event
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lags = nil
	return nil
}

// drainTimeout bounds the time until an endpoint has received all changes that are left after the load.
const drainTimeout = 5 * time.Minute

// noteIn notes what the endpoint received during the load, and how long the rest took. Each lock that was granted is
// a change.
func (r *webhookReceiver) noteIn(ctx context.Context, m *measurement) error {
	received, ended := r.count(), wallClock()
	for r.count() < m.Granted {
		if sleep(ctx, 5*time.Millisecond); ctx.Err() != nil || wallClock.Since(ended) > drainTimeout {
			return fmt.Errorf("the endpoint received %d of %d changes", r.count(), m.Granted)
		}
	}
	drained := wallClock.Since(ended)
	r.mu.Lock()
	defer r.mu.Unlock()
	lags := measurement{latencies: r.lags}
	m.addNote("first tries %.0f ms after the commit, p99 %.0f ms; %.0f sent a second, %d left, which took %.1f s",
		inMilliseconds(lags.quantile(.5)), inMilliseconds(lags.quantile(.99)),
		float64(received)/m.Seconds, max(0, m.Granted-received), drained.Seconds())
	return nil
}

func (r *webhookReceiver) receive(request *fasthttp.RequestCtx) {
	arrived := wallClock()
	request.SetStatusCode(fasthttp.StatusNoContent)
	_, rest, _ := bytes.Cut(request.PostBody(), []byte(`"time":"`))
	committedAt, _, _ := bytes.Cut(rest, []byte(`"`))
	if committed, err := time.Parse(time.RFC3339Nano, string(committedAt)); err == nil {
		r.mu.Lock()
		r.lags = append(r.lags, arrived.Sub(committed))
		r.mu.Unlock()
	}
}
