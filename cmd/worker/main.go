// Command worker runs the scheduled jobs: it expires due locks and bookings, and
// compares the counters with the locks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/app"
	"github.com/holdfast-dev/holdfast/internal/config"
)

// By default /metrics, /livez and /readyz are on the first free port of these.
const (
	firstPort = 8081
	portCount = 100
)

func main() {
	reserve := app.ReserveHeap()
	status := app.Main("worker", "Holdfast's background worker. Every flag can be set in the environment.", run)
	runtime.KeepAlive(reserve)
	os.Exit(status)
}

func run(ctx context.Context, c *config.Config, log *slog.Logger) error {
	c.ShutdownDelay = 0 // no load balancer sends requests to a worker
	a, err := app.Connect(ctx, c, log)
	if err != nil {
		return err
	}
	operations, err := serve(c, a, log)
	if err != nil {
		return errors.Join(err, a.Close(ctx))
	}
	log.InfoContext(ctx, "Listening", slog.String("addr", operations.Addr.String()))
	defer context.AfterFunc(ctx, a.Stopping)()
	a.Boot(ctx)
	err = a.Jobs.Schedule(ctx)
	a.Stopping()
	drain, cancel := app.DrainContext(ctx)
	defer cancel()
	return errors.Join(err, operations.Drain(drain), a.Close(drain))
}

func serve(c *config.Config, a *app.App, log *slog.Logger) (*app.Server, error) {
	handler := httpapi.Operations(a.Ready, a.Metrics.Registry)
	if c.MetricsAddr != "" {
		server, err := app.Serve(c.MetricsAddr, handler, log)
		if err != nil {
			return nil, fmt.Errorf("METRICS_ADDR: %w", err)
		}
		return server, nil
	}
	var err error
	for port := firstPort; port < firstPort+portCount; port++ {
		var server *app.Server
		if server, err = app.Serve(fmt.Sprintf("127.0.0.1:%d", port), handler, log); err == nil {
			return server, nil
		}
	}
	return nil, fmt.Errorf("no port from %d to %d is free for /metrics, /livez and /readyz: set METRICS_ADDR: %w",
		firstPort, firstPort+portCount-1, err)
}
