package devserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Disk is a file system in memory, for a server that is to run out of space. It is
// mounted in a name space of its own, which needs no root where the kernel allows
// users to make name spaces. It is gone when the process that made it ends.
type Disk struct {
	dir    string // path for other processes
	below  string // the folder that it is mounted on, which other processes still see
	holder *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader

	mu sync.Mutex
}

const (
	// diskBytes bounds a Disk. It takes as much memory as its files do.
	diskBytes   = 1 << 30
	diskTimeout = 10 * time.Second // to mount
	diskReady   = "ready"
)

// diskHolder mounts the file system, and changes its size as its input says, until
// the input ends.
const diskHolder = `mount -t tmpfs -o size=$1,mode=700 holdfast "$0" && echo ` + diskReady + ` || exit 1
while read -r size; do
	mount -t tmpfs -o remount,size="$size" holdfast "$0" && echo ` + diskReady + ` || echo failed
done`

// NewDisk mounts a file system on a folder that exists. The error says why
// that is not possible.
func NewDisk(dir string) (*Disk, error) {
	holder := exec.Command("unshare", "--user", "--map-root-user", "--mount",
		"/bin/sh", "-c", diskHolder, dir, strconv.Itoa(diskBytes))
	holder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C ends the servers first
	var problem strings.Builder
	holder.Stderr = &problem
	input, err := holder.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := holder.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := holder.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoDisk, err)
	}
	d := &Disk{holder: holder, input: input, output: bufio.NewReader(output), below: dir,
		dir: filepath.Join("/proc", strconv.Itoa(holder.Process.Pid), "root", dir)}
	stop := time.AfterFunc(diskTimeout, func() { _ = holder.Process.Kill() })
	err = d.answer()
	stop.Stop()
	if err == nil {
		_, err = os.Stat(d.dir) // other processes must be able to enter the name space
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w: %s", errNoDisk, err, strings.TrimSpace(problem.String())), d.Close())
	}
	return d, nil
}

// Close unmounts the file system. Processes that use it must have ended.
func (d *Disk) Close() error {
	return errors.Join(d.input.Close(), d.holder.Wait())
}

// fill shrinks the file system until no space is free.
func (d *Disk) fill() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for range 50 { // writes during the measurement need more space
		var now syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &now); err != nil {
			return err
		}
		used := max(1, now.Blocks-now.Bfree)                      // size 0 would be without a limit
		if err = d.resize(used * uint64(now.Bsize)); err == nil { //nolint:gosec // a block's size is positive
			return nil
		}
	}
	return err
}

// free restores the size.
func (d *Disk) free() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.resize(diskBytes)
}

func (d *Disk) resize(size uint64) error {
	if _, err := fmt.Fprintln(d.input, size); err != nil {
		return err
	}
	return d.answer()
}

var (
	errNoDisk = errors.New("this machine allows no file system in a name space")
	errDisk   = errors.New("the file system's size can't be set")
)

func (d *Disk) answer() error {
	line, err := d.output.ReadString('\n')
	if err == nil && strings.TrimSpace(line) != diskReady {
		err = errDisk
	}
	return err
}
