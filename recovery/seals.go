package recovery

import (
	"context"
	"log/slog"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// findBrokenSeals decides which events the pass compares: all if it was asked to or if none is
// sealed. Otherwise it leaves out the sealed ones, but for those that were changed although they
// are sealed.
func (p *pass) findBrokenSeals(ctx context.Context) error {
	p.scope = store.AllEvents
	var err error
	if p.anySealed, err = p.store().HasSealed(ctx); err != nil || !p.anySealed || p.all {
		return err
	}
	p.scope = store.Unsealed
	p.broken, err = p.store().BrokenSeals(ctx)
	return err
}

// unsealBroken removes the seals of events that other software changed. If that fails, this
// pass compares them all the same. It has no effect on an event whose field internal is of
// another type than a document, which no index tells from a sealed one.
func (p *pass) unsealBroken(ctx context.Context) error {
	if err := p.findBrokenSeals(ctx); err != nil || len(p.broken) == 0 {
		return err
	}
	var left []holdfast.ID
	for eventIDs := range slices.Chunk(p.broken, eventPageSize) {
		n, err := p.store().Unseal(ctx, eventIDs)
		if err != nil {
			left = append(left, eventIDs...)
			if err := p.leave(ctx, err, "[RECOVERY] Could not remove the seals of events", slog.Any("first", eventIDs[0])); err != nil {
				return err
			}
			continue
		}
		if n < len(eventIDs) {
			still, err := p.store().SealedAmong(ctx, eventIDs)
			if err != nil {
				return err
			}
			left = append(left, still...)
		}
		if n == 0 {
			continue
		}
		p.count(Report{Unsealed: n})
		p.log.WarnContext(ctx, "[RECOVERY] Sealed events were changed by other software; their seals are removed, and they are checked",
			slog.Int("events", n), slog.Any("first", eventIDs[0]))
	}
	p.broken = left
	return nil
}

// eachEventPage calls handle with the events that the pass compares.
func (p *pass) eachEventPage(ctx context.Context, handle func(store.EventPage) error) error {
	for after := (holdfast.ID{}); ; {
		page, err := p.store().EventPage(ctx, p.scope, after, eventPageSize)
		if err != nil {
			return err
		}
		if err := handle(page); err != nil {
			return err
		}
		if page.IsLast() {
			break
		}
		after = page.Until()
	}
	for eventIDs := range slices.Chunk(p.broken, eventPageSize) {
		page, err := p.store().PageOf(ctx, eventIDs)
		if err == nil {
			err = handle(page)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keepInSight removes the seals of events with a contradiction, which a pass over all events has
// found, so that the next passes report it too.
func (p *pass) keepInSight(ctx context.Context, eventIDs ...holdfast.ID) error {
	if !p.all || len(eventIDs) == 0 {
		return nil
	}
	n, err := p.store().Unseal(ctx, eventIDs)
	p.count(Report{Unsealed: n})
	return err
}
