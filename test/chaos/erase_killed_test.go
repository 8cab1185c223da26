package chaos_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The API is killed while it erases a customer of thousands of locks and bookings. The same request continues, until nothing
// names the customer, and each document was told to be changed once.
func TestErase_KilledIsContinued(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	const ada, locks, bookings = "ada lovelace", 3000, 1000
	is := bson.D{{Key: "holder", Value: ada}}
	add := func(collection string, n int, fields ...bson.E) {
		docs := make([]any, 0, n)
		event := env.Event(10)
		for i := range n {
			docs = append(docs, append(bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "seats", Value: 1},
				{Key: "userId", Value: holdfast.HolderID(ada)}, {Key: "holder", Value: ada}, {Key: "seatLockId", Value: mongodb.NewID()},
				{Key: "bookingId", Value: mongodb.NewID()}, {Key: "reference", Value: strconv.Itoa(i)}, {Key: "part", Value: ""}}, fields...))
		}
		if _, err := env.DB.Collection(collection).InsertMany(env.Ctx(), docs); err != nil {
			t.Fatal(err)
		}
	}
	add("seatlocks", locks, bson.E{Key: "status", Value: "RELEASED"}, bson.E{Key: "expiresAt", Value: time.Now()})
	add("bookings", bookings, bson.E{Key: "status", Value: "CANCELLED"})
	add("payments", bookings, bson.E{Key: "status", Value: "REFUNDED"})
	left := func() (n int64) {
		for _, collection := range []string{"seatlocks", "bookings", "payments"} {
			found, err := env.DB.Collection(collection).CountDocuments(context.Background(), is)
			if err != nil {
				t.Error(err)
			}
			n += found
		}
		return n
	}
	addr := address(t)
	settings := []string{"MONGODB_URI=" + env.URI, "MONGODB_DATABASE=" + env.DB.Name(), "HTTP_ADDR=" + addr, "SWEEP_BATCH=50",
		"LOG_LEVEL=warn"}
	c := newAPICaller(t, addr, 4, 40*time.Second)
	for _, until := range []int64{4500, 3000, 1500, 700} {
		api := start(t, "api", settings...)
		awaitReady(t, c, api)
		var request sync.WaitGroup
		request.Go(func() { // it has no answer
			_, _, _ = c.call(context.Background(), http.MethodPost, "/api/holders/erase", map[string]any{"holder": ada})
		})
		if !poll(30*time.Second, time.Millisecond, func() bool { return left() < until }) {
			t.Errorf("%d documents are left, want %d: %s", left(), until, api.log)
		}
		api.kill()
		request.Wait()
		if left() == 0 {
			t.Error("the API was killed too late to interrupt anything")
		}
	}
	api := start(t, "api", settings...)
	awaitReady(t, c, api)
	for _, isRepeat := range []bool{false, true} {
		status, answer, err := c.call(t.Context(), http.MethodPost, "/api/holders/erase", map[string]any{"holder": ada})
		if err != nil || status != http.StatusOK || isRepeat && (answer["locks"] != 0.0 || answer["bookings"] != 0.0) {
			t.Errorf("asked again: %d %v, %v", status, answer, err)
		}
	}
	if n := left(); n > 0 {
		t.Errorf("%d documents name the customer", n)
	}
	if err := api.stop(t); err != nil {
		t.Error(err)
	}
	if n := toldOnce(t, env); n != locks+bookings {
		t.Errorf("%d documents were told, want %d", n, locks+bookings)
	}
}

// toldOnce returns how many locks and bookings were told to be changed, each once.
func toldOnce(t *testing.T, env *testenv.Env) int {
	t.Helper()
	told := map[string]int{}
	for at := (*changes.Position)(nil); ; {
		if _, err := env.Changes.Number(env.Ctx()); err != nil {
			t.Fatal(err)
		}
		list, next, err := env.Changes.List(env.Ctx(), at, changes.Filter{}, holdfast.MaxPageSize)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		at = &next
		for _, c := range list {
			if c.Type == holdfast.ChangeLockChanged || c.Type == holdfast.ChangeBookingChanged {
				told[c.Subject()]++
			}
		}
	}
	for subject, n := range told {
		if n != 1 {
			t.Errorf("%s was told %d times", subject, n)
		}
	}
	return len(told)
}
