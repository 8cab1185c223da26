package app

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// findingsInterval is how long findings are kept: several load balancers ask each process several times a second.
const findingsInterval = time.Second

// unknown is the state of a finding that could not be read.
const unknown = "unknown"

// findings are the states that a check of readiness finds in the database. They don't decide whether a process is ready.
type findings struct {
	changes, oversold, cancellations string
	isDegraded                       bool
}

// keptFindings has the findings of the last read. Concurrent checks share one read.
type keptFindings struct {
	clock mongodb.Clock
	read  func(context.Context) findings
	turn  chan struct{} // full while a check looks or reads
	last  findings
	until time.Time
}

func newKeptFindings(now mongodb.Clock, read func(context.Context) findings) *keptFindings {
	return &keptFindings{clock: now, read: read, turn: make(chan struct{}, 1)}
}

// get returns the findings of the last read, or of a new one if they are too old. The context has a deadline. If the
// caller gives up, the read continues for the other checks until that deadline.
func (k *keptFindings) get(ctx context.Context) findings {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return findings{changes: unknown, oversold: unknown, cancellations: unknown, isDegraded: true}
	}
	if k.clock().Before(k.until) {
		return k.last
	}
	deadline, _ := ctx.Deadline()
	reading, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	k.last = k.read(reading)
	k.until = k.clock().Add(findingsInterval)
	return k.last
}

// stuckListed bounds the cancellations of events that are counted as stuck.
const stuckListed = 100

// find reads the findings, and sets the gauges of what it counts.
func (a *App) find(ctx context.Context) findings {
	changes, isGood := a.changesState(ctx)
	a.measureRefunds(ctx)
	f := findings{changes: changes, oversold: "none", cancellations: "none stuck", isDegraded: !isGood}
	stuck, err := a.Store.StuckCancellations(ctx, stuckListed)
	switch {
	case err != nil:
		f.cancellations = unknown
	case len(stuck) > 0:
		f.cancellations, f.isDegraded = fmt.Sprintf("%d stuck, such as event %s; see seatctl doctor", len(stuck), stuck[0].EventID), true
	}
	n, err := a.Store.OversoldEvents(ctx)
	if err != nil {
		f.oversold = unknown
		return f
	}
	a.Metrics.OversoldEvents.Set(float64(n))
	if n > 0 {
		f.oversold, f.isDegraded = strconv.FormatInt(n, 10)+" events", true
	}
	return f
}

// refundsCounted bounds the count of refunds that are due, so that a cancelled event does not slow each check.
const refundsCounted = 10_000

// measureRefunds sets the gauges of the payments that must be refunded. If they can't be read, the gauges keep their values.
func (a *App) measureRefunds(ctx context.Context) {
	due, err := a.Store.RefundsDue(ctx, refundsCounted)
	if err != nil {
		return
	}
	age := time.Duration(0)
	if !due.Oldest.IsZero() {
		age = max(mongodb.SystemTime().Sub(due.Oldest), 0)
	}
	a.Metrics.RefundsDue.Set(float64(due.Count))
	a.Metrics.RefundsDueAge.Set(age.Seconds())
}
