package webhooks

import (
	"net/netip"
	"strings"
	"testing"
)

func TestIsPublic(t *testing.T) {
	t.Parallel()
	for _, address := range strings.Fields(`
		0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.0.1 169.254.169.254 172.16.0.1 172.31.255.255
		192.0.0.1 192.0.0.170 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255
		198.51.100.7 203.0.113.9 224.0.0.1 239.1.1.1
		240.0.0.1 255.255.255.255
		:: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1
		100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1
		2620:4f:8000::1 3fff::1 5f00::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 2a00:1450::1%eth0`) {
		if isPublic(netip.MustParseAddr(address)) {
			t.Errorf("%s counts as public", address)
		}
	}
	for _, address := range strings.Fields("1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 198.17.0.1 198.20.0.1 " +
		"223.255.255.1 2001:4860:4860::8888 2606:4700::1111 2a00:1450:4001::200e") {
		if !isPublic(netip.MustParseAddr(address)) {
			t.Errorf("%s does not count as public", address)
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("no address counts as public")
	}
}

func TestCheckConnection_LooksAtTheAddressAndThePort(t *testing.T) {
	t.Parallel()
	for address, isRefused := range map[string]bool{
		"8.8.8.8:443": false, "8.8.8.8:8443": false, "[2606:4700::1111]:443": false,
		"8.8.8.8:80": true, "8.8.8.8:27017": true, "127.0.0.1:443": true, "[::ffff:127.0.0.1]:443": true, "[64:ff9b::a00:1]:443": true,
		"": true, "example.com:443": true,
	} {
		if err := checkConnection("tcp", address, nil); (err != nil) != isRefused {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	refused := strings.Fields(`
		http://example.com ftp://example.com //example.com example.com https:// https:///path https://user@example.com https://user:pw@example.com
		https://@example.com https://example.com:80 https://example.com:444 https://example.com:27017 https://127.0.0.1 https://10.0.0.1:8443/x
		https://[::1] https://[fd00::1]:8443 https://[::ffff:10.0.0.1] https://[64:ff9b::a00:1] https://[fe80::1%25eth0]
		https://169.254.169.254/latest
		https://example.com/#x https://example.com/\path https://example.com:x`)
	refused = append(refused, "", "https://exa mple.com", "https://example.com/\n", "https://example.com/"+strings.Repeat("x", 2000))
	for _, url := range refused {
		if checkURL(url, false) == nil {
			t.Errorf("%q is accepted", url)
		}
	}
	for _, url := range []string{
		"https://example.com", "https://example.com/", "https://example.com:443/a?b=c", "https://example.com:8443", "https://8.8.8.8/x",
		"https://[2606:4700::1111]/x", "HTTPS://EXAMPLE.COM",
	} {
		if err := checkURL(url, false); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
	for url, isRefused := range map[string]bool{
		"http://127.0.0.1:9000/x": false, "http://localhost": false, "https://10.0.0.1:1": false,
		"ftp://localhost": true, "http://a:b@localhost": true,
	} {
		if err := checkURL(url, true); (err != nil) != isRefused {
			t.Errorf("%q where private ones are allowed: %v", url, err)
		}
	}
}
