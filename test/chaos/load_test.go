package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// load counts the answers of clients that lock one seat per request. Any other status than
// these fails the test.
type load struct {
	granted, refused, rejected atomic.Int64 // 201, 409, 503 with Retry-After
	slowest                    atomic.Int64 // answer, in nanoseconds
}

// lockTarget is what the clients of a load lock: seats of an event, for a user.
type lockTarget struct{ event, user string }

// run lets clients send requests for a duration, and returns the granted locks per second.
func (l *load) run(t *testing.T, c *apiCaller, target lockTarget, clients int, duration time.Duration) float64 {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	start := time.Now()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for ctx.Err() == nil && l.lock(ctx, t, c, target) {
			}
		})
	}
	all.Wait()
	return float64(l.granted.Load()) / time.Since(start).Seconds()
}

// lock sends one request, also if ctx ends meanwhile. It reports whether the answer counts.
func (l *load) lock(ctx context.Context, t *testing.T, c *apiCaller, target lockTarget) bool {
	t.Helper()
	sent := time.Now()
	status, header, raw, err := c.send(context.WithoutCancel(ctx), http.MethodPost, "/api/locks",
		map[string]any{"eventId": target.event, "userId": target.user, "seats": 1, "idempotencyKey": mongodb.NewID().String()})
	switch {
	case err != nil && strings.Contains(err.Error(), "server closed idle connection"): // It was not sent: the client was too slow.
		return true
	case err != nil:
		t.Errorf("a request was not answered: %v", err)
		return false
	case status == http.StatusCreated:
		l.granted.Add(1)
	case status == http.StatusConflict:
		l.refused.Add(1)
	case status == http.StatusServiceUnavailable && header.Get("Retry-After") != "":
		l.rejected.Add(1)
		delay(ctx, 100*time.Millisecond) // A client waits before it retries.
	default:
		t.Errorf("status %d: %s", status, raw)
		return false
	}
	for took := time.Since(sent).Nanoseconds(); ; {
		slowest := l.slowest.Load()
		if took <= slowest || l.slowest.CompareAndSwap(slowest, took) {
			return true
		}
	}
}

// maxResidentMiB bounds the memory of a process under load.
const maxResidentMiB = 1024

// residentMiB returns the most memory that a process has had resident, in MiB.
func residentMiB(t *testing.T, p *process) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(text), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return kib >> 10
		}
	}
	t.Fatal("/proc has no VmHWM of the process")
	return 0
}
