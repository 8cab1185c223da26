package groupcommit

import "time"

// pace delays the batches of a key if other processes commit to it too. Without a delay,
// the process that has just committed would win again, because the others wait between
// their attempts: they would starve. And the more processes attempt at the same time, the more attempts fail,
// each of which costs nearly as much as one that succeeds.
//
// So a committer lets the others commit first. With a few contenders it waits after each of its
// transactions for about as long as one takes. With many it waits for as many commits as there are other contenders,
// but one: so about two processes attempt at a time. It counts the contenders by what the last
// commits have noted (Written.Writers), and measures the time between two commits by the revision. That time may have
// gaps, which waiting for it would make longer: it counts as at most two transactions.
// The next batch gets larger meanwhile.
//
// A delay begins with the process's last commit, and ends after maxTurnDelay: nothing depends on the others
// to commit. A process that was idle for so long does not wait.
type pace struct {
	revision   int64         // of the document after the last batch; 0 if unknown
	committed  time.Time     // when that was
	yields     int           // batches that are still delayed
	took       time.Duration // by the last transaction with a known revision
	interval   time.Duration // between two commits of any process, smoothed
	usual      time.Duration // took, smoothed: some transactions take ten times as long as most
	contenders float64       // with this process; see ContendersOf
}

const (
	// yieldBatches is how many batches are delayed after contention was noticed.
	yieldBatches = 4
	// maxYieldDelay bounds a delay with a few contenders, without its jitter, and the wait after an attempt that failed.
	maxYieldDelay = 30 * time.Millisecond
	// manyContenders take turns. Fewer would lose more to the gaps between turns than to attempts that fail.
	manyContenders = 4
	// attempting is how many of many contenders attempt at a time, the one that succeeds among them.
	attempting = 2
	// maxTurnDelay bounds a delay with many contenders: a customer should have an answer within half a second.
	maxTurnDelay = 300 * time.Millisecond
	// maxPaces bounds the keys without work whose pace is remembered.
	maxPaces = 10_000
)

// Written is what a commit has learnt of a key's document.
type Written struct {
	// Revision of the key's document after the commit, 0 if unknown. Each commit that
	// writes the document raises it by one.
	Revision int64
	// Took is how long the transaction lasted.
	Took time.Duration
	// Contended: an attempt failed before, because another transaction wrote the document.
	Contended bool
	// Writers are the processes of the last commits, this one last, as far as they are noted.
	Writers []int32
}

// observe notes what a commit has learnt, since when its batch was ready, and when it ended.
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
		p.contenders = ContendersOf(w.Writers)
		p.measure(w, commits, ready, now)
	case p.contenders >= manyContenders: // no other process committed in its turn: all have stopped
		p.yields = 0
	case p.yields > 0:
		p.yields--
	}
	p.revision, p.took, p.committed = w.Revision, w.Took, now
}

// measure updates the interval, from the time since the last batch. If the process had nothing to commit for a part of
// it, the interval was not longer than the time since it had.
func (p *pace) measure(w Written, commits int64, ready, now time.Time) {
	sample := w.Took
	if p.revision != 0 && commits > 0 {
		// A transaction that holds the document first raises the revision twice.
		if n := sinceLast(w.Writers); 2*n >= commits { //nolint:mnd // twice
			commits = n
		}
		sample = min(now.Sub(p.committed)/time.Duration(commits), now.Sub(ready))
	}
	p.interval, p.usual = smooth(p.interval, sample), smooth(p.usual, w.Took)
}

// smooth moves a mean towards a new value. The first value is the mean.
func smooth(mean, value time.Duration) time.Duration {
	const weight = 3
	if mean == 0 {
		return value
	}
	return mean + (value-mean)/weight
}

// forget drops the revision after a failed commit, which may have raised it: this must
// not look like contention.
func (p *pace) forget() { p.revision = 0 }

// isContended reports whether other processes committed lately.
func (p *pace) isContended() bool { return p.yields > 0 }

// delay is how long to wait before the next batch, by a jitter from 0 to 1; 0 without contention.
func (p *pace) delay(jitter float64, now time.Time) time.Duration {
	if !p.isContended() {
		return 0
	}
	return max(0, p.turn(jitter)-now.Sub(p.committed))
}

// turn is the time from a commit to the process's next attempt.
func (p *pace) turn(jitter float64) time.Duration {
	if p.contenders < manyContenders {
		base := min(p.took, maxYieldDelay)
		return base/2 + time.Duration(jitter*float64(base)) //nolint:mnd // half to one and a half times
	}
	const least, most = 0.9, 1.1
	others := (p.contenders - attempting) * (least + jitter*(most-least))
	return min(time.Duration(others*float64(min(p.interval, 2*p.usual))), maxTurnDelay) //nolint:mnd // see pace
}

// retryDelay is how long to wait, about, after an attempt that failed; 0 without many contenders. Of two processes that
// attempt four times in a commit's time, one attempts soon after it.
func (p *pace) retryDelay() time.Duration {
	if !p.isContended() || p.contenders < manyContenders {
		return 0
	}
	const attempts = 4
	return min(p.interval/attempts, maxYieldDelay)
}

// ContendersOf is how many processes that commit equally often would be as diverse as these writers: fewer than there are, if some
// commit less often than others, because those need no turn each time.
func ContendersOf(writers []int32) float64 {
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

// sinceLast is how many of the commits followed the former one of the last writer; 0 if that is not among them.
func sinceLast(writers []int32) int64 {
	last := len(writers) - 1
	for i := last - 1; i >= 0; i-- {
		if writers[i] == writers[last] {
			return int64(last - i)
		}
	}
	return 0
}
