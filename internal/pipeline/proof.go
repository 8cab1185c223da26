package pipeline

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// errUnproven says that a refusal of a plan may be wrong: a lock with its key was found, or a due one on its
// seats, or the event has changed. The next attempt reads them first.
const errUnproven = mongodb.AbortError("a refusal could not be proved")

// proof is the read of what a plan's refusals rely on, concurrent with the plan's transaction: see
// inventory.Plan.Unproven. A batch of a busy event often has a refusal, which would cost all of its customers the
// time of a read. For a plan without a transaction see task.refusesUnproven.
type proof struct {
	done  chan struct{}
	state inventory.State
	err   error
}

// startProofs starts to read what the plans leave unproven. The function that it returns ends the reads.
func (r *run) startProofs(ctx context.Context) (end func()) {
	ctx, cancel := context.WithTimeout(mongodb.AfterTx(ctx), fenceTimeout)
	for _, t := range r.tasks {
		if t.plan.Unproven.None() {
			continue
		}
		p := &proof{done: make(chan struct{})}
		t.proof = p
		go func() {
			defer close(p.done)
			defer func() {
				if v := recover(); v != nil { // the next attempt reads the same, in the goroutine of the commit
					p.err = fmt.Errorf("panicked: %v", v)
				}
			}()
			p.state, p.err = r.pipeline.store.Load(ctx, t.eventID, t.plan.Unproven)
		}()
	}
	return func() {
		cancel()
		for _, t := range r.tasks {
			if t.proof != nil {
				<-t.proof.done
			}
		}
	}
}

// wait returns nil once the plan is proven.
func (p *proof) wait(plan inventory.Plan) error {
	if p == nil {
		return nil
	}
	<-p.done
	if p.err != nil || !plan.IsProven(p.state) {
		return errUnproven
	}
	return nil
}

// readProofs makes the next attempt read what was left unproven before it decides.
func (r *run) readProofs() {
	for _, t := range r.tasks {
		if !t.plan.Unproven.None() {
			t.needs = t.needs.And(t.plan.Unproven)
			t.needs.Seats = true
		}
	}
}
