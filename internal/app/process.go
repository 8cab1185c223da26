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
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

const (
	// drainTime is how long requests and runs in progress may take to end.
	drainTime = 8 * time.Second
	// stopTime is how long a process that was told to stop may last, whatever it
	// waits for. What it leaves open then is ended by whoever meets it.
	stopTime = 9 * time.Second
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
	context.AfterFunc(ctx, func() {
		time.AfterFunc(stopTime, func() {
			log.Warn("Stopped before everything had ended", "after", stopTime.String())
			os.Exit(0)
		})
	})
	err = run(ctx, c, log)
	switch {
	case err != nil && ctx.Err() != nil: // it was told to stop, and has
		log.Warn("Stopped before everything had ended", "error", err)
	case err != nil:
		log.Error("Failed", "error", err)
		return 1
	default:
		log.Info("Stopped")
	}
	return 0
}

// Server is an HTTP server that has its address.
type Server struct {
	*http.Server
	Addr   net.Addr
	failed chan error
}

// Serve listens on addr and serves in the background.
func Serve(addr string, handler http.Handler, log *slog.Logger) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: httpapi.NewServer(handler, log), Addr: listener.Addr(), failed: make(chan error, 1)}
	go func() { s.failed <- s.Serve(listener) }()
	return s, nil
}

// Failed tells why a server ended by itself.
func (s *Server) Failed() <-chan error { return s.failed }

// Drain lets requests in progress end, and closes the rest.
func (s *Server) Drain(ctx context.Context) error {
	if s == nil {
		return nil
	}
	if err := s.Shutdown(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// DrainContext bounds a process's last steps; ctx, which has ended, is its parent.
func DrainContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), drainTime)
}
