package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"golang.org/x/net/netutil"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

const (
	// drainTimeout is how long requests and runs in flight may take to end.
	drainTimeout = 8 * time.Second
	// stopTimeout is how long a process may run after the signal to stop, and after
	// SHUTDOWN_DELAY. Other processes end the transactions that it may leave open.
	stopTimeout = 9 * time.Second
)

// Main runs a process from its settings to its exit status: 0 after a signal,
// 1 for a failure, 2 for wrong settings.
func Main(program, description string, run func(ctx context.Context, c *config.Config, log *slog.Logger) error) int {
	c, err := config.Parse(program, description, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		return 2
	}
	log := telemetry.NewLog(os.Stderr, c.LogLevel, c.LogFormat)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	sendTraces, err := startTraces(ctx, program, c.PodName)
	if err != nil {
		log.Error("Failed", slog.Any("error", err))
		return 1
	}
	context.AfterFunc(ctx, func() {
		time.AfterFunc(c.ShutdownDelay+stopTimeout, func() {
			log.Warn("The shutdown timed out; work was still in progress", slog.String("after", (c.ShutdownDelay+stopTimeout).String()))
			os.Exit(0)
		})
	})
	err = run(ctx, c, log)
	sendLast(ctx, log, sendTraces)
	switch {
	case err != nil && ctx.Err() != nil: // a signal stopped it
		log.Warn("The shutdown was not complete", slog.Any("error", err))
	case err != nil:
		log.Error("Failed", slog.Any("error", err))
		return 1
	default:
		log.Info("Stopped")
	}
	return 0
}

// sendLast sends the remaining traces. A collector that does not answer delays the exit by
// sendTimeout.
func sendLast(ctx context.Context, log *slog.Logger, send func(context.Context) error) {
	const sendTimeout = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	if err := send(ctx); err != nil {
		log.Warn("Could not send the last traces", slog.Any("error", err))
	}
}

// Server is an HTTP server that listens on its address.
type Server struct {
	*http.Server
	Addr     net.Addr
	listener net.Listener
	failed   chan error
	draining atomic.Bool
	open     atomic.Int64 // connections
	maxOpen  int64
}

// maxConnections bounds the memory of idle connections, about 20 KiB each.
const maxConnections = 16384

// isCrowded reports whether more than half of the connections are open. Each request then
// ends its connection.
func (s *Server) isCrowded() bool { return s.open.Load() > s.maxOpen/2 }

// Serve listens on addr and serves in the background.
func Serve(addr string, handler http.Handler, log *slog.Logger) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	if telemetry.Traced() {
		handler = otelhttp.NewHandler(handler, "http", otelhttp.WithFilter(func(r *http.Request) bool {
			return r.URL.Path != "/livez" && r.URL.Path != "/readyz" && r.URL.Path != "/metrics"
		}))
	}
	s := &Server{Addr: listener.Addr(), listener: listener, failed: make(chan error, 1), maxOpen: connections()}
	s.Server = httpapi.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() || s.isCrowded() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	}), log)
	s.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
		}
	}
	limited := netutil.LimitListener(listener, int(s.maxOpen))
	go func() { s.failed <- s.Serve(limited) }()
	return s, nil
}

// Failed receives the error if the server ends by itself.
func (s *Server) Failed() <-chan error { return s.failed }

// Leave asks clients to close their connections after each response, and continues to serve for a
// while, because load balancers send requests until they notice that /readyz fails.
func (s *Server) Leave(delay time.Duration) {
	s.draining.Store(true)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case err := <-s.failed:
		s.failed <- err
	}
}

// drainDelay is how long clients have to close their connections after the header
// "Connection: close". If the server closed one, the client's next request could be lost.
const drainDelay = 500 * time.Millisecond

// Drain accepts no new connections, asks clients to close the open ones, waits for requests
// in flight, and closes the rest.
func (s *Server) Drain(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.draining.Store(true)
	_ = s.listener.Close() // Serve returns the error too
	s.awaitClients(ctx)
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, net.ErrClosed) { // the listener is closed already
		return errors.Join(err, s.Close())
	}
	return nil
}

// awaitClients waits up to drainDelay until the clients have closed all connections.
func (s *Server) awaitClients(ctx context.Context) {
	timeout := time.After(drainDelay)
	tick := time.NewTicker(drainDelay / 50)
	defer tick.Stop()
	for s.open.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-timeout:
			return
		case <-tick.C:
		}
	}
}

// DrainContext returns a context that bounds the last steps of a process. Its parent ctx has
// ended.
func DrainContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
}
