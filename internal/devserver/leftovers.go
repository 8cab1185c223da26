package devserver

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// leftoverAge is the minimum age of a folder, because a server that has just been started may not have written its lock yet.
const leftoverAge = time.Hour

// removeLeftovers removes the temporary data folders of servers that no longer run. They stay
// when all processes are killed at once. Each has over 300 MB, and a full disk fails every later start.
func removeLeftovers() {
	var folders []string
	for _, parent := range []string{os.TempDir(), memoryDir} {
		found, _ := filepath.Glob(filepath.Join(parent, "mongod-*")) // the pattern is correct
		folders = append(folders, found...)
	}
	for _, dir := range folders {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < leftoverAge || isServed(dir) {
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
