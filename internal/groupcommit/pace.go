package groupcommit

import "time"

// pace delays the batches of a key if other processes commit to it too. Without a delay,
// the process that has just committed would win again, because the others wait between
// their attempts: they would starve. So a committer that notices contention by the
// revision waits after each of its transactions, for about as long as one takes. Its next
// batch gets larger meanwhile.
type pace struct {
	revision int64         // of the document after the last batch; 0 if unknown
	yields   int           // batches that are still delayed
	took     time.Duration // by the last transaction with a known revision
}

const (
	// yieldBatches is how many batches are delayed after contention was noticed.
	yieldBatches = 4
	// maxYieldDelay bounds a delay, without its jitter.
	maxYieldDelay = 30 * time.Millisecond
)

// observe notes the revision after a commit, which raised it by at most one, and how
// long the transaction took.
func (p *pace) observe(revision int64, took time.Duration) {
	if revision == 0 {
		p.forget()
		return
	}
	switch {
	case p.revision != 0 && revision > p.revision+1:
		p.yields = yieldBatches
	case p.yields > 0:
		p.yields--
	}
	p.revision, p.took = revision, took
}

// forget drops the revision after a failed commit, which may have raised it: this must
// not look like contention.
func (p *pace) forget() { p.revision = 0 }

// delay is how long to wait before the next batch: half to one and a half times the time
// of a transaction, by a jitter from 0 to 1; 0 without contention.
func (p *pace) delay(jitter float64) time.Duration {
	if p.yields == 0 {
		return 0
	}
	base := min(p.took, maxYieldDelay)
	return base/2 + time.Duration(jitter*float64(base))
}
