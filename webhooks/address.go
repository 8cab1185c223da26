package webhooks

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"unicode"

	"github.com/holdfast-dev/holdfast"
)

const maxURLLength = 2000

// checkURL refuses what no endpoint may be, whatever its name resolves to; see checkConnection.
func checkURL(text string, allowPrivate bool) error {
	const where = "body.url"
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURLLength:
		return holdfast.RefuseInput(where, "A URL has at most %d bytes.", maxURLLength)
	case err != nil || u.Hostname() == "" || strings.ContainsFunc(text, isNotInURL):
		return holdfast.RefuseInput(where, "Give an absolute URL, such as https://example.com/holdfast.")
	case u.Scheme != "https" && (u.Scheme != "http" || !allowPrivate):
		return holdfast.RefuseInput(where, "The URL of an endpoint begins with https. For development, WEBHOOK_ALLOW_PRIVATE=true allows others.")
	case u.User != nil:
		return holdfast.RefuseInput(where, "The URL of an endpoint has no user and no password; deliveries are signed instead.")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return holdfast.RefuseInput(where, "The URL of an endpoint has no fragment.")
	case allowPrivate:
		return nil
	case !isPort(u.Port()):
		return holdfast.RefuseInput(where, "The port of an endpoint is 443 or 8443.")
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil && !isPublic(address) {
		return holdfast.RefuseInput(where, "The address of an endpoint is public.")
	}
	return nil
}

func isNotInURL(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\\' }

func isPort(port string) bool { return port == "" || port == "443" || port == "8443" }

// errPrivate is of a connection to an address that is not public.
var errPrivate = errors.New("the address of the endpoint is not public")

// checkConnection refuses to connect to what is not public. The dialer calls it with each address, after DNS and right
// before the connection is made, so an answer of DNS that changes is checked too.
func checkConnection(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(ap.Addr()) || ap.Port() != 443 && ap.Port() != 8443 {
		return errPrivate
	}
	return nil
}

// special are the ranges of IANA's registries of special-purpose addresses that the Internet does not route, or that
// lead to another address: by a translation or a tunnel.
var special = prefixes(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // carrier-grade NAT
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local, and metadata of clouds
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.31.196.0/24", // AS112
	"192.52.193.0/24", // AMT
	"192.88.99.0/24",  // 6to4 relays
	"192.168.0.0/16",  // private
	"192.175.48.0/24", // AS112
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, broadcast
)

// global is what of IPv6 is routed. Of it, specialGlobal is not an address of its own.
var (
	global        = netip.MustParsePrefix("2000::/3")
	specialGlobal = prefixes(
		"2001::/23",     // protocol assignments: Teredo, benchmarks, ORCHID
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4
		"2620:4f:8000::/48",
		"3fff::/20", // documentation
	)
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// isPublic reports whether an address is one that the Internet routes. Of IPv6 only 2000::/3 can be: that leaves out
// loopback, ULA, link-local, multicast, mapped addresses (::ffff:0:0/96) and NAT64 (64:ff9b::/96, 64:ff9b:1::/48).
func isPublic(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	if a.Is6() && !global.Contains(a) {
		return false
	}
	for _, list := range [][]netip.Prefix{special, specialGlobal} {
		for _, p := range list {
			if p.Contains(a) {
				return false
			}
		}
	}
	return a.IsValid()
}
