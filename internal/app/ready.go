package app

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
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

func (a *App) checkMongo(ctx context.Context, ready *httpapi.Readiness) {
	if err := a.DB.Ping(ctx); err != nil {
		ready.Ready = false
		ready.Checks["mongo"] = "no writable primary answers"
		ready.Checks["oversold"], ready.Checks["changes"] = "unknown", "unknown"
		return
	}
	changes, isGood := a.changesState(ctx)
	ready.Checks["changes"], ready.Degraded = changes, ready.Degraded || !isGood
	a.measureRefunds(ctx)
	n, err := a.Store.OversoldEvents(ctx)
	if err != nil {
		ready.Checks["oversold"] = "unknown"
		return
	}
	a.Metrics.OversoldEvents.Set(float64(n))
	if n > 0 {
		ready.Degraded = true
		ready.Checks["oversold"] = strconv.FormatInt(n, 10) + " events"
	}
}

// refundsCounted bounds the count of refunds that are due, so that a cancelled event does not slow each check.
const refundsCounted = 10_000

// measureRefunds sets the gauges of the payments that have to go back. If they can't be read, the gauges keep their values.
func (a *App) measureRefunds(ctx context.Context) {
	due, err := a.Store.RefundsDue(ctx, refundsCounted)
	if err != nil {
		return
	}
	age := time.Duration(0)
	if !due.Oldest.IsZero() {
		age = max(clock.System().Sub(due.Oldest), 0)
	}
	a.Metrics.RefundsDue.Set(float64(due.Count))
	a.Metrics.RefundsDueAge.Set(age.Seconds())
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
	away := map[string]string{lease.KindRedis: "Redis", lease.KindMongo: "MongoDB"}[store] + " " + lease.Describe(err)
	ready.Checks["leases"] = map[jobs.Mode]string{
		jobs.ModeRedis:          "ok: redis (" + why + ")",
		jobs.ModeMongo:          "ok: mongo (" + why + ")",
		jobs.ModeNone:           "ok: none, a single instance (" + why + ")",
		jobs.ModeWaiting:        "waiting: " + away + ", and jobs wait for it",
		jobs.ModeSingleInstance: "single-instance: " + away + ", and DISABLE_CRONS_ON_REDIS_DOWN=false: this process runs its jobs all the same",
	}[mode]
	ready.Degraded = ready.Degraded || mode == jobs.ModeWaiting || mode == jobs.ModeSingleInstance
	if store == lease.KindRedis {
		ready.Checks["redis"] = "ok"
		if mode != jobs.ModeRedis {
			ready.Checks["redis"] = lease.Describe(err)
		}
	}
}
