package app

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/jobs"
)

const checkTimeout = 2 * time.Second

// Ready is the answer of /readyz.
func (a *App) Ready(ctx context.Context) httpapi.Readiness {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	recovery, schema := a.boot.recovery(), a.boot.schemaState()
	ready := httpapi.Readiness{Ready: a.Serving() && !a.stopping.Load(), Checks: map[string]string{
		"mongo": "ok", "redis": "not used", "recovery": recovery, "oversold": "none", "schema": schema,
	}}
	ready.Degraded = recovery != recoveryCompleted || schema != schemaOK
	a.checkCorrupt(&ready)
	if a.stopping.Load() {
		ready.Checks["process"] = "stopping"
	}
	var leases sync.WaitGroup // a Redis that does not answer must not use up MongoDB's time
	var mode jobs.Mode
	var leasesErr error
	leases.Go(func() { mode, leasesErr = a.Jobs.Mode(ctx) })
	a.checkMongo(ctx, &ready)
	leases.Wait()
	a.checkLeases(mode, leasesErr, &ready)
	return ready
}

// checkMongo asks MongoDB each time whether it can write, which decides. The rest of the check may be a second old.
func (a *App) checkMongo(ctx context.Context, ready *httpapi.Readiness) {
	if err := a.DB.Ping(ctx); err != nil {
		ready.Ready = false
		ready.Checks["mongo"] = "no writable primary answers"
		ready.Checks["oversold"], ready.Checks["changes"], ready.Checks["cancellations"] = unknown, unknown, unknown
		return
	}
	found := a.findings.get(ctx)
	ready.Checks["changes"], ready.Checks["oversold"], ready.Checks["cancellations"] = found.changes, found.oversold, found.cancellations
	ready.Degraded = ready.Degraded || found.isDegraded
}

// checkCorrupt reports the corrupt documents that the last search found.
func (a *App) checkCorrupt(ready *httpapi.Readiness) {
	ready.Checks["corrupt"] = unknown
	if found, isKnown := a.Corrupt.Known(); isKnown {
		ready.Checks["corrupt"] = found.String()
		ready.Degraded = ready.Degraded || len(found.Documents) > 0
	}
}

// mongoDBIsUp reports whether MongoDB accepts writes, for the metrics.
func (a *App) mongoDBIsUp() bool {
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	return a.DB.Ping(ctx) == nil
}

// checkLeases reports which leases keep a job from running twice at a time, and why. err is
// the store's, if it is unavailable.
func (a *App) checkLeases(mode jobs.Mode, err error, ready *httpapi.Readiness) {
	store, why := a.Config.LeaseStore()
	away := map[string]string{jobs.StoreRedis: "Redis", jobs.StoreMongo: "MongoDB"}[store] + " " + jobs.DescribeUnavailable(err)
	ready.Checks["leases"] = map[jobs.Mode]string{
		jobs.ModeRedis:          "ok: redis (" + why + ")",
		jobs.ModeMongo:          "ok: mongo (" + why + ")",
		jobs.ModeNone:           "ok: none, a single instance (" + why + ")",
		jobs.ModeWaiting:        "waiting: " + away + ", and jobs wait for it",
		jobs.ModeSingleInstance: "single-instance: " + away + ", and DISABLE_CRONS_ON_REDIS_DOWN=false: this process runs its jobs anyway",
	}[mode]
	ready.Degraded = ready.Degraded || mode == jobs.ModeWaiting || mode == jobs.ModeSingleInstance
	if store == jobs.StoreRedis {
		ready.Checks["redis"] = "ok"
		if mode != jobs.ModeRedis {
			ready.Checks["redis"] = jobs.DescribeUnavailable(err)
		}
	}
}
