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
	"time"

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

// serveEach serves each connection, and ends it.
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

// script is a server that answers the requests of a connection in turn, and ends the connection behind the last answer.
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

// Servers close connections that are idle for some seconds. The next try finds that out, and is no failure.
func TestTarget_ReplacesAConnectionThatTheEndpointHasClosed(t *testing.T) {
	t.Parallel()
	secured, known := certificate(t)
	for scheme, secured := range map[string]*tls.Config{"http": nil, "https": secured} {
		address, connections, requests := script(t, secured, noContent, noContent)
		send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: tryTimeout, TLS: known})
		for n := range 6 {
			if outcome, _ := send(t.Context(), scheme+"://"+address+"/"); outcome != "delivered" {
				t.Errorf("%s, try %d: %s", scheme, n, outcome)
			}
		}
		if connections.Load() != 3 || requests.Load() != 6 {
			t.Errorf("%s: %d requests by %d connections, want 6 by 3", scheme, requests.Load(), connections.Load())
		}
	}
}

// The deadline of a try is not one of its connection, which waits longer for the next one.
func TestTarget_KeepsAConnectionLongerThanATry(t *testing.T) {
	t.Parallel()
	secured, known := certificate(t)
	for scheme, secured := range map[string]*tls.Config{"http": nil, "https": secured} {
		address, connections, _ := script(t, secured, noContent, noContent, noContent)
		send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: tryTimeout, TLS: known})
		for n := range 3 {
			if outcome, _ := send(t.Context(), scheme+"://"+address+"/"); outcome != "delivered" {
				t.Errorf("%s, try %d: %s", scheme, n, outcome)
			}
			sent := time.Now()
			testenv.WaitFor(t, func() bool { return time.Since(sent) > tryTimeout })
		}
		if connections.Load() != 1 {
			t.Errorf("%s: %d connections, want 1", scheme, connections.Load())
		}
	}
}

// A server may close a kept connection at the moment when a request is sent. The request is sent once more, by a new connection.
func TestTarget_AKeptConnectionThatEndsIsReplacedOnce(t *testing.T) {
	t.Parallel()
	address, connections, requests := script(t, nil, noContent, "")
	send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: tryTimeout})
	for n := range 3 {
		if outcome, _ := send(t.Context(), "http://"+address+"/"); outcome != "delivered" {
			t.Errorf("try %d: %s", n, outcome)
		}
	}
	if connections.Load() != 3 || requests.Load() != 5 {
		t.Errorf("%d requests by %d connections, want 5 by 3", requests.Load(), connections.Load())
	}
}

// What comes on a kept connection is no answer to the next request, which was not sent yet.
func TestTarget_TakesNothingFromAnIdleConnection(t *testing.T) {
	t.Parallel()
	secured, known := certificate(t)
	for scheme, secured := range map[string]*tls.Config{"http": nil, "https": secured} {
		for name, then := range map[string]string{
			"an answer to no request": noContent,
			"it says that it closes":  "HTTP/1.0 408 Request Time-out\r\nConnection: close\r\n\r\n",
			"half of a line":          "HTTP/1.1 2",
		} {
			for _, isLate := range []bool{true, false} {
				first, late := noContent+then, ""
				if isLate {
					first, late = noContent, then
				}
				written := make(chan struct{}, 1)
				listener, requests := listen(t), &atomic.Int32{}
				serveEach(t, listener, secured, func(c net.Conn, reader *bufio.Reader) {
					for readRequest(reader) {
						requests.Add(1)
						if _, err := io.WriteString(c, first); err != nil {
							return
						}
						_, _ = io.WriteString(c, late)
						written <- struct{}{}
					}
				})
				send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: tryTimeout, TLS: known})
				for n := range 3 {
					if outcome, _ := send(t.Context(), scheme+"://"+listener.Addr().String()+"/"); outcome != "delivered" {
						t.Errorf("%s, %s, late %t, try %d: %s", scheme, name, isLate, n, outcome)
					}
					<-written
				}
				if requests.Load() != 3 {
					t.Errorf("%s, %s, late %t: %d requests, want 3", scheme, name, isLate, requests.Load())
				}
			}
		}
	}
}

// corked holds back what is written while it is on, so that it comes at once.
type corked struct {
	net.Conn

	isOn bool
	held []byte
}

func (c *corked) Write(b []byte) (int, error) {
	if !c.isOn {
		return c.Conn.Write(b)
	}
	c.held = append(c.held, b...)
	return len(b), nil
}

// TLS reads what has come, also what is behind the record of an answer. It is not seen on the socket any more.
func TestTarget_TakesNothingThatTLSHasRead(t *testing.T) {
	t.Parallel()
	secured, known := certificate(t)
	listener, requests := listen(t), &atomic.Int32{}
	serveEach(t, listener, nil, func(c net.Conn, _ *bufio.Reader) {
		cork := &corked{Conn: c}
		s := tls.Server(cork, secured)
		for r := bufio.NewReader(s); readRequest(r); {
			requests.Add(1)
			cork.isOn, cork.held = true, nil
			_, _ = io.WriteString(s, noContent)
			_, _ = io.WriteString(s, noContent)
			cork.isOn = false
			if _, err := cork.Write(cork.held); err != nil {
				return
			}
		}
	})
	send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: tryTimeout, TLS: known})
	for n := range 3 {
		if outcome, _ := send(t.Context(), "https://"+listener.Addr().String()+"/"); outcome != "delivered" || int(requests.Load()) != n+1 {
			t.Errorf("try %d: %s, and %d requests", n, outcome, requests.Load())
		}
	}
}

// After a pause the endpoint may have closed all connections: each of as many tries gets a new one at once.
func TestTarget_ABurstBehindAPauseSucceeds(t *testing.T) {
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

// An endpoint that ends each connection without an answer fails: it is not asked again and again in one try.
func TestTarget_ANewConnectionThatBreaksIsAFailure(t *testing.T) {
	t.Parallel()
	address, connections, requests := script(t, nil, "")
	send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: tryTimeout})
	for range 3 {
		if outcome, _ := send(t.Context(), "http://"+address+"/"); outcome != "unreached" {
			t.Errorf("outcome %s, want unreached", outcome)
		}
	}
	if connections.Load() != 3 || requests.Load() != 3 {
		t.Errorf("%d requests by %d connections, want one of each in a try", requests.Load(), connections.Load())
	}
}

// A connection is used again if the whole answer was read, and only then: what is left of a long one, or what follows a
// switch of protocols, would be taken for the next answer.
func TestTarget_UsesAConnectionAgainOnlyBehindAWholeAnswer(t *testing.T) {
	t.Parallel()
	const ok, hints = "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
	for name, c := range map[string]struct {
		answer      string
		connections int32
	}{
		"no body":          {noContent, 1},
		"an empty body":    {ok + "Content-Length: 0\r\n\r\n", 1},
		"a short body":     {ok + "Content-Length: 2\r\n\r\nOK", 1},
		"chunks":           {ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nOK\r\n0\r\n\r\n", 1},
		"hints first":      {hints + ok + "Content-Length: 2\r\n\r\nOK", 1},
		"it says close":    {ok + "Connection: close\r\nContent-Length: 2\r\n\r\nOK", 2},
		"HTTP/1.0":         {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nOK", 2},
		"a long body":      {ok + "Content-Length: 40000\r\n\r\n" + strings.Repeat("x", 40000), 2},
		"other protocols":  {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", 2},
		"a length that is": {ok + "Content-Length: no\r\n\r\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, connections, requests := script(t, nil, c.answer, c.answer)
			send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: tryTimeout})
			for range 2 {
				send(t.Context(), "http://"+address+"/")
			}
			if connections.Load() != c.connections || requests.Load() != 2 {
				t.Errorf("%d requests by %d connections, want 2 by %d", requests.Load(), connections.Load(), c.connections)
			}
		})
	}
}

// The status decides, and it is known: a body that does not end holds up neither the try nor its subject.
func TestTarget_WaitsForNoBodyThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	listener, isOver := listen(t), make(chan struct{})
	serveEach(t, listener, nil, func(c net.Conn, reader *bufio.Reader) {
		if !readRequest(reader) {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx")
		<-isOver
	})
	const timeout = 5 * time.Minute
	send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: timeout})
	done := make(chan string)
	go func() {
		outcome, _ := send(t.Context(), "http://"+listener.Addr().String()+"/")
		done <- outcome
	}()
	select {
	case outcome := <-done:
		if outcome != "delivered" {
			t.Errorf("outcome %s, want delivered", outcome)
		}
	case <-time.After(timeout / 10):
		t.Error("the try waits for the body")
	}
	close(isOver)
}

// The endpoint gets the URL as it was given: a path is not made simpler, and a name is written as DNS has it.
func TestTarget_AsksForTheURLAsItIs(t *testing.T) {
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

// An endpoint may get another URL.
func TestTarget_AnotherURLIsAnotherTarget(t *testing.T) {
	t.Parallel()
	var asked [2]atomic.Int32
	var urls [2]string
	for i := range urls {
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked[i].Add(1) }))
		t.Cleanup(server.Close)
		urls[i] = server.URL
	}
	send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: tryTimeout})
	for n := range 5 {
		if outcome, _ := send(t.Context(), urls[n%2]); outcome != "delivered" {
			t.Errorf("try %d: %s", n, outcome)
		}
	}
	if asked[0].Load() != 3 || asked[1].Load() != 2 {
		t.Errorf("%d and %d requests, want 3 and 2", asked[0].Load(), asked[1].Load())
	}
}

// The end of the context ends a try in flight, and nothing is sent after it, not even by a connection that was kept.
func TestTarget_EndsWithItsContext(t *testing.T) {
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
	kept, _, requests := script(t, nil, noContent, noContent)
	ctx, cancel = context.WithCancel(t.Context())
	send = webhooks.NewSender(t, true, webhooks.Hooks{})
	if o, _ := send(ctx, "http://"+kept); o != "delivered" {
		t.Errorf("before its end: %s", o)
	}
	cancel()
	if o, _ := send(ctx, "http://"+kept); o != "unreached" || requests.Load() != 1 {
		t.Errorf("after its end: %s, and %d requests", o, requests.Load())
	}
}
