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
	result, err := p.repairSeats(ctx, id)
	if err == nil && result.Union == nil { // it is unseated
		_, err = p.repair(ctx, id)
	}
	return err
}
