package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

func TestClient_ManagesWebhooks(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	var status atomic.Int64
	status.Store(http.StatusTeapot)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	t.Cleanup(endpoint.Close)
	event, _ := s.createSale(t)
	wanted := client.NewWebhook{URL: endpoint.URL, Types: []string{"holdfast.event.*"}, EventID: event.ID, IdempotencyKey: "k"}
	made, err := s.CreateWebhook(ctx, wanted)
	if err != nil || made.Secret == "" || made.State != "ENABLED" || made.EventID != event.ID || made.URL != wanted.URL ||
		made.CreatedAt.IsZero() {
		t.Fatalf("%+v, %v", made, err)
	}
	if again, err := s.CreateWebhook(ctx, wanted); err != nil || again.ID != made.ID || again.Secret != "" {
		t.Errorf("%+v, %v", again, err)
	}
	_, err = s.CreateWebhook(ctx, client.NewWebhook{URL: endpoint.URL, Types: []string{"holdfast.nothing"}})
	if !client.Is(err, client.ValidationFailed) {
		t.Error(err)
	}
	for range 2 {
		secret, err := s.RotateWebhookSecret(ctx, made.ID, 0)
		if err != nil || secret == "" || secret == made.Secret {
			t.Errorf("%q, %v", secret, err)
		}
	}
	if tested, err := s.TestWebhook(ctx, made.ID); err != nil || tested.Status != http.StatusTeapot || tested.Error == "" {
		t.Errorf("%+v, %v", tested, err)
	}
	status.Store(http.StatusNoContent)
	if tested, err := s.TestWebhook(ctx, made.ID); err != nil || tested.Status != http.StatusNoContent || tested.Error != "" {
		t.Errorf("%+v, %v", tested, err)
	}
	change := client.WebhookChange{URL: new(endpoint.URL + "/hook"), Types: []string{"*"}, State: new("DISABLED")}
	changed, err := s.UpdateWebhook(ctx, made.ID, change)
	if err != nil || changed.State != "DISABLED" || changed.Reason != "operator" || changed.URL != endpoint.URL+"/hook" ||
		!slices.Equal(changed.Types, []string{"*"}) {
		t.Errorf("%+v, %v", changed, err)
	}
	if got, err := s.GetWebhook(ctx, made.ID); err != nil || got.State != "DISABLED" || got.Secret != "" {
		t.Errorf("%+v, %v", got, err)
	}
	listed := 0
	for w, err := range s.ListWebhooks(ctx) {
		if listed++; err != nil || w.ID != made.ID {
			t.Errorf("%+v, %v", w, err)
		}
	}
	if listed != 1 {
		t.Errorf("listed %d", listed)
	}
	if err := s.DeleteWebhook(ctx, made.ID); err != nil {
		t.Error(err)
	}
	if err := s.DeleteWebhook(ctx, made.ID); !client.Is(err, client.WebhookNotFound) {
		t.Error(err)
	}
}

func TestClient_ReplaysChanges(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	before := time.Now().Add(-time.Hour)
	event, _ := s.createSale(t)
	made, err := s.CreateWebhook(ctx, client.NewWebhook{URL: "https://shop.example/", Types: []string{"holdfast.event.*"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		replay client.Replay
		want   int
	}{
		{client.Replay{Since: time.Now().Add(time.Hour)}, 0},
		{client.Replay{Until: before}, 0},
		{client.Replay{Types: []string{"holdfast.event.changed"}}, 0},
		{client.Replay{State: "DEAD"}, 0},
		{client.Replay{Since: before, Until: time.Now().Add(time.Hour), Types: []string{"holdfast.event.created"}}, 1},
		{client.Replay{}, 0}, // it is pending
	} {
		if n, err := s.ReplayWebhook(ctx, made.ID, r.replay); err != nil || n != r.want {
			t.Errorf("%+v: %d, %v", r.replay, n, err)
		}
	}
	for state, want := range map[string]int{"": 1, "PENDING": 1, "DELIVERED": 0, "DEAD": 0} {
		n := 0
		for d, err := range s.ListDeliveries(ctx, made.ID, state) {
			if n++; err != nil || d.Subject != "events/"+event.ID || d.Type != "holdfast.event.created" || d.State != "PENDING" ||
				d.ID == "" || d.ChangeID == "" || d.NextAttemptAt.IsZero() {
				t.Errorf("%+v, %v", d, err)
			}
		}
		if n != want {
			t.Errorf("%d deliveries are %q", n, state)
		}
	}
	if _, err := s.ReplayWebhook(ctx, mongodb.NewID().String(), client.Replay{}); !client.Is(err, client.WebhookNotFound) {
		t.Error(err)
	}
}
