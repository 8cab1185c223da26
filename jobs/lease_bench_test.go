package jobs_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// BenchmarkAcquire measures the cost of a run's lease in both stores: acquisition
// and release, with the quantiles of the acquisition.
func BenchmarkAcquire(b *testing.B) {
	o, err := redis.ParseURL(testenv.RedisURL(b))
	if err != nil {
		b.Fatal(err)
	}
	onRedis := jobs.NewRedisLeases(*o, leaseTerms, mongodb.SystemTime)
	testenv.CloseAfter(b, onRedis)
	for _, s := range []jobs.LeaseStore{onRedis, jobs.NewMongoLeases(testenv.New(b).DB, leaseTerms)} {
		b.Run(s.Kind(), func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				l, err := s.Acquire(context.Background(), jobs.LeaseOf("benchmark"), "holder/1/x")
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
