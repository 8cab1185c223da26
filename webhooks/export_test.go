package webhooks

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Hooks are for the tests with servers.
type Hooks = hooks

// With returns the service with hooks.
func (s *Service) With(h Hooks) *Service {
	other := *s
	other.hooks = h
	return &other
}

// NewSender returns a function that makes tries by one poster, and returns the outcome and the status.
func NewSender(t testing.TB, allowPrivate bool, h Hooks) (send func(ctx context.Context, url string) (outcome string, status int)) {
	p := (&Service{allowPrivate: allowPrivate, hooks: h}).newPoster(mongodb.SystemTime)
	t.Cleanup(p.close)
	return func(ctx context.Context, url string) (string, int) {
		r := p.post(ctx, url, []secret{{Text: newSecret()}}, "id", []byte("{}"))
		return r.outcome, r.status
	}
}

// FanOut fans out the committed changes.
func (s *Service) FanOut(ctx context.Context) error {
	_, _, err := s.catchUp(ctx)
	return err
}

// Cursor returns the position up to which the changes are fanned out.
func (s *Service) Cursor(ctx context.Context) (changes.Position, error) {
	c, err := s.readCursor(ctx, changes.Position{})
	return c.position(), err
}

// IsFailing reports whether the last try of the endpoint has failed.
func (e *Endpoint) IsFailing() bool { return !e.Internal.FailingSince.IsZero() }

// MaxInFlight is the bound of tries at one endpoint.
const MaxInFlight = maxInFlight

// StopTimeout bounds the tries in flight when a process stops.
const StopTimeout = stopTimeout

// MaxEarly bounds the deliveries of a round that were tried before.
const MaxEarly = maxEarly

// DueSubjects returns the subjects of an endpoint that accepts deliveries, as a round of its sender finds them.
func (s *Service) DueSubjects(ctx context.Context, id ID, limit int) ([]string, error) {
	e, err := s.get(ctx, id)
	if err != nil {
		return nil, err
	}
	d := s.NewDispatcher(nil, Observer{}, nil)
	if d.now, err = d.clock(ctx); err != nil {
		return nil, err
	}
	sender := d.newSender(&e, s.db.Log())
	defer sender.poster.close()
	return sender.dueSubjects(ctx, d.now(), limit)
}
