package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Webhook is an endpoint of another system, to which Holdfast sends changes.
type Webhook struct {
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	Types     []string  `json:"types"`   // types of changes, or their beginning with * at the end
	EventID   string    `json:"eventId"` // "" means all events and seating plans
	State     string    `json:"state"`   // ENABLED, DISABLED
	Reason    string    `json:"reason"`  // why it is disabled: operator, gone, failures
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Secret verifies deliveries. Only CreateWebhook returns it, and only from the request that has created the endpoint.
	Secret string `json:"secret"`
}

// NewWebhook describes an endpoint for CreateWebhook.
type NewWebhook struct {
	URL            string   `json:"url"`
	Types          []string `json:"types"`
	EventID        string   `json:"eventId,omitempty"`
	IdempotencyKey string   `json:"idempotencyKey,omitempty"` // "" if the client generates one
}

// CreateWebhook creates an endpoint, which gets the changes that are committed from now on. If its Secret is "", an earlier
// attempt has created it, and the secret is in an answer that was lost: RotateWebhookSecret makes a new one. The calls on
// webhooks need a key with the scope admin.
func (c *Client) CreateWebhook(ctx context.Context, n NewWebhook) (w Webhook, err error) {
	n.IdempotencyKey = cmp.Or(n.IdempotencyKey, rand.Text())
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/webhooks", body: n}, &w)
	return w, err
}

// GetWebhook returns an endpoint.
func (c *Client) GetWebhook(ctx context.Context, id string) (Webhook, error) {
	return get[Webhook](ctx, c, "/api/webhooks/", id)
}

// ListWebhooks iterates over all endpoints, as ListEvents does.
func (c *Client) ListWebhooks(ctx context.Context) iter.Seq2[Webhook, error] {
	return listBy[Webhook](ctx, c, "/api/webhooks", nil)
}

// WebhookChange has the fields that UpdateWebhook changes; nil fields stay as they are.
type WebhookChange struct {
	URL   *string  `json:"url,omitempty"`
	Types []string `json:"types,omitempty"`
	State *string  `json:"state,omitempty"`
}

// UpdateWebhook changes an endpoint and returns it. An endpoint that is enabled again gets the changes that were not delivered before it
// was disabled, and the changes from then on. After an error without a code, and after OutcomeUnknown, it may be changed; the
// call is not repeated then.
func (c *Client) UpdateWebhook(ctx context.Context, id string, change WebhookChange) (w Webhook, err error) {
	_, err = c.call(ctx, request{method: http.MethodPatch, path: webhookPath(id, ""), body: change, notIdempotent: true}, &w)
	return w, err
}

// DeleteWebhook removes an endpoint with its deliveries. It fails with WebhookNotFound if there is none, even if an
// earlier attempt without an answer has removed it.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: webhookPath(id, "")}, nil)
	return err
}

// RotateWebhookSecret makes a new secret and returns it. The previous secrets stay valid until the overlap, in whole seconds, ends; 0
// ends them at once. It fails with WebhookLimitReached while 5 are in force, unless the overlap is 0. After an error without a code,
// and after OutcomeUnknown, there may be a secret that was not returned: call it again.
func (c *Client) RotateWebhookSecret(ctx context.Context, id string, overlap time.Duration) (secret string, err error) {
	var rotated struct {
		Secret string `json:"secret"`
	}
	body := map[string]int64{"overlapSeconds": int64(overlap / time.Second)}
	_, err = c.call(ctx, request{method: http.MethodPost, path: webhookPath(id, "/rotate-secret"), body: body, notIdempotent: true}, &rotated)
	return rotated.Secret, err
}

// WebhookTest is the result of a test.
type WebhookTest struct {
	Status     int    `json:"status"` // of the endpoint's answer; 0 if there was none
	DurationMS int64  `json:"durationMs"`
	Error      string `json:"error"` // "" if the endpoint accepted the event
}

// TestWebhook sends an endpoint one event of the type holdfast.webhook.test, also if it is disabled.
func (c *Client) TestWebhook(ctx context.Context, id string) (t WebhookTest, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: webhookPath(id, "/test"), notIdempotent: true, isLong: true}, &t)
	return t, err
}

// Delivery is the delivery of a change to an endpoint.
type Delivery struct {
	ID            string    `json:"id"`
	ChangeID      string    `json:"changeId"` // the header webhook-id of each try
	Type          string    `json:"type"`
	Subject       string    `json:"subject"`
	State         string    `json:"state"` // PENDING, DELIVERED, DEAD
	Attempts      int64     `json:"attempts"`
	NextAttemptAt time.Time `json:"nextAttemptAt"` // zero if none is planned, or an earlier change of its subject must be delivered first
	LastStatus    int       `json:"lastStatus"`    // 0 if there was no answer
}

// ListDeliveries iterates over the deliveries of an endpoint with a state, "" for all, the newest first, as ListEvents does.
func (c *Client) ListDeliveries(ctx context.Context, id, state string) iter.Seq2[Delivery, error] {
	filters := map[string]*string{}
	if state != "" {
		filters["state"] = &state
	}
	return listBy[Delivery](ctx, c, webhookPath(id, "/deliveries"), filters)
}

// Replay selects past changes for ReplayWebhook; zero fields select all.
type Replay struct {
	Since, Until time.Time // Until is exclusive
	Types        []string
	State        string // of previous deliveries: DELIVERED or DEAD; "" means also changes that were never sent
}

// ReplayWebhook plans deliveries of past changes with the same IDs as before, oldest first, and returns how many. If
// there are 5000, continue with a later Since. A repeated call plans no delivery twice that is still PENDING.
func (c *Client) ReplayWebhook(ctx context.Context, id string, r Replay) (deliveries int, err error) {
	body := map[string]any{}
	for name, at := range map[string]time.Time{"since": r.Since, "until": r.Until} {
		if !at.IsZero() {
			body[name] = at
		}
	}
	if r.Types != nil {
		body["types"] = r.Types
	}
	if r.State != "" {
		body["state"] = r.State
	}
	var planned struct {
		Deliveries int `json:"deliveries"`
	}
	_, err = c.call(ctx, request{method: http.MethodPost, path: webhookPath(id, "/replay"), body: body, isLong: true}, &planned)
	return planned.Deliveries, err
}

func webhookPath(id, action string) string { return "/api/webhooks/" + url.PathEscape(id) + action }
