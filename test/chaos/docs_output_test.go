package chaos_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var (
	idPattern       = regexp.MustCompile(`\b[0-9a-f]{24}\b`)
	timePattern     = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z`)
	streamIDPattern = regexp.MustCompile(`(?m)^id: \d+$`)
	revisionPattern = regexp.MustCompile(`"rev":\d+`)
	secretPattern   = regexp.MustCompile(`"whsec_[A-Za-z0-9+/]{43}="`)
)

// docOutput replaces only the values that differ from run to run: a time by <time>, a webhook's secret by <secret>, and a stream
// ID and an event's revision by <number>. A resource's ID becomes its number in order of appearance, so that an ID must
// appear in the same places. The zero value is ready to use.
type docOutput struct{ ids map[string]string }

func (o *docOutput) normalize(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n") // curl prints header lines like this
	text = streamIDPattern.ReplaceAllString(text, "id: <number>")
	text = revisionPattern.ReplaceAllString(text, `"rev":<number>`)
	text = secretPattern.ReplaceAllString(text, `"whsec_<secret>"`)
	text = timePattern.ReplaceAllString(text, "<time>")
	text = idPattern.ReplaceAllStringFunc(text, func(id string) string {
		if o.ids == nil {
			o.ids = map[string]string{}
		}
		if o.ids[id] == "" {
			o.ids[id] = fmt.Sprintf("<id %d>", len(o.ids)+1)
		}
		return o.ids[id]
	})
	return strings.TrimSpace(text)
}

func TestDocOutput_KeepsWhatIsTheSameInEveryRun(t *testing.T) {
	t.Parallel()
	const (
		first, second = "6b0166d19f73b711049e40f1", "6b0166d19f73b711049e40f2"
		document      = `{"id":"` + first + `","eventId":"` + second + `","expiresAt":"2026-11-21T09:49:29.574Z","idempotencyKey":"cart-1"}`
	)
	secret := `"whsec_` + strings.Repeat("A", 43) + `="`
	for _, row := range []struct {
		name, printed, documented string
		same                      bool
	}{
		{
			name:       "other IDs and times",
			printed:    strings.NewReplacer(first, second, second, first, "09:49", "10:51").Replace(document),
			documented: document, same: true,
		},
		{name: "an ID in the wrong field", printed: strings.ReplaceAll(document, second, first), documented: document},
		{name: "no ID", printed: strings.ReplaceAll(document, first, ""), documented: document},
		{name: "no time", printed: strings.ReplaceAll(document, "2026-11-21T09:49:29.574Z", ""), documented: document},
		{name: "another key", printed: strings.ReplaceAll(document, "cart-1", ""), documented: document},
		{
			name: "a field that is not printed", printed: document,
			documented: strings.ReplaceAll(document, `"eventId"`, `"idempotencyKey":"","eventId"`),
		},
		{name: "header lines", printed: "Idempotent-Replayed: true\r\n", documented: "Idempotent-Replayed: true\n", same: true},
		{name: "other stream IDs", printed: "id: 17\nevent: availability", documented: "id: 18\nevent: availability", same: true},
		{name: "another revision", printed: `{"rev":3}`, documented: `{"rev":12}`, same: true},
		{name: "no revision", printed: `{"rev":null}`, documented: `{"rev":12}`},
		{name: "another secret", printed: secret, documented: strings.ReplaceAll(secret, "A", "b"), same: true},
		{name: "no secret", printed: `""`, documented: secret},
		{name: "no stream ID", printed: "id: \nevent: availability", documented: "id: 18\nevent: availability"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var printed, documented docOutput
			got, want := printed.normalize(row.printed), documented.normalize(row.documented)
			if (got == want) != row.same {
				t.Errorf("equal: %v\n%s\n%s", got == want, got, want)
			}
		})
	}
}
