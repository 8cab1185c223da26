package recovery

import (
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// RepairEvent corrects the map of seats and the counter of one event, archived or not.
func (r *Recovery) RepairEvent(ctx context.Context, id holdfast.ID) error {
	p := r.pass(mongodb.NewRunID("recovery", mongodb.SystemTime()), r.store().DB().Log(), store.AllEvents)
	_, _, err := r.Pipeline.RepairSeats(ctx, id, p.runID)
	if holdfast.HasCode(err, holdfast.CodeEventNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.planCounter(ctx, id, func(c counterPlan) error { return p.settle(ctx, c) })
}
