package recovery

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// checkCounters corrects the counters of unseated events that do not agree with their locks.
func (p *pass) checkCounters(ctx context.Context) error {
	return p.planCounters(ctx, func(page counterPlan) error { return p.settle(ctx, page) })
}

// countOversold counts the oversold events, once all counters are right.
func (p *pass) countOversold(ctx context.Context) error {
	n, err := p.store().OversoldEvents(ctx)
	if n > 0 {
		p.count(Report{Oversold: int(n)})
		p.log.WarnContext(ctx, "[RECOVERY] Events, or sections, with more seats taken than they have; they sell none until that is paid down",
			slog.Int64("events", n),
		)
	}
	return err
}

// settle reports the contradictions of a page of counters, and corrects the wrong counters.
func (p *pass) settle(ctx context.Context, page counterPlan) error {
	p.count(Report{Checked: page.events})
	return p.correct(ctx, page)
}

// correct corrects a page: drifts together, and the other counters one by one.
func (p *pass) correct(ctx context.Context, page counterPlan) error {
	left := map[holdfast.ID]bool{}
	for id := range page.corrections {
		left[id] = true
	}
	if page.err != nil {
		p.log.WarnContext(ctx, "[RECOVERY] Measuring events together failed; they are repaired one by one",
			slog.Int("events", len(page.suspects)), slog.Any("error", page.err),
		)
		for _, id := range page.suspects {
			left[id] = true
		}
	}
	var unknown error // whether the drifts were applied
	if drifts := page.quietDrifts(); len(drifts) > 0 {
		var applied map[holdfast.ID]holdfast.Event
		applied, unknown = p.store().ApplyDrifts(ctx, drifts, p.runID, p.log)
		p.driftsApplied(ctx, page, applied, left)
		if unknown != nil && ctx.Err() != nil {
			return unknown
		}
	}
	for id := range left {
		corrected, err := p.repair(ctx, id)
		if err != nil {
			return err
		}
		if corrected {
			delete(left, id)
		}
	}
	if unknown == nil {
		return nil
	}
	applied, err := p.store().AppliedDrifts(ctx, page.drifts, p.runID)
	p.driftsApplied(ctx, page, applied, left)
	return err
}

// quietDrifts returns the drifts that neither make an event sold out nor make it available again. The other drifts
// are reported to subscribers, so each is corrected in a transaction.
func (page counterPlan) quietDrifts() map[holdfast.ID]inventory.EventWrite {
	quiet := map[holdfast.ID]inventory.EventWrite{}
	for id, w := range page.drifts {
		if c := page.corrections[id]; (c.Before > 0) == (c.After > 0) {
			drift := *w.Drift
			drift.Quiet = true // sales may move the counter until the write
			w.Drift = &drift
			quiet[id] = w
		}
	}
	return quiet
}

// driftsApplied counts the events of left that were corrected together, and removes them.
func (p *pass) driftsApplied(ctx context.Context, page counterPlan, applied map[holdfast.ID]holdfast.Event, left map[holdfast.ID]bool) {
	for id, after := range applied {
		if !left[id] {
			continue
		}
		delete(left, id)
		net := after.AvailableSeats - after.Oversold
		p.corrected(ctx, inventory.Correction{
			EventID: id, Before: net + page.drifts[id].Drift.Amount, After: after.AvailableSeats, Oversold: after.Oversold,
		})
	}
}

// repair corrects one event, if its counter is wrong. An event that can't be corrected is only counted, so that the
// pass continues.
func (p *pass) repair(ctx context.Context, id holdfast.ID) (corrected bool, err error) {
	c, err := p.Pipeline.Repair(ctx, id, p.runID)
	switch {
	case holdfast.HasCode(err, holdfast.CodeEventNotFound): // deleted meanwhile
	case err != nil:
		return false, p.leave(ctx, err, "[RECOVERY] Could not repair an event's counter", slog.Any("eventId", id))
	case c != nil:
		p.corrected(ctx, *c)
		return true, nil
	}
	return false, nil
}

// contradiction counts a contradiction that an operator has to resolve. It logs it once a day, not in every pass of
// this process.
func (p *pass) contradiction(ctx context.Context, what string, document ...slog.Attr) {
	p.count(Report{Reported: 1})
	level := slog.LevelDebug
	if p.reported.IsNew(what+fmt.Sprint(document), p.store().DB().Clock()()) {
		level = slog.LevelWarn
	}
	p.log.LogAttrs(ctx, level, "[RECOVERY] "+what, document...)
}

func (p *pass) corrected(ctx context.Context, c inventory.Correction) {
	p.count(Report{Corrections: 1, Report: expiry.Report{Found: 1, Applied: 1}})
	if p.Corrected != nil {
		p.Corrected()
	}
	message := fmt.Sprintf("[RECOVERY] Corrected available seats for event %s: %d -> %d", c.EventID, c.Before, c.After)
	p.log.WarnContext(ctx, message, slog.Int64("oversold", c.Oversold))
}
