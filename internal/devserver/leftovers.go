package devserver

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
)

// leftoverAge is how old a folder has to be: a server that has just been started may not have written its lock yet.
const leftoverAge = time.Hour

// removeLeftovers removes the temporary data folders of servers that do not run any more: nothing could remove them
// when everything was killed at once. Each has over 300 MB, and a full disk fails every later start.
func removeLeftovers() {
	var folders []string
	for _, parent := range []string{os.TempDir(), memoryDir} {
		found, _ := filepath.Glob(filepath.Join(parent, "mongod-*")) // the pattern is correct
		folders = append(folders, found...)
	}
	for _, dir := range folders {
		info, err := os.Stat(dir)
		if err != nil || clock.Clock(clock.System).Since(info.ModTime()) < leftoverAge || isServed(dir) {
			continue
		}
		_ = os.RemoveAll(dir) // another user's folder stays
	}
}

// isServed reports whether a data folder has a server. mongod writes its process ID into the lock, and empties it when it
// stops.
func isServed(dir string) bool {
	lock, err := os.ReadFile(filepath.Join(dir, "mongod.lock"))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(lock)))
	return err == nil && pid > 0 && syscall.Kill(pid, 0) != syscall.ESRCH
}
