package app

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// tellWebhooks sends changes to endpoints as long as its process leads. A manual run ends when each endpoint has got the
// changes that waited, or has failed.
func (a *App) tellWebhooks(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	encode := httpapi.NewChangeEncoder(httpapi.Services{Seats: a.Seats, Plans: a.Plans, Changes: a.Changes, Log: a.Log})
	metrics := a.Metrics
	d := a.Webhooks.NewDispatcher(encode, webhooks.Observer{
		FirstTry: func(lag time.Duration) { metrics.WebhookLag.Observe(lag.Seconds()) },
		Tried:    func(outcome string) { metrics.WebhookTries.WithLabelValues(outcome).Inc() },
		Totals: func(t webhooks.Totals) {
			metrics.WebhookEndpoints.WithLabelValues("enabled", "").Set(float64(t.Enabled))
			for _, reason := range webhooks.Reasons() {
				metrics.WebhookEndpoints.WithLabelValues("disabled", reason).Set(float64(t.Disabled[reason]))
			}
			metrics.WebhookDeliveries.WithLabelValues("pending").Set(float64(t.Pending))
			metrics.WebhookDeliveries.WithLabelValues("dead").Set(float64(t.Dead))
			metrics.WebhookBacklog.Set(float64(t.Backlog))
		},
	}, jobs.ErrLeaseLost)
	err := d.Run(ctx, run.Log, run.Trigger == jobs.Manual)
	metrics.ForgetWebhooks() // another process may lead
	counts := jobs.Counts{Found: d.Counts().Delivered + d.Counts().Failed, Applied: d.Counts().Delivered,
		Skipped: d.Counts().Dead, Errors: d.Counts().Failed}
	if cause := context.Cause(ctx); errors.Is(cause, jobs.ErrLeaseLost) {
		return counts, cause
	}
	if ctx.Err() != nil { // the next leader goes on
		return counts, nil
	}
	return counts, err
}
