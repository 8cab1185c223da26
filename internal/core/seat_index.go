package core

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// MaxDoubles bounds the seats that are listed if the unique index of seats can't be made.
const MaxDoubles = 100

// ErrDoubleSeats says that locks have seats in common, so that the unique index of seats can't be made.
var ErrDoubleSeats = errors.New("several locks take the same seat")

// SeatIndex reports whether it is decided that the database has the unique index of seats, and whether it has it. It may
// lack it because other software has dropped it, or doubles have kept it from being made. It may have it still because
// a process died between the decision and the drop.
func (c *Core) SeatIndex(ctx context.Context) (decided, exists bool, err error) {
	v, _, err := c.DB.ReadVersion(ctx)
	if err != nil {
		return false, false, err
	}
	gaps, err := mongodb.SchemaGaps(ctx, c.DB, store.SeatIndex()...)
	return v.SeatIndex, len(gaps) == 0, err
}

// The steps of MakeSeatIndex.
const (
	StepDoubles = "Looking for seats that several locks take"
	StepBuild   = "Building the index; sales go on"
)

// MakeSeatIndex makes the unique index of seats, and calls note before each step. If it fails with
// ErrDoubleSeats, it returns up to MaxDoubles seats that several locks take, and nothing has changed. Processes
// may sell meanwhile. Seated events need a finished upgrade, and so does their index: a process of a former
// version would drop it.
func (c *Core) MakeSeatIndex(ctx context.Context, note func(step string)) ([]store.DoubleSeat, error) {
	v, err := c.decidableVersion(ctx)
	if err != nil {
		return nil, err
	}
	if v.Upgrade != mongodb.UpgradeFinished {
		return nil, errors.New("the upgrade is not finished: stop all processes of the former version, " +
			"run seatctl upgrade finish, and then this again")
	}
	note(StepDoubles)
	doubles, err := c.doubleSeats(ctx)
	if err != nil {
		return doubles, err
	}
	note(StepBuild)
	degraded, err := mongodb.EnsureSchema(ctx, c.DB, store.SeatIndex()...)
	switch {
	case err != nil:
		return nil, err
	case len(degraded) > 0: // perhaps by a seat that was taken twice since
		doubles, err := c.doubleSeats(ctx)
		if err == nil {
			err = fmt.Errorf("the index could not be made: %s", strings.Join(degraded, "; "))
		}
		return doubles, err
	}
	return nil, c.DB.ChangeSeatIndex(ctx, true) // at last: a process that starts meanwhile needs it not
}

// doubleSeats fails with ErrDoubleSeats if there are any.
func (c *Core) doubleSeats(ctx context.Context) ([]store.DoubleSeat, error) {
	doubles, err := c.Store.DoubleSeats(ctx, MaxDoubles)
	if err == nil && len(doubles) > 0 {
		err = ErrDoubleSeats
	}
	return doubles, err
}

// decidableVersion reads the version of the schema. It fails unless it is this program's: another one would
// not keep to what is decided.
func (c *Core) decidableVersion(ctx context.Context) (mongodb.Version, error) {
	v, found, err := c.DB.ReadVersion(ctx)
	switch {
	case err != nil:
	case !found || v.Version < SchemaVersion:
		err = errors.New("the database has the schema of a former version, or none: start the API or a worker of this version first")
	case v.Version > SchemaVersion:
		err = errors.New("the database has the schema of a later version: use the seatctl of that version")
	}
	return v, err
}

// DropSeatIndex removes the unique index of seats.
func (c *Core) DropSeatIndex(ctx context.Context) error {
	if _, err := c.decidableVersion(ctx); err != nil {
		return err
	}
	if err := c.DB.ChangeSeatIndex(ctx, false); err != nil { // first: a process that starts would make it again
		return err
	}
	return mongodb.DropIndexes(ctx, c.DB, store.SeatIndex()...)
}
