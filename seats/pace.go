package seats

import (
	"math/rand/v2"
	"time"
)

// Several processes that commit to one event conflict. Who has committed would
// get in again before those who wait between their attempts, and they would
// starve. So a committer that sees, by the event's rev, that others commit too,
// leaves them room after each of its transactions, for about as long as one
// lasts. Its own requests wait meanwhile and go into a larger batch.
type pace struct {
	rev    int64         // of the event after the last batch
	rivals int           // batches for which others are taken to be there
	took   time.Duration // by the last batch
}

const (
	rivalsFor   = 4 // batches after one that saw others
	longestRoom = 30 * time.Millisecond
)

// saw notes the event's rev after a batch, which raised it by one, and how long
// its transaction took.
func (p *pace) saw(rev int64, took time.Duration) {
	switch {
	case p.rev != 0 && rev > p.rev+1:
		p.rivals = rivalsFor
	case p.rivals > 0:
		p.rivals--
	}
	p.rev, p.took = rev, took
}

// lostCount is for batches that don't tell the rev that they left.
func (p *pace) lostCount() { p.rev = 0 }

// giveWay leaves the others room, if there are some.
func (p *pace) giveWay() {
	if p.rivals > 0 {
		room := min(p.took, longestRoom)
		<-time.After(room/2 + rand.N(room+1)) //nolint:gosec // a pause is no secret
	}
}
