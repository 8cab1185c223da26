package groupcommit

import "time"

// pace delays the batches of a key if other processes commit to it too. Without a delay, the process that has just
// committed would win again, because the others wait between their attempts: they would starve. And the more
// processes attempt at the same time, the more attempts fail, each of which costs nearly as much as one that
// succeeds.
// So a committer lets the others commit first. With a few contenders it waits after each of its transactions for
// about as long as one takes. With many contenders it waits until all but one of the others could have committed
// once, so that about two processes attempt at a time. It estimates the number of contenders from the writers that
// the last commits have noted (Written.Writers), and the time between two commits from the revision. That time may
// include gaps without a commit, which a longer wait would make longer still, so it counts as two transactions at
// most. Meanwhile the next batch grows.
// A delay begins with the process's last commit, and ends after maxTurnDelay: a process does not depend on the
// commits of others. A process that was idle for longer than its delay does not wait.
type pace struct {
	revision   int64         // revision of the document after the last batch; 0 if unknown
	committed  time.Time     // the time of the last commit
	yields     int           // the number of batches that are still delayed
	took       time.Duration // by the last transaction with a known revision
	interval   time.Duration // between two commits of any process, smoothed
	usual      time.Duration // took, smoothed: some transactions take ten times as long as most
	contenders float64       // the number of processes that commit, including this one; see contendersOf
}

const (
	// yieldBatches is the number of batches that are delayed after contention was noticed.
	yieldBatches = 4
	// maxYieldDelay bounds a delay with a few contenders, without its jitter, and the wait after an attempt that failed.
	maxYieldDelay = 30 * time.Millisecond
	// manyContenders is the number of contenders from which they take turns. With fewer, the gaps between turns
	// would cost more than failed attempts.
	manyContenders = 4
	// attempting is how many of many contenders attempt at a time, including the one that succeeds.
	attempting = 2
	// maxTurnDelay bounds a delay with many contenders: a customer should have an answer within half a second.
	maxTurnDelay = 300 * time.Millisecond
	// maxPaces bounds the number of keys without work whose pace is kept.
	maxPaces = 10_000
)

// Written describes the write of a key's document by a commit.
type Written struct {
	// Revision is the revision of the key's document after the commit, or 0 if it is unknown. Each commit that
	// writes the document raises it by one.
	Revision int64
	// Took is the duration of the transaction.
	Took time.Duration
	// Contended says that an attempt failed before, because another transaction wrote the document.
	Contended bool
	// Writers are the processes of the last commits, this one last, as far as the document notes them.
	Writers []int32
}

// observe updates the pace after a commit. ready is when its batch was ready, and now when the commit ended.
func (p *pace) observe(w Written, ready, now time.Time) {
	if w.Revision == 0 {
		p.forget()
		return
	}
	commits := int64(1)
	if p.revision != 0 {
		commits = w.Revision - p.revision
	}
	switch {
	case w.Contended || commits > 1:
		p.yields = yieldBatches
		p.contenders = contendersOf(w.Writers)
		p.measure(w, commits, ready, now)
	case p.contenders >= manyContenders: // no other process committed in its turn: all have stopped
		p.yields = 0
	case p.yields > 0:
		p.yields--
	}
	p.revision, p.took, p.committed = w.Revision, w.Took, now
}

// measure updates the interval from the time since the last batch. If the process had nothing to commit for a part
// of that time, the interval is at most the rest of it.
func (p *pace) measure(w Written, commits int64, ready, now time.Time) {
	sample := w.Took
	if p.revision != 0 && commits > 0 {
		sample = min(now.Sub(p.committed)/time.Duration(commits), now.Sub(ready))
	}
	p.interval, p.usual = smooth(p.interval, sample), smooth(p.usual, w.Took)
}

// smooth moves a mean towards a new value. The first value becomes the mean.
func smooth(mean, value time.Duration) time.Duration {
	const weight = 3
	if mean == 0 {
		return value
	}
	return mean + (value-mean)/weight
}

// forget drops the revision after a failed commit. That commit may have raised the revision, which must not look
// like contention.
func (p *pace) forget() { p.revision = 0 }

// isContended reports whether other processes committed lately.
func (p *pace) isContended() bool { return p.yields > 0 }

// delay returns how long to wait before the next batch: 0 without contention. jitter is between 0 and 1.
func (p *pace) delay(jitter float64, now time.Time) time.Duration {
	if !p.isContended() {
		return 0
	}
	return max(0, p.turn(jitter)-now.Sub(p.committed))
}

// turn returns the time from a commit to the process's next attempt.
func (p *pace) turn(jitter float64) time.Duration {
	if p.contenders < manyContenders {
		base := min(p.took, maxYieldDelay)
		return base/2 + time.Duration(jitter*float64(base)) //nolint:mnd // half to one and a half times
	}
	const least, most = 0.9, 1.1
	others := (p.contenders - attempting) * (least + jitter*(most-least))
	return min(time.Duration(others*float64(min(p.interval, 2*p.usual))), maxTurnDelay) //nolint:mnd // see pace
}

// retryDelay returns about how long to wait after a failed attempt: 0 without many contenders. Of two processes that
// attempt four times in a commit's time, one attempts soon after it.
func (p *pace) retryDelay() time.Duration {
	if !p.isContended() || p.contenders < manyContenders {
		return 0
	}
	const attempts = 4
	return min(p.interval/attempts, maxYieldDelay)
}

// contendersOf returns how many processes that commit equally often would be as diverse as these writers. That is
// fewer than there are if some commit less often than others, because those need no turn each time.
func contendersOf(writers []int32) float64 {
	counts := map[int32]int{}
	for _, w := range writers {
		counts[w]++
	}
	squares := 0
	for _, n := range counts {
		squares += n * n
	}
	return float64(len(writers)*len(writers)) / float64(max(1, squares))
}
