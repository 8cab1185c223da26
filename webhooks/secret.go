package webhooks

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/holdfast-dev/holdfast"
)

// secretBytes is the length of a secret. The specification requires 24 to 64 bytes.
const secretBytes = 32

// maxSecrets bounds the secrets in force, and so the length of the header with the signatures.
const maxSecrets = 5

// secret signs deliveries until a time. If that is zero, the secret has no end.
type secret struct {
	Text  string    `bson:"secret"`
	Until time.Time `bson:"until,omitempty"`
}

// String hides the secret from logs.
func (secret) String() string { return "whsec_***" }

// GoString hides the secret from logs.
func (s secret) GoString() string { return s.String() }

func newSecret() string {
	var key [secretBytes]byte
	_, _ = rand.Read(key[:]) // it never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key[:])
}

// rotated returns the secrets after a rotation, the new one first. The previous secrets end after the overlap, or
// earlier if they would anyway. It refuses to make more than maxSecrets, because the receiver may still use any of
// them.
func rotated(before []secret, text string, now time.Time, overlap time.Duration) ([]secret, error) {
	after := []secret{{Text: text}}
	for _, s := range inForce(before, now) {
		if end := now.Add(overlap); s.Until.IsZero() || s.Until.After(end) {
			s.Until = end
		}
		if s.Until.After(now) {
			after = append(after, s)
		}
	}
	if len(after) > maxSecrets {
		return nil, holdfast.Refuse(holdfast.CodeWebhookLimitReached, "There are %d secrets in force, the limit. Wait until the overlap of one "+
			"ends, or rotate with an overlap of 0, which ends all previous ones at once.", maxSecrets).With(holdfast.LimitReached{Limit: maxSecrets})
	}
	return after, nil
}

func inForce(all []secret, now time.Time) (current []secret) {
	for _, s := range all {
		if s.Until.IsZero() || s.Until.After(now) {
			current = append(current, s)
		}
	}
	return current
}

// sign returns the header with the signatures: one for each secret in force. It skips a secret that is not readable.
func sign(secrets []secret, id string, at time.Time, body []byte) string {
	var signatures []string
	for _, s := range inForce(secrets, at) {
		key, err := standardwebhooks.NewWebhook(s.Text)
		if err != nil || s.Text == "" {
			continue
		}
		if signature, err := key.Sign(id, at, body); err == nil {
			signatures = append(signatures, signature)
		}
	}
	return strings.Join(signatures, " ")
}
