package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// originPattern is the form in which browsers send an origin (RFC 6454, section 6.2): names in lower
// case, and letters outside of ASCII as xn--.
var originPattern = regexp.MustCompile(`^(https?)://(?:([a-z0-9_][a-z0-9_.-]*)|\[([0-9a-f:]+)\])(?::([1-9][0-9]*))?$`)

// parseOrigins reads a comma-separated list of origins. They are compared with what browsers send,
// so an origin in another form would never match. The error does not repeat the entry, because user
// info may be a password.
func parseOrigins(list string) (origins []string, err error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	for i, entry := range strings.Split(list, ",") {
		origin := strings.TrimSpace(entry)
		if !isOrigin(origin) {
			return nil, fmt.Errorf("CORS_ORIGINS, entry %d, is not an origin as browsers send it: use https://host or https://host:port, "+
				"in lower case, without a path, a wildcard, user info or the default port, such as https://shop.example", i+1)
		}
		origins = append(origins, origin)
	}
	return origins, nil
}

func isOrigin(text string) bool {
	part := originPattern.FindStringSubmatch(text)
	if part == nil {
		return false
	}
	scheme, address, port := part[1], part[3], part[4]
	if ip, err := netip.ParseAddr(address); address != "" && (err != nil || ip.String() != address) {
		return false
	}
	if port == "" {
		return true
	}
	const portBits = 16
	_, err := strconv.ParseUint(port, 10, portBits)
	return err == nil && port != map[string]string{"http": "80", "https": "443"}[scheme]
}
