package seats

import (
	"container/list"
	"context"
	"sync"

	"github.com/holdfast-dev/holdfast/seats/seating"
)

const (
	// maxCachedSeats bounds the memory of the cache: a seat of a hall needs some 200 bytes.
	maxCachedSeats = 1_000_000
	// hallOverhead is the constant memory of a hall, in seats, so that small halls are bounded too.
	hallOverhead = 500
)

// hallCache is a cache of compiled plans, which evicts the least recently used one first. A hall never changes,
// so no entry is ever stale.
type hallCache struct {
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
	place   *list.Element // in the cache's order; nil until it is loaded
	hall    *seating.Hall
	err     error
	givenUp bool // the caller that loaded it did not wait for its end
}

func newHallCache(maxSeats int) *hallCache {
	return &hallCache{maxSeats: maxSeats, byID: map[ID]*cachedHall{}}
}

// get returns a hall. If it is not in the cache, the first caller loads it, and the
// others wait. If the first caller gives up, another one loads it. A failure is not kept.
func (h *hallCache) get(ctx context.Context, id ID, load func(context.Context) (*seating.Hall, error)) (*seating.Hall, error) {
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

// find returns the entry of a hall. If isNew, the entry was made, and the caller must load it.
func (h *hallCache) find(id ID) (c *cachedHall, isNew bool) {
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

// load loads a hall and keeps it. After a panic, the waiting callers load the hall themselves.
func (h *hallCache) load(ctx context.Context, c *cachedHall, load func(context.Context) (*seating.Hall, error)) {
	defer h.settle(c)
	c.hall, c.err = load(ctx)
	c.givenUp = c.err != nil && ctx.Err() != nil
}

// settle ends the loading of a hall: it is kept, or forgotten if it failed.
func (h *hallCache) settle(c *cachedHall) {
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
