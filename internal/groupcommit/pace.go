package groupcommit

import "time"

// pace delays the batches of a key if other processes commit to it too. Without a delay,
// the process that has just committed would win again, because the others wait between
// their attempts: they would starve. And if all processes that have commands tried all the
// time, most attempts would fail, and cost more than the commits.
//
// So a committer that notices contention by the revision lets others commit first: about as many
// as have committed while its last batches waited for their turn. It never waits longer than that took,
// so that turns get shorter as soon as there is less contention, and the same for all processes:
// a process whose turn took long waits for a smaller share of it than it tries.
type pace struct {
	revision  int64     // of the document after the last batch; 0 if unknown
	committed time.Time // when that was
	yields    int       // batches that are still delayed
	took      time.Duration
	interval  time.Duration // between two commits of any process, smoothed
	turn      float64       // commits of all processes in a turn of this one, smoothed
}

const (
	// yieldBatches is how many batches are delayed after contention was noticed.
	yieldBatches = 4
	// maxYieldDelay bounds a delay, without its jitter.
	maxYieldDelay = 30 * time.Millisecond
	maxTurnDelay  = 300 * time.Millisecond
)

var (
	turnShare  = envFloat("P_SHARE", 1)
	turnLess   = envFloat("P_LESS", 0.5)
	turnMin    = envFloat("P_MIN", 4)
	retryShare = envFloat("P_RETRY", 0.33)
	smooth     = envFloat("P_SMOOTH", 0.3)
)

// observe notes a commit: the revision after it, which it has raised, and since when the batch was ready.
func (p *pace) observe(revision int64, contended bool, writers []int32, took time.Duration, ready, now time.Time) {
	if revision == 0 {
		p.forget()
		return
	}
	commits := int64(1)
	if p.revision != 0 {
		commits = revision - p.revision
	}
	if contended || commits > 1 {
		p.yields = yieldBatches
		sample := took
		if p.revision != 0 {
			if n := sinceLast(writers); n >= commits/2 && n > 0 {
				commits = n
			}
			sample = min(now.Sub(p.committed)/time.Duration(max(1, commits)), now.Sub(ready))
		}
		if p.interval == 0 {
			p.interval = sample
		}
		p.interval += time.Duration(smooth * float64(sample-p.interval))
		p.turn = effective(writers)
	} else if p.yields > 0 {
		p.yields--
	}
	p.revision, p.took, p.committed = revision, took, now
}

// forget drops the revision after a failed commit, which may have raised it: this must
// not look like contention.
func (p *pace) forget() { p.revision = 0 }

// delay is how long to wait before the next batch: half to one and a half times the time
// of a transaction, by a jitter from 0 to 1; 0 without contention.
func (p *pace) delay(jitter float64, now time.Time) time.Duration {
	if p.yields == 0 {
		return 0
	}
	if p.turn >= turnMin {
		d := min(maxTurnDelay, time.Duration((turnShare*(p.turn-1)-turnLess)*float64(p.interval)*(0.9+0.2*jitter)))
		return max(0, d-now.Sub(p.committed))
	}
	base := min(p.took, maxYieldDelay)
	return max(0, base/2+time.Duration(jitter*float64(base))-now.Sub(p.committed))
}

func (p *pace) retryDelay() time.Duration {
	if p.yields == 0 {
		return 0
	}
	return time.Duration(retryShare * float64(p.interval))
}

// sinceLast is how many commits there were since the last one's process committed before, with the last one; 0: unknown
func sinceLast(writers []int32) int64 {
	if len(writers) < 2 {
		return 0
	}
	self := writers[len(writers)-1]
	for i := len(writers) - 2; i >= 0; i-- {
		if writers[i] == self {
			return int64(len(writers) - 1 - i)
		}
	}
	return 0
}

// effective is the number of processes that have written as often as these: fewer than there are, if some write more often than others.
func effective(writers []int32) float64 {
	counts := map[int32]int{}
	for _, w := range writers {
		counts[w]++
	}
	squares := 0
	for _, n := range counts {
		squares += n * n
	}
	if squares == 0 {
		return 0
	}
	return float64(len(writers)*len(writers)) / float64(squares)
}
