package groupcommit

import "time"

// Processes that commit to one key contend for its document. A process that has
// just committed would win the document again before those that wait between their
// attempts, and they would starve. So a committer that sees, by the revision, that
// there are contenders yields to them after each of its transactions, for about as
// long as one lasts. Its own callers wait meanwhile, and go into a larger batch.
type pace struct {
	revision int64         // of the document after the last batch; 0 if unknown
	yields   int           // batches that still yield to contenders
	took     time.Duration // by the last transaction that told its revision
}

const (
	// yieldBatches is for how many batches contenders are assumed after they were seen.
	yieldBatches = 4
	// maxYieldDelay bounds a delay before jitter, however slow transactions are.
	maxYieldDelay = 30 * time.Millisecond
)

// observe notes the revision after a commit, which raised it by at most one, and how
// long the transaction took. An unknown revision tells nothing about contenders.
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

// forget is for a commit that may have raised the revision unseen: the next one would
// be mistaken for a contender's.
func (p *pace) forget() { p.revision = 0 }

// delay is how long to wait before the next batch: half to one and a half times what
// a transaction takes, by a jitter from 0 to 1; 0 if there are no contenders.
func (p *pace) delay(jitter float64) time.Duration {
	if p.yields == 0 {
		return 0
	}
	base := min(p.took, maxYieldDelay)
	return base/2 + time.Duration(jitter*float64(base))
}
