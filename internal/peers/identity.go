package peers

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
)

var (
	errNoPeer  = errors.New("the certificate is of no process that shows a heartbeat")
	errNotSame = errors.New("the certificate is not that of the process's heartbeat")
)

// newCertificate makes a key and a certificate of it. Its names and times mean nothing: processes know each other by
// the hash of the certificate.
func newCertificate() (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the key for other processes: %w", err)
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)},
		&x509.Certificate{SerialNumber: big.NewInt(1)}, public, private)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the certificate for other processes: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: private}, nil
}

// hashOf names a certificate.
func hashOf(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

// acceptPeers is the TLS of the side that listens.
func acceptPeers(own tls.Certificate, isPeer func(hash string) bool) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert,
		VerifyConnection: func(s tls.ConnectionState) error {
			if !isPeer(hashOf(s.PeerCertificates[0].Raw)) {
				return errNoPeer
			}
			return nil
		},
	}
}

// connectTo is the TLS of the side that connects.
func connectTo(own tls.Certificate, hash string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own},
		InsecureSkipVerify: true, //nolint:gosec // no authority has signed it: VerifyConnection compares its hash
		VerifyConnection: func(s tls.ConnectionState) error {
			if hashOf(s.PeerCertificates[0].Raw) != hash {
				return errNotSame
			}
			return nil
		},
	}
}
