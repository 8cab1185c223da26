package devserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// memoryDir is a file system in memory, where the system has one.
	memoryDir = "/dev/shm"
	// memoryBytes must be free for the data of tests, in addition to what running servers may still need there.
	memoryBytes = 4 << 30
	serverBytes = 1 << 30
)

// tempParent is where a temporary data folder is made. The folder of a test is in memory, if there is room: with a database for
// each test, the server spends a fourth of its time on the disk. TMPDIR overrides it.
func tempParent(test bool) string {
	if !test || os.Getenv("TMPDIR") != "" {
		return os.TempDir()
	}
	servers, _ := filepath.Glob(filepath.Join(memoryDir, "mongod-*")) // the pattern is correct
	if need := memoryBytes + serverBytes*uint64(len(servers)); min(availableMemory(), freeBytes(memoryDir)) < need {
		return os.TempDir()
	}
	return memoryDir
}

// freeBytes is the free space of a folder's file system; 0 if there is no such folder.
func freeBytes(dir string) uint64 {
	var found syscall.Statfs_t
	if err := syscall.Statfs(dir, &found); err != nil {
		return 0
	}
	return found.Bavail * uint64(found.Bsize) //nolint:gosec // the size of a block is positive
}

// availableMemory is the memory that programs may still use without swapping, in bytes; 0 if the system does not report it.
func availableMemory() (bytes uint64) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
