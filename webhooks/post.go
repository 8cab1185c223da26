package webhooks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

const (
	// tryTimeout bounds a try, from the DNS lookup to the headers of the response.
	tryTimeout = 15 * time.Second
	// maxAnswer is how much of a response is read, so that its connection can be used again. The content is dropped.
	maxAnswer       = 16 << 10
	maxAnswerHeader = 32 << 10
	// bodyTimeout bounds the rest of a response, after its headers. The status is known by then, and the next change
	// of the subject waits for the end of the try.
	bodyTimeout     = 500 * time.Millisecond
	idleConnTimeout = 30 * time.Second
)

// ContentType of deliveries: a CloudEvent in structured JSON.
const ContentType = "application/cloudevents+json"

// These are the outcomes of a try, in metrics and in responses.
const (
	outcomeDelivered = "delivered"
	outcomeRefused   = "refused"   // another status than 2xx
	outcomeRedirect  = "redirect"  // redirects are not followed
	outcomeTimeout   = "timeout"   // no status within tryTimeout
	outcomePrivate   = "private"   // the address is not public
	outcomeUnreached = "unreached" // no connection, or it broke
	outcomeNotMade   = "not_made"  // the event could not be made, so nothing was sent
	outcomeLost      = "lost"      // the change can't be read any more; it is not counted
)

// failures are the messages for operators. They do not contain what the endpoint or DNS answered.
var failures = map[string]string{
	outcomeDelivered: "",
	outcomeRefused:   "The endpoint answered another status than 2xx.",
	outcomeRedirect:  "The endpoint answered a redirect, which is not followed.",
	outcomeTimeout:   "The endpoint did not answer within 15 seconds.",
	outcomePrivate:   "The endpoint is not https, its address is not public, or its port is neither 443 nor 8443." + inDevelopment,
	outcomeUnreached: "No connection to the endpoint, or it ended before the answer. Check its name, its port and its certificate.",
}

// Outcomes returns the outcomes of a try, for labels of metrics.
func Outcomes() []string {
	return []string{outcomeDelivered, outcomeRefused, outcomeRedirect, outcomeTimeout, outcomePrivate, outcomeUnreached, outcomeNotMade}
}

// result is the result of a try.
type result struct {
	outcome    string
	status     int // 0: there was no answer
	retryAfter time.Duration
	took       time.Duration
	aborted    bool // by the process, which stops, or before it began: it does not count as a try
}

// poster posts to one endpoint.
type poster struct {
	transport    *http.Transport
	timeout      time.Duration
	now          mongodb.Clock
	allowPrivate bool
}

// hooks are for tests.
type hooks struct {
	Resolver    *net.Resolver
	TLS         *tls.Config
	Timeout     time.Duration                         // tryTimeout applies if it is 0
	Control     func(address string) error            // replaces the check of a connection's address
	AfterFanOut func() error                          // its error stands for a response that was lost
	Writing     func(write func() error) func() error // of results; its error stands for a process that died, or a lost answer
}

// newPoster returns a poster with connections of its own. It uses no proxy of the environment. A transport follows
// no redirect.
func (s *Service) newPoster(now mongodb.Clock) *poster {
	dialer := net.Dialer{Resolver: s.hooks.Resolver, Control: func(network, address string, c syscall.RawConn) error {
		if !s.allowPrivate {
			if err := checkConnection(network, address, c); err != nil {
				return err
			}
		}
		if s.hooks.Control != nil {
			return s.hooks.Control(address)
		}
		return nil
	}}
	config := s.hooks.TLS
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &poster{
		now: now, allowPrivate: s.allowPrivate, timeout: cmp.Or(s.hooks.Timeout, tryTimeout),
		transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: config, DisableCompression: true, MaxResponseHeaderBytes: maxAnswerHeader,
			MaxConnsPerHost: maxInFlight, MaxIdleConnsPerHost: maxInFlight, IdleConnTimeout: idleConnTimeout,
		},
	}
}

func (p *poster) close() { p.transport.CloseIdleConnections() }

// userAgent is computed once, because it reads the version from the build information of the program.
var userAgent = sync.OnceValue(func() string { return "Holdfast/" + telemetry.Version() })

// post makes one try. It keeps only the status and Retry-After of the response.
func (p *poster) post(ctx context.Context, url string, secrets []secret, id string, body []byte) (r result) {
	begun := p.now()
	defer func() { r.took = p.now.Since(begun) }()
	if checkURL(url, p.allowPrivate) != nil { // it was stored while private addresses were allowed
		return result{outcome: outcomePrivate}
	}
	try, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(try, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return result{outcome: outcomeUnreached}
	}
	request.Header.Set("Content-Type", ContentType)
	request.Header.Set("User-Agent", userAgent())
	request.Header.Set(standardwebhooks.HeaderWebhookID, id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(begun.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, sign(secrets, id, begun, body))
	// With this key, which is not sent, the transport repeats the request on a new connection if a kept one ends
	// without a response.
	request.Header["Idempotency-Key"] = []string{}
	answer, err := p.transport.RoundTrip(request)
	switch {
	case err == nil && answer.StatusCode > 0: // the status decides
		endAnswer(answer, cancel)
		return result{outcome: outcomeOf(answer.StatusCode), status: answer.StatusCode,
			retryAfter: parseRetryAfter(answer.Header.Get("Retry-After"), p.now())}
	case err == nil:
		endAnswer(answer, cancel)
		return result{outcome: outcomeUnreached}
	case ctx.Err() != nil:
		return result{outcome: outcomeUnreached, aborted: true}
	case errors.Is(err, errPrivate):
		return result{outcome: outcomePrivate}
	case isTimeout(err):
		return result{outcome: outcomeTimeout}
	default:
		return result{outcome: outcomeUnreached}
	}
}

// endAnswer reads the body of a response if it is short, so that the connection can be used again. Otherwise it
// closes the connection.
func endAnswer(answer *http.Response, cancel context.CancelFunc) {
	if answer.StatusCode >= http.StatusOK { // 101 would hand over the connection
		defer time.AfterFunc(bodyTimeout, cancel).Stop()
		_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	}
	_ = answer.Body.Close()
}

func isTimeout(err error) bool {
	var slow interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout()
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
