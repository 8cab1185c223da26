package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// binaries builds the API and the worker once.
var binaries = sync.OnceValues(func() (string, error) { return build("0s") })

// build builds them with the machine's clock off by so much.
func build(skew string) (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-binaries-")
	if err != nil {
		return "", err
	}
	output, err := exec.Command("go", "build", "-ldflags", "-X github.com/holdfast-dev/holdfast/internal/clock.skew="+skew,
		"-o", dir+"/", "../cmd/api", "../cmd/worker").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return dir, nil
}

// process is a running API or worker.
type process struct {
	cmd  *exec.Cmd
	log  *output
	done chan error
}

func start(t *testing.T, program string, env ...string) *process {
	t.Helper()
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	return startFrom(t, dir, program, env...)
}

func startFrom(t *testing.T, dir, program string, env ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(filepath.Join(dir, program)), log: &output{}, done: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p
}

// kill ends the process at once; stop asks it to, and returns how it ended.
func (p *process) kill() {
	p.cmd.Process.Kill() //nolint:errcheck // gone already is as good
	<-p.done             //nolint:errcheck // it was killed
}

func (p *process) stop(t *testing.T) error {
	t.Helper()
	told := p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.done:
		p.done <- err
		if told != nil {
			t.Fatalf("it had ended before it was told to: %v, %v: %s", told, err, p.log)
		}
		return err
	case <-time.After(10 * time.Second):
		p.kill()
		return fmt.Errorf("it did not end within 10 s of SIGTERM: %s", p.log)
	}
}

// address is kept for a process, started again or not, until the test ends.
func address(t *testing.T) string {
	t.Helper()
	return testenv.ReservePort(t).Addr()
}

// caller calls an API that may be down.
type caller struct {
	base string
	http *http.Client
}

func (c *caller) call(ctx context.Context, method, path string, body any) (status int, fields map[string]any, err error) {
	status, _, raw, err := c.send(ctx, method, path, body)
	if err != nil {
		return 0, nil, err
	}
	return status, fields, json.Unmarshal(raw, &fields)
}

// send returns the answer with all its text.
func (c *caller) send(ctx context.Context, method, path string, body any) (status int, header http.Header, raw []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	raw, err = io.ReadAll(response.Body)
	return response.StatusCode, response.Header, raw, err
}

func await(t *testing.T, c *caller, p *process) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		if status, _, err := c.call(t.Context(), "GET", "/readyz", nil); err == nil && status == 200 {
			return
		}
		select {
		case err := <-p.done:
			t.Fatalf("it ended at its start: %v %s", err, p.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("it did not get ready: %s", p.log)
}

// output is what a process wrote so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// lines are the log lines with a message.
func (o *output) lines(message string) (found []map[string]any) {
	for line := range strings.Lines(o.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == message {
			found = append(found, fields)
		}
	}
	return found
}
