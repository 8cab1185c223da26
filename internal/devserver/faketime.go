package devserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// libraryPattern is where Debian's package libfaketime has its library, below
// the folder that the package is unpacked in.
const libraryPattern = "usr/lib/*/faketime/libfaketimeMT.so.1"

// ClockOffset returns the environment of a program whose wall clock is off, such
// as by "+5m" or "-90s". Its monotonic clock is right. If Debian's library
// libfaketime is missing, apt fetches it once, for which it needs no root.
func ClockOffset(ctx context.Context, offset string, progress io.Writer) ([]string, error) {
	library, err := findFaketime(ctx, progress)
	if err != nil {
		return nil, fmt.Errorf("no libfaketime: %w\nWhat to do: install the package libfaketime", err)
	}
	return []string{"LD_PRELOAD=" + library, "FAKETIME=" + offset, "FAKETIME_DONT_FAKE_MONOTONIC=1",
		"FAKETIME_FORCE_MONOTONIC_FIX=0"}, nil // the fix would make each timed wait too long
}

func findFaketime(ctx context.Context, progress io.Writer) (library string, err error) {
	if found, _ := filepath.Glob("/" + libraryPattern); len(found) > 0 {
		return found[0], nil
	}
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	unlock, err := lockFile(filepath.Join(dir, "libfaketime.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	home := filepath.Join(dir, "libfaketime")
	if _, err := os.Stat(home); os.IsNotExist(err) {
		logf(progress, "Fetching libfaketime (0.1 MB, once) ...")
		if err := fetchFaketime(ctx, dir, home); err != nil {
			return "", err
		}
	}
	found, err := filepath.Glob(filepath.Join(home, libraryPattern))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("%s does not contain %s", home, libraryPattern)
	}
	return found[0], nil
}

// fetchFaketime unpacks the package into a folder that it renames to home at the
// end.
func fetchFaketime(ctx context.Context, dir, home string) error {
	scratch, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // a leftover in the cache is harmless
	const script = `apt-get -q download libfaketime || { apt-get -q update && apt-get -q download libfaketime; }
dpkg -x libfaketime_*.deb ready`
	fetch := exec.CommandContext(ctx, "/bin/sh", "-ec", script)
	fetch.Dir = scratch
	if output, err := fetch.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get download libfaketime: %w: %s", err, lastLines(output))
	}
	return os.Rename(filepath.Join(scratch, "ready"), home)
}
