package recovery

import (
	"context"
	"log/slog"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	// listPageSize is the number of waiting lists that are compared with their entries in one read.
	listPageSize = 100
	// maxRecounts bounds how often a list is counted again because its event changes.
	maxRecounts = 5
	// maxWrongOffers bounds the contradictions between entries and locks that a plan names.
	maxWrongOffers = 100
)

// checkLists corrects the number of entries that wait, and makes the offers that earlier transactions should have made: after a
// restore, or after a fault of the program.
func (p *pass) checkLists(ctx context.Context) error {
	return p.eachList(ctx, func(lists []store.CountedList) error {
		for _, l := range lists {
			err := p.checkList(ctx, l)
			if err != nil && !holdfast.HasCode(err, holdfast.CodeEventNotFound) {
				err = p.leave(ctx, err, "[RECOVERY] Could not check a waiting list", slog.Any("eventId", l.EventID))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// eachList calls handle with the lists that are open or paused, as they are counted.
func (p *pass) eachList(ctx context.Context, handle func([]store.CountedList) error) error {
	return p.store().EachList(ctx, p.scope, listPageSize, func(eventIDs []holdfast.ID) error {
		lists, err := p.store().CountLists(ctx, eventIDs)
		if err != nil {
			return err
		}
		return handle(lists)
	})
}

func (p *pass) checkList(ctx context.Context, l store.CountedList) error {
	if l.IsWrong() {
		if err := p.recount(ctx, l); err != nil {
			return err
		}
	}
	if l.Waiting == 0 {
		return nil
	}
	for {
		result, err := p.Pipeline.Sweep(ctx, l.EventID, inventory.CheckList{UpTo: p.Sweeper.Batch})
		if err != nil {
			return err
		}
		if missed := result.List.Missed; missed > 0 {
			p.count(Report{Missed: missed, Report: expiry.Report{Found: missed, Applied: missed}})
			if p.MissedOffers != nil {
				p.MissedOffers(missed)
			}
			p.log.WarnContext(ctx, "[RECOVERY] Made offers of a waiting list that were missing", slog.Any("eventId", l.EventID),
				slog.Int("offers", missed))
		}
		if !result.MoreOffers || result.List.Offers == 0 { // the job waitlist closes entries
			return ctx.Err()
		}
	}
}

// recount corrects the number of entries that wait. The offers that are then due are made in the same transaction.
func (p *pass) recount(ctx context.Context, l store.CountedList) error {
	for range maxRecounts {
		result, err := p.Pipeline.Sweep(ctx, l.EventID, inventory.RecountList{
			Revision: l.Revision, Waiting: l.Waiting, LastSeq: l.LastSeq, RunID: p.runID,
		})
		if err != nil {
			return err
		}
		if result.WrongList {
			p.count(Report{Report: expiry.Report{Found: 1, Applied: 1}})
			p.log.WarnContext(ctx, "[RECOVERY] Corrected the number of entries of a waiting list", slog.Any("eventId", l.EventID),
				slog.Int64("before", l.Says), slog.Int64("after", l.Waiting))
			return nil
		}
		counted, err := p.store().CountLists(ctx, []holdfast.ID{l.EventID})
		if err != nil || len(counted) == 0 || !counted[0].IsWrong() {
			return err
		}
		l = counted[0]
	}
	p.log.InfoContext(ctx,
		"[RECOVERY] A waiting list with a wrong number of entries is left for the next pass, because its event changes all the time",
		slog.Any("eventId", l.EventID))
	return nil
}

// planLists adds to the plan what a pass would find in waiting lists.
func (p *pass) planLists(ctx context.Context, plan *Plan) error {
	err := p.eachList(ctx, func(lists []store.CountedList) error {
		for _, l := range lists {
			if l.IsWrong() {
				plan.WrongLists = append(plan.WrongLists, l)
			}
		}
		return nil
	})
	if err == nil {
		plan.WrongOffers, err = p.store().WrongOffers(ctx, maxWrongOffers)
	}
	return err
}

// withoutList returns the state of an event as if nobody waited. What a repair corrects does not depend on the waiting list, and a
// preview can't read entries.
func withoutList(s inventory.State) inventory.State {
	if s.Event != nil {
		event := *s.Event
		event.List = inventory.List{}
		s.Event = &event
	}
	return s
}
