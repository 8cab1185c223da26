package recovery

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
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
	err := p.findBrokenSeals(ctx)
	if err == nil && p.proves && p.anySealed {
		err = p.proveSeals(ctx)
	}
	if err != nil || len(p.broken) == 0 {
		return err
	}
	var left []holdfast.ID
	for eventIDs := range slices.Chunk(p.broken, eventPageSize) {
		n, err := p.removeSeals(ctx, eventIDs)
		if err != nil {
			return err
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
		p.log.WarnContext(ctx, "[RECOVERY] Sealed events were changed by other software; their seals are removed, and they are checked",
			slog.Int("events", n), slog.Any("first", eventIDs[0]))
	}
	p.broken = left
	return nil
}

// eachEventPage calls handle with the events that the pass compares, each once: a page may have an event
// whose seal other software changed.
func (p *pass) eachEventPage(ctx context.Context, handle func(store.EventPage) error) error {
	left := slices.Clone(p.broken)
	err := p.store().EachEventPage(ctx, p.scope, eventPageSize, func(page store.EventPage) error {
		left = slices.DeleteFunc(left, page.Has)
		return handle(page)
	})
	if err != nil {
		return err
	}
	for eventIDs := range slices.Chunk(left, eventPageSize) {
		if err := handle(store.PageOf(eventIDs...)); err != nil {
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
	_, err := p.removeSeals(ctx, eventIDs)
	return err
}

// removeSeals removes the seals of events, and returns how many it removed. If MongoDB rejects an
// event, the halves are tried. An error means that the database as a whole does not answer.
func (p *pass) removeSeals(ctx context.Context, eventIDs []holdfast.ID) (removed int, err error) {
	removed, err = p.store().Unseal(ctx, eventIDs)
	switch {
	case err == nil:
		p.count(Report{Unsealed: removed})
		return removed, nil
	case pipeline.IsRejected(err) && len(eventIDs) > 1:
		for half := range slices.Chunk(eventIDs, (len(eventIDs)+1)/2) {
			n, err := p.removeSeals(ctx, half)
			if removed += n; err != nil {
				return removed, err
			}
		}
		return removed, nil
	}
	return 0, p.leave(ctx, err, "[RECOVERY] Could not remove the seals of events", slog.Any("first", eventIDs[0]))
}

const (
	// maxProven and maxProvenSeats bound the sealed events that one run proves, and the locks that
	// it reads for them: an event has at most as many as it has seats taken. An event with more is
	// the only one of its run.
	maxProven      = 200
	maxProvenSeats = 200_000
)

// proven is where the next run goes on to prove sealed events.
type proven struct {
	mu    sync.Mutex
	after holdfast.ID // zero at the beginning
}

// proveSeals proves some of the sealed events, in turn and the oldest first. It takes those for
// broken whose locks or bookings other software has changed.
func (p *pass) proveSeals(ctx context.Context) error {
	p.proven.mu.Lock()
	defer p.proven.mu.Unlock()
	page, err := p.store().SealedEvents(ctx, p.proven.after, maxProven)
	if err != nil {
		return err
	}
	seats := int64(0)
	for i, event := range page {
		if seats += event.TotalSeats - event.AvailableSeats; i > 0 && seats > maxProvenSeats {
			return nil
		}
		contradiction, err := p.store().ProveSeal(ctx, event)
		if err != nil {
			err = p.leave(ctx, err, "[RECOVERY] Could not prove a sealed event", slog.Any("eventId", event.ID))
			if err != nil {
				return err
			}
		}
		if contradiction != "" && !slices.Contains(p.broken, event.ID) {
			p.contradiction(ctx, "Other software changed a sealed event: "+contradiction, slog.Any("eventId", event.ID))
			p.broken = append(p.broken, event.ID)
		}
		p.proven.after = event.ID
	}
	if len(page) < maxProven {
		p.proven.after = holdfast.ID{}
	}
	return nil
}
