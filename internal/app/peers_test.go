package app

import (
	"net"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A process listens for others at the host of HTTP_ADDR, at the one from which it reaches the database, at PEER_ADDR, or
// not at all. Its heartbeat says where.
func TestOpenPeers_ListensWhereOthersReachIt(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	port := testenv.ReservePort(t).Addr()
	for name, c := range map[string]struct{ http, peer, want string }{
		"the host of HTTP_ADDR":           {"127.0.0.1:8080", "", "127.0.0.1"},
		"the one towards the database":    {"0.0.0.0:8080", "", "127.0.0.1"},
		"the same, of an empty host":      {":8080", "", "127.0.0.1"},
		"as it is set":                    {"0.0.0.0:8080", port, port},
		"off":                             {"127.0.0.1:8080", config.PeersOff, ""},
		"an address of another machine":   {"127.0.0.1:8080", "192.0.2.1:9100", "error"},
		"HTTP_ADDR of another, not fatal": {"192.0.2.1:8080", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := connect(t, w)
			a.Config.HTTPAddr, a.Config.PeerAddr = c.http, c.peer
			if err := a.OpenPeers(t.Context()); (err != nil) != (c.want == "error") {
				t.Fatal(err)
			}
			got := a.presence().Addr
			if host, _, err := net.SplitHostPort(got); err == nil && c.peer == "" {
				got = host
			}
			if c.want != "error" && got != c.want {
				t.Errorf("listens at %q, want %q", got, c.want)
			}
		})
	}
}
