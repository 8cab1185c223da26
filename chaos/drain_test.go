package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// An API is told to stop while 256 customers lock seats of one event as fast as
// they can: each request is answered or was never taken, every lock that was
// acknowledged is there, and there is no other.
func TestStop_UnderFullLoad(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	api := address(t)
	p := start(t, "api", "MONGODB_URI="+w.URI, "MONGODB_DATABASE="+w.DB.Name(), "HTTP_ADDR="+api, "JOB_LEASES=none", "LOG_LEVEL=warn")
	const customers = 256
	transport := &http.Transport{MaxIdleConnsPerHost: customers}
	defer transport.CloseIdleConnections()
	c := &caller{"http://" + api, &http.Client{Timeout: 15 * time.Second, Transport: transport}}
	await(t, c, p)
	user := must(t, c, "/api/users", map[string]any{"name": "A", "email": "a@example.com"})
	sale := event(t, c, 10_000_000)

	var mu sync.Mutex
	acknowledged := map[string]bool{}
	var all sync.WaitGroup
	underWay := make(chan struct{})
	var once sync.Once
	for i := range customers {
		all.Go(func() {
			for n := 0; ; n++ {
				status, fields, err := c.call(context.Background(), http.MethodPost, "/api/locks",
					map[string]any{"eventId": sale, "userId": user, "seats": 1, "idempotencyKey": fmt.Sprintf("%d-%d", i, n)})
				switch {
				case errors.Is(err, syscall.ECONNREFUSED):
					return
				case err != nil:
					t.Errorf("not answered: %v", err)
					return
				case status == http.StatusServiceUnavailable:
					return
				case status != http.StatusCreated:
					t.Errorf("%d %v", status, fields)
					return
				}
				mu.Lock()
				acknowledged[fields["id"].(string)] = true
				if len(acknowledged) > 20*customers {
					once.Do(func() { close(underWay) })
				}
				mu.Unlock()
			}
		})
	}
	<-underWay
	if err := p.stop(t); err != nil {
		t.Errorf("the API's end: %v", err)
	}
	all.Wait()
	cursor, err := w.DB.Collection("seatlocks").Find(w.Ctx(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	var locks []struct {
		ID     ids.ID `bson:"_id"`
		Status string `bson:"status"`
	}
	if err := cursor.All(w.Ctx(), &locks); err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, l := range locks {
		there[l.ID.String()] = l.Status == "ACTIVE"
		if l.Status == "ACTIVE" && !acknowledged[l.ID.String()] {
			t.Errorf("lock %s is there, and nobody was told", l.ID)
		}
	}
	for id := range acknowledged {
		if !there[id] {
			t.Errorf("lock %s was acknowledged, and is not there", id)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
