package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// The leader sends changes to endpoints. A manual run sends the changes that exist, and ends.
func TestWebhooks_AreToldByTheProcessThatLeads(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	a.Webhooks = webhooks.New(a.DB, a.Changes, true)
	a.Boot(t.Context())
	var mu sync.Mutex
	got := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Header.Get("webhook-id")] = true
	}))
	t.Cleanup(server.Close)
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(got)
	}
	disabled := webhooks.Disabled
	for _, state := range []*webhooks.State{nil, &disabled} {
		e, _, _, err := a.Webhooks.Create(t.Context(), webhooks.NewEndpoint{URL: server.URL, Types: []string{"*"}}, holdfast.CreationKey{})
		if err == nil && state != nil {
			_, err = a.Webhooks.Update(t.Context(), e.ID, webhooks.Update{State: state})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.Event(10)
	if _, err := a.RunManually(t.Context(), "changes"); err != nil {
		t.Fatal(err)
	}
	if result, err := a.RunManually(t.Context(), "webhooks"); err != nil || result.Applied != 1 || count() != 1 {
		t.Errorf("%+v, %v; told %d", result, err, count())
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- a.Jobs.Schedule(ctx) }()
	w.Event(10)
	testenv.WaitFor(t, func() bool { return count() == 2 })
	for labels, want := range map[[2]string]float64{
		{"enabled", ""}: 1, {"disabled", webhooks.ReasonOperator}: 1, {"disabled", webhooks.ReasonGone}: 0,
		{"disabled", webhooks.ReasonFailures}: 0,
	} {
		testenv.WaitFor(t, func() bool {
			return testutil.ToFloat64(a.Metrics.WebhookEndpoints.WithLabelValues(labels[:]...)) == want
		})
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if tries := testutil.ToFloat64(a.Metrics.WebhookTries.WithLabelValues("delivered")); tries != 2 {
		t.Errorf("%v tries", tries)
	}
}
