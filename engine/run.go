package engine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/jobs"
)

// Forever as a retention removes nothing.
const Forever time.Duration = -1

// RunOptions configures Run. All fields may be left empty.
type RunOptions struct {
	// Jobs names the jobs to run. They are lock-expiry, booking-expiry, reconcile, retention, changes, waitlist
	// and event-cancel; all of them if Jobs is empty.
	Jobs []string
	// Intervals replaces the intervals of some jobs, by name. The usual ones are a minute for expiry, 15 minutes for
	// reconcile and 10 minutes for retention; changes, waitlist and event-cancel follow what happens.
	Intervals map[string]time.Duration

	// The job retention removes locks that ended longer ago, with their ended bookings and keys, and older records
	// of changes. Both are 720h by default, at least 24h, or Forever.
	EndedRetention, ChangesRetention time.Duration
	// The job retention archives events whose date is longer ago, which recovery then skips. It is 720h by default.
	ArchiveAfter time.Duration
}

// leaseTTL is the time within which another process takes over.
const leaseTTL = 30 * time.Second

// Run runs jobs at their intervals until ctx ends. Then it waits until runs in progress have ended after their current
// transaction, at most for some seconds, and returns nil. Call Close after that.
//
// Any number of processes may call it: one of those with the same Jobs is elected to run them, by leases in MongoDB,
// and another one takes over if it dies. Where a worker of Holdfast runs, Run does some work twice, and harms nothing;
// a worker also sends webhooks, which Run does not: their bodies are documents of the HTTP API, which this package does not
// contain. Recover, which a worker does at its start, is for the program to call.
//
// An error before the start says which option is wrong and what to do. A run that fails is logged, and the next one goes
// on.
func (e *Engine) Run(ctx context.Context, o RunOptions) error {
	settings, err := o.settings()
	if err != nil {
		return err
	}
	all := &core.Jobs{Core: e.core, JobSettings: settings}
	all.Observe(e.metrics.engine)
	list, err := o.choose(all.List())
	if err != nil {
		return err
	}
	names := namesOf(list)
	if settings.EndedRetention > 0 && slices.Contains(names, "retention") {
		if _, err := core.EnsureSchema(ctx, e.core.DB, e.log, append(collections(), store.RetentionIndexes()...)...); err != nil {
			return err
		}
	}
	registry := prometheus.NewRegistry()
	metrics := jobs.NewMetrics(registry)
	host, _ := os.Hostname() // it is for display
	terms := jobs.LeaseTerms{TTL: leaseTTL}
	runner := jobs.New(jobs.Options{
		Log: e.log, Clock: e.core.DB.Clock(), Holder: jobs.NewHolder(cmp.Or(host, "unknown")),
		Leases: jobs.NewMongoLeases(e.core.DB, terms), Terms: terms,
		// The leader of other jobs must not keep these from being run.
		Leader:  jobs.LeaderLease + ":" + strings.Join(names, ","),
		History: &jobs.History{DB: e.core.DB}, Metrics: metrics,
	}, list...)
	if err := e.metrics.register(registry); err != nil {
		return err
	}
	defer e.metrics.unregister(registry)
	var search sync.WaitGroup
	search.Go(func() { e.core.Corrupt.Run(ctx) })
	defer search.Wait()
	return runner.Schedule(ctx)
}

// settings returns the settings of the jobs.
func (o RunOptions) settings() (core.JobSettings, error) {
	s := core.DefaultJobs()
	for _, r := range []struct {
		name   string
		option time.Duration
		age    *time.Duration
	}{{"EndedRetention", o.EndedRetention, &s.EndedRetention}, {"ChangesRetention", o.ChangesRetention, &s.ChangesRetention}} {
		switch {
		case r.option == Forever:
			*r.age = 0
		case r.option != 0 && r.option < core.MinRetention:
			return s, fmt.Errorf("%s is %v, but must be at least %v: raise it, or set it to Forever", r.name, r.option, core.MinRetention)
		default:
			*r.age = cmp.Or(r.option, *r.age)
		}
	}
	s.ArchiveAfter = cmp.Or(o.ArchiveAfter, s.ArchiveAfter)
	return s, core.CheckDuration("ArchiveAfter", s.ArchiveAfter)
}

// choose returns the jobs that the options name, with their intervals.
func (o RunOptions) choose(all []jobs.Job) (list []jobs.Job, err error) {
	for _, name := range o.Jobs {
		if !slices.Contains(namesOf(all), name) {
			return nil, fmt.Errorf("RunOptions.Jobs has %q, which is not a job of Run: use %s", name, strings.Join(namesOf(all), ", "))
		}
	}
	for _, job := range all {
		if len(o.Jobs) > 0 && !slices.Contains(o.Jobs, job.Name) {
			continue
		}
		if interval, isSet := o.Intervals[job.Name]; isSet {
			if err := core.CheckDuration("the interval of "+job.Name, interval); err != nil {
				return nil, err
			}
			job.Interval = interval
		}
		list = append(list, job)
	}
	for name := range o.Intervals {
		if !slices.Contains(namesOf(list), name) {
			return nil, fmt.Errorf("RunOptions.Intervals has %q, which is not among its jobs: use %s", name, strings.Join(namesOf(list), ", "))
		}
	}
	return list, nil
}

func namesOf(list []jobs.Job) (names []string) {
	for _, job := range list {
		names = append(names, job.Name)
	}
	return names
}
