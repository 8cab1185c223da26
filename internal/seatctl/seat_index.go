package seatctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// seatIndexCmd shows and switches the unique index of seats.
type seatIndexCmd struct {
	To string `arg:"" name:"on|off" optional:"" enum:",on,off" default:"" help:"on makes the index, off drops it; without it, the state."`
}

// seatIndexLine is the state of the index.
type seatIndexLine struct {
	Index  string `json:"seatIndex"` // on, off, missing or left over
	Detail string `json:"says"`
}

var seatIndexLines = map[bool]seatIndexLine{
	true:  {"on", "MongoDB itself refuses a second lock of a seat; this costs about a third of the locks of a busy sale"},
	false: {"off", "Holdfast alone sees to it that a seat has one lock; software that writes locks past it is not stopped"},
}

// seatIndexGaps are for an index that is not as it was decided.
var seatIndexGaps = map[bool]seatIndexLine{
	true:  {"missing", "it is switched on, but MongoDB does not have it; run seatctl seat-index on"},
	false: {"left over", "it is switched off, but MongoDB still has it; run seatctl seat-index off, or on to keep it"},
}

func (c *seatIndexCmd) run(ctx context.Context, s *session) (int, error) {
	switch c.To {
	case "on":
		doubles, err := s.makeSeatIndex(ctx)
		if errors.Is(err, core.ErrDoubleSeats) {
			return exitFailed, s.refuseDoubles(ctx, doubles)
		}
		if err != nil {
			return exitFailed, fmt.Errorf("the index is not switched on: %w", err)
		}
	case "off":
		if err := s.DropSeatIndex(ctx); err != nil {
			return exitFailed, err
		}
	}
	decided, exists, err := s.SeatIndex(ctx)
	if err != nil {
		return exitFailed, err
	}
	line, code := seatIndexLines[decided], exitOK
	if exists != decided {
		line, code = seatIndexGaps[decided], exitFindings
	}
	if s.out.format == formatJSON {
		return code, s.out.printJSON(line, "  ")
	}
	_, err = fmt.Fprintf(s.out.w, "The unique index of seats is %s: %s.\n", line.Index, line.Detail)
	return code, err
}

// seatIndexNoteInterval is the time between two lines of progress.
const seatIndexNoteInterval = 5 * time.Second

// makeSeatIndex shows that it is at work, because the build may take minutes.
func (s *session) makeSeatIndex(ctx context.Context) (doubles []store.DoubleSeat, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	steps := make(chan string)
	var work errgroup.Group
	work.Go(func() (err error) {
		defer close(steps)
		doubles, err = s.MakeSeatIndex(ctx, func(step string) {
			select {
			case steps <- step:
			case <-ctx.Done():
			}
		})
		return err
	})
	ticker := time.NewTicker(seatIndexNoteInterval)
	defer ticker.Stop()
	var step string
	var passed time.Duration
	for isOpen := true; isOpen && err == nil; {
		var next string
		select {
		case next, isOpen = <-steps:
			if isOpen {
				step, passed = next, 0
				_, err = fmt.Fprintln(s.errs, step+".")
			}
		case <-ticker.C:
			passed += seatIndexNoteInterval
			_, err = fmt.Fprintf(s.errs, "%s: %s so far.\n", step, passed)
		}
	}
	cancel() // if the progress can't be written, there is no reason to go on
	return doubles, errors.Join(err, work.Wait())
}

// doubleLine is a lock of a seat that other locks take too.
type doubleLine struct {
	EventID   string `json:"eventId"`
	SeatID    string `json:"seatId"`
	LockID    string `json:"lockId"`
	State     string `json:"state"` // of the lock
	UserID    string `json:"userId,omitempty"`
	BookingID string `json:"bookingId,omitempty"`
	ExpiresAt string `json:"expiresAt,omitempty"`
}

// refuseDoubles lists the seats that several locks take, with these, and returns the error of the command.
func (s *session) refuseDoubles(ctx context.Context, doubles []store.DoubleSeat) error {
	var ids []holdfast.ID
	for _, d := range doubles {
		ids = append(ids, d.LockIDs...)
	}
	locks, now, err := s.Store.LocksByID(ctx, ids)
	if err != nil {
		return err
	}
	var lines []doubleLine
	for _, d := range doubles {
		for _, id := range d.LockIDs {
			lock := locks[id] // zero: it is gone meanwhile
			lines = append(lines, doubleLine{
				EventID: d.EventID.String(), SeatID: d.SeatID, LockID: id.String(), State: lockState(lock, now),
				UserID: formatID(lock.UserID), BookingID: formatID(lock.BookingID), ExpiresAt: expiryOf(lock),
			})
		}
	}
	columns := []any{"event", "seat", "lock", "state", "user", "booking", "expires at"}
	err = printRows(s.out, lines, columns, func(l doubleLine) []any {
		return []any{l.EventID, l.SeatID, l.LockID, l.State, l.UserID, l.BookingID, l.ExpiresAt}
	})
	return errors.Join(err, fmt.Errorf("nothing was changed: %s taken by several locks. Decide which lock keeps each seat, "+
		"and end the others: seatctl sweep ends those that are due, DELETE /api/locks/{id} an ACTIVE one, the cancellation of its booking a "+
		"CONSUMED one, and POST /api/events/{id}/seats/unblock a BLOCKED one. Then run seatctl recover, and this again",
		countDoubles(len(doubles))))
}

// countDoubles says how many seats there are. At core.MaxDoubles the search has ended.
func countDoubles(n int) string {
	switch n {
	case 1:
		return "1 seat is"
	case core.MaxDoubles:
		return fmt.Sprintf("%d or more seats are", n)
	default:
		return fmt.Sprintf("%d seats are", n)
	}
}

// The states of locks that take seats, as they are printed.
const (
	stateHeld    = "held"
	stateDue     = "held, due"
	stateSold    = "sold"
	stateBlocked = "blocked"
	stateGone    = "gone"
)

// lockState is what a lock does with its seats.
func lockState(l holdfast.Lock, now time.Time) string {
	switch {
	case l.Status == holdfast.LockConsumed:
		return stateSold
	case l.Status == holdfast.LockBlocked:
		return stateBlocked
	case l.Status != holdfast.LockActive:
		return stateGone
	case l.Due(now):
		return stateDue
	default:
		return stateHeld
	}
}

// expiryOf is "" for a lock whose time does not end.
func expiryOf(l holdfast.Lock) string {
	if l.Status != holdfast.LockActive {
		return ""
	}
	return formatTime(l.ExpiresAt)
}

// formatID is "" for the zero ID.
func formatID(id holdfast.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
