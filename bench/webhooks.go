package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// The endpoints of a measurement, all for changes of every type.
const (
	noEndpoint       = "no endpoint"
	oneEndpoint      = "one endpoint"
	besideOneHanging = "one endpoint beside one that hangs"
)

// withWebhooks measures what webhooks cost the sale, and how late an endpoint is told. The worker that sends, and the
// endpoints, are on the same cores.
func withWebhooks(s settings) (rows []*result) {
	const rate, fewRate = 2000, 2
	atRate := func(rate int, endpoints string) {
		r := overHTTP(s, httpRow{
			variant: engineName, load: fmt.Sprintf("%d a second", rate), processes: 1, seats: ampleSeats, beside: sendWebhooks(s, endpoints),
			run: func(ctx context.Context, servers []*server, event holdfast.ID, user holdfast.User) (measurement, error) {
				m, _, err := lockOnSchedule(ctx, s, servers[0], rate, event, user)
				return m, err
			},
		})
		r.Variant = endpoints
		rows = append(rows, r)
	}
	atRate(fewRate, oneEndpoint)
	for _, endpoints := range []string{noEndpoint, oneEndpoint, besideOneHanging} {
		atRate(rate, endpoints)
	}
	for _, endpoints := range []string{noEndpoint, oneEndpoint} {
		r := closedHTTP(s, httpRow{variant: engineName, processes: 1, seats: ampleSeats, beside: sendWebhooks(s, endpoints)}, saleClients)
		r.Variant = endpoints
		rows = append(rows, r)
	}
	return rows
}

// sendWebhooks starts a worker, and creates endpoints. What it returns ends them, and notes what they were told.
func sendWebhooks(s settings, endpoints string) besideLoad {
	return func(ctx context.Context, e *env) (end func(m *measurement) error, err error) {
		var receivers []*webhookReceiver
		for i := range map[string]int{noEndpoint: 0, oneEndpoint: 1, besideOneHanging: 2}[endpoints] {
			r, err := newWebhookReceiver(i > 0)
			if err != nil {
				return nil, err
			}
			receivers = append(receivers, r)
			_, _, _, err = webhooks.New(e.DB, e.Changes, true).Create(ctx,
				webhooks.NewEndpoint{URL: r.url(), Types: []string{"*"}}, holdfast.CreationKey{})
			if err != nil {
				return nil, err
			}
		}
		worker, err := startWorker(ctx, s, e.DB.Name())
		if err != nil {
			return nil, err
		}
		if len(receivers) > 0 {
			if err := receivers[0].warmUp(ctx, e); err != nil {
				return nil, err
			}
		}
		before, err := processorTime([]*server{worker})
		if err != nil {
			return nil, err
		}
		return func(m *measurement) (err error) {
			if len(receivers) > 0 {
				err = receivers[0].noteIn(ctx, m)
				after, failed := processorTime([]*server{worker})
				err = errors.Join(err, failed)
				m.note += fmt.Sprintf("; %.0f µs of the worker's processor time a change",
					float64((after-before).Microseconds())/float64(max(1, m.Granted)))
			}
			worker.Stop()
			for _, r := range receivers {
				err = errors.Join(err, r.close())
			}
			return err
		}, nil
	}
}

// startWorker starts a worker, and returns when it is ready. environment has more settings. The address is that of its
// metrics.
func startWorker(ctx context.Context, s settings, database string, environment ...string) (*server, error) {
	port, err := devserver.ReservePort()
	if err != nil {
		return nil, err
	}
	address := port.Addr()
	p, err := devserver.Start(devserver.Command{Args: []string{filepath.Join(s.binDir, "worker")}, Output: os.Stderr, Env: append([]string{
		"MONGODB_URI=" + s.mongoURI, "MONGODB_DATABASE=" + database, "METRICS_ADDR=" + address,
		"JOB_LEASES=none", "LOG_LEVEL=error", "SHUTDOWN_DELAY=0s", "WEBHOOK_ALLOW_PRIVATE=true",
	}, environment...)})
	if err != nil {
		return nil, errors.Join(err, port.Close())
	}
	if err := errors.Join(waitReady(ctx, p, address), port.Close()); err != nil {
		p.Stop()
		return nil, err
	}
	return &server{Process: p, address: address}, nil
}

// webhookReceiver is an endpoint. It accepts everything at once, or never answers.
type webhookReceiver struct {
	server *fasthttp.Server
	listen net.Listener
	closed chan struct{}
	hangs  bool

	mu   sync.Mutex
	lags []time.Duration // from the commit of each change to its arrival
}

func newWebhookReceiver(hangs bool) (*webhookReceiver, error) {
	listen, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &webhookReceiver{listen: listen, hangs: hangs, closed: make(chan struct{})}
	r.server = &fasthttp.Server{Handler: r.receive, NoDefaultServerHeader: true}
	go func() { _ = r.server.Serve(listen) }() // it ends when the server is closed
	return r, nil
}

func (r *webhookReceiver) close() error {
	close(r.closed)
	return r.server.Shutdown()
}

func (r *webhookReceiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lags)
}

// warmUp returns when the endpoint is told of a change that it makes.
func (r *webhookReceiver) warmUp(ctx context.Context, e *env) error {
	if _, err := e.createEvent(ctx, 1); err != nil {
		return err
	}
	for r.count() == 0 {
		if sleep(ctx, time.Millisecond); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	sleep(ctx, time.Second) // what is left of it, such as the creation of the other event
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lags = nil
	return nil
}

// drainTimeout bounds the time in which an endpoint is told of all that is left after the load.
const drainTimeout = 5 * time.Minute

// noteIn notes what the endpoint was told during the load, and how long the rest took. Each lock that was granted is a
// change.
func (r *webhookReceiver) noteIn(ctx context.Context, m *measurement) error {
	told, ended := r.count(), wallClock()
	for r.count() < m.Granted {
		if sleep(ctx, 5*time.Millisecond); ctx.Err() != nil || wallClock.Since(ended) > drainTimeout {
			return fmt.Errorf("the endpoint was told of %d changes of %d", r.count(), m.Granted)
		}
	}
	drained := wallClock.Since(ended)
	r.mu.Lock()
	defer r.mu.Unlock()
	lags := measurement{latencies: r.lags}
	if m.note != "" {
		m.note += "; "
	}
	m.note += fmt.Sprintf("first tries %.0f ms after the commit, p99 %.0f ms; %.0f told a second, %d left, which took %.1f s",
		inMilliseconds(lags.quantile(.5)), inMilliseconds(lags.quantile(.99)), float64(told)/m.Seconds, max(0, m.Granted-told), drained.Seconds())
	return nil
}

func (r *webhookReceiver) url() string { return "http://" + r.listen.Addr().String() }

func (r *webhookReceiver) receive(request *fasthttp.RequestCtx) {
	arrived := wallClock()
	request.SetStatusCode(fasthttp.StatusNoContent)
	if r.hangs {
		<-r.closed
		return
	}
	_, rest, _ := bytes.Cut(request.PostBody(), []byte(`"time":"`))
	committedAt, _, _ := bytes.Cut(rest, []byte(`"`))
	if committed, err := time.Parse(time.RFC3339Nano, string(committedAt)); err == nil {
		r.mu.Lock()
		r.lags = append(r.lags, arrived.Sub(committed))
		r.mu.Unlock()
	}
}
