package webhooks_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/holdfast-dev/holdfast/webhooks"
)

// resolver answers questions for addresses: the first time with one, then with another one.
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

// The address is checked when the connection is made, so an answer of DNS that changes leads nowhere.
func TestSender_ChecksTheAddressOfEachConnection(t *testing.T) {
	t.Parallel()
	for _, private := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1"} {
		public := "192.0.2.1" // documentation: refused too, and never connected to
		r, questions := resolver(t, public, private)
		for range 2 {
			h := webhooks.Hooks{Resolver: r, Timeout: tryTimeout}
			if outcome, _ := webhooks.Send(t.Context(), "https://rebound.example.com/", false, h); outcome != "private" {
				t.Errorf("%s: %s", private, outcome)
			}
		}
		if questions.Load() < 2 {
			t.Errorf("%s: %d questions", private, questions.Load())
		}
	}
	for _, url := range []string{"https://127.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/",
		"https://localhost/", "https://8.8.8.8:25/"} {
		if outcome, status := webhooks.Send(t.Context(), url, false, webhooks.Hooks{Timeout: tryTimeout}); outcome != "private" || status != 0 {
			t.Errorf("%s: %s, %d", url, outcome, status)
		}
	}
}

// A proxy of the environment would see the deliveries, and connect to what it likes.
func TestSender_UsesNoProxyOfTheEnvironment(t *testing.T) {
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	for _, url := range []string{"http://hooks.invalid/", "https://hooks.invalid/"} {
		if outcome, _ := webhooks.Send(t.Context(), url, true, webhooks.Hooks{Timeout: tryTimeout}); outcome == "delivered" || asked.Load() > 0 {
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
	if outcome, _ := webhooks.Send(t.Context(), server.URL, true, webhooks.Hooks{}); outcome != "unreached" {
		t.Errorf("a certificate of nobody: %s", outcome)
	}
	known := x509.NewCertPool()
	known.AddCert(server.Certificate())
	config := &tls.Config{RootCAs: known, MinVersion: tls.VersionTLS12}
	if outcome, status := webhooks.Send(t.Context(), server.URL, true, webhooks.Hooks{TLS: config}); outcome != "delivered" || status != 204 {
		t.Errorf("a known one: %s, %d", outcome, status)
	}
	other := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	if outcome, _ := webhooks.Send(t.Context(), other, true, webhooks.Hooks{TLS: config}); outcome != "unreached" {
		t.Errorf("a certificate of another name: %s", outcome)
	}
}

// The status decides; a body without an end is not waited for, and nothing of an answer is kept.
func TestSender_TellsOutcomes(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			w.WriteHeader(http.StatusOK)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					return
				}
			}
		case "/hangs":
			<-release
		case "/breaks":
			panic(http.ErrAbortHandler)
		case "/redirects":
			http.Redirect(w, r, "/endless", http.StatusFound)
		default:
			http.Error(w, "secret", http.StatusTeapot)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	for path, want := range map[string]struct {
		outcome string
		status  int
	}{
		"/endless": {"delivered", 200}, "/hangs": {"timeout", 0}, "/breaks": {"unreached", 0}, "/redirects": {"redirect", 302},
		"/": {"refused", 418},
	} {
		outcome, status := webhooks.Send(t.Context(), server.URL+path, true, webhooks.Hooks{Timeout: tryTimeout})
		if outcome != want.outcome || status != want.status {
			t.Errorf("%s: %s, %d", path, outcome, status)
		}
	}
}
