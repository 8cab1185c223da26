package groupcommit

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
)

// 256 callers submit for one key; Commit does nothing.
func BenchmarkSubmit(b *testing.B) {
	var batches atomic.Int64
	q := New(Options[string, int, int]{
		Commit: func(_ context.Context, batch *Batch[string, int]) (Committed[int], error) {
			batches.Add(1)
			return Committed[int]{Groups: []GroupResult[int]{
				{Outcomes: make([]Outcome[int], len(batch.Groups[0].Commands))},
			}}, nil
		},
	})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	b.SetParallelism(max(1, 256/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := q.Submit(ctx, "k", 1); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(batches.Load()), "commands/batch")
}
