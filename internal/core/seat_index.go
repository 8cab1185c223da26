package core

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// maxDoubles bounds the seats that are listed if the unique index of seats can't be made.
const maxDoubles = 100

// ErrDoubleSeats says that locks have seats in common, so that the unique index of seats can't be made.
var ErrDoubleSeats = errors.New("several locks take the same seat")

// HasSeatIndex reports whether it is decided that the database has the unique index of seats.
func (c *Core) HasSeatIndex(ctx context.Context) (bool, error) {
	v, _, err := c.DB.ReadVersion(ctx)
	return v.SeatIndex, err
}

// MakeSeatIndex makes the unique index of seats. If it fails with ErrDoubleSeats, it returns up to maxDoubles
// seats that several locks take, and nothing has changed. Processes may sell meanwhile.
func (c *Core) MakeSeatIndex(ctx context.Context) ([]store.DoubleSeat, error) {
	doubles, err := c.Store.DoubleSeats(ctx, maxDoubles)
	if err != nil {
		return nil, err
	}
	if len(doubles) > 0 {
		return doubles, ErrDoubleSeats
	}
	degraded, err := mongodb.EnsureSchema(ctx, c.DB, store.SeatIndex()...)
	switch {
	case err != nil:
		return nil, err
	case len(degraded) > 0: // perhaps by a seat that was taken twice since
		return nil, fmt.Errorf("the index could not be made: %s", strings.Join(degraded, "; "))
	}
	return nil, c.DB.ChangeSeatIndex(ctx, true) // at last: a process that starts meanwhile needs it not
}

// DropSeatIndex removes the unique index of seats.
func (c *Core) DropSeatIndex(ctx context.Context) error {
	if err := c.DB.ChangeSeatIndex(ctx, false); err != nil { // first: a process that starts would make it again
		return err
	}
	return mongodb.DropIndexes(ctx, c.DB, store.SeatIndex()...)
}
