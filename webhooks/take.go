package webhooks

import (
	"context"
	"log/slog"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
)

// take takes changes of the feed, or reads them if the endpoint is behind it.
func (r *runner) take(ctx context.Context) error {
	r.isPartOfPage = false
	for room := r.room(); room > 0; room = r.room() {
		if end, isGap := r.endpoint.gapAt(r.track.scanned); isGap {
			r.track.scanned = end
			r.flushSoon(flushInterval)
			continue
		}
		found, next, isFed, moved := r.feed.after(r.track.scanned, room)
		r.moved = moved
		end := r.feed.last()
		if r.readConfig(); ctx.Err() != nil { // the endpoints were read before the feed moved
			return nil
		}
		if !isFed {
			var err error
			if found, next, err = r.readOwn(ctx, room, end); err != nil {
				r.moved = nil // or it would try again at once
				return err
			}
		}
		if next == r.track.scanned {
			return nil
		}
		for _, e := range found {
			r.takeOne(e)
		}
		r.track.scanned = next
		r.flushSoon(flushInterval)
	}
	r.isPartOfPage, r.moved = true, nil
	return nil
}

func (r *runner) takeOne(e *entry) {
	if _, isGap := r.endpoint.gapAt(e.at); isGap || !r.endpoint.wantsAt(e.at, &e.change) {
		return
	}
	if !r.blocked[e.subject] {
		r.track.add(e)
		return
	}
	r.track.addStored(e)
	r.written.stored = append(r.written.stored, recordOf(e))
}

// page bounds the changes that are taken at once.
const page = 500

// room is how many changes may be taken: at most a page. An endpoint that fails is not told of more than the next one, so
// its backlog stays where it is. What is taken may become documents, all of it.
func (r *runner) room() int {
	isBusy := r.health.isFailing() && r.track.unsettled > len(r.held)
	if isBusy || len(r.track.items) >= maxTracked || len(r.blocked) >= maxSubjects {
		return 0
	}
	stored := len(r.written.stored)
	inMemory := maxTaken - r.track.unsettled - stored - len(r.written.delivered)
	documents := r.maxStored() - r.pending - int64(r.track.unsettled+stored)
	return int(max(0, min(page, int64(inMemory), documents)))
}

// readOwn reads a page behind the position, in front of the end of the feed. What retention has removed is passed.
func (r *runner) readOwn(ctx context.Context, limit int, fed changes.Position) (found []*entry, next changes.Position, err error) {
	from := r.track.scanned
	list, next, err := r.changes.Read(ctx, &from, changes.Filter{EventID: r.endpoint.EventID}, limit)
	if holdfast.HasCode(err, holdfast.CodeChangesGone) {
		begin, end, err := r.changes.Ends(ctx)
		if err != nil {
			return nil, from, err
		}
		if next = begin; from.Compare(end) > 0 { // the database was restored from a backup
			next = end
		}
		r.log.ErrorContext(ctx, "[WEBHOOKS JOB] Changes were removed before the endpoint was told of them",
			slog.Int64("from", from.Seq), slog.Int64("to", next.Seq))
		return nil, next, nil
	}
	for _, p := range list {
		if p.Position.Compare(fed) < 0 {
			found = append(found, newEntry(p))
		}
	}
	if next.Compare(fed) > 0 {
		next = fed
	}
	if next.Compare(from) < 0 {
		next = from
	}
	return found, next, err
}
