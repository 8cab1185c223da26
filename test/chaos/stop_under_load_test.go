package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// An API receives SIGTERM while 256 clients lock seats of one event as fast as they can. Each
// request that it accepted is answered, every acknowledged lock exists, and no other one does.
func TestStop_UnderLoadKeepsEveryAcknowledgedLock(t *testing.T) {
	t.Parallel()
	const clients = 256
	env := testenv.New(t)
	addr := address(t)
	p := start(t, "api", apiSettings(env, addr)...)
	c := newAPICaller(t, addr, clients, 15*time.Second)
	awaitReady(t, c, p)
	user, event := createUser(t, c), createEvent(t, c, 10_000_000)

	acks := &acknowledgedLocks{ids: map[string]bool{}, enough: 20 * clients, reached: make(chan struct{})}
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for n := 0; lockUntilStopped(t, c, acks, map[string]any{
				"eventId": event, "userId": user, "seats": 1, "idempotencyKey": fmt.Sprintf("%d-%d", i, n),
			}); n++ {
			}
		})
	}
	<-acks.reached
	if err := p.stop(t); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	all.Wait()
	acks.check(t, env)
	testenv.CheckInvariants(t, env.DB.Database)
}

// acknowledgedLocks are the locks that clients have received. reached is closed when there are
// more than enough.
type acknowledgedLocks struct {
	mu      sync.Mutex
	ids     map[string]bool
	enough  int
	reached chan struct{}
	once    sync.Once
}

func (a *acknowledgedLocks) add(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids[id] = true
	if len(a.ids) > a.enough {
		a.once.Do(func() { close(a.reached) })
	}
}

// lockUntilStopped sends one request, and reports whether the API still accepts requests.
func lockUntilStopped(t *testing.T, c *apiCaller, acks *acknowledgedLocks, request map[string]any) bool {
	t.Helper()
	status, fields, err := c.call(context.Background(), http.MethodPost, "/api/locks", request)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || (err == nil && status == http.StatusServiceUnavailable):
		return false
	case err != nil && isClosedWhileIdle(err): // not accepted, or it would be a lock too many
		return false
	case err != nil:
		t.Errorf("a request was not answered: %v", err)
		return false
	case status != http.StatusCreated:
		t.Errorf("status %d: %v", status, fields)
		return false
	}
	acks.add(fields["id"].(string))
	return true
}

func (a *acknowledgedLocks) check(t *testing.T, env *testenv.Env) {
	t.Helper()
	locks, err := findAll[finalLock](env, "seatlocks", bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	active := map[string]bool{}
	for _, l := range locks {
		active[l.ID.String()] = l.Status == "ACTIVE"
		if l.Status == "ACTIVE" && !a.ids[l.ID.String()] {
			t.Errorf("lock %s exists, but was not acknowledged", l.ID)
		}
	}
	for id := range a.ids {
		if !active[id] {
			t.Errorf("lock %s was acknowledged, but is not ACTIVE", id)
		}
	}
}

// isClosedWhileIdle reports whether the server may have closed the connection before it had received anything of the request.
func isClosedWhileIdle(err error) bool {
	return strings.Contains(err.Error(), "server closed idle connection") || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}
