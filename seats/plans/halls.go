package plans

import (
	"container/list"
	"context"
	"sync"

	"github.com/holdfast-dev/holdfast/seats/seating"
)

const (
	// maxCachedSeats bounds the memory of the cache: a seat of a hall needs some 200 bytes.
	maxCachedSeats = 1_000_000
	// hallOverhead counts as seats for what every hall needs, so that small halls are bounded too.
	hallOverhead = 500
)

// halls is a cache of compiled plans: the one used least recently goes first. A hall never changes,
// so that none is ever stale.
type halls struct {
	maxSeats int

	mu    sync.Mutex
	byID  map[ID]*cachedHall
	order list.List // of *cachedHall that are loaded, the last used first
	seats int       // of order
}

// cachedHall is a hall, or one that is being loaded until done is closed.
type cachedHall struct {
	id      ID
	done    chan struct{}
	place   *list.Element // in the cache's order; nil: not loaded
	hall    *seating.Hall
	err     error
	givenUp bool // the caller that loaded it did not wait for its end
}

func newHalls(maxSeats int) *halls { return &halls{maxSeats: maxSeats, byID: map[ID]*cachedHall{}} }

// get returns a hall. Of the callers that want one that is not there, the first loads it, and the
// others wait. If the first one gives up, another one loads it. A failure is not kept.
func (h *halls) get(ctx context.Context, id ID, load func(context.Context) (*seating.Hall, error)) (*seating.Hall, error) {
	for {
		c, isNew := h.find(id)
		if isNew {
			h.load(ctx, c, load)
			return c.hall, c.err
		}
		select {
		case <-c.done:
		default:
			select {
			case <-c.done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if !c.givenUp {
			return c.hall, c.err
		}
	}
}

// find returns the entry of a hall; isNew: it was made, and the caller has to load it.
func (h *halls) find(id ID) (c *cachedHall, isNew bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, found := h.byID[id]
	if !found {
		c = &cachedHall{id: id, done: make(chan struct{}), givenUp: true}
		h.byID[id] = c
		return c, true
	}
	if c.place != nil {
		h.order.MoveToFront(c.place)
	}
	return c, false
}

// load loads a hall and keeps it. After a panic, the callers that wait try for themselves.
func (h *halls) load(ctx context.Context, c *cachedHall, load func(context.Context) (*seating.Hall, error)) {
	defer h.settle(c)
	c.hall, c.err = load(ctx)
	c.givenUp = c.err != nil && ctx.Err() != nil
}

// settle ends the loading of a hall: it is kept, or forgotten if it failed.
func (h *halls) settle(c *cachedHall) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(c.done)
	if c.hall == nil {
		delete(h.byID, c.id)
		return
	}
	c.place = h.order.PushFront(c)
	for h.seats += sizeOf(c.hall); h.seats > h.maxSeats && h.order.Len() > 1; {
		oldest := h.order.Remove(h.order.Back()).(*cachedHall)
		h.seats -= sizeOf(oldest.hall)
		delete(h.byID, oldest.id)
	}
}

func sizeOf(hall *seating.Hall) int { return hall.NumberedSeats() + hallOverhead }
