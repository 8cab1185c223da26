package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestExplain_TellsWhatACallerMayInfer(t *testing.T) {
	lockID, driver := ID{1}, errors.New("driver")
	withoutKey := inventory.Acquire{LockID: lockID}
	withKey := inventory.Acquire{LockID: lockID, LockRequest: holdfast.LockRequest{Key: "key"}}
	release := inventory.Release{LockID: lockID}
	for _, c := range []struct {
		err     error
		command inventory.Command
		want    holdfast.Code
		names   bool // the lock that may have been made
	}{
		{err: groupcommit.ErrFull, command: withKey, want: holdfast.CodeUnavailable},
		{err: groupcommit.ErrFull, command: release, want: holdfast.CodeUnavailable},
		{err: groupcommit.ErrNotStarted, command: withKey, want: holdfast.CodeUnavailable},
		{err: groupcommit.ErrNotStarted, command: release, want: holdfast.CodeUnavailable},
		{err: groupcommit.ErrInFlight, command: withoutKey, want: holdfast.CodeUnavailable},
		{err: groupcommit.ErrInFlight, command: withKey, want: holdfast.CodeOutcomeUnknown, names: true},
		{err: groupcommit.ErrInFlight, command: release, want: holdfast.CodeOutcomeUnknown},
		{err: groupcommit.ErrUnknown, command: withoutKey, want: holdfast.CodeOutcomeUnknown, names: true},
		{err: groupcommit.ErrUnknown, command: withKey, want: holdfast.CodeOutcomeUnknown, names: true},
		{err: groupcommit.ErrUnknown, command: release, want: holdfast.CodeOutcomeUnknown},
		{err: driver, command: withKey},
	} {
		t.Run(fmt.Sprintf("%v %+v", c.err, c.command), func(t *testing.T) {
			cause := fmt.Errorf("%w: %w", c.err, context.Canceled)
			err := explain(cause, c.command)
			if holdfast.CodeOf(err) != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if !errors.Is(c.err, groupcommit.ErrFull) && !errors.Is(err, c.err) {
				t.Errorf("%v hides its cause", err)
			}
			if lock, ok := holdfast.DetailsOf[holdfast.UnknownLock](err); ok != c.names || (ok && lock.LockID != lockID) {
				t.Errorf("it names lock %v, %v", lock, ok)
			}
		})
	}
}
