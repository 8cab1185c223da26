package groupcommit

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// 256 callers submit for one key; Commit does nothing.
func BenchmarkSubmit(b *testing.B) { benchmark(b, 1) }

// 256 callers submit for 1,000 keys that share commits.
func BenchmarkSubmit_ManyKeys(b *testing.B) { benchmark(b, 1000) }

func benchmark(b *testing.B, keys int) {
	b.Helper()
	var batches atomic.Int64
	q := New(Options[int, int, int]{
		Now:      time.Now,
		MayShare: func(int) bool { return true },
		Commit: func(_ context.Context, batch *Batch[int, int]) (c Committed[int], err error) {
			batches.Add(1)
			for _, g := range batch.Groups {
				c.Groups = append(c.Groups, GroupResult[int]{Outcomes: make([]Outcome[int], len(g.Commands))})
			}
			return c, nil
		},
	})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	b.SetParallelism(max(1, 256/runtime.GOMAXPROCS(0)))
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := q.Submit(ctx, int(next.Add(1))%keys, 1); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(batches.Load()), "commands/batch")
}
