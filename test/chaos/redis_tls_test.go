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
	"github.com/holdfast-dev/holdfast/jobs"
)

// A worker connects to Redis by host, port, TLS and password as well as by an address. A wrong
// password is reported without being shown.
func TestWorkers_ConnectToRedisByTLSWithAPassword(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	if err := testenv.RedisClient(t, r.URL).ConfigSet(t.Context(), "requirepass", "hush").Err(); err != nil {
		t.Fatal(err)
	}
	port, authority := startTLSProxy(t, r.Port.Number)
	settings := []string{"REDIS_HOST=localhost", "REDIS_PORT=" + port, "REDIS_TLS=true", "SSL_CERT_FILE=" + authority}
	ws := startWorkers(t, jobs.StoreNone, 1, append(settings, "REDIS_PASSWORD=hush")...)
	ws.awaitReadiness(readiness{status: "ok", redis: "ok", leases: "ok: redis"})
	ws.awaitCompletedRuns("by TLS")
	if err := ws.processes["pod-0"].stop(t); err != nil {
		t.Error(err)
	}
	ws.settings = append(ws.settings, "REDIS_PASSWORD=hushhush")
	ws.start("pod-0")
	ws.awaitReady()
	ws.awaitReadiness(readiness{status: "degraded", redis: "refuses (WRONGPASS)", leases: "waiting: Redis refuses (WRONGPASS)"})
	p := ws.processes["pod-0"]
	if err := p.stop(t); err != nil {
		t.Error(err)
	}
	if log := p.log.String(); strings.Contains(log, "hush") || !strings.Contains(log, `"reason":"redis_error"`) {
		t.Errorf("the log shows a password, or does not say why Redis is unavailable: %s", log)
	}
}

// startTLSProxy accepts TLS for a local port. authority is a file with the certificate that
// clients have to trust.
func startTLSProxy(t *testing.T, target int) (port, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
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
	(&proxy{target: "127.0.0.1:" + strconv.Itoa(target)}).start(t, listener)
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, authority
}
