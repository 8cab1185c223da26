package seatctl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// webhooksCmd has the commands on endpoints of other systems, which are told of changes.
type webhooksCmd struct {
	List       listWebhooksCmd   `cmd:"" help:"List the endpoints, with how many of their deliveries are pending and dead."`
	Show       showWebhookCmd    `cmd:"" help:"Print an endpoint."`
	Create     createWebhookCmd  `cmd:"" help:"Create an endpoint, and print its ID and its secret, which is told this once."`
	Change     changeWebhookCmd  `cmd:"" help:"Change the URL or the types of an endpoint."`
	Enable     enableWebhookCmd  `cmd:"" help:"Enable an endpoint: it gets what waited when it was disabled, and the changes from now on."`
	Disable    disableWebhookCmd `cmd:"" help:"Disable an endpoint: it is told nothing."`
	Delete     deleteWebhookCmd  `cmd:"" help:"Delete an endpoint with its deliveries."`
	Rotate     rotateWebhookCmd  `cmd:"" help:"Make a new secret, and print it, which is told this once."`
	Test       testWebhookCmd    `cmd:"" help:"Send one event of the type holdfast.webhook.test from here; exit code 3 if it is refused."`
	Deliveries deliveriesCmd     `cmd:"" help:"List the deliveries of an endpoint, the newest first."`
	Replay     replayCmd         `cmd:"" help:"Deliver past changes again, with the same IDs, and print how many; at most 5000, oldest first."`
}

// endpointArg names an endpoint.
type endpointArg struct {
	ID string `arg:"" help:"ID of an endpoint."`
}

func (a endpointArg) parse() (holdfast.ID, error) {
	id, err := parseID("the endpoint", &a.ID)
	if err != nil {
		return holdfast.ID{}, err
	}
	return *id, nil
}

// exitOf is the exit code of an error: what was refused for its values is a wrong argument.
func exitOf(err error) int {
	if holdfast.HasCode(err, holdfast.CodeInvalid) {
		return exitUsage
	}
	return exitFailed
}

// maxCounted bounds the deliveries that are counted for a list.
const maxCounted = 1000

// webhookLine is an endpoint as it is printed.
type webhookLine struct {
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	Types     []string  `json:"types"`
	EventID   string    `json:"eventId,omitempty"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	Pending   int       `json:"pending"` // 1000 may be more
	Dead      int       `json:"dead"`    // 1000 may be more
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	Secret    string    `json:"secret,omitempty"` // of a new endpoint
}

func (s *session) webhookLine(ctx context.Context, e webhooks.Endpoint) (l webhookLine, err error) {
	l = webhookLine{
		ID: e.ID.String(), URL: e.URL, Types: e.Types, EventID: idOrNone(e.EventID), State: string(e.State), Reason: e.Reason,
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
	if l.Pending, err = s.countDeliveries(ctx, e.ID, webhooks.Pending); err == nil {
		l.Dead, err = s.countDeliveries(ctx, e.ID, webhooks.Dead)
	}
	return l, err
}

func (s *session) countDeliveries(ctx context.Context, endpoint holdfast.ID, state string) (int, error) {
	found, err := readPages(maxCounted, func(p holdfast.Page) ([]webhooks.Delivery, string, error) {
		return s.Webhooks.Deliveries(ctx, endpoint, state, p)
	})
	return len(found), err
}

func (s *session) printWebhooks(ctx context.Context, endpoints ...webhooks.Endpoint) (int, error) {
	var lines []webhookLine
	for _, e := range endpoints {
		line, err := s.webhookLine(ctx, e)
		if holdfast.IsNotFound(err) { // deleted meanwhile
			continue
		}
		if err != nil {
			return exitFailed, err
		}
		lines = append(lines, line)
	}
	count := func(n int) string {
		if n == maxCounted {
			return fmt.Sprintf("%d or more", n)
		}
		return fmt.Sprint(n)
	}
	columns := []any{"id", "url", "types", "event", "state", "reason", "pending", "dead", "changed"}
	return exitOK, printRows(s.out, lines, columns, func(l webhookLine) []any {
		return []any{
			l.ID, l.URL, strings.Join(l.Types, ", "), l.EventID, l.State, l.Reason, count(l.Pending), count(l.Dead), formatTime(l.UpdatedAt),
		}
	})
}

type listWebhooksCmd struct{}

func (*listWebhooksCmd) run(ctx context.Context, s *session) (int, error) {
	all, err := readPages(0, func(p holdfast.Page) ([]webhooks.Endpoint, string, error) { return s.Webhooks.List(ctx, p) })
	if err != nil {
		return exitFailed, err
	}
	return s.printWebhooks(ctx, all...)
}

type showWebhookCmd struct {
	endpointArg `embed:""`
}

func (c *showWebhookCmd) run(ctx context.Context, s *session) (int, error) {
	id, err := c.parse()
	if err != nil {
		return exitUsage, err
	}
	e, err := s.Webhooks.Get(ctx, id)
	if err != nil {
		return exitFailed, err
	}
	return s.printWebhooks(ctx, e)
}

type createWebhookCmd struct {
	URL   string   `arg:"" help:"https, port 443 or 8443, a public address; see WEBHOOK_ALLOW_PRIVATE."`
	Types []string `name:"type" required:"" help:"Types of changes, or their beginning with * at the end; comma-separated, or repeated."`
	Event *string  `help:"Changes of this event alone."`
}

func (c *createWebhookCmd) run(ctx context.Context, s *session) (int, error) {
	wanted := webhooks.NewEndpoint{URL: c.URL, Types: c.Types}
	event, err := parseID("--event", c.Event)
	if err != nil {
		return exitUsage, err
	}
	if event != nil {
		if _, err := s.Seats.GetEvent(ctx, *event); err != nil {
			return exitFailed, err
		}
		wanted.EventID = *event
	}
	e, secret, _, err := s.Webhooks.Create(ctx, wanted, holdfast.CreationKey{})
	if err != nil {
		return exitOf(err), err
	}
	line, err := s.webhookLine(ctx, e)
	if err != nil { // the secret is told this once
		line = webhookLine{ID: e.ID.String(), URL: e.URL, Types: e.Types, State: string(e.State)}
	}
	line.Secret = secret
	columns := []any{"id", "url", "types", "event", "secret"}
	return exitOK, printRows(s.out, []webhookLine{line}, columns, func(l webhookLine) []any {
		return []any{l.ID, l.URL, strings.Join(l.Types, ", "), l.EventID, l.Secret}
	})
}

type changeWebhookCmd struct {
	endpointArg `embed:""`
	URL         *string  `name:"url" help:"https, port 443 or 8443, a public address; see WEBHOOK_ALLOW_PRIVATE."`
	Types       []string `name:"type" help:"All its types from now on, as for create."`
}

// Validate is called by the parser.
func (c *changeWebhookCmd) Validate() error {
	if c.URL == nil && c.Types == nil {
		return errors.New("there is nothing to change: use --url or --type")
	}
	return nil
}

func (c *changeWebhookCmd) run(ctx context.Context, s *session) (int, error) {
	return s.updateWebhook(ctx, c.endpointArg, webhooks.Update{URL: c.URL, Types: c.Types})
}

type enableWebhookCmd struct {
	endpointArg `embed:""`
}

func (c *enableWebhookCmd) run(ctx context.Context, s *session) (int, error) {
	return s.updateWebhook(ctx, c.endpointArg, webhooks.Update{State: new(webhooks.Enabled)})
}

type disableWebhookCmd struct {
	endpointArg `embed:""`
}

func (c *disableWebhookCmd) run(ctx context.Context, s *session) (int, error) {
	return s.updateWebhook(ctx, c.endpointArg, webhooks.Update{State: new(webhooks.Disabled)})
}

func (s *session) updateWebhook(ctx context.Context, endpoint endpointArg, change webhooks.Update) (int, error) {
	id, err := endpoint.parse()
	if err != nil {
		return exitUsage, err
	}
	e, err := s.Webhooks.Update(ctx, id, change)
	if err != nil {
		return exitOf(err), err
	}
	return s.printWebhooks(ctx, e)
}

type deleteWebhookCmd struct {
	endpointArg `embed:""`
	Yes         bool `help:"Delete it without asking."`
}

func (c *deleteWebhookCmd) run(ctx context.Context, s *session) (int, error) {
	id, err := c.parse()
	if err != nil {
		return exitUsage, err
	}
	e, err := s.Webhooks.Get(ctx, id)
	if err != nil {
		return exitFailed, err
	}
	if !c.Yes {
		_, err := fmt.Fprintf(s.errs, "The endpoint %s is told nothing any more, and its deliveries are removed. "+
			"Delete it? [yes/no] ", visible(e.URL))
		if err == nil {
			err = s.awaitYes("the endpoint was not deleted")
		}
		if err != nil {
			return exitFailed, err
		}
	}
	if err := s.Webhooks.Delete(ctx, id); err != nil {
		return exitFailed, err
	}
	type line struct {
		ID  string `json:"deleted"`
		URL string `json:"url"`
	}
	return exitOK, printRows(s.out, []line{{e.ID.String(), e.URL}}, []any{"deleted", "url"}, func(l line) []any { return []any{l.ID, l.URL} })
}

type rotateWebhookCmd struct {
	endpointArg `embed:""`
	Overlap     time.Duration `default:"24h" help:"How long the former secrets are in force too; 0s ends them at once."`
}

// maxOverlap is that of the API.
const maxOverlap = 720 * time.Hour

// Validate is called by the parser.
func (c *rotateWebhookCmd) Validate() error {
	if c.Overlap < 0 || c.Overlap > maxOverlap {
		return fmt.Errorf("--overlap %s is out of range: use 0s to %s", c.Overlap, maxOverlap)
	}
	return nil
}

func (c *rotateWebhookCmd) run(ctx context.Context, s *session) (int, error) {
	id, err := c.parse()
	if err != nil {
		return exitUsage, err
	}
	secret, err := s.Webhooks.RotateSecret(ctx, id, c.Overlap)
	if err != nil {
		return exitFailed, err
	}
	type line struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	return exitOK, printRows(s.out, []line{{id.String(), secret}}, []any{"id", "secret"}, func(l line) []any { return []any{l.ID, l.Secret} })
}

type testWebhookCmd struct {
	endpointArg `embed:""`
}

func (c *testWebhookCmd) run(ctx context.Context, s *session) (int, error) {
	id, err := c.parse()
	if err != nil {
		return exitUsage, err
	}
	tested, err := s.Webhooks.Test(ctx, id)
	if err != nil {
		return exitFailed, err
	}
	type line struct {
		Status     int    `json:"status,omitempty"`
		DurationMS int64  `json:"durationMs"`
		Error      string `json:"error,omitempty"`
	}
	code := exitOK
	if tested.Error != "" {
		code = exitFindings
	}
	lines := []line{{tested.Status, tested.Duration.Milliseconds(), tested.Error}}
	return code, printRows(s.out, lines, []any{"status", "duration", "error"}, func(l line) []any {
		return []any{statusOrNone(int64(l.Status)), fmt.Sprintf("%d ms", l.DurationMS), l.Error}
	})
}

// statusOrNone is a status of an answer; 0: there was none.
func statusOrNone(status int64) string {
	if status == 0 {
		return "no answer"
	}
	return fmt.Sprint(status)
}
