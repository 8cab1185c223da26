// Command api serves the HTTP booking API.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/app"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/live"
	"github.com/holdfast-dev/holdfast/seats"
)

func main() {
	reserve := app.ReserveHeap()
	status := app.Main("api", "Holdfast's HTTP booking API. Every flag can be set in the environment.", run)
	runtime.KeepAlive(reserve)
	os.Exit(status)
}

// source is the source of the streams. It repairs a map that can't be read.
type source struct {
	*store.Store

	seats *seats.Service
}

func (s source) SeatsAt(ctx context.Context, id holdfast.ID) (store.SeatMap, int64, error) {
	return s.seats.SeatsAt(ctx, id)
}

func run(ctx context.Context, c *config.Config, log *slog.Logger) (err error) {
	recent := telemetry.NewRecent(log.Handler())
	log = slog.New(recent)
	a, err := app.Connect(ctx, c, log)
	if err != nil {
		return err
	}
	tokens, err := httpapi.NewTokens(c.Access, a.DB.Clock())
	if err != nil {
		return errors.Join(err, a.Close(ctx))
	}
	if warning := c.Warning(); warning != "" {
		log.WarnContext(ctx, warning)
	}
	hub := live.NewHub(source{a.Store, a.Seats}, log)
	defer hub.Close()
	a.Metrics.RegisterListeners(hub.Listeners)
	api, err := app.Serve(c.HTTPAddr, httpapi.New(httpapi.Services{
		Users: a.Users, Overview: a.Store, Plans: a.Plans, Changes: a.Changes, Audit: a.Audit, Seats: a.Seats, Bookings: a.Bookings,
		Webhooks: a.Webhooks, CancelEvent: a.CancelEvent, Eraser: a.Eraser,
		Log: log, Clock: a.DB.Clock(), Metrics: a.Metrics, Jobs: a.Jobs, Keys: c.Keys, Tokens: tokens, Rates: a.Rates,
		Origins: c.Origins,
		Limits:  httpapi.Limits{PerKey: c.RateLimitPerKey, PerUser: c.RateLimitPerUser, PerAddress: c.RateLimitPerAddress},
		Serving: a.Serving, Ready: a.Ready, Live: hub, Plan: a.Recovery.Plan, Lines: recent.Lines, Demo: c.Demo,
	}), log)
	if err != nil {
		return errors.Join(fmt.Errorf("HTTP_ADDR: %w", err), a.Close(ctx))
	}
	var operations *app.Server
	if c.MetricsAddr != "" {
		if operations, err = app.Serve(c.MetricsAddr, httpapi.Operations(a.Ready, a.Metrics.Registry), log); err != nil {
			return errors.Join(fmt.Errorf("METRICS_ADDR: %w", err), a.Close(ctx))
		}
	}
	log.InfoContext(ctx, "Listening", slog.String("addr", api.Addr.String()), slog.Int("keys", len(c.Keys)))
	a.Boot(ctx)
	if ctx.Err() == nil {
		log.InfoContext(ctx, "Serving", slog.String("addr", api.Addr.String()))
	}
	stopJobs := schedule(ctx, a)
	select {
	case <-ctx.Done():
		a.Stopping()
		api.Leave(c.ShutdownDelay)
	case err = <-api.Failed():
	}
	a.Stopping()
	hub.Close()
	a.Jobs.Stop() // a request waits for the run that it started
	drain, cancel := app.DrainContext(ctx)
	defer cancel()
	err = errors.Join(err, api.Drain(drain))
	stopJobs()
	return errors.Join(err, operations.Drain(drain), a.Close(drain))
}

// schedule runs the jobs in this process if RUN_JOBS is set. stop cancels them and
// waits for their end.
func schedule(ctx context.Context, a *app.App) (stop func()) {
	if !a.Config.RunJobs {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := a.Jobs.Schedule(ctx); err != nil {
			a.Log.ErrorContext(ctx, "The scheduler failed", slog.Any("error", err))
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
