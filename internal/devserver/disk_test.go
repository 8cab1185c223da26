package devserver

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A Disk that is full refuses to write with ENOSPC, until it has space again. A machine that
// allows none says so.
func TestDisk_FullThenSpaceAgain(t *testing.T) {
	t.Parallel()
	disk, err := NewDisk(t.TempDir())
	if err != nil {
		if !errors.Is(err, errNoDisk) {
			t.Error(err)
		}
		return
	}
	file := filepath.Join(disk.dir, "file")
	write := func() error { return os.WriteFile(file, make([]byte, 1<<20), 0o600) }
	if err := write(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := disk.fill(); err != nil {
		t.Fatal(err)
	}
	if err := write(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	if err := disk.free(); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if err := disk.Close(); err != nil {
		t.Error(err)
	}
	if err := write(); err == nil {
		t.Error("a file was written after the file system was unmounted")
	}
}
