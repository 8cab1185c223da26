package chaos_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// Host, port, TLS and password lead to Redis as well as an address does; a
// wrong password is told without being shown.
func TestWorkers_ReachRedisByTLSWithAPassword(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	if err := testenv.RedisClient(t, r.URL).ConfigSet(t.Context(), "requirepass", "hush").Err(); err != nil {
		t.Fatal(err)
	}
	port, authority := encrypted(t, r.Port.Number)
	env := []string{"REDIS_HOST=localhost", "REDIS_PORT=" + port, "REDIS_TLS=true", "SSL_CERT_FILE=" + authority}
	c := newCrew(t, lease.KindNone, 1, append(env, "REDIS_PASSWORD=hush")...)
	c.says("ok", "ok", "ok: redis")
	c.runsOn("by TLS")
	if err := c.workers["pod-0"].stop(t); err != nil {
		t.Error(err)
	}
	c.env = append(c.env, "REDIS_PASSWORD=hushhush")
	c.start("pod-0")
	c.ready()
	c.says("degraded", "does not answer", "waiting: Redis does not answer")
	p := c.workers["pod-0"]
	if err := p.stop(t); err != nil {
		t.Error(err)
	}
	if log := p.log.String(); strings.Contains(log, "hush") || !strings.Contains(log, `"reason":"redis_error"`) {
		t.Errorf("the log says %s", log)
	}
}

// encrypted speaks TLS in front of a local port; authority is a file that
// vouches for it.
func encrypted(t *testing.T, to int) (port, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	authority = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	(&front{to: "127.0.0.1:" + strconv.Itoa(to)}).standAt(t, listener)
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, authority
}
