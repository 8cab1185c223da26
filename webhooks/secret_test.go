package webhooks

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/holdfast-dev/holdfast"
)

func texts(all []secret) (list []string) {
	for _, s := range all {
		list = append(list, s.Text)
	}
	return list
}

// rotate is a rotation that is not refused.
func rotate(t *testing.T, before []secret, text string, now time.Time, overlap time.Duration) []secret {
	t.Helper()
	after, err := rotated(before, text, now, overlap)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func TestSecrets_OverlapAfterARotation(t *testing.T) {
	t.Parallel()
	secrets := []secret{{Text: "a"}}
	secrets = rotate(t, secrets, "b", noon, time.Hour)
	if got := texts(inForce(secrets, noon.Add(time.Hour-1))); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("within the overlap: %v", got)
	}
	if got := texts(inForce(secrets, noon.Add(time.Hour))); !slices.Equal(got, []string{"b"}) {
		t.Errorf("after it: %v", got)
	}
	longer := rotate(t, secrets, "c", noon, 2*time.Hour)
	if got := texts(inForce(longer, noon.Add(time.Hour))); !slices.Equal(got, []string{"c", "b"}) {
		t.Errorf("a second rotation keeps a longer: %v", got)
	}
	if got := texts(rotate(t, longer, "d", noon, 0)); !slices.Equal(got, []string{"d"}) {
		t.Errorf("without an overlap: %v", got)
	}
}

// A rotation does not end a secret early that is in force, because the receiver may use any of them. A rotation
// beyond the limit is refused.
func TestSecrets_InForceAreLimited(t *testing.T) {
	t.Parallel()
	secrets := []secret{{Text: "a"}}
	for n := range maxSecrets - 1 {
		secrets = rotate(t, secrets, strconv.Itoa(n), noon.Add(time.Duration(n)*time.Minute), time.Hour)
	}
	if got := texts(inForce(secrets, noon.Add(time.Hour-1))); !slices.Equal(got, []string{"3", "2", "1", "0", "a"}) {
		t.Errorf("in force: %v", got)
	}
	if _, err := rotated(secrets, "more", noon.Add(time.Hour-1), time.Hour); !holdfast.HasCode(err, holdfast.CodeWebhookLimitReached) {
		t.Errorf("one more: %v", err)
	}
	if got := texts(rotate(t, secrets, "next", noon.Add(time.Hour), time.Hour)); !slices.Equal(got, []string{"next", "3", "2", "1", "0"}) {
		t.Errorf("after the end of the oldest: %v", got)
	}
	if got := texts(rotate(t, secrets, "only", noon, 0)); !slices.Equal(got, []string{"only"}) {
		t.Errorf("without an overlap: %v", got)
	}
}

func TestSign_IsAcceptedByThePublishedVerifierWithEachSecret(t *testing.T) {
	t.Parallel()
	old, now := newSecret(), time.Now()
	secrets := rotate(t, []secret{{Text: old}}, newSecret(), now, time.Hour)
	body, h := []byte(`{"a":1}`), http.Header{}
	h.Set("webhook-id", "locks-1")
	h.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	h.Set("webhook-signature", sign(secrets, "locks-1", now, body))
	for _, s := range secrets {
		verifier, err := standardwebhooks.NewWebhook(s.Text)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(body, h); err != nil {
			t.Error(err)
		}
		if verifier.Verify([]byte(`{"a":2}`), h) == nil {
			t.Error("another body is accepted")
		}
	}
	ended, err := standardwebhooks.NewWebhook(old)
	if err != nil {
		t.Fatal(err)
	}
	h.Set("webhook-signature", sign(secrets, "locks-1", now.Add(time.Hour), body))
	if ended.Verify(body, h) == nil {
		t.Error("a secret signs after its end")
	}
}

func TestNewSecret_HasTheFormOfTheSpecification(t *testing.T) {
	t.Parallel()
	text := newSecret()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if err != nil || len(key) != secretBytes || !strings.HasPrefix(text, "whsec_") || text == newSecret() {
		t.Error(text, err)
	}
	s := secret{Text: text}
	if shown := fmt.Sprintf("%v %+v %#v %s %v", s, s, s, s, Endpoint{Secrets: []secret{s}}); strings.Contains(shown, text) {
		t.Error(shown)
	}
}
