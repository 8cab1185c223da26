package pipeline_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The MongoDB commands that a pipeline sends.
const (
	read    = "aggregate"
	write   = "write"   // findAndModify of the event, first in the transaction; its guard is checked afterwards
	guarded = "guarded" // the same, with the guard as its condition
	update  = "update"
	insert  = "insert"
	commit  = "commitTransaction"
	abort   = "abortTransaction"
)

// costCase is a command, and the MongoDB commands that it costs.
type costCase struct {
	name          string
	sale          bson.D // the times of the sale
	change        bson.D // of the event, by another process, after this one has read it
	command       func(eventID holdfast.ID, b holdfast.Booking) inventory.Command
	direct        bool // it does not go through the queue
	want          []string
	withoutMemory []string // nil: the same
	code          holdfast.Code
}

func acquiring(seats int64, key string) func(holdfast.ID, holdfast.Booking) inventory.Command {
	return func(eventID holdfast.ID, _ holdfast.Booking) inventory.Command { return acquire(eventID, seats, key) }
}

func changing(c holdfast.EventChange) func(holdfast.ID, holdfast.Booking) inventory.Command {
	return func(holdfast.ID, holdfast.Booking) inventory.Command { return inventory.ChangeEvent{EventChange: c} }
}

// The MongoDB commands that each command sends, in order. A process that remembers the
// event reads nothing for a request that fits.
func TestCost_OfCommandsOfTheQueue(t *testing.T) {
	t.Parallel()
	status, name := holdfast.Closed, "name"
	closed, fewer := bson.D{{Key: "status", Value: "CLOSED"}}, bson.D{{Key: "availableSeats", Value: 4}, {Key: "internal.rev", Value: 99}}
	checkCosts(t, []costCase{
		{
			name: "acquire", command: acquiring(1, ""),
			want: []string{write, insert, insert, commit}, withoutMemory: []string{read, write, insert, insert, commit},
		}, {
			name: "acquire within the times of a sale", command: acquiring(1, ""),
			sale: bson.D{{Key: "saleStartsAt", Value: time.Now().Add(-time.Hour)}, {Key: "saleEndsAt", Value: time.Now().Add(time.Hour)}},
			want: []string{write, insert, insert, commit}, withoutMemory: []string{read, write, insert, insert, commit},
		}, {
			name: "acquire with a new key", command: acquiring(1, "key"),
			want: []string{write, insert, insert, commit}, withoutMemory: []string{read, write, insert, insert, commit},
		}, {
			name: "acquire too many", command: acquiring(9, ""), code: holdfast.CodeSeatsUnavailable,
			want: []string{read}, withoutMemory: []string{read, read},
		}, {
			name: "acquire too many with a key", command: acquiring(9, "key"), code: holdfast.CodeSeatsUnavailable,
			want: []string{update, read, commit}, withoutMemory: []string{read, update, read, commit},
		}, {
			name: "acquire of an event that was closed", change: closed, command: acquiring(1, ""), code: holdfast.CodeEventNotOnSale,
			want: []string{write, abort, read, update, read, commit}, withoutMemory: []string{read, update, read, commit},
		}, {
			name: "acquire after another process", change: fewer, command: acquiring(4, "key"),
			want: []string{write, insert, insert, commit}, withoutMemory: []string{read, write, insert, insert, commit},
		}, {
			name: "acquire too many after another process", change: fewer, command: acquiring(5, ""), code: holdfast.CodeSeatsUnavailable,
			want: []string{write, abort, read, read}, withoutMemory: []string{read, read},
		}, {
			name: "acquire of an event that got a limit", change: bson.D{{Key: "maxSeatsPerUser", Value: 4}}, command: acquiring(1, ""),
			want:          []string{write, abort, read, read, guarded, insert, insert, commit},
			withoutMemory: []string{read, read, write, insert, insert, commit},
		}, {
			name: "release", want: []string{read, write, update, update, insert, commit},
			command: func(_ holdfast.ID, b holdfast.Booking) inventory.Command { return inventory.Release{LockID: b.LockID} },
		}, {
			name: "cancel", want: []string{read, write, update, update, insert, commit},
			command: func(_ holdfast.ID, b holdfast.Booking) inventory.Command {
				return inventory.Cancel{BookingID: b.ID, LockID: b.LockID}
			},
		}, {
			name: "rename", command: changing(holdfast.EventChange{Name: &name}),
			want: []string{write, insert, commit}, withoutMemory: []string{read, write, insert, commit},
		}, {
			name: "close", command: changing(holdfast.EventChange{Status: &status}),
			want: []string{guarded, insert, commit}, withoutMemory: []string{read, guarded, insert, commit},
		},
	})
}

// What comes after a sale reads the booking with its lock and, if need be, payments; the event is remembered.
func TestCost_OfCommandsAfterTheSale(t *testing.T) {
	t.Parallel()
	sale := func(seats int64, isPaid bool) func(holdfast.ID, holdfast.Booking) inventory.Command {
		return func(eventID holdfast.ID, _ holdfast.Booking) inventory.Command {
			c := inventory.Sell{Acquire: acquire(eventID, seats, ""), BookingID: mongodb.NewID()}
			if isPaid {
				c.Charge.Reference = eventID.String()
			}
			return c
		}
	}
	change := func(seats int64, reference string) func(holdfast.ID, holdfast.Booking) inventory.Command {
		return func(_ holdfast.ID, b holdfast.Booking) inventory.Command {
			c := inventory.ChangeBooking{OfBooking: ofBooking(b)}
			c.Seats, c.Payment.Reference = seats, reference
			return c
		}
	}
	checkCosts(t, []costCase{
		{
			name: "sell", command: sale(1, false),
			want: []string{write, insert, insert, insert, commit}, withoutMemory: []string{read, write, insert, insert, insert, commit},
		}, {
			name: "sell with a charge", command: sale(1, true),
			want: []string{read, write, insert, insert, insert, insert, commit},
		}, {
			name: "sell too many with a charge", command: sale(9, true), code: holdfast.CodeSeatsUnavailable,
			want: []string{read, read}, // due locks may have the seats
		}, {
			name: "other seats of an open booking", command: change(3, ""),
			want: []string{read, write, update, update, insert, commit},
		}, {
			name: "a payment of an open booking", command: change(3, "r"), code: holdfast.CodeBookingNotPayable,
			want: []string{read, update, read, commit},
		}, {
			name: "transfer an open booking", code: holdfast.CodeBookingNotPayable, want: []string{read, update, read, commit},
			command: func(_ holdfast.ID, b holdfast.Booking) inventory.Command {
				return inventory.Transfer{OfBooking: ofBooking(b), Customer: inventory.Customer{UserID: mongodb.NewID()}, NewLockID: mongodb.NewID()}
			},
		},
	})
}

func TestCost_OfDirectCommands(t *testing.T) {
	t.Parallel()
	checkCosts(t, []costCase{
		{
			name: "extend", direct: true, want: []string{read, update, insert, commit},
			command: func(_ holdfast.ID, b holdfast.Booking) inventory.Command {
				return inventory.Extend{LockID: b.LockID, Until: testenv.Soon()}
			},
		}, {
			name: "book again", direct: true, want: []string{read},
			command: func(eventID holdfast.ID, b holdfast.Booking) inventory.Command {
				request := holdfast.BookingRequest{EventID: eventID, UserID: b.UserID, LockID: b.LockID}
				return inventory.Book{BookingID: mongodb.NewID(), BookingRequest: request}
			},
		}, {
			name: "confirm", direct: true, want: []string{read, update, update, insert, commit},
			command: func(_ holdfast.ID, b holdfast.Booking) inventory.Command { return inventory.Confirm{BookingID: b.ID} },
		},
	})
}

// checkCosts carries out each command in a process that has read the event, with and
// without memory.
func checkCosts(t *testing.T, cases []costCase) {
	t.Helper()
	w := testenv.New(t)
	for _, c := range cases {
		for _, withoutMemory := range []bool{false, true} {
			title, want := c.name, c.want
			if withoutMemory {
				title += ", without memory"
				if c.withoutMemory != nil {
					want = c.withoutMemory
				}
			}
			t.Run(title, func(t *testing.T) {
				var r recorder
				p := newProcess(t, watched(t, w, r.monitor()), func(o *pipeline.Options) { o.WithoutMemory = withoutMemory })
				eventID := w.Event(10)
				if c.sale != nil {
					w.Set("events", eventID, c.sale)
				}
				b := w.Book(*submit(t, p, eventID, acquire(eventID, 2, "")).Lock, testenv.Soon())
				if c.change != nil {
					w.Set("events", eventID, c.change)
				}
				got := r.of(func() {
					var err error
					if command := c.command(eventID, b); c.direct {
						_, err = p.Do(w.Ctx(), command)
					} else {
						_, err = p.Submit(w.Ctx(), eventID, command)
					}
					wantCode(t, err, c.code)
				})
				if !slices.Equal(got, want) {
					t.Errorf("MongoDB received %v, want %v", got, want)
				}
			})
		}
	}
}
