//go:build unix

package app

import "syscall"

// connections is how many connections this process may serve. It leaves some file
// descriptors for MongoDB and Redis.
func connections() int64 {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return maxConnections
	}
	const share = 4 // a quarter of the descriptors is left
	return int64(min(maxConnections, files.Cur-files.Cur/share))
}
