package lease_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// A lease of a run is acquired and given back: the cost that each run pays,
// with the quantiles of the acquisition, in both stores.
func BenchmarkAcquire(b *testing.B) {
	o, err := redis.ParseURL(testenv.RedisURL(b))
	if err != nil {
		b.Fatal(err)
	}
	onRedis := lease.NewRedis(*o, terms, clock.System)
	defer onRedis.Close() //nolint:errcheck // the benchmark is over
	for _, s := range []lease.Store{onRedis, lease.NewMongo(testenv.New(b).DB, terms)} {
		b.Run(s.Kind(), func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				l, err := s.Acquire(context.Background(), lease.Of("benchmark"), "holder/1/x")
				took = append(took, time.Since(start))
				if err == nil {
					err = l.Release(context.Background())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
