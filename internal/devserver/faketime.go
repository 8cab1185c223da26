package devserver

import (
	"context"
	"io"
)

// ClockOffset returns the environment of a program whose wall clock is off, such
// as by "+5m" or "-90s". Its monotonic clock is right. It uses Debian's library libfaketime.
func ClockOffset(ctx context.Context, offset string, progress io.Writer) ([]string, error) {
	library, _, err := faketimePackage.find(ctx, progress)
	if err != nil {
		return nil, err
	}
	return []string{"LD_PRELOAD=" + library, "FAKETIME=" + offset, "FAKETIME_DONT_FAKE_MONOTONIC=1",
		"FAKETIME_FORCE_MONOTONIC_FIX=0"}, nil // the fix would make each timed wait too long
}
