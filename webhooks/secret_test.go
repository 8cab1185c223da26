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
)

func texts(all []secret) (list []string) {
	for _, s := range all {
		list = append(list, s.Text)
	}
	return list
}

func TestSecrets_OverlapAfterARotation(t *testing.T) {
	t.Parallel()
	secrets := []secret{{Text: "a"}}
	secrets = rotated(secrets, "b", noon, time.Hour)
	if got := texts(inForce(secrets, noon.Add(time.Hour-1))); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("within the overlap: %v", got)
	}
	if got := texts(inForce(secrets, noon.Add(time.Hour))); !slices.Equal(got, []string{"b"}) {
		t.Errorf("after it: %v", got)
	}
	longer := rotated(secrets, "c", noon, 2*time.Hour)
	if got := texts(inForce(longer, noon.Add(time.Hour))); !slices.Equal(got, []string{"c", "b"}) {
		t.Errorf("a second rotation keeps a longer: %v", got)
	}
	if got := texts(rotated(longer, "d", noon, 0)); !slices.Equal(got, []string{"d"}) {
		t.Errorf("without an overlap: %v", got)
	}
	for n := range 20 {
		secrets = rotated(secrets, strconv.Itoa(n), noon, time.Hour)
	}
	if got := texts(secrets); !slices.Equal(got, []string{"19", "18", "17", "16", "15"}) {
		t.Errorf("after many rotations: %v", got)
	}
}

func TestSign_IsAcceptedByThePublishedVerifierWithEachSecret(t *testing.T) {
	t.Parallel()
	old, now := newSecret(), time.Now()
	secrets := rotated([]secret{{Text: old}}, newSecret(), now, time.Hour)
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
	if shown := fmt.Sprintf("%v %+v %#v %s %v", s, s, s, s, Endpoint{secrets: &[]secret{s}}); strings.Contains(shown, text) {
		t.Error(shown)
	}
}
