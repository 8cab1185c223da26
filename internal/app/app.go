// Package app assembles a process, of the API or of the worker: the services on their
// database, recovery at the start, the jobs, and the answer of /readyz.
package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/peers"
	"github.com/holdfast-dev/holdfast/internal/ratelimit"
	"github.com/holdfast-dev/holdfast/internal/redisclient"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// App is one process's services.
type App struct {
	*core.Core

	Config  *config.Config
	Log     *slog.Logger
	Metrics *telemetry.Metrics
	Jobs    *jobs.Runner
	Rates   *ratelimit.Limiter
	Peers   *peers.Peers // nil: this process sells its events alone

	leases   func() error // closes the store of leases
	rates    func() error // closes the store of rates
	boot     boot
	findings *keptFindings

	retention time.Duration // of ended locks; 0: for ever
	stopping  atomic.Bool
}

// Connect opens the app and writes nothing. Its error says what the operator can do.
func Connect(ctx context.Context, c *config.Config, log *slog.Logger) (*App, error) {
	metrics, now := telemetry.NewMetrics(), clock.Clock(clock.System)
	engine, err := core.Connect(ctx, core.Options{
		URI: string(c.MongoDBURI), Settings: c.Engine(), Log: log, Clock: now, Monitor: telemetry.MongoDBTraces(),
		WebhookAllowPrivate: c.WebhookAllowPrivate,
		Observe: core.Observer{
			Database: mongodb.Observer{
				Transaction: func(o mongodb.Outcome, attempts int) {
					metrics.Transactions.WithLabelValues(string(o)).Inc()
					metrics.Attempts.Observe(float64(attempts))
				},
				Orphans: func(n int) { metrics.OrphansEnded.Add(float64(n)) },
			},
			Bookings: booking.Observer{
				Late: func(accepted bool) {
					outcome := "refused"
					if accepted {
						outcome = "accepted"
					}
					metrics.LatePayments.WithLabelValues(outcome).Inc()
				},
				Duplicate: metrics.Duplicates.Inc,
			},
			Corrected: metrics.Corrections.Inc,
		},
	})
	if err != nil {
		return nil, err
	}
	a := &App{Core: engine, Config: c, Log: log, Metrics: metrics}
	a.findings = newKeptFindings(now, a.find)
	metrics.RegisterMongoDB(a.mongoDBIsUp)
	if telemetry.IsTerminal(os.Stderr) {
		a.Recovery.OnProgress, a.Recovery.ProgressInterval = drawProgress, time.Second
	}
	if a.retention = c.EndedRetention.Age; !c.EndedRetention.IsSet {
		if a.retention, err = core.EndedRetention(ctx, a.DB); err != nil {
			return nil, errors.Join(err, engine.Close(context.WithoutCancel(ctx)))
		}
	}
	a.openJobs(ctx, now)
	a.openRates(now)
	if a.boot.at, err = a.DB.Now(ctx); err != nil {
		return nil, errors.Join(err, a.Close(context.WithoutCancel(ctx)))
	}
	return a, nil
}

// openJobs makes the store of leases and the runner of jobs, and logs which store it is.
func (a *App) openJobs(ctx context.Context, now clock.Clock) {
	c, terms := a.Config, lease.Terms{TTL: a.Config.LeaseTTL}
	kind, why := c.LeaseStore()
	o := jobs.Options{
		Log: a.Log, Clock: now, Holder: lease.NewHolder(c.PodName), Terms: terms,
		History: &jobs.History{DB: a.DB}, Metrics: jobs.NewMetrics(a.Metrics.Registry),
	}
	a.leases = func() error { return nil }
	switch kind {
	case lease.KindRedis:
		store := lease.NewRedis(c.Redis(), terms, now)
		o.Leases, o.RunWithoutStore, a.leases = store, !c.DisableCronsOnRedisDown, store.Close
	case lease.KindMongo:
		o.Leases = lease.NewMongo(a.DB, terms)
	default:
		o.Leases = lease.NewLocal()
	}
	a.Jobs = jobs.New(o, a.jobs()...)
	level, text := slog.LevelInfo, "Leases"
	if kind == lease.KindNone {
		level, text = slog.LevelWarn, "No leases: jobs run as a single instance; a second process would run them too"
	}
	mode, err := a.Jobs.Mode(ctx)
	if err != nil {
		level, text = slog.LevelWarn, "The store of leases is unavailable; this process keeps retrying"
	}
	line := []slog.Attr{
		slog.String("store", kind), slog.String("why", why), slog.Any("mode", mode), slog.String("holder", o.Holder),
		slog.String("leaseTTL", c.LeaseTTL.String()), slog.Bool("disableCronsOnRedisDown", c.DisableCronsOnRedisDown),
	}
	if err != nil {
		line = append(line, slog.Any("error", err))
	}
	a.Log.LogAttrs(ctx, level, text, line...)
}

// openRates makes the rate limiter, if a rate is set.
func (a *App) openRates(now clock.Clock) {
	a.rates = func() error { return nil }
	if a.Config.RateLimitPerKey.IsZero() && a.Config.RateLimitPerUser.IsZero() {
		return
	}
	var client *redis.Client
	if o := a.Config.SharedRedis(); o != nil {
		const stepTimeout = 200 * time.Millisecond // after it this process counts alone
		client = redisclient.Open(*o, stepTimeout)
		a.rates = client.Close
	}
	a.Rates = ratelimit.New(client, now, a.Log)
}

// Stopping makes /readyz fail, so that the load balancer sends no new requests, and other processes no commands.
func (a *App) Stopping() {
	a.stopping.Store(true)
	if a.Peers != nil {
		a.Peers.Leave()
	}
}

// Close waits for runs and commits in flight, and ends the connections.
func (a *App) Close(ctx context.Context) error {
	a.Jobs.Stop()
	return errors.Join(a.Peers.Close(ctx), a.boot.end(ctx), a.Jobs.Wait(ctx), a.leases(), a.rates(), a.Core.Close(ctx))
}
