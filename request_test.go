package holdfast_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

func TestUntil_From(t *testing.T) {
	far := time.FixedZone("far", -7200)
	for _, row := range []struct {
		name  string
		until holdfast.Until
		zero  bool
		want  time.Time
	}{
		{name: "none", zero: true, want: now},
		{name: "a duration", until: holdfast.Until{For: time.Minute}, want: now.Add(time.Minute)},
		{name: "a time", until: holdfast.Until{At: now.Add(time.Hour)}, want: now.Add(time.Hour)},
		{name: "a time in the past", until: holdfast.Until{At: now.Add(-time.Hour)}, want: now.Add(-time.Hour)},
		{name: "a time in another zone", until: holdfast.Until{At: now.In(far)}, want: now},
		{name: "parts of a millisecond", until: holdfast.Until{At: now.Add(1999 * time.Microsecond)}, want: now.Add(time.Millisecond)},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.until.From(now); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
			if row.until.IsZero() != row.zero {
				t.Errorf("zero: %v, want %v", row.until.IsZero(), row.zero)
			}
		})
	}
}

func TestUntil_CheckRefusesInvalidDurations(t *testing.T) {
	const longest = time.Hour
	for _, row := range []struct {
		name   string
		until  holdfast.Until
		fields holdfast.Fields
		where  string // "" means allowed
	}{
		{name: "none", fields: holdfast.LockFields},
		{name: "a time, however far", until: holdfast.Until{At: now.Add(1000 * longest)}, fields: holdfast.LockFields},
		{name: "a short duration", until: holdfast.Until{For: 1}, fields: holdfast.LockFields},
		{name: "the longest", until: holdfast.Until{For: longest}, fields: holdfast.LockFields},
		{name: "a longer one", until: holdfast.Until{For: longest + 1}, fields: holdfast.LockFields, where: "body.ttlSeconds"},
		{
			name: "a longer one for a payment", until: holdfast.Until{For: longest + 1}, fields: holdfast.PaymentFields,
			where: "body.paymentTtlSeconds",
		},
		{name: "below 0", until: holdfast.Until{For: -1}, fields: holdfast.LockFields, where: "body.ttlSeconds"},
		{name: "far below 0", until: holdfast.Until{For: math.MinInt64}, fields: holdfast.LockFields, where: "body.ttlSeconds"},
		{name: "both", until: holdfast.Until{At: now, For: 1}, fields: holdfast.LockFields, where: "body.ttlSeconds"},
		{name: "both, for a payment", until: holdfast.Until{At: now, For: 1}, fields: holdfast.PaymentFields, where: "body.paymentTtlSeconds"},
		{name: "the first time", until: holdfast.Until{At: year(1)}, fields: holdfast.LockFields},
		{name: "the last time", until: holdfast.Until{At: year(10_000).Add(-1)}, fields: holdfast.LockFields},
		{name: "before the first time", until: holdfast.Until{At: year(1).Add(-1)}, fields: holdfast.LockFields, where: "body.expiresAt"},
		{name: "after the last time", until: holdfast.Until{At: year(10_000)}, fields: holdfast.PaymentFields, where: "body.paymentExpiresAt"},
		{
			name:   "before the first time in UTC",
			until:  holdfast.Until{At: year(1).Add(time.Hour).In(time.FixedZone("", -7200)).Add(-2 * time.Hour)},
			fields: holdfast.LockFields, where: "body.expiresAt",
		},
		{name: "a time and below 0", until: holdfast.Until{At: now, For: -1}, fields: holdfast.LockFields, where: "body.ttlSeconds"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.until.Check(row.fields, longest)
			if row.where == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			invalid, _ := holdfast.DetailsOf[holdfast.Invalid](err)
			if len(invalid) != 1 || invalid[0].Where != row.where || !holdfast.HasCode(err, holdfast.CodeInvalid) {
				t.Errorf("got %v, want a refusal of %s", err, row.where)
			}
		})
	}
}

func TestUntil_TooLateNamesTheFieldThatWasGiven(t *testing.T) {
	for want, until := range map[string]holdfast.Until{"body.expiresAt": {At: now}, "body.ttlSeconds": {For: 1}} {
		t.Run(want, func(t *testing.T) {
			invalid, _ := holdfast.DetailsOf[holdfast.Invalid](until.TooLate(holdfast.LockFields, 2*time.Hour))
			if len(invalid) != 1 || invalid[0] != (holdfast.FieldError{Where: want, What: "The time is too far ahead. The maximum is 2h0m0s."}) {
				t.Errorf("got %+v, want %s", invalid, want)
			}
		})
	}
}

func year(n int) time.Time { return time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC) }

func TestUntil_PassedRefusesOnlyWhereItMustBeAhead(t *testing.T) {
	for _, row := range []struct {
		name  string
		until holdfast.Until
		where string // "" means allowed
	}{
		{"none", holdfast.Until{Ahead: true}, ""},
		{"a duration", holdfast.Until{For: 1, Ahead: true}, ""},
		{"ahead", holdfast.Until{At: now.Add(1), Ahead: true}, ""},
		{"now", holdfast.Until{At: now, Ahead: true}, "body.expiresAt"},
		{"passed", holdfast.Until{At: now.Add(-1), Ahead: true}, "body.expiresAt"},
		{"passed, which is allowed", holdfast.Until{At: now.Add(-1)}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.until.Passed(holdfast.LockFields, now)
			invalid, _ := holdfast.DetailsOf[holdfast.Invalid](err)
			if (err == nil) != (row.where == "") || err != nil && invalid[0].Where != row.where {
				t.Errorf("got %v, want %q", err, row.where)
			}
		})
	}
}

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
