package holdfast_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestCheckText(t *testing.T) {
	const most = 5
	for _, row := range []struct {
		name, text string
		allowed    bool
	}{
		{"none", "", true},
		{"the longest", "12345", true},
		{"the longest, of more bytes", "ééééé", true},
		{"too long", "123456", false},
		{"too long, of more bytes", "éééééé", false},
		{"no UTF-8", "a\xff", false},
		{"a surrogate in UTF-8", "\xed\xa0\x80", false},
		{"NUL", "a\x00", false},
		{"escape", "\x1b[2J", false},
		{"DEL", "a\x7f", false},
		{"a control character beyond ASCII", "\u009b2J", false},
		{"a new line", "a\nb", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := holdfast.CheckText("body.x", row.text, most)
			if (err == nil) != row.allowed || err != nil && !holdfast.HasCode(err, holdfast.CodeInvalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCheckName_RefusesBlankNames(t *testing.T) {
	for name, allowed := range map[string]bool{"Ada": true, " a ": true, "": false, " \u00a0": false, strings.Repeat("é", 200): true} {
		if err := holdfast.CheckName("body.name", name); (err == nil) != allowed {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestCheckEmail_AcceptsAddressesAlone(t *testing.T) {
	for email, allowed := range map[string]bool{
		"ada@example.com": true, "é@example.com": true, "Ada <ada@example.com>": false, "ada": false, "": false,
		"ada@example.com\n": false, strings.Repeat("a", 250) + "@b.c": true, strings.Repeat("a", 251) + "@b.c": false,
	} {
		if err := holdfast.CheckEmail("body.email", email); (err == nil) != allowed {
			t.Errorf("%q: %v", email, err)
		}
	}
}
