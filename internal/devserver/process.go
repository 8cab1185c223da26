package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// supervisor runs the command in its arguments. It ends the command when
// descriptor 3 closes, which happens when the parent process ends, even if it is
// killed. Then it removes the temporary folder, if there is one.
const supervisor = `"$@" 3<&- &
p=$!
{ read -r _ <&3; kill -TERM $p; } 2>/dev/null &
w=$!
wait $p; s=$?
kill $w 2>/dev/null
if [ -n "$DEVSERVER_TEMP_DIR" ]; then rm -rf "$DEVSERVER_TEMP_DIR"; fi
exit $s`

// stopTimeout is how long Stop waits before it kills the child. A mongod needs
// time to flush its data.
const stopTimeout = 20 * time.Second

// Process is a child that ends with its parent.
type Process struct {
	cmd   *exec.Cmd
	alive *os.File // the write end of the pipe; closing it ends the child
	done  chan struct{}
	err   error // set before done closes
}

// Command is a program to start.
type Command struct {
	Args    []string
	Env     []string  // added to this process's environment
	TempDir string    // removed when the child has ended; "" for none
	Output  io.Writer // of standard output and error; nil discards it
}

// Start starts the command in a new process group, so that Ctrl-C in the terminal
// reaches only the parent, which stops its children in order.
func Start(c Command) (*Process, error) {
	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	args := append([]string{"-c", supervisor, "devserver"}, c.Args...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Env = slices.Concat(os.Environ(), c.Env, []string{"DEVSERVER_TEMP_DIR=" + c.TempDir})
	cmd.ExtraFiles = []*os.File{reading}
	cmd.Stdout, cmd.Stderr = c.Output, c.Output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, reading.Close(), writing.Close())
	}
	p := &Process{cmd: cmd, alive: writing, done: make(chan struct{})}
	go func() {
		p.err = errors.Join(cmd.Wait(), reading.Close())
		close(p.done)
	}()
	return p, nil
}

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

func (p *Process) isRunning() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err is the error with which the child ended. It is valid after Done.
func (p *Process) Err() error { return p.err }

// Pid is the ID of the child's process group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal to the child's process group. It does nothing if the
// child has ended.
func (p *Process) Signal(s syscall.Signal) {
	_ = syscall.Kill(-p.Pid(), s) // the only possible error is that the child has ended
}

// Freeze pauses the child until Wake.
func (p *Process) Freeze() { p.Signal(syscall.SIGSTOP) }

// Wake ends Freeze.
func (p *Process) Wake() { p.Signal(syscall.SIGCONT) }

// Stop ends the child, and kills it if it does not end in time.
func (p *Process) Stop() {
	_ = p.alive.Close() // nothing was written
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		p.Signal(syscall.SIGKILL)
		<-p.done
	}
}

// Kill kills the child's process group, so that it cannot clean up.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
	_ = p.alive.Close() // nothing was written
}

// Await polls ready until it succeeds, the child ends, or ctx ends.
func (p *Process) Await(ctx context.Context, what string, ready func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if last = ready(ctx); last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended while it started: %w", what, p.err)
		case <-ctx.Done():
			return fmt.Errorf("%s did not become ready: %w (last error: %w)", what, ctx.Err(), last)
		case <-tick.C:
		}
	}
}
