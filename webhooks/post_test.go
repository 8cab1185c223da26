package webhooks_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// resolver answers DNS queries for addresses: the first one with one address, later ones with another.
func resolver(t *testing.T, first, then string) (r *net.Resolver, questions *atomic.Int32) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	questions = &atomic.Int32{}
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := listener.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			q := m.Questions[0]
			address := first
			if q.Type == dnsmessage.TypeA {
				if questions.Add(1) > 1 {
					address = then
				}
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(address).As4()},
				}}
			}
			if answer, err := m.Pack(); err == nil {
				_, _ = listener.WriteTo(answer, from) // the client asks again
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", listener.LocalAddr().String())
	}}, questions
}

// With DNS rebinding, DNS first answers a public address and then a private one, so the address of each connection
// is checked. The test makes no real connection: it ends those that are allowed.
func TestSender_ChecksTheAddressOfEachConnection(t *testing.T) {
	t.Parallel()
	for _, private := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "192.168.0.1", "0.0.0.0", "255.255.255.255"} {
		r, questions := resolver(t, "93.184.216.34", private)
		var connected []string
		send := webhooks.NewSender(t, false, webhooks.Hooks{Resolver: r, Timeout: tryTimeout, Control: func(address string) error {
			connected = append(connected, address)
			return errors.New("no test connects to the Internet")
		}})
		if outcome, _ := send(t.Context(), "https://rebound.example.com/"); outcome != "unreached" {
			t.Errorf("a public address: %s", outcome)
		}
		for range 2 {
			if outcome, _ := send(t.Context(), "https://rebound.example.com/"); outcome != "private" {
				t.Errorf("%s: %s", private, outcome)
			}
		}
		if !slices.Equal(connected, []string{"93.184.216.34:443"}) || questions.Load() < 3 {
			t.Errorf("%s: connections to %v; %d questions", private, connected, questions.Load())
		}
	}
}

func TestSender_RefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	send := webhooks.NewSender(t, false, webhooks.Hooks{Timeout: tryTimeout, Control: func(address string) error {
		t.Errorf("a connection to %s", address)
		return errors.New("it is not made")
	}})
	for _, url := range []string{"https://127.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/",
		"https://localhost/", "https://LOCALHOST/", "https://\uff11\uff12\uff17.0.0.1/", "https://[fe80::1%25lo]/", "https://8.8.8.8:25/"} {
		if outcome, status := send(t.Context(), url); outcome != "private" || status != 0 {
			t.Errorf("%s: %s, %d", url, outcome, status)
		}
	}
	for _, url := range []string{"https://2130706433/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.1/", "https://127.0.0.1./"} {
		if outcome, _ := send(t.Context(), url); outcome != "private" && outcome != "unreached" && outcome != "timeout" { // by the resolver
			t.Errorf("%s: %s", url, outcome)
		}
	}
}

// A proxy of the environment would see the deliveries, and could connect to any address.
func TestSender_UsesNoProxyOfTheEnvironment(t *testing.T) {
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: tryTimeout})
	for _, url := range []string{"http://hooks.invalid/", "https://hooks.invalid/"} {
		if outcome, _ := send(t.Context(), url); outcome == "delivered" || asked.Load() > 0 {
			t.Errorf("%s: %s, and the proxy was asked %d times", url, outcome, asked.Load())
		}
	}
}

func TestSender_VerifiesCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of handshakes
	server.StartTLS()
	t.Cleanup(server.Close)
	if outcome, _ := webhooks.NewSender(t, true, webhooks.Hooks{})(t.Context(), server.URL); outcome != "unreached" {
		t.Errorf("a certificate of nobody: %s", outcome)
	}
	known := x509.NewCertPool()
	known.AddCert(server.Certificate())
	config := &tls.Config{RootCAs: known, MinVersion: tls.VersionTLS12}
	send := webhooks.NewSender(t, true, webhooks.Hooks{TLS: config})
	if outcome, status := send(t.Context(), server.URL); outcome != "delivered" || status != 204 {
		t.Errorf("a known one: %s, %d", outcome, status)
	}
	other := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	if outcome, _ := send(t.Context(), other); outcome != "unreached" {
		t.Errorf("a certificate of another name: %s", outcome)
	}
}

// An endpoint may send a response that no server should send. A try ends in time, and only 2xx counts as success.
// The status alone decides: a body that does not end delays neither the try nor its subject.
func TestSender_OutlivesAnswersThatLie(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct {
		answer  string
		repeat  string // again and again, until the connection ends
		outcome string
	}{
		"a switch of protocols":      {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "", "refused"},
		"a body that does not come":  {ok + "Content-Length: 10\r\n\r\n", "", "delivered"},
		"a body without an end":      {ok + "Transfer-Encoding: chunked\r\n\r\n", "4\r\nxxxx\r\n", "delivered"},
		"a broken chunk":             {ok + "Transfer-Encoding: chunked\r\n\r\nnonsense", "", "delivered"},
		"headers without an end":     {ok, "X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", "unreached"},
		"one header without an end":  {ok + "X-A: ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "unreached"},
		"no end of the status":       {"HTTP/1.1 200 ", "a", "unreached"},
		"early hints without an end": {"", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "unreached"},
		"continue without an end":    {"", "HTTP/1.1 100 Continue\r\n\r\n", "unreached"},
		"another protocol":           {"SSH-2.0-OpenSSH_9.9\r\n", "", "unreached"},
		"a frame of HTTP/2":          {"\x00\x00\x00\x04\x00\x00\x00\x00\x00", "", "unreached"},
		"a status below 100":         {"HTTP/1.1 099 Nothing\r\n\r\n", "", "refused"},
		"no status":                  {"HTTP/1.1 000 Nothing\r\n\r\n", "", "unreached"},
		"a status above 599":         {"HTTP/1.1 999 Nothing\r\n\r\n", "", "refused"},
		"four digits":                {"HTTP/1.1 2000 OK\r\n\r\n", "", "unreached"},
		"nothing":                    {"", "", "timeout"},
		"a redirect":                 {"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "", "redirect"},
		"a refusal":                  {"HTTP/1.1 418 No\r\nContent-Length: 6\r\n\r\nsecret", "", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := liar(t, c.answer, c.repeat)
			timeout := tryTimeout
			if c.outcome == "delivered" {
				timeout = time.Hour
			}
			send := webhooks.NewSender(t, true, webhooks.Hooks{Timeout: timeout})
			ended := make(chan string, 1)
			go func() {
				outcome, _ := send(t.Context(), "http://"+address+"/")
				ended <- outcome
			}()
			testenv.WaitFor(t, func() bool { return len(ended) > 0 })
			outcome := <-ended
			if outcome != c.outcome && (c.outcome != "unreached" || outcome != "timeout") { // how far the endpoint gets in time
				t.Errorf("%s, want %s", outcome, c.outcome)
			}
		})
	}
}

// liar is a server that answers each connection with a text, repeats another text again and again, and then sends
// nothing.
func liar(t *testing.T, answer, repeat string) (address string) {
	t.Helper()
	listener := listen(t)
	serveEach(t, listener, nil, func(c net.Conn, reader *bufio.Reader) {
		if !readRequest(reader) {
			return
		}
		_, err := io.WriteString(c, answer)
		for err == nil && repeat != "" {
			_, err = io.WriteString(c, repeat)
		}
		_, _ = io.Copy(io.Discard, c) // until the client ends the connection
	})
	return listener.Addr().String()
}
