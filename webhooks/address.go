package webhooks

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/holdfast-dev/holdfast"
)

const maxURLLength = 2000

// inDevelopment ends the messages about endpoints that only a developer has.
const inDevelopment = " For development, WEBHOOK_ALLOW_PRIVATE=true in all processes allows http, all ports and private addresses."

// checkURL refuses a URL that an endpoint must not have, whatever its name resolves to; see checkConnection.
func checkURL(text string, allowPrivate bool) error {
	const where = "body.url"
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURLLength:
		return holdfast.RefuseInput(where, "url must have at most %d bytes.", maxURLLength)
	case err != nil || u.Hostname() == "" || strings.ContainsFunc(text, isNotInURL):
		return holdfast.RefuseInput(where, "url must be absolute, such as https://example.com/holdfast.")
	case u.Scheme != "https" && (u.Scheme != "http" || !allowPrivate):
		return holdfast.RefuseInput(where, "url must begin with https."+inDevelopment)
	case u.User != nil:
		return holdfast.RefuseInput(where, "url must not have a user or a password; deliveries are signed instead.")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return holdfast.RefuseInput(where, "url must not have a fragment.")
	case allowPrivate:
		return nil
	case !isPort(u.Port()):
		return holdfast.RefuseInput(where, "The port of url must be 443 or 8443."+inDevelopment)
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil && !isPublic(address) {
		return holdfast.RefuseInput(where, "url must have a public address."+inDevelopment)
	}
	return nil
}

func isNotInURL(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\\' }

func isPort(port string) bool { return port == "" || port == "443" || port == "8443" }

// errPrivate is the error of a connection to an address that is not public.
var errPrivate = errors.New("the address of the endpoint is not public")

// checkConnection refuses to connect to an address that is not public. The dialer calls it with each address, after
// DNS and right before the connection is made. So it also checks an answer of DNS that changes.
func checkConnection(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(ap.Addr()) || ap.Port() != 443 && ap.Port() != 8443 {
		return errPrivate
	}
	return nil
}

// special are ranges of IANA's registries of special-purpose addresses that the Internet does not route, or that
// lead to another address by a translation or a tunnel. netip knows the other ranges.
var special = prefixes(
	"0.0.0.0/8",       // this network
	"100.64.0.0/10",   // carrier-grade NAT
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.31.196.0/24", // AS112
	"192.52.193.0/24", // AMT
	"192.88.99.0/24",  // 6to4 relays
	"192.175.48.0/24", // AS112
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"240.0.0.0/4",     // reserved
	"2001::/23",       // protocol assignments: Teredo, benchmarks, ORCHID
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4
	"2620:4f:8000::/48",
	"3fff::/20", // documentation
)

// global is the part of IPv6 that is routed. It leaves out loopback, ULA, link-local, multicast, mapped addresses
// (::ffff:0:0/96) and NAT64 (64:ff9b::/96, 64:ff9b:1::/48).
var global = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// isPublic reports whether the Internet routes an address.
func isPublic(a netip.Addr) bool {
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Zone() != "" || a.Is6() && !global.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}
