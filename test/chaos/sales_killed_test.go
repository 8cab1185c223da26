package chaos_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The API is killed several times while a shop imports sales, 32 at once, each with a key and a payment. Each sale is repeated until
// it is answered: then it was made once, with its payment, and nothing else was sold.
func TestSales_KilledAreMadeOnce(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	const sales, atOnce = 1000, 32
	addr := address(t)
	settings := apiSettings(env, addr)
	c := newAPICaller(t, addr, atOnce, 10*time.Second)
	api := start(t, "api", settings...)
	awaitReady(t, c, api)
	event := createEvent(t, c, 2*sales)
	var answered, repeated, next atomic.Int64
	var mu sync.Mutex
	bookings := map[string]int{} // the number of the sale
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for n := next.Add(1); n <= sales; n = next.Add(1) {
				booking, attempts := sellUntilAnswered(t, c, event, int(n))
				mu.Lock()
				if other, twice := bookings[booking]; twice {
					t.Errorf("the sales %d and %d were answered with booking %s", n, other, booking)
				}
				bookings[booking] = int(n)
				mu.Unlock()
				answered.Add(1)
				repeated.Add(attempts - 1)
			}
		})
	}
	for _, until := range []int64{100, 300, 500, 700, 900} {
		if !poll(2*time.Minute, time.Millisecond, func() bool { return answered.Load() >= until }) {
			t.Fatalf("%d sales were answered, want %d: %s", answered.Load(), until, api.log)
		}
		api.kill()
		api = start(t, "api", settings...)
	}
	all.Wait()
	if repeated.Load() == 0 {
		t.Error("no sale had to be repeated, so no kill has interrupted one")
	}
	awaitReady(t, c, api)
	for booking, n := range bookings { // once more: each is answered with the same booking
		if n%50 == 0 {
			if again, _ := sellUntilAnswered(t, c, event, n); again != booking {
				t.Errorf("sale %d was answered with booking %s, and then with %s", n, booking, again)
			}
		}
	}
	if err := api.stop(t); err != nil {
		t.Error(err)
	}
	checkSold(t, env, sales)
	testenv.CheckInvariants(t, env.DB.Database)
	t.Logf("%d sales were repeated %d times", sales, repeated.Load())
}

// sellUntilAnswered repeats a sale with its key until it has an answer, and returns the booking's ID.
func sellUntilAnswered(t *testing.T, c *apiCaller, event string, n int) (booking string, attempts int64) {
	t.Helper()
	key := strconv.Itoa(n)
	body := map[string]any{"holder": "cart-" + key, "seats": 1, "idempotencyKey": key, "paymentReference": "ref-" + key, "amount": 100 + n}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		attempts++
		status, answer, err := c.call(context.Background(), http.MethodPost, "/api/events/"+event+"/sales", body)
		switch {
		case err == nil && (status == http.StatusCreated || status == http.StatusOK):
			id, _ := answer["id"].(string)
			return id, attempts
		case err == nil && status < http.StatusInternalServerError:
			t.Errorf("sale %d: %d %v", n, status, answer)
			return "sale " + key, attempts
		}
		delay(context.Background(), 20*time.Millisecond)
	}
	t.Errorf("sale %d had no answer", n)
	return "sale " + key, attempts
}

// checkSold asserts that each sale has one lock, booking and payment, and was told once.
func checkSold(t *testing.T, env *testenv.Env, sales int) {
	t.Helper()
	for collection, is := range map[string]bson.D{
		"seatlocks": {{Key: "status", Value: "CONSUMED"}}, "bookings": {{Key: "status", Value: "CONFIRMED"}},
		"payments": {{Key: "status", Value: "ACCEPTED"}},
	} {
		for _, filter := range []bson.D{is, {}} {
			if n, err := env.DB.Collection(collection).CountDocuments(env.Ctx(), filter); err != nil || n != int64(sales) {
				t.Errorf("%s that are %v: %d, %v; want %d", collection, filter, n, err, sales)
			}
		}
	}
	told := map[string]int{}
	for _, r := range mustFindAll[toldRecord](t, env, "changes") {
		for _, item := range r.Items {
			told[item.Type]++
		}
	}
	for _, what := range []string{"lock.created", "booking.confirmed", "payment.accepted"} {
		if told[what] != sales {
			t.Errorf("%s was told %d times, want %d: %v", what, told[what], sales, told)
		}
	}
}

func mustFindAll[T any](t *testing.T, env *testenv.Env, collection string) []T {
	t.Helper()
	found, err := findAll[T](env, collection, bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
