package pipeline_test

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The commands of MongoDB that a pipeline uses.
const (
	read   = "aggregate"
	fence  = "update"        // outside of a transaction
	write  = "findAndModify" // of the event, first in the transaction
	update = "update"
	insert = "insert"
	commit = "commitTransaction"
	abort  = "abortTransaction"
)

// What each command asks MongoDB for, in order. A process that remembers the event
// reads nothing for a request that fits.
func TestCost_OfEachCommand(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	type given struct {
		p       *pipeline.Pipeline
		event   holdfast.ID
		lock    holdfast.Lock
		booking holdfast.Booking
	}
	viaQueue := func(command func(g given) inventory.Command) func(given) error {
		return func(g given) error { _, err := g.p.Submit(w.Ctx(), g.event, command(g)); return err }
	}
	direct := func(command func(g given) inventory.Command) func(given) error {
		return func(g given) error { _, err := g.p.Do(w.Ctx(), command(g)); return err }
	}
	acquire := func(seats int64, key string) func(given) error {
		return viaQueue(func(g given) inventory.Command { return acquire(g.event, seats, key) })
	}
	status, name := holdfast.Closed, "name"
	book := func(g given) inventory.Command {
		return inventory.Book{BookingID: ids.New(), BookingRequest: holdfast.BookingRequest{EventID: g.event, UserID: g.lock.UserID,
			LockID: g.lock.ID}}
	}
	for _, c := range []struct {
		name          string
		change        func(g given) // after the process has seen the event
		do            func(given) error
		want          []string
		withoutMemory []string // nil: the same
		code          holdfast.Code
	}{
		{"acquire", nil, acquire(1, ""), []string{write, insert, commit}, []string{read, write, insert, commit}, ""},
		{"acquire with a new key", nil, acquire(1, "key"), []string{write, insert, commit}, []string{read, write, insert, commit}, ""},
		{"acquire what is gone", nil, acquire(9, ""), []string{read}, []string{read, read}, holdfast.CodeSeatsUnavailable},
		{"acquire what is gone, with a key", nil, acquire(9, "key"), []string{fence, read}, []string{read, fence, read},
			holdfast.CodeSeatsUnavailable},
		{"acquire of a closed event", func(g given) { w.Set("events", g.event, bson.D{{Key: "status", Value: "CLOSED"}}) },
			acquire(1, ""), []string{write, abort, read, fence, read}, []string{read, fence, read}, holdfast.CodeEventNotOnSale},
		{"acquire after another process", func(g given) {
			w.Set("events", g.event, bson.D{{Key: "availableSeats", Value: 4}, {Key: "rev", Value: 99}})
		},
			acquire(4, "key"), []string{write, insert, commit}, []string{read, write, insert, commit}, ""},
		{"acquire too many after another process", func(g given) {
			w.Set("events", g.event, bson.D{{Key: "availableSeats", Value: 4}, {Key: "rev", Value: 99}})
		},
			acquire(5, ""), []string{write, abort, read, read}, []string{read, read}, holdfast.CodeSeatsUnavailable},
		{"release", nil, viaQueue(func(g given) inventory.Command { return inventory.Release{LockID: g.lock.ID} }),
			[]string{read, write, update, update, commit}, nil, ""},
		{"cancel", nil, viaQueue(func(g given) inventory.Command { return inventory.Cancel{BookingID: g.booking.ID, LockID: g.lock.ID} }),
			[]string{read, write, update, update, commit}, nil, ""},
		{"rename", nil, viaQueue(func(given) inventory.Command {
			return inventory.ChangeEvent{EventChange: holdfast.EventChange{Name: &name}}
		}),
			[]string{write, commit}, []string{read, write, commit}, ""},
		{"close", nil, viaQueue(func(given) inventory.Command {
			return inventory.ChangeEvent{EventChange: holdfast.EventChange{Status: &status}}
		}),
			[]string{write, commit}, []string{read, write, commit}, ""},
		{"extend", nil, direct(func(g given) inventory.Command { return inventory.Extend{LockID: g.lock.ID, Until: testenv.Soon()} }),
			[]string{read, update, commit}, nil, ""},
		{"book again", nil, direct(book), []string{read}, nil, ""},
		{"confirm", nil, direct(func(g given) inventory.Command { return inventory.Confirm{BookingID: g.booking.ID} }),
			[]string{read, update, update, commit}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, withoutMemory := range []bool{false, true} {
				var r recorder
				g := given{p: newProcess(t, watched(t, w, r.monitor()), func(o *pipeline.Options) { o.WithoutMemory = withoutMemory }),
					event: w.Event(10)}
				g.lock = *submit(t, g.p, g.event, inventory.Acquire{LockID: ids.New(),
					LockRequest: holdfast.LockRequest{UserID: ids.New(), Seats: 2}}).Lock
				g.booking = w.Book(g.lock, testenv.Soon())
				if c.change != nil {
					c.change(g)
				}
				want := c.want
				if withoutMemory && c.withoutMemory != nil {
					want = c.withoutMemory
				}
				got := r.of(func() { wantCode(t, c.do(g), c.code) })
				if !slices.Equal(got, want) {
					t.Errorf("without memory %v: MongoDB was asked for %v, want %v", withoutMemory, got, want)
				}
			}
		})
	}
}
