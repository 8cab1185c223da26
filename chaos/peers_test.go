package chaos_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Three APIs sell one event without a load balancer that routes by event, so they send its commands to one of them. That
// one is killed, hangs for a while or stops. The clients of the other two get each of their locks once, and no error.
func TestPeers_NoClientOfAnotherProcessNoticesTheOwnersEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, owner *process){
		"killed": func(_ *testing.T, owner *process) { owner.kill() },
		"hangs": func(t *testing.T, owner *process) {
			t.Helper()
			if err := owner.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		},
		"stops": func(t *testing.T, owner *process) {
			t.Helper()
			if err := owner.stop(t); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startSellers(t, 3)
			owner := f.awaitForwarding()
			end(t, f.processes[owner])
			f.awaitLocks(owner, 300)
			_ = f.processes[owner].cmd.Process.Signal(syscall.SIGCONT) // fails if it has ended
			f.stop()
			f.check(owner)
		})
	}
}

// sellers are processes that sell one event, each to clients of its own.
type sellers struct {
	t         *testing.T
	env       *testenv.Env
	processes []*process
	callers   []*apiCaller
	granted   []atomic.Int64
	failed    []atomic.Int64 // requests of a process's clients without a lock
	stopped   atomic.Bool
	clients   sync.WaitGroup
}

func startSellers(t *testing.T, n int) *sellers {
	t.Helper()
	const clients = 6
	f := &sellers{t: t, env: testenv.New(t), granted: make([]atomic.Int64, n), failed: make([]atomic.Int64, n)}
	for range n {
		p, c := startAPI(t, f.env, 2*clients)
		f.processes, f.callers = append(f.processes, p), append(f.callers, c)
	}
	user, event := createUser(t, f.callers[0]), createEvent(t, f.callers[0], 1_000_000)
	for i := range n {
		for client := range clients {
			f.clients.Go(func() {
				for request := 0; !f.stopped.Load(); request++ {
					status, _, err := f.callers[i].call(t.Context(), http.MethodPost, "/api/locks", map[string]any{
						"eventId": event, "userId": user, "seats": 1, "idempotencyKey": fmt.Sprintf("%d-%d-%d", i, client, request),
					})
					if err == nil && status == http.StatusCreated {
						f.granted[i].Add(1)
						continue
					}
					if f.failed[i].Add(1) == 1 {
						t.Logf("a client of process %d got %d, %v", i, status, err)
					}
					delay(t.Context(), 50*time.Millisecond)
				}
			})
		}
	}
	return f
}

var receivedCommands = regexp.MustCompile(`(?m)^holdfast_received_commands_total (\d+)`)

// awaitForwarding waits until one process carries out the commands of the others, and returns it.
func (f *sellers) awaitForwarding() (owner int) {
	f.t.Helper()
	const enough = 200
	testenv.WaitFor(f.t, func() bool {
		for i, c := range f.callers {
			_, _, raw, err := c.send(f.t.Context(), http.MethodGet, "/metrics", nil)
			if err != nil {
				f.t.Fatal(err)
			}
			if m := receivedCommands.FindSubmatch(raw); m != nil {
				if n, _ := strconv.Atoi(string(m[1])); n > enough {
					owner = i
					return true
				}
			}
		}
		return false
	})
	return owner
}

// awaitLocks waits until each other process has granted so many more locks.
func (f *sellers) awaitLocks(owner int, more int64) {
	f.t.Helper()
	for i := range f.granted {
		if i != owner {
			before := f.granted[i].Load()
			testenv.WaitFor(f.t, func() bool { return f.granted[i].Load() >= before+more })
		}
	}
}

// stop ends the clients.
func (f *sellers) stop() {
	f.stopped.Store(true)
	f.clients.Wait()
}

// check checks that the clients of the other processes have exactly the locks that they were told of.
func (f *sellers) check(owner int) {
	f.t.Helper()
	locks, err := f.env.DB.Collection("seatlocks").Find(f.t.Context(), bson.D{})
	if err != nil {
		f.t.Fatal(err)
	}
	var stored []struct {
		Key    string `bson:"idempotencyKey"`
		Status string `bson:"status"`
	}
	if err := locks.All(f.t.Context(), &stored); err != nil {
		f.t.Fatal(err)
	}
	counts := make([]int64, len(f.processes))
	for _, l := range stored {
		i, _ := strconv.Atoi(l.Key[:strings.IndexByte(l.Key, '-')])
		counts[i]++
		if l.Status != "ACTIVE" {
			f.t.Errorf("the lock with the key %s is %s", l.Key, l.Status)
		}
	}
	for i := range f.processes {
		granted, failed := f.granted[i].Load(), f.failed[i].Load()
		if i != owner && (failed > 0 || counts[i] != granted) {
			f.t.Errorf("clients of process %d have %d locks and %d failures; %d locks are stored", i, granted, failed, counts[i])
		}
		if counts[i] < granted {
			f.t.Errorf("of %d locks of process %d only %d are stored", granted, i, counts[i])
		}
	}
	testenv.CheckInvariants(f.t, f.env.DB.Database)
}
