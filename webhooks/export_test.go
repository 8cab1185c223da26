package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/clock"
)

// Hooks are for the tests with servers.
type Hooks struct {
	Resolver    *net.Resolver
	TLS         *tls.Config
	Timeout     time.Duration
	Control     func(address string) error
	BeforeWrite func() error
	AfterWrite  func() error
	MaxStored   int64
	WakeEvery   time.Duration
}

func (h Hooks) inner() hooks {
	return hooks{
		resolver: h.Resolver, tls: h.TLS, timeout: h.Timeout, control: h.Control, beforeWrite: h.BeforeWrite, afterWrite: h.AfterWrite,
		maxStored: h.MaxStored, wakeEvery: h.WakeEvery,
	}
}

// With returns the service with hooks.
func (s *Service) With(h Hooks) *Service {
	other := *s
	other.hooks = h.inner()
	return &other
}

// NewSender returns what makes tries by one sender, with its outcome and the status.
func NewSender(t testing.TB, allowPrivate bool, h Hooks) (send func(ctx context.Context, url string) (outcome string, status int)) {
	s := newSender(allowPrivate, clock.System, h.inner())
	t.Cleanup(s.close)
	return func(ctx context.Context, url string) (string, int) {
		r := s.send(ctx, url, []secret{{Text: newSecret()}}, "id", []byte("{}"))
		return r.outcome, r.status
	}
}

// Former are the patterns of former subscriptions that changes may still go by.
func (s *Service) Former(ctx context.Context, id ID) (all [][]string, err error) {
	e, err := s.Get(ctx, id)
	for _, f := range e.former {
		all = append(all, f.types)
	}
	return all, err
}

// Due reads the documents that are due, as a runner does.
func (s *Service) Due(ctx context.Context, id ID) (subjects []string, later int, err error) {
	found, err := s.due(ctx, id, clock.System(), time.Time{}, changes.Position{Seq: 1 << 40})
	for _, d := range found.first {
		subjects = append(subjects, string(d.Subject))
	}
	return subjects, len(found.later), err
}

// Plan makes changes PENDING, as a part of a replay does.
func (s *Service) Plan(ctx context.Context, id ID) (planned int, err error) {
	e, err := s.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	for past, err := range s.pastChanges(ctx, e, Replay{}) {
		if err != nil {
			return planned, err
		}
		more, err := s.plan(ctx, id, past, MaxReplayed)
		if planned += more; err != nil {
			return planned, err
		}
	}
	return planned, nil
}

// IsFailing reports whether the last try of the endpoint has failed.
func (e *Endpoint) IsFailing() bool { return e.health.isFailing() }

// MaxInFlight is the bound of tries at one endpoint.
const MaxInFlight = maxInFlight

// Claim begins a runner's term. write moves the position as its flush does; it reports whether another one has replaced it.
func (s *Service) Claim(ctx context.Context, id ID) (write func(seq int64) (isReplaced bool, err error), err error) {
	e, _, err := s.claim(ctx, id)
	return func(seq int64) (bool, error) {
		_, err := s.write(ctx, &flush{endpoint: id, epoch: e.epoch, position: changes.Position{Seq: seq}})
		if errors.Is(err, errReplaced) {
			return true, nil
		}
		return false, err
	}, err
}

// Position is the number that the endpoint is at.
func (s *Service) Position(ctx context.Context, id ID) (int64, error) {
	e, err := s.Get(ctx, id)
	return e.position.Seq, err
}
