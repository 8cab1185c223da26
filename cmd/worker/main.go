// Command worker expires what is due and proves the counters, on schedule.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/app"
	"github.com/holdfast-dev/holdfast/internal/config"
)

// Where the worker tells its state: at the first of these ports that is free.
const (
	firstPort = 8081
	ports     = 100
)

func main() {
	os.Exit(app.Main("worker", "Holdfast's background worker. Every flag can be set in the environment.", run))
}

func run(ctx context.Context, c *config.Config, log *slog.Logger) error {
	a, err := app.Open(ctx, c, log)
	if err != nil {
		return err
	}
	operations, err := serve(c, a, log)
	if err != nil {
		return errors.Join(err, a.Close(ctx))
	}
	log.InfoContext(ctx, "Listening", "addr", operations.Addr.String())
	defer context.AfterFunc(ctx, a.Stopping)()
	a.Recover(ctx)
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
	for port := firstPort; port < firstPort+ports; port++ {
		var server *app.Server
		if server, err = app.Serve(fmt.Sprintf("127.0.0.1:%d", port), handler, log); err == nil {
			return server, nil
		}
	}
	return nil, fmt.Errorf("no port for /metrics, /livez and /readyz from %d on is free: set METRICS_ADDR: %w", firstPort, err)
}
