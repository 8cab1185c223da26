package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// awaitMetrics polls until the metrics have the wanted values.
func awaitMetrics(t *testing.T, registry *prometheus.Registry, want string, metrics ...string) {
	t.Helper()
	var err error
	isAsWanted := func() bool {
		err = testutil.GatherAndCompare(registry, strings.NewReader(want), metrics...)
		return err == nil
	}
	if !testenv.Poll(10*time.Second, isAsWanted) {
		t.Fatal(err)
	}
}

// The metrics show the executions and failures of a real scheduler.
func TestMonitor_MeasuresAScheduler(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	monitor := jobs.NewGocronMonitor(registry, "shop")
	ran := make(chan struct{}, 100)
	scheduler, err := gocron.NewScheduler(monitor.Options()...)
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string, do func() error) {
		_, err := scheduler.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), gocron.NewTask(func() error {
			defer func() { ran <- struct{}{} }()
			return do()
		}), gocron.WithName(name))
		if err != nil {
			t.Fatal(err)
		}
	}
	add("good", func() error { return nil })
	add("bad", func() error { return errors.New("no") })
	scheduler.Start()
	<-ran
	<-ran
	awaitMetrics(t, registry, `
# HELP shop_gocron_ticks_total Ticks by status: success, fail, skip (not the leader, or no lock), `+
		`singleton_rescheduled (the previous run goes on).
# TYPE shop_gocron_ticks_total counter
shop_gocron_ticks_total{job="bad",status="fail"} 1
shop_gocron_ticks_total{job="good",status="success"} 1
# HELP shop_gocron_jobs_running Executions in progress.
# TYPE shop_gocron_jobs_running gauge
shop_gocron_jobs_running{job="bad"} 0
shop_gocron_jobs_running{job="good"} 0
# HELP shop_gocron_schedulers_running Running schedulers.
# TYPE shop_gocron_schedulers_running gauge
shop_gocron_schedulers_running 1
`, "shop_gocron_ticks_total", "shop_gocron_jobs_running", "shop_gocron_schedulers_running")
	if n, err := testutil.GatherAndCount(registry, "shop_gocron_job_duration_seconds"); err != nil || n != 2 {
		t.Errorf("%d durations, %v", n, err)
	}
	if err := scheduler.Shutdown(); err != nil {
		t.Fatal(err)
	}
	awaitMetrics(t, registry, `
# HELP shop_gocron_schedulers_running Running schedulers.
# TYPE shop_gocron_schedulers_running gauge
shop_gocron_schedulers_running 0
`, "shop_gocron_schedulers_running")
}
