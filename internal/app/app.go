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

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/jobs"
)

// App is one process's services.
type App struct {
	*core.Core

	Config  *config.Config
	Log     *slog.Logger
	Metrics *telemetry.Metrics
	Jobs    *jobs.Runner
	Rates   *httpapi.RateLimiter

	leases   func() error // closes the lease store
	rates    func() error // closes the rate limiter's store
	boot     boot
	work     *core.Jobs
	findings *keptFindings

	stopping atomic.Bool
}

// Connect opens the app and writes nothing. Its error says what the operator can do.
func Connect(ctx context.Context, c *config.Config, log *slog.Logger) (*App, error) {
	metrics, now := telemetry.NewMetrics(), mongodb.Clock(mongodb.SystemTime)
	engine, err := core.Connect(ctx, core.Options{
		URI: string(c.MongoDBURI), Settings: c.Engine(), Log: log, Clock: now, Monitor: telemetry.MongoDBTraces(),
		WebhookAllowPrivate: c.WebhookAllowPrivate, Collections: jobs.Collections(),
		Observe: core.Observe(metrics.Engine, jobs.Collections()...),
	})
	if err != nil {
		return nil, err
	}
	a := &App{Core: engine, Config: c, Log: log, Metrics: metrics, work: &core.Jobs{Core: engine, JobSettings: c.Jobs()}}
	a.work.Observe(metrics.Engine)
	a.findings = newKeptFindings(now, a.find)
	metrics.RegisterMongoDB(a.mongoDBIsUp)
	if telemetry.IsTerminal(os.Stderr) {
		a.Recovery.OnProgress, a.Recovery.ProgressInterval = drawProgress, time.Second
	}
	a.openJobs(ctx, now)
	a.openRates(now)
	if a.boot.at, err = a.DB.Now(ctx); err != nil {
		return nil, errors.Join(err, a.Close(context.WithoutCancel(ctx)))
	}
	return a, nil
}

// openJobs opens the lease store and creates the runner of jobs, and logs which store it is.
func (a *App) openJobs(ctx context.Context, now mongodb.Clock) {
	c, terms := a.Config, jobs.LeaseTerms{TTL: a.Config.LeaseTTL}
	kind, why := c.LeaseStore()
	o := jobs.Options{
		Log: a.Log, Clock: now, Holder: jobs.NewHolder(c.PodName), Terms: terms,
		History: &jobs.History{DB: a.DB}, Metrics: jobs.NewMetrics(a.Metrics.Registry),
	}
	a.leases = func() error { return nil }
	switch kind {
	case jobs.StoreRedis:
		store := jobs.NewRedisLeases(c.Redis(), terms, now)
		o.Leases, o.RunWithoutStore, a.leases = store, !c.DisableCronsOnRedisDown, store.Close
	case jobs.StoreMongo:
		o.Leases = jobs.NewMongoLeases(a.DB, terms)
	default:
		o.Leases = jobs.NewLocalLeases()
	}
	a.Jobs = jobs.New(o, a.jobs()...)
	level, text := slog.LevelInfo, "Leases"
	if kind == jobs.StoreNone {
		level, text = slog.LevelWarn, "No leases: jobs run as a single instance; a second process would run them too"
	}
	mode, err := a.Jobs.Mode(ctx)
	if err != nil {
		level, text = slog.LevelWarn, "The lease store is unavailable; this process keeps retrying"
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

// openRates creates the rate limiter if a rate is set.
func (a *App) openRates(now mongodb.Clock) {
	a.rates = func() error { return nil }
	if a.Config.RateLimitPerKey.IsZero() && a.Config.RateLimitPerUser.IsZero() {
		return
	}
	var client *redis.Client
	if o := a.Config.SharedRedis(); o != nil {
		const stepTimeout = 200 * time.Millisecond // after this time the process counts on its own
		client = jobs.OpenRedis(*o, stepTimeout)
		a.rates = client.Close
	}
	a.Rates = httpapi.NewRateLimiter(client, now, a.Log)
}

// Stopping makes /readyz fail, so that the load balancer sends no new requests.
func (a *App) Stopping() { a.stopping.Store(true) }

// Close waits for runs and commits in flight, and ends the connections.
func (a *App) Close(ctx context.Context) error {
	a.Jobs.Stop()
	return errors.Join(a.boot.end(ctx), a.Jobs.Wait(ctx), a.leases(), a.rates(), a.Core.Close(ctx))
}
