package webhooks

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
)

// Hooks are for the tests with servers.
type Hooks struct {
	Resolver    *net.Resolver
	TLS         *tls.Config
	Timeout     time.Duration
	BeforeWrite func() error
}

func (h Hooks) inner() hooks {
	return hooks{resolver: h.Resolver, tls: h.TLS, timeout: h.Timeout, beforeWrite: h.BeforeWrite}
}

// With returns the service with hooks.
func (s *Service) With(h Hooks) *Service {
	other := *s
	other.hooks = h.inner()
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
