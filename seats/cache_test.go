package seats

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

func hallOf(t testing.TB, seats int64) *seating.Hall {
	t.Helper()
	hall, err := seating.NewHall(holdfast.SeatingPlan{
		Name: "P", Categories: []holdfast.Category{{Key: "c", Name: "C"}},
		Sections: []holdfast.Section{{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: seats}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return hall
}

func TestHalls_CallersTogetherLoadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, hall, id := newCache[ID](maxCachedSeats, sizeOf), hallOf(t, 1), mongodb.NewID()
		var loads atomic.Int64
		release := make(chan struct{})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				got, err := h.get(t.Context(), id, func(context.Context) (*seating.Hall, error) {
					loads.Add(1)
					<-release
					return hall, nil
				})
				if got != hall || err != nil {
					t.Error(got, err)
				}
			})
		}
		synctest.Wait()
		close(release)
		all.Wait()
		if loads.Load() != 1 {
			t.Errorf("%d loads", loads.Load())
		}
	})
}

// A caller that gives up, or panics, takes the others nothing but time; a failure is shared by those
// that waited for it, and not kept.
func TestHalls_AFailureIsNotKept(t *testing.T) {
	failure := errors.New("failure")
	for name, c := range map[string]struct {
		first func(ctx context.Context) (*seating.Hall, error)
		fails bool // the caller that waits
	}{
		"gives up": {func(ctx context.Context) (*seating.Hall, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, false},
		"fails":  {func(context.Context) (*seating.Hall, error) { return nil, failure }, true},
		"panics": {func(context.Context) (*seating.Hall, error) { panic("staged") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, hall, id := newCache[ID](maxCachedSeats, sizeOf), hallOf(t, 1), mongodb.NewID()
				load := func(context.Context) (*seating.Hall, error) { return hall, nil }
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				begun, release := make(chan struct{}), make(chan struct{})
				var all sync.WaitGroup
				all.Go(func() {
					defer func() { _ = recover() }()
					_, err := h.get(ctx, id, func(ctx context.Context) (*seating.Hall, error) {
						close(begun)
						<-release
						return c.first(ctx)
					})
					if err == nil {
						t.Error("the first caller has a hall")
					}
				})
				<-begun
				all.Go(func() {
					if got, err := h.get(t.Context(), id, load); (err != nil) != c.fails || err == nil && got != hall {
						t.Error(got, err)
					}
				})
				impatient, leave := context.WithCancel(t.Context())
				leave()
				if _, err := h.get(impatient, id, load); !errors.Is(err, context.Canceled) {
					t.Errorf("a caller that does not wait: %v", err)
				}
				synctest.Wait()
				if close(release); !c.fails {
					cancel()
				}
				all.Wait()
				if got, err := h.get(t.Context(), id, load); got != hall || err != nil {
					t.Error(got, err)
				}
			})
		})
	}
}

// The seats of all halls are bounded, and the hall that was used least recently goes first. A hall
// above the bound is there alone.
func TestHalls_AreBounded(t *testing.T) {
	const seats = 100
	size := sizeOf(hallOf(t, seats))
	h := newCache[ID](3*size, sizeOf)
	loads := map[ID]int{}
	all := []ID{mongodb.NewID(), mongodb.NewID(), mongodb.NewID(), mongodb.NewID()}
	get := func(id ID, n int64) {
		t.Helper()
		if _, err := h.get(t.Context(), id, func(context.Context) (*seating.Hall, error) {
			loads[id]++
			return hallOf(t, n), nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{0, 1, 2, 0, 3, 0, 2, 3, 1} { // 3 displaces 1, and then 1 displaces 0
		get(all[n], seats)
	}
	if want := map[ID]int{all[0]: 1, all[1]: 2, all[2]: 1, all[3]: 1}; !maps.Equal(loads, want) || len(h.byKey) != 3 || h.size != 3*size {
		t.Errorf("loads %v, %d halls of %d seats", loads, len(h.byKey), h.size)
	}
	h.maxSize = 1
	get(all[0], seats)
	get(all[0], seats)
	if loads[all[0]] != 2 || len(h.byKey) != 1 || h.order.Len() != 1 || h.size != size {
		t.Errorf("%d loads, %d halls of %d seats", loads[all[0]], len(h.byKey), h.size)
	}
}
