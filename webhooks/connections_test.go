package webhooks_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// serveEach handles each connection, and closes it.
func serveEach(t *testing.T, listener net.Listener, secured *tls.Config, serve func(net.Conn, *bufio.Reader)) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			if secured != nil {
				c = tls.Server(c, secured)
			}
			serving.Go(func() {
				defer c.Close() //nolint:errcheck // the client may have ended it
				serve(c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
}

func readRequest(r *bufio.Reader) bool {
	request, err := http.ReadRequest(r)
	if err == nil {
		_, err = io.Copy(io.Discard, request.Body)
	}
	return err == nil
}

// script is a server that answers the requests of a connection in turn, and closes the connection after the last
// answer.
func script(t *testing.T, secured *tls.Config, answers ...string) (address string, connections, requests *atomic.Int32) {
	t.Helper()
	listener := listen(t)
	connections, requests = &atomic.Int32{}, &atomic.Int32{}
	serveEach(t, listener, secured, func(c net.Conn, reader *bufio.Reader) {
		connections.Add(1)
		for _, answer := range answers {
			if !readRequest(reader) {
				return
			}
			requests.Add(1)
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	})
	return listener.Addr().String(), connections, requests
}

// certificate returns what a server needs for TLS, and what its clients need.
func certificate(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	known := httptest.NewUnstartedServer(nil)
	known.StartTLS()
	t.Cleanup(known.Close)
	pool := x509.NewCertPool()
	pool.AddCert(known.Certificate())
	server = &tls.Config{Certificates: known.TLS.Certificates, MinVersion: tls.VersionTLS12}
	return server, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

const noContent = "HTTP/1.1 204 No Content\r\n\r\n"

// A server may close a kept connection at the moment when a request is sent. The request is then sent again, on a
// new connection.
func TestPost_AKeptConnectionThatEndsIsReplacedOnce(t *testing.T) {
	t.Parallel()
	address, connections, requests := script(t, nil, noContent, "")
	send := webhooks.NewSender(t, true, webhooks.Hooks{})
	for n := range 3 {
		if outcome, _ := send(t.Context(), "http://"+address+"/"); outcome != "delivered" {
			t.Errorf("try %d: %s", n, outcome)
		}
	}
	if connections.Load() != 3 || requests.Load() != 5 {
		t.Errorf("%d requests by %d connections, want 5 by 3", requests.Load(), connections.Load())
	}
}

// After a pause the endpoint may have closed all connections: each of as many tries gets a new one at once.
func TestPost_ABurstBehindAPauseSucceeds(t *testing.T) {
	t.Parallel()
	secured, known := certificate(t)
	for scheme, secured := range map[string]*tls.Config{"http": nil, "https": secured} {
		address, _, _ := script(t, secured, noContent) // it closes each connection behind its answer
		send := webhooks.NewSender(t, true, webhooks.Hooks{TLS: known})
		for round := range 8 {
			var tries sync.WaitGroup
			var failures atomic.Int32
			for range webhooks.MaxInFlight {
				tries.Go(func() {
					if outcome, _ := send(t.Context(), scheme+"://"+address+"/"); outcome != "delivered" {
						failures.Add(1)
					}
				})
			}
			if tries.Wait(); failures.Load() > 0 {
				t.Errorf("%s, round %d: %d tries failed", scheme, round, failures.Load())
			}
		}
	}
}

// An endpoint that closes each connection without an answer fails. One try does not repeat the request again and
// again.
func TestPost_ANewConnectionThatBreaksIsAFailure(t *testing.T) {
	t.Parallel()
	address, connections, requests := script(t, nil, "")
	send := webhooks.NewSender(t, true, webhooks.Hooks{})
	for range 3 {
		if outcome, _ := send(t.Context(), "http://"+address+"/"); outcome != "unreached" {
			t.Errorf("outcome %s, want unreached", outcome)
		}
	}
	if connections.Load() != 3 || requests.Load() != 3 {
		t.Errorf("%d requests by %d connections, want one of each in a try", requests.Load(), connections.Load())
	}
}

// The endpoint receives the URL as it was given: the path is not simplified, and a name is written as in DNS.
func TestPost_AsksForTheURLAsItIs(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- strings.Join([]string{r.Method, r.Host, r.RequestURI, r.Proto, r.Header.Get("Content-Type"), string(body)}, " ")
	}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	names, _ := resolver(t, "127.0.0.1", "127.0.0.1")
	send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: tryTimeout, Resolver: names})
	for url, want := range map[string]string{
		"http://127.0.0.1:" + port:                              "127.0.0.1:" + port + " /",
		"http://127.0.0.1:" + port + "/a//b/../c/./d":           "127.0.0.1:" + port + " /a//b/../c/./d",
		"http://127.0.0.1:" + port + "/%2F%20?x=%2F&&y=a+b&x=1": "127.0.0.1:" + port + " /%2F%20?x=%2F&&y=a+b&x=1",
		"http://127.0.0.1:" + port + "?":                        "127.0.0.1:" + port + " /?",
		"http://Hooks.example:" + port + "/ä":                   "Hooks.example:" + port + " /%C3%A4",
		"http://bücher.example:" + port + "/":                   "xn--bcher-kva.example:" + port + " /",
	} {
		if outcome, _ := send(t.Context(), url); outcome != "delivered" {
			t.Errorf("%s: %s", url, outcome)
			continue
		}
		if text := <-got; text != "POST "+want+" HTTP/1.1 application/cloudevents+json {}" {
			t.Errorf("%s\ngot  %s\nwant %s", url, text, want)
		}
	}
}

// When the context ends, a try in flight ends, and nothing is sent after that, not even on a kept connection.
func TestPost_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	arrived, ended := make(chan struct{}), make(chan struct{})
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if asked.Add(1) > 1 {
			close(arrived)
			<-r.Context().Done()
			close(ended)
		}
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	send := webhooks.NewSender(t, true, webhooks.Hooks{})
	if o, _ := send(ctx, server.URL); o != "delivered" {
		t.Errorf("before its end: %s", o)
	}
	outcome := make(chan string, 1)
	go func() {
		o, _ := send(ctx, server.URL)
		outcome <- o
	}()
	<-arrived
	cancel()
	testenv.WaitFor(t, func() bool { return len(outcome) > 0 })
	<-ended
	if o, _ := send(ctx, server.URL); o != "unreached" || asked.Load() != 2 {
		t.Errorf("after its end: %s, and %d requests", o, asked.Load())
	}
}
