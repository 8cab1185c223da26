package seats

import (
	"container/list"
	"context"
	"sync"
)

// cache keeps what is made of seating plans, and evicts what was used least recently first. A plan never changes, so no entry is
// ever stale.
type cache[K comparable, V any] struct {
	maxSize int
	sizeOf  func(V) int

	mu    sync.Mutex
	byKey map[K]*entry[K, V]
	order list.List // of *entry[K, V] that are loaded, the last used first
	size  int       // of order
}

// entry is a value, or one that is being loaded until done is closed.
type entry[K comparable, V any] struct {
	key     K
	done    chan struct{}
	place   *list.Element // in the cache's order; nil until it is loaded
	value   V
	err     error
	givenUp bool // the caller that loaded it did not wait for its end
}

func newCache[K comparable, V any](maxSize int, sizeOf func(V) int) *cache[K, V] {
	return &cache[K, V]{maxSize: maxSize, sizeOf: sizeOf, byKey: map[K]*entry[K, V]{}}
}

// get returns a value. If it is not in the cache, the first caller loads it, and the
// others wait. If the first caller gives up, another one loads it. A failure is not kept.
func (c *cache[K, V]) get(ctx context.Context, key K, load func(context.Context) (V, error)) (value V, err error) {
	for {
		e, isNew := c.find(key)
		if isNew {
			c.load(ctx, e, load)
			return e.value, e.err
		}
		select {
		case <-e.done:
		default:
			select {
			case <-e.done:
			case <-ctx.Done():
				return value, ctx.Err()
			}
		}
		if !e.givenUp {
			return e.value, e.err
		}
	}
}

// find returns the entry of a key. If isNew, the entry was made, and the caller must load it.
func (c *cache[K, V]) find(key K) (e *entry[K, V], isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, found := c.byKey[key]
	if !found {
		e = &entry[K, V]{key: key, done: make(chan struct{}), givenUp: true}
		c.byKey[key] = e
		return e, true
	}
	if e.place != nil {
		c.order.MoveToFront(e.place)
	}
	return e, false
}

// load loads a value and keeps it. After a panic, the waiting callers load it themselves.
func (c *cache[K, V]) load(ctx context.Context, e *entry[K, V], load func(context.Context) (V, error)) {
	isLoaded := false
	defer func() { c.settle(e, isLoaded) }()
	e.value, e.err = load(ctx)
	e.givenUp = e.err != nil && ctx.Err() != nil
	isLoaded = e.err == nil
}

// settle ends the loading of a value: it is kept, or forgotten if that failed.
func (c *cache[K, V]) settle(e *entry[K, V], isLoaded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(e.done)
	if !isLoaded {
		delete(c.byKey, e.key)
		return
	}
	e.place = c.order.PushFront(e)
	for c.size += c.sizeOf(e.value); c.size > c.maxSize && c.order.Len() > 1; {
		oldest := c.order.Remove(c.order.Back()).(*entry[K, V])
		c.size -= c.sizeOf(oldest.value)
		delete(c.byKey, oldest.key)
	}
}
