package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The API is killed several times while customers give back all seats of an event, for which others wait, and more ask all the time.
// Each release is repeated until it is answered: then each entry has one offer, and no seat went past the list.
func TestWaitlist_KilledMakesEachOfferOnce(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	const seats, atOnce, passersBy = 300, 16, 4
	addr := address(t)
	settings := apiSettings(env, addr)
	r := &releasedSeats{t: t, api: newAPICaller(t, addr, atOnce+passersBy, 10*time.Second)}
	watching, endWatching := context.WithCancel(t.Context())
	stream := startStreamChecker(watching, t, env)
	api := start(t, "api", settings...)
	awaitReady(t, r.api, api)
	r.event = mustCreate(t, r.api, "/api/events",
		map[string]any{"name": "E", "totalSeats": seats, "eventDate": time.Now().UTC(), "waitlist": "OPEN"})
	locks := make([]string, seats)
	r.atOnce(atOnce, seats, func(n int) { locks[n] = r.lock(fmt.Sprint("seat-", n)) })
	entries := 0
	for waiting := 0; waiting < seats; entries++ {
		n := 1 + entries%3
		waiting += n
		mustCreate(t, r.api, "/api/events/"+r.event+"/waitlist", map[string]any{"holder": fmt.Sprint("waiter-", entries), "seats": n})
	}
	racing, endRace := context.WithCancel(t.Context())
	var others, releasing sync.WaitGroup
	for id := range passersBy {
		others.Go(func() {
			for n := 0; racing.Err() == nil; n++ {
				if lock := r.lock(fmt.Sprintf("passer-by-%d-%d", id, n)); lock != "" {
					r.passed.Add(1)
					r.release(lock)
				}
			}
		})
	}
	releasing.Go(func() { r.atOnce(atOnce, seats, func(n int) { r.release(locks[n]); r.released.Add(1) }) })
	for _, until := range []int64{20, 80, 140, 200, 260} {
		if !poll(2*time.Minute, time.Millisecond, func() bool { return r.released.Load() >= until }) {
			t.Fatalf("%d releases were answered, want %d: %s", r.released.Load(), until, api.log)
		}
		api.kill()
		api = start(t, "api", settings...)
	}
	releasing.Wait()
	endRace()
	others.Wait()
	if r.repeated.Load() == 0 {
		t.Error("no release had to be repeated, so no kill has interrupted one")
	}
	stream.catchUp(t.Context(), env)
	for _, v := range stream.takeViolations() {
		t.Error(v)
	}
	endWatching()
	<-stream.done
	checkOffered(t, env, entries, seats)
	testenv.CheckInvariants(t, env.DB.Database)
	if err := api.stop(t); err != nil {
		t.Error(err)
	}
	t.Logf("%d entries got their offers; %d requests were repeated, and others got %d locks meanwhile",
		entries, r.repeated.Load(), r.passed.Load())
}

// releasedSeats sends requests about one event, and repeats each until it is answered.
type releasedSeats struct {
	t                          *testing.T
	api                        *apiCaller
	event                      string
	released, repeated, passed atomic.Int64
}

// atOnce calls do for each number up to n, several at a time.
func (r *releasedSeats) atOnce(clients, n int, do func(int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	all.Wait()
}

func (r *releasedSeats) answer(method, path string, body any) (status int, fields map[string]any) {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); r.repeated.Add(1) {
		status, fields, err := r.api.call(context.Background(), method, path, body)
		if err == nil && status < http.StatusInternalServerError {
			return status, fields
		}
		delay(context.Background(), 20*time.Millisecond)
	}
	r.t.Errorf("%s %s had no answer", method, path)
	return 0, nil
}

// lock locks a seat for a holder; "" if it is refused.
func (r *releasedSeats) lock(holder string) string {
	status, fields := r.answer(http.MethodPost, "/api/events/"+r.event+"/locks",
		map[string]any{"holder": holder, "seats": 1, "idempotencyKey": holder, "ttlSeconds": 3600})
	switch {
	case status == http.StatusCreated, status == http.StatusOK:
		id, _ := fields["id"].(string)
		return id
	case fields["code"] != "SEATS_UNAVAILABLE":
		r.t.Errorf("a lock of %s: %d %v", holder, status, fields)
	}
	return ""
}

func (r *releasedSeats) release(lock string) {
	if status, fields := r.answer(http.MethodDelete, "/api/locks/"+lock, nil); status != http.StatusOK {
		r.t.Errorf("the release of lock %s: %d %v", lock, status, fields)
	}
}

// checkOffered asserts that each entry has one offer, that was told once, and that all seats of the event are offered.
func checkOffered(t *testing.T, env *testenv.Env, entries, seats int) {
	t.Helper()
	offers := map[holdfast.ID]finalLock{}
	held := int64(0)
	for _, l := range mustFindAll[finalLock](t, env, "seatlocks") {
		if l.EntryID.IsZero() {
			continue
		}
		if other, twice := offers[l.EntryID]; twice {
			t.Errorf("entry %s has the offers %+v and %+v", l.EntryID, other, l)
		}
		offers[l.EntryID] = l
		held += l.Seats
	}
	found := mustFindAll[finalEntry](t, env, "waitlist")
	for _, e := range found {
		if l := offers[e.ID]; e.Entry.Status != "OFFERED" || l.ID != e.Entry.Lock || l.Status != "ACTIVE" || l.Seats != e.Entry.Seats {
			t.Errorf("entry %+v has the offer %+v", e, l)
		}
	}
	if len(found) != entries || len(offers) != entries || held != int64(seats) {
		t.Errorf("%d entries have %d offers of %d seats, want %d of %d", len(found), len(offers), held, entries, seats)
	}
	told := 0
	for _, r := range mustFindAll[toldRecord](t, env, "changes") {
		for _, item := range r.Items {
			if item.Type == "waitlist.offered" {
				told++
			}
		}
	}
	if told != entries {
		t.Errorf("%d offers were told, want %d", told, entries)
	}
	events, err := findAll[listDocument](env, "events", bson.D{})
	if err != nil || len(events) != 1 || events[0].Internal.List.Waiting != 0 || events[0].Internal.List.Holds {
		t.Errorf("the event is %+v, %v", events, err)
	}
}
