package chaos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// root is the folder of the main module, from the tests' folder.
const root = "../.."

const (
	startTimeout = 60 * time.Second // until a process is ready
	stopTimeout  = 10 * time.Second // until a process has ended after SIGTERM
	killTimeout  = 10 * time.Second
)

// binaries builds the API and the worker once.
var binaries = sync.OnceValues(func() (string, error) { return build("0s") })

// build builds the API and the worker with a clock that is off by skew, such as "-10m", and
// returns their folder.
func build(skew string) (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-binaries-")
	if err != nil {
		return "", err
	}
	building := exec.Command("go", "build", "-ldflags", "-X github.com/holdfast-dev/holdfast/internal/mongodb.skew="+skew,
		"-o", dir+"/", "./cmd/api", "./cmd/worker")
	building.Dir = root
	output, err := building.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return dir, nil
}

// process is an API or a worker that was started.
type process struct {
	cmd    *exec.Cmd
	log    *logBuffer
	exited chan struct{} // closed when the process has ended
	err    error         // how it ended; set before exited is closed
}

// start starts a program ("api" or "worker") with environment variables.
func start(t *testing.T, program string, env ...string) *process {
	t.Helper()
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	return startFrom(t, dir, program, env...)
}

// startFrom starts a program of a folder that build has returned.
func startFrom(t *testing.T, dir, program string, env ...string) *process {
	t.Helper()
	return startCommand(t, exec.Command(filepath.Join(dir, program)), env...)
}

func startCommand(t *testing.T, cmd *exec.Cmd, env ...string) *process {
	t.Helper()
	p := &process{cmd: cmd, log: &logBuffer{}, exited: make(chan struct{})}
	cmd.Env = slices.Concat(os.Environ(), []string{"SHUTDOWN_DELAY=0s"}, env)
	cmd.Stderr = p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p
}

// kill sends SIGKILL and waits for the end. A process that has ended already is left as it is.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	receive(p.exited, killTimeout)
}

// stop sends SIGTERM, waits for the end and returns how the process ended.
func (p *process) stop(t *testing.T) error {
	t.Helper()
	signalErr := p.cmd.Process.Signal(syscall.SIGTERM)
	if _, inTime := receive(p.exited, stopTimeout); !inTime {
		p.kill()
		return fmt.Errorf("the process did not end within %v of SIGTERM: %s", stopTimeout, p.log)
	}
	if signalErr != nil {
		t.Fatalf("the process had ended before SIGTERM: %v, %v: %s", signalErr, p.err, p.log)
	}
	return p.err
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// address returns an address that is kept for a process, also across restarts, until the
// test ends.
func address(t *testing.T) string {
	t.Helper()
	return testenv.ReservePort(t).Addr()
}

// awaitReady waits until a process is ready.
func awaitReady(t *testing.T, c *apiCaller, p *process) {
	t.Helper()
	ready := poll(startTimeout, 20*time.Millisecond, func() bool {
		status, _, err := c.call(t.Context(), "GET", "/readyz", nil)
		if err == nil && status == 200 {
			return true
		}
		if p.hasExited() {
			t.Fatalf("the process ended while it started: %v %s", p.err, p.log)
		}
		return false
	})
	if !ready {
		t.Fatalf("the process is not ready after %v: %s", startTimeout, p.log)
	}
}

// logBuffer keeps the log of a process.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// lines returns the log lines with a message.
func (b *logBuffer) lines(message string) (found []map[string]any) {
	for line := range strings.Lines(b.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == message {
			found = append(found, fields)
		}
	}
	return found
}
