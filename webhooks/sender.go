package webhooks

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/valyala/fasthttp"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/version"
)

const (
	// tryTimeout bounds a try, from the search of the address to the end of the answer.
	tryTimeout = 15 * time.Second
	// maxAnswer is how much of an answer is read, so that its connection can be used again. Nothing of it is kept.
	maxAnswer       = 16 << 10
	maxAnswerHeader = 32 << 10
	// bodyTimeout is how long the rest of an answer may take, behind its headers. The status is known by then, and the next
	// change of a subject waits for the end of the try.
	bodyTimeout     = 500 * time.Millisecond
	idleConnTimeout = 30 * time.Second
)

// ContentType of deliveries: a CloudEvent in structured JSON.
const ContentType = "application/cloudevents+json"

// Why a try failed, in the metrics and in the answers.
const (
	outcomeDelivered = "delivered"
	outcomeRefused   = "refused"   // another status than 2xx
	outcomeRedirect  = "redirect"  // which is not followed
	outcomeTimeout   = "timeout"   // no status within tryTimeout
	outcomePrivate   = "private"   // the address is not public
	outcomeUnreached = "unreached" // no connection, or it broke
	outcomeNotMade   = "not_made"  // the event could not be made, so nothing was sent
)

// failures are told to operators. They have nothing of what the endpoint or DNS said.
var failures = map[string]string{
	outcomeDelivered: "",
	outcomeRefused:   "The endpoint answered another status than 2xx.",
	outcomeRedirect:  "The endpoint answered a redirect, which is not followed.",
	outcomeTimeout:   "The endpoint did not answer within 15 seconds.",
	outcomePrivate:   "The endpoint is not https, its address is not public, or its port is neither 443 nor 8443.",
	outcomeUnreached: "No connection to the endpoint, or it ended before the answer. Check its name, its port and its certificate.",
}

// Outcomes are the values of a try's outcome, for labels of metrics.
func Outcomes() []string {
	return []string{outcomeDelivered, outcomeRefused, outcomeRedirect, outcomeTimeout, outcomePrivate, outcomeUnreached, outcomeNotMade}
}

// result is how a try ended.
type result struct {
	outcome    string
	status     int // 0: there was no answer
	retryAfter time.Duration
	took       time.Duration
	aborted    bool // by the dispatcher that ends: it counts as no try
}

// isGone: the endpoint wants no deliveries any more.
func (r result) isGone() bool { return r.status == http.StatusGone }

// sender posts to one endpoint. All its tries have one context.
type sender struct {
	dialer       net.Dialer
	tls          *tls.Config
	timeout      time.Duration
	clock        clock.Clock
	allowPrivate bool

	mu     sync.Mutex
	target *target // of the last URL
}

// hooks are for tests.
type hooks struct {
	resolver    *net.Resolver
	tls         *tls.Config
	timeout     time.Duration              // 0: tryTimeout
	control     func(address string) error // of a connection that is allowed
	beforeWrite func() error               // of a flush
	afterWrite  func() error               // its error stands for an answer that was lost
	maxStored   int64                      // 0: maxDocuments
	wakeEvery   time.Duration              // 0: wakeInterval
}

func (s *Service) maxStored() int64         { return cmp.Or(s.hooks.maxStored, maxDocuments) }
func (s *Service) wakeEvery() time.Duration { return cmp.Or(s.hooks.wakeEvery, wakeInterval) }

// newSender returns a sender whose connections are its own. It uses no proxy of the environment, and follows no redirect.
func newSender(allowPrivate bool, now clock.Clock, o hooks) *sender {
	s := &sender{clock: now, allowPrivate: allowPrivate, timeout: cmp.Or(o.timeout, tryTimeout), tls: o.tls}
	s.dialer = net.Dialer{Resolver: o.resolver, Control: func(network, address string, c syscall.RawConn) error {
		if !allowPrivate {
			if err := checkConnection(network, address, c); err != nil {
				return err
			}
		}
		if o.control != nil {
			return o.control(address)
		}
		return nil
	}}
	if s.tls == nil {
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return s
}

func (s *sender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.target != nil {
		s.target.end()
	}
}

// targetOf is where a URL leads. The endpoint's URL may change.
func (s *sender) targetOf(ctx context.Context, url string) (*target, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.target != nil && s.target.url == url {
		return s.target, nil
	}
	t, err := s.newTarget(ctx, url)
	if err != nil {
		return nil, err
	}
	if s.target != nil {
		s.target.end()
	}
	s.target = t
	return t, nil
}

// userAgent is made once: the version is searched in the program.
var userAgent = sync.OnceValue(func() string { return "Holdfast/" + version.String() })

// send makes one try. Of the answer it keeps the status and Retry-After.
func (s *sender) send(ctx context.Context, url string, secrets []secret, id string, body []byte) result {
	begun := s.clock()
	r := result{outcome: outcomeUnreached}
	request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(answer)
	request.Header.SetMethod(http.MethodPost)
	request.Header.SetContentType(ContentType)
	request.Header.SetUserAgent(userAgent())
	request.Header.Set(standardwebhooks.HeaderWebhookID, id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(begun.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, sign(secrets, id, begun, body))
	request.SetBodyRaw(body)
	t, err := s.targetOf(ctx, url)
	if err == nil {
		err = ctx.Err() // kept connections may be open for a moment
	}
	if err == nil {
		err = t.exchange(request, answer, clock.Deadline(s.timeout))
	}
	r.took = s.clock.Since(begun)
	switch {
	case err == nil: // the status has decided
		r.status, r.outcome = answer.StatusCode(), outcomeOf(answer.StatusCode())
		r.retryAfter = parseRetryAfter(string(answer.Header.Peek("Retry-After")), s.clock())
	case ctx.Err() != nil:
		r.aborted = true
	case errors.Is(err, errPrivate):
		r.outcome = outcomePrivate
	case isTimeout(err):
		r.outcome = outcomeTimeout
	}
	return r
}

func outcomeOf(status int) string {
	switch status / 100 {
	case 2:
		return outcomeDelivered
	case 3:
		return outcomeRedirect
	default:
		return outcomeRefused
	}
}
