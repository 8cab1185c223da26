package chaos_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Many more clients come at once than the API executes requests at a time. Every request is
// answered, /livez all the time, memory is bounded, and afterwards the API works as before.
//
// The test is not parallel: other tests would add to the load.
func TestOverload_APIServesAndRecovers(t *testing.T) {
	const overload = 6000 // clients; 4,096 requests are executed at a time
	env := testenv.New(t)
	p, c := startAPI(t, env, overload)
	target := lockTarget{user: createUser(t, c), event: createEvent(t, c, 10_000_000)}
	var before, during, after load
	rateBefore := before.run(t, c, target, 256, 2*time.Second)

	ctx, stop := context.WithCancel(t.Context())
	answered := make(chan int)
	go func() { answered <- probeLiveness(ctx, t, c) }()
	rateDuring := during.run(t, c, target, overload, 6*time.Second)
	stop()
	probes := <-answered
	rateAfter := after.run(t, c, target, 256, 2*time.Second)
	used := residentMiB(t, p)
	t.Logf("256 clients: %.0f locks/s; %d clients: %.0f locks/s, %d requests rejected, slowest answer %v; then 256 clients: %.0f locks/s; "+
		"/livez answered %d times; at most %d MiB resident", rateBefore, overload, rateDuring, during.rejected.Load(),
		time.Duration(during.slowest.Load()).Round(time.Millisecond), rateAfter, probes, used)
	// How many requests are rejected depends on how fast the clients are; httpapi tests that.
	if probes < 3 || during.granted.Load() < overload/2 || after.rejected.Load() > 0 {
		t.Error("the API did not serve enough during the overload, or did not recover")
	}
	if used > maxResidentMiB {
		t.Errorf("%d MiB resident", used)
	}
	testenv.CheckInvariants(t, env.DB.Database)
}

// probeLiveness requests /livez until ctx ends, on a new connection each time, and returns how
// often it answered 200. Any other answer fails the test.
func probeLiveness(ctx context.Context, t *testing.T, c *apiCaller) (answered int) {
	t.Helper()
	probe := &apiCaller{base: c.base, http: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	for ctx.Err() == nil {
		if status, _, _, err := probe.send(context.WithoutCancel(ctx), "GET", "/livez", nil); err != nil || status != http.StatusOK {
			t.Errorf("/livez: status %d %v", status, err)
		} else {
			answered++
		}
		delay(ctx, 100*time.Millisecond)
	}
	return answered
}
