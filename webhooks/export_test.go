package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/clock"
)

// Hooks are for the tests with servers.
type Hooks struct {
	Resolver    *net.Resolver
	TLS         *tls.Config
	Timeout     time.Duration
	BeforeWrite func() error
	Clock       clock.Clock // of the process; nil: the machine's
}

func (h Hooks) inner() hooks {
	return hooks{resolver: h.Resolver, tls: h.TLS, timeout: h.Timeout, beforeWrite: h.BeforeWrite}
}

// With returns the service with hooks.
func (s *Service) With(h Hooks) *Service {
	other := *s
	other.hooks = h.inner()
	if h.Clock != nil {
		other.clock = &databaseClock{process: h.Clock}
	}
	return &other
}

// Send makes one try, and returns the outcome and the status.
func Send(ctx context.Context, url string, allowPrivate bool, h Hooks) (outcome string, status int) {
	s := newSender(allowPrivate, clock.System, h.inner())
	defer s.close()
	r := s.send(ctx, url, []secret{{Text: newSecret()}}, "id", []byte("{}"))
	return r.outcome, r.status
}

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
