package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/webhooks"
)

const (
	// maxWebhookActions bounds tests and replays at the same time, and webhookTimeout each of them: a test waits 15 s for an
	// endpoint.
	maxWebhookActions = 4
	webhookTimeout    = 25 * time.Second

	defaultOverlap = 24 * time.Hour

	// webhooksTag marks the operations on endpoints. The audit keeps the ones that may change something.
	webhooksTag = "Webhooks"
)

// WebhookBody is an endpoint. It is exported because the document leaves out embedded types that are not.
type WebhookBody struct {
	ID        string   `json:"id"`
	URL       string   `json:"url"`
	Types     []string `json:"types" nullable:"false"`
	EventID   string   `json:"eventId,omitempty" doc:"If absent, changes of all events and seating plans are sent."`
	State     string   `json:"state" enum:"ENABLED,DISABLED"`
	Reason    string   `json:"reason,omitempty" enum:"operator,gone,failures" doc:"Why the endpoint is disabled."`
	CreatedAt string   `json:"createdAt" format:"date-time"`
	UpdatedAt string   `json:"updatedAt,omitempty" format:"date-time"`
}

func newWebhookBody(e webhooks.Endpoint) WebhookBody {
	return WebhookBody{
		ID: e.ID.String(), URL: e.URL, Types: newBodies(e.Types, func(t string) string { return t }), EventID: formatID(e.EventID),
		State: string(e.State), Reason: e.Reason, CreatedAt: formatTime(e.CreatedAt), UpdatedAt: formatTime(e.UpdatedAt),
	}
}

// createdWebhookBody is the only answer with an endpoint and its secret.
type createdWebhookBody struct {
	WebhookBody
	Secret string `json:"secret,omitempty" doc:"Only the first answer has it. A repeat does not; rotate the secret then."`
}

type newWebhook struct {
	IdempotencyHeader
	Body struct {
		URL            string   `json:"url" minLength:"1" maxLength:"2000" doc:"https on port 443 or 8443, with a public address."`
		Types          []string `json:"types" minItems:"1" maxItems:"50" doc:"Types of changes, or their beginning with * at the end."`
		EventID        string   `json:"eventId,omitempty" nullable:"true" pattern:"^[0-9a-fA-F]{24}$" doc:"Send the changes of this event only."`
		IdempotencyKey string   `json:"idempotencyKey,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"Per API key, for 24 h."`
	}
}

type webhookUpdate struct {
	PathID
	Body struct {
		URL   changeOf[string]   `json:"url,omitempty" minLength:"1" maxLength:"2000"`
		Types changeOf[[]string] `json:"types,omitempty" minItems:"1" maxItems:"50"`
		State changeOf[string]   `json:"state,omitempty" enum:"ENABLED,DISABLED"`
	}
}

type secretRotation struct {
	PathID
	Body *struct {
		OverlapSeconds *int64 `json:"overlapSeconds,omitempty" nullable:"true" minimum:"0" maximum:"2592000" doc:"86400 if absent."`
	}
}

type secretBody struct {
	Secret string `json:"secret" doc:"Only this answer has it."`
}

type webhookTestBody struct {
	Status     int    `json:"status,omitempty" doc:"The status of the endpoint's answer. Absent if there was no answer."`
	DurationMS int64  `json:"durationMs"`
	Error      string `json:"error,omitempty" doc:"Absent if the endpoint accepted the event."`
}

type deliveryFilter struct {
	PathID
	PageQuery
	FilterQuery
	State string `query:"state" enum:"PENDING,DELIVERED,DEAD"`
}

type deliveryBody struct {
	ID            string `json:"id"`
	ChangeID      string `json:"changeId" doc:"The id of the change, and the header webhook-id of each try."`
	Type          string `json:"type"`
	Subject       string `json:"subject"`
	State         string `json:"state" enum:"PENDING,DELIVERED,DEAD"`
	Attempts      int64  `json:"attempts"`
	NextAttemptAt string `json:"nextAttemptAt,omitempty" format:"date-time" doc:"Only of a PENDING delivery that is the first of its subject."`
	LastStatus    int64  `json:"lastStatus,omitempty" doc:"The status of the last answer. Absent if there was no answer."`
}

func newDeliveryBody(d webhooks.Delivery) deliveryBody {
	body := deliveryBody{
		ID: d.ID.String(), ChangeID: d.ChangeID, Type: d.Type, Subject: d.Subject, State: d.State, Attempts: d.Attempts, LastStatus: d.LastStatus,
	}
	if d.State == webhooks.Pending {
		body.NextAttemptAt = formatTime(d.NextAttemptAt)
	}
	return body
}

type webhookReplay struct {
	PathID
	Body *struct {
		Since *timestamp `json:"since,omitempty" nullable:"true" doc:"Only changes of this time or later."`
		Until *timestamp `json:"until,omitempty" nullable:"true" doc:"Only changes before this time."`
		Types []string   `json:"types,omitempty" nullable:"true" minItems:"1" maxItems:"50" doc:"The endpoint's types if absent."`
		State string     `json:"state,omitempty" nullable:"true" enum:"DELIVERED,DEAD" doc:"If absent, also changes that were not sent."`
	}
}

type replayBody struct {
	Deliveries int `json:"deliveries" doc:"Number of deliveries that are planned, at most 5000, oldest first."`
}

func (a *api) registerWebhookRoutes() {
	tags, notFound := []string{webhooksTag}, []int{http.StatusNotFound}
	route(a, huma.Operation{
		OperationID: "create-webhook", Method: http.MethodPost, Path: "/api/webhooks", Tags: tags, Summary: "Create an endpoint",
		Description: "It gets each change of its types that is committed from now on, as the CloudEvent that GET /api/changes lists, " +
			"signed by the Standard Webhooks specification. There are at most 50 endpoints. " +
			"The same request with the same idempotency key returns the endpoint that the first one created, without its secret.",
		DefaultStatus: http.StatusCreated, Errors: []int{http.StatusConflict},
	}, config.ScopeAdmin, a.createWebhook)
	route(a, huma.Operation{
		OperationID: "list-webhooks", Method: http.MethodGet, Path: "/api/webhooks", Tags: tags, Summary: "List endpoints",
	}, config.ScopeAdmin, func(ctx context.Context, in *PageQuery) (*list[WebhookBody], error) {
		endpoints, next, err := a.Webhooks.List(ctx, in.page())
		return newList(endpoints, next, newWebhookBody), err
	})
	route(a, huma.Operation{
		OperationID: "get-webhook", Method: http.MethodGet, Path: "/api/webhooks/{id}", Tags: tags, Summary: "Get an endpoint", Errors: notFound,
	}, config.ScopeAdmin, func(ctx context.Context, in *PathID) (*found[WebhookBody], error) {
		e, err := a.Webhooks.Get(ctx, parseID(in.ID))
		return &found[WebhookBody]{Body: newWebhookBody(e)}, err
	})
	route(a, huma.Operation{
		OperationID: "update-webhook", Method: http.MethodPatch, Path: "/api/webhooks/{id}", Tags: tags, Summary: "Change an endpoint",
		Description: "A disabled endpoint gets nothing. When it is enabled again it gets what had not been delivered of the time " +
			"before it was disabled, and the changes from then on; the changes between are for a replay.", Errors: notFound,
	}, config.ScopeAdmin, a.updateWebhook)
	route(a, huma.Operation{
		OperationID: "delete-webhook", Method: http.MethodDelete, Path: "/api/webhooks/{id}", Tags: tags,
		Summary: "Delete an endpoint and its deliveries", DefaultStatus: http.StatusNoContent, Errors: notFound,
	}, config.ScopeAdmin, func(ctx context.Context, in *PathID) (*struct{}, error) {
		return nil, a.Webhooks.Delete(ctx, parseID(in.ID))
	})
	route(a, huma.Operation{
		OperationID: "rotate-webhook-secret", Method: http.MethodPost, Path: "/api/webhooks/{id}/rotate-secret", Tags: tags,
		Summary: "Make a new secret",
		Description: "The previous secrets sign too until the overlap ends; 0 ends them at once. At most 5 are in force: one more is " +
			"refused unless the overlap is 0.", Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeAdmin, a.rotateWebhookSecret)
	a.registerDeliveryRoutes(tags, notFound)
}

func (a *api) registerDeliveryRoutes(tags []string, notFound []int) {
	route(a, huma.Operation{
		OperationID: "test-webhook", Method: http.MethodPost, Path: "/api/webhooks/{id}/test", Tags: tags, Summary: "Send a test event",
		Description: "One try with an event of the type holdfast.webhook.test, also to a disabled endpoint.", Errors: notFound,
		Metadata: map[string]any{metadataTimeout: webhookTimeout, metadataIsLong: true},
	}, config.ScopeAdmin, a.testWebhook)
	route(a, huma.Operation{
		OperationID: "list-deliveries", Method: http.MethodGet, Path: "/api/webhooks/{id}/deliveries", Tags: tags,
		Summary:     "List the deliveries of an endpoint",
		Description: "Those of the newest changes first. What was delivered or is DEAD is kept as long as the changes.", Errors: notFound,
	}, config.ScopeAdmin, func(ctx context.Context, in *deliveryFilter) (*list[deliveryBody], error) {
		deliveries, next, err := a.Webhooks.Deliveries(ctx, parseID(in.ID), in.State, in.page())
		return newList(deliveries, next, newDeliveryBody), err
	})
	route(a, huma.Operation{
		OperationID: "replay-webhook", Method: http.MethodPost, Path: "/api/webhooks/{id}/replay", Tags: tags,
		Summary: "Deliver past changes again",
		Description: "With the same IDs as before, at most 5000, oldest first: if so many are planned, go on with a later since. " +
			"What is PENDING is left as it is.",
		DefaultStatus: http.StatusAccepted, Errors: notFound, Metadata: map[string]any{metadataTimeout: webhookTimeout, metadataIsLong: true},
	}, config.ScopeAdmin, a.replayWebhook)
}

func (a *api) createWebhook(ctx context.Context, in *newWebhook) (*created[createdWebhookBody], error) {
	key, err := in.creationKey(ctx, in.Body.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	if in.Body.EventID != "" {
		if _, err := a.Seats.GetEvent(ctx, parseID(in.Body.EventID)); err != nil {
			return nil, err
		}
	}
	wanted := webhooks.NewEndpoint{URL: in.Body.URL, Types: in.Body.Types, EventID: parseID(in.Body.EventID)}
	e, secret, replayed, err := a.Webhooks.Create(ctx, wanted, key)
	return newCreated("/api/webhooks/", e.ID, replayed, createdWebhookBody{newWebhookBody(e), secret}), err
}

func (a *api) updateWebhook(ctx context.Context, in *webhookUpdate) (*found[WebhookBody], error) {
	u := webhooks.Update{URL: in.Body.URL.to}
	if types := in.Body.Types.to; types != nil {
		u.Types = *types
	}
	if state := in.Body.State.to; state != nil {
		u.State = new(webhooks.State(*state))
	}
	e, err := a.Webhooks.Update(ctx, parseID(in.ID), u)
	return &found[WebhookBody]{Body: newWebhookBody(e)}, err
}

func (a *api) rotateWebhookSecret(ctx context.Context, in *secretRotation) (*found[secretBody], error) {
	overlap := defaultOverlap
	if in.Body != nil && in.Body.OverlapSeconds != nil {
		overlap = time.Duration(*in.Body.OverlapSeconds) * time.Second
	}
	secret, err := a.Webhooks.RotateSecret(ctx, parseID(in.ID), overlap)
	return &found[secretBody]{Body: secretBody{Secret: secret}}, err
}

func (a *api) testWebhook(ctx context.Context, in *PathID) (*found[webhookTestBody], error) {
	if err := a.webhookSemaphore.acquire(ctx, "Webhooks"); err != nil {
		return nil, err
	}
	defer a.webhookSemaphore.release()
	tested, err := a.Webhooks.Test(ctx, parseID(in.ID))
	return &found[webhookTestBody]{Body: webhookTestBody{
		Status: tested.Status, DurationMS: tested.Duration.Milliseconds(), Error: tested.Error,
	}}, err
}

func (a *api) replayWebhook(ctx context.Context, in *webhookReplay) (*found[replayBody], error) {
	if err := a.webhookSemaphore.acquire(ctx, "Webhooks"); err != nil {
		return nil, err
	}
	defer a.webhookSemaphore.release()
	var r webhooks.Replay
	if b := in.Body; b != nil {
		r.Types, r.State = b.Types, b.State
		if b.Since != nil {
			r.Since = b.Since.utc()
		}
		if b.Until != nil {
			r.Until = b.Until.utc()
		}
	}
	n, err := a.Webhooks.Replay(ctx, parseID(in.ID), r)
	return &found[replayBody]{Body: replayBody{Deliveries: n}}, err
}
