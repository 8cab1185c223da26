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
		{groupcommit.ErrFull, withKey, holdfast.CodeUnavailable, false},
		{groupcommit.ErrFull, release, holdfast.CodeUnavailable, false},
		{groupcommit.ErrNotStarted, withKey, holdfast.CodeUnavailable, false},
		{groupcommit.ErrNotStarted, release, holdfast.CodeUnavailable, false},
		{groupcommit.ErrInFlight, withoutKey, holdfast.CodeUnavailable, false},
		{groupcommit.ErrInFlight, withKey, holdfast.CodeOutcomeUnknown, true},
		{groupcommit.ErrInFlight, release, holdfast.CodeOutcomeUnknown, false},
		{groupcommit.ErrUnknown, withoutKey, holdfast.CodeOutcomeUnknown, true},
		{groupcommit.ErrUnknown, withKey, holdfast.CodeOutcomeUnknown, true},
		{groupcommit.ErrUnknown, release, holdfast.CodeOutcomeUnknown, false},
		{driver, withKey, "", false},
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
