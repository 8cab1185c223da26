package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// supervisor runs the command of its arguments until that ends by itself or
// descriptor 3 closes, which happens when the process that started us ends, in
// whatever way; then it removes the scratch folder, if one was named.
const supervisor = `"$@" 3<&- &
p=$!
{ read -r _ <&3; kill -TERM $p; } 2>/dev/null &
w=$!
wait $p; s=$?
kill $w 2>/dev/null
if [ -n "$DEVSERVER_SCRATCH" ]; then rm -rf "$DEVSERVER_SCRATCH"; fi
exit $s`

// stopTimeout is how long a server may take to end before it is killed; a
// mongod flushes its data within that.
const stopTimeout = 20 * time.Second

// Process is a child that ends with its parent.
type Process struct {
	cmd   *exec.Cmd
	alive *os.File // the writing end: closing it ends the child
	done  chan struct{}
	err   error // of the child's end; set before done closes
}

// Command says what to start: env is added to this process's environment,
// scratch is a folder to remove once the child ended ("" for none).
type Command struct {
	Args    []string
	Env     []string
	Scratch string
	Output  io.Writer // nil: dropped
}

// Start starts the command as a child of its own process group, so that a
// Ctrl-C in the terminal reaches only the parent, which ends children in order.
func Start(c Command) (*Process, error) {
	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", supervisor, "devserver"}, c.Args...)...) //nolint:gosec // our own commands
	cmd.Env = append(append(os.Environ(), c.Env...), "DEVSERVER_SCRATCH="+c.Scratch)
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

// Err is why the child ended; valid after Done.
func (p *Process) Err() error { return p.err }

// Pid names the child's process group: a negative Pid signals all of it.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stop asks the child to end, waits, and kills it if it doesn't.
func (p *Process) Stop() {
	p.alive.Close() //nolint:errcheck // nothing was written
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		syscall.Kill(-p.Pid(), syscall.SIGKILL) //nolint:errcheck // gone already is as good
		<-p.done
	}
}

// Kill ends the child's whole group at once, as a power cut would.
func (p *Process) Kill() {
	syscall.Kill(-p.Pid(), syscall.SIGKILL) //nolint:errcheck // gone already is as good
	<-p.done
	p.alive.Close() //nolint:errcheck // nothing was written
}

// await polls ready until it succeeds, the child ends, or ctx ends.
func (p *Process) await(ctx context.Context, what string, ready func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if last = ready(ctx); last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended at its start: %w", what, p.err)
		case <-ctx.Done():
			return fmt.Errorf("%s did not get ready: %w (last: %w)", what, ctx.Err(), last)
		case <-tick.C:
		}
	}
}
