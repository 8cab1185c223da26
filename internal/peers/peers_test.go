package peers_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/peers"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type env = testenv.Env

// process is an API process, as far as it sells events.
type process struct {
	*pipeline.Pipeline
	*peers.Peers
	answered, returned, lost, abandoned, received atomic.Int64

	stops atomic.Bool
}

// fleet are processes on one database that know each other.
type fleet struct {
	t       *testing.T
	w       *env
	event   holdfast.ID
	all     []*process
	reads   atomic.Int64             // of the list
	through func(addr string) string // the address by which others reach a process; nil: its own
}

// newFleet starts processes, and forwards the commands of a new event.
func newFleet(t *testing.T, size int, through func(addr string) string) *fleet {
	t.Helper()
	f := newIdleFleet(t, size, through)
	for _, p := range f.all {
		p.ForwardAlways(f.event)
	}
	for _, p := range f.all {
		if p != f.owner() {
			testenv.WaitFor(t, func() bool { return p.IsConnectedTo(p.OwnerOf(f.event)) })
		}
	}
	return f
}

// newIdleFleet starts processes.
func newIdleFleet(t *testing.T, size int, through func(addr string) string) *fleet {
	t.Helper()
	w := testenv.New(t)
	f := &fleet{t: t, w: w, event: w.Event(1000), through: through}
	for i := range size {
		f.start(fmt.Sprintf("api-%d", i))
	}
	f.refresh()
	return f
}

func (f *fleet) start(name string) {
	f.t.Helper()
	p := &process{Pipeline: pipeline.New(f.w.Store, pipeline.Options{
		Rules: inventory.Rules{DefaultLockTTL: testenv.DefaultTTL, MaxLockTTL: testenv.MaxTTL, MaxPaymentTTL: testenv.MaxPaymentTTL},
	})}
	var err error
	p.Peers, err = peers.Open(f.t.Context(), peers.Options{
		Addr: "127.0.0.1:0", Self: peers.Peer{Name: name, Writer: p.Writer(), Build: "1"}, Pipeline: p.Pipeline, List: f.list,
		Clock: clock.System, Log: slog.New(f.w.Log),
		Observe: peers.Observer{Received: func() { p.received.Add(1) }, Forwarded: func(o peers.Outcome) {
			map[peers.Outcome]*atomic.Int64{
				peers.Answered: &p.answered, peers.Returned: &p.returned, peers.Lost: &p.lost, peers.Abandoned: &p.abandoned,
			}[o].Add(1)
		}},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	p.UseForwarder(p.Peers)
	f.all = append(f.all, p)
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.Peers.Close(ctx); err != nil {
			f.t.Error(err)
		}
		if err := p.Pipeline.Close(ctx); err != nil {
			f.t.Error(err)
		}
	})
}

func (f *fleet) list(context.Context) (list []peers.Peer, err error) {
	f.reads.Add(1)
	for _, p := range f.all {
		self := p.Self()
		if f.through != nil {
			self.Addr = f.through(self.Addr)
		}
		if !p.stops.Load() { // its heartbeat ends when it begins to stop
			list = append(list, self)
		}
	}
	return list, nil
}

func (f *fleet) refresh() {
	for _, p := range f.all {
		p.Refresh(f.t.Context())
	}
}

// owner is the process that owns the event.
func (f *fleet) owner() *process {
	name := f.all[0].OwnerOf(f.event)
	return f.all[slices.IndexFunc(f.all, func(p *process) bool { return p.Self().Name == name })]
}

// others are the processes that do not own the event.
func (f *fleet) others() []*process {
	owner := f.owner()
	return slices.DeleteFunc(slices.Clone(f.all), func(p *process) bool { return p == owner })
}

func acquire(event holdfast.ID, seats int64, key string) inventory.Acquire {
	return inventory.Acquire{LockID: ids.New(), LockRequest: holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: seats, Key: key}}
}

// sell lets each of the processes lock a seat n times at once, and checks what they answer.
func (f *fleet) sell(from []*process, n int) {
	f.t.Helper()
	var all sync.WaitGroup
	for i, p := range from {
		for j := range n {
			all.Go(func() {
				c := acquire(f.event, 1, fmt.Sprintf("key-%d-%d", i, j))
				result, err := p.Submit(f.t.Context(), f.event, c)
				if err != nil || result.Lock == nil || result.Lock.ID != c.LockID {
					f.t.Errorf("got %+v, %v", result, err)
					return
				}
				stored, err := f.w.Store.Lock(f.t.Context(), c.LockID)
				if err != nil || stored.Status != holdfast.LockActive {
					f.t.Error(stored, err)
				}
				if diff := cmp.Diff(stored, *result.Lock); diff != "" {
					f.t.Error(diff)
				}
			})
		}
	}
	all.Wait()
}

// wantTaken checks that so many seats are taken, and the invariants.
func (f *fleet) wantTaken(want int64) {
	f.t.Helper()
	if available, oversold := f.w.Available(f.event); available != 1000-want || oversold != 0 {
		f.t.Errorf("%d seats are taken and %d oversold, want %d and 0", 1000-available, oversold, want)
	}
	testenv.CheckInvariants(f.t, f.w.DB.Database)
}

// One process carries the commands of all out, and each gets its own answer.
func TestForward_SellsInOneProcess(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, nil)
	f.sell(f.all, 20)
	f.wantTaken(60)
	for _, p := range f.others() {
		if p.answered.Load() != 20 || p.received.Load() != 0 {
			t.Errorf("%d commands were answered by the owner, want 20, and %d received", p.answered.Load(), p.received.Load())
		}
	}
	if owner := f.owner(); owner.received.Load() != 40 || owner.answered.Load() != 0 {
		t.Errorf("the owner received %d commands, want 40, and forwarded %d", owner.received.Load(), owner.answered.Load())
	}
}

// Nothing is forwarded before processes meet; then they find out by themselves.
func TestForward_BeginsWhereProcessesMeet(t *testing.T) {
	t.Parallel()
	f := newIdleFleet(t, 3, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var sold atomic.Int64
	var all sync.WaitGroup
	for _, p := range f.all {
		for range 4 {
			all.Go(func() {
				for ctx.Err() == nil {
					if result, err := p.Submit(t.Context(), f.event, acquire(f.event, 1, ids.New().String())); err == nil {
						sold.Add(1)
					} else if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
						t.Error(result, err)
					} else {
						return
					}
				}
			})
		}
	}
	others := f.others()
	testenv.WaitFor(t, func() bool {
		return !slices.ContainsFunc(others, func(p *process) bool { return p.answered.Load() == 0 }) || sold.Load() == 1000
	})
	stop()
	all.Wait()
	if f.owner().received.Load() == 0 {
		t.Errorf("%d seats were sold by three processes, and nothing was forwarded", sold.Load())
	}
	f.wantTaken(sold.Load())
}

// A process alone, and one of another build, sell by themselves.
func TestForward_OnlyToProcessesThatDecideAlike(t *testing.T) {
	t.Parallel()
	f := newIdleFleet(t, 1, nil)
	f.all[0].ForwardAlways(f.event)
	f.sell(f.all, 3)
	if f.all[0].answered.Load()+f.all[0].returned.Load() > 0 {
		t.Error("a process alone forwards")
	}
	other := f.all[0].Self()
	other.Name, other.Build = "api-other", "2"
	p := &process{Pipeline: pipeline.New(f.w.Store, pipeline.Options{})}
	var err error
	p.Peers, err = peers.Open(t.Context(), peers.Options{
		Addr: "127.0.0.1:0", Self: peers.Peer{Name: "me", Build: "1"}, Pipeline: p.Pipeline, Clock: clock.System, Log: slog.New(f.w.Log),
		List: func(context.Context) ([]peers.Peer, error) { return []peers.Peer{other, {Name: "me"}}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Peers.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p.Refresh(t.Context())
	for range 50 {
		if owner := p.OwnerOf(ids.New()); owner != "me" {
			t.Fatalf("the owner is %s", owner)
		}
	}
}

// A refusal of the owner is the caller's.
func TestForward_Refuses(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, nil)
	p := f.others()[0]
	_, err := p.Submit(t.Context(), f.event, acquire(f.event, 1001, "k"))
	if details, ok := holdfast.DetailsOf[holdfast.SeatsUnavailable](err); !ok || details.Available != 1000 || details.Requested != 1001 {
		t.Errorf("got %v", err)
	}
	_, err = p.Submit(t.Context(), f.event, inventory.Release{LockID: ids.New()})
	if !holdfast.HasCode(err, holdfast.CodeLockNotFound) {
		t.Errorf("got %v", err)
	}
	if p.answered.Load() != 2 {
		t.Errorf("%d commands were answered by the owner", p.answered.Load())
	}
}

// What is released, cancelled or changed is forwarded too; a repeated key finds its lock, wherever it is asked.
func TestForward_AllThatCustomersDo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, nil)
	p, owner := f.others()[0], f.owner()
	first := acquire(f.event, 2, "k")
	made, err := p.Submit(t.Context(), f.event, first)
	if err != nil {
		t.Fatal(err)
	}
	again := first
	again.LockID = ids.New()
	if repeated, err := owner.Submit(t.Context(), f.event, again); err != nil || !repeated.Replayed || repeated.Lock.ID != made.Lock.ID {
		t.Errorf("the owner repeats %+v, %v", repeated, err)
	}
	if repeated, err := p.Submit(t.Context(), f.event, again); err != nil || !repeated.Replayed || repeated.Lock.ID != made.Lock.ID {
		t.Errorf("a forwarded repeat: %+v, %v", repeated, err)
	}
	changed, err := p.Submit(t.Context(), f.event, inventory.ChangeSeats{LockID: made.Lock.ID, Seats: 5})
	if err != nil || changed.Lock.Seats != 5 {
		t.Errorf("changed: %+v, %v", changed, err)
	}
	booking := f.w.Book(*changed.Lock, testenv.Soon())
	cancelled, err := p.Submit(t.Context(), f.event, inventory.Cancel{BookingID: booking.ID, LockID: made.Lock.ID, EventID: f.event})
	if err != nil || cancelled.Booking.Status != holdfast.BookingCancelled {
		t.Errorf("cancelled: %+v, %v", cancelled, err)
	}
	released, err := p.Submit(t.Context(), f.event, inventory.Release{LockID: made.Lock.ID})
	if err != nil || released.Lock.Status != holdfast.LockReleased {
		t.Errorf("released: %+v, %v", released, err)
	}
	if p.answered.Load() != 5 {
		t.Errorf("%d commands were answered by the owner", p.answered.Load())
	}
	f.wantTaken(0)
}

// A command whose reads must see what its process has seen is carried out there.
func TestForward_NotWhatHasATimeToReadAt(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, nil)
	p := f.others()[0]
	at, err := f.w.DB.Barrier(t.Context(), store.PlacesOf(f.event))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Submit(mongodb.WithReadTime(t.Context(), at), f.event, acquire(f.event, 1, "")); err != nil || p.answered.Load() != 0 {
		t.Errorf("%v; %d commands were forwarded", err, p.answered.Load())
	}
}
