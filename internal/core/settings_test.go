package core_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/core"
)

func TestSettings_CheckSaysWhatToDo(t *testing.T) {
	right := core.Settings{
		Database: "shop", LockDefaultTTL: time.Minute, LockMaxTTL: time.Hour, PaymentMaxTTL: time.Hour, SweepBatch: 1,
	}
	for _, row := range []struct {
		name   string
		change func(*core.Settings)
		want   string // "": right
	}{
		{"right", func(*core.Settings) {}, ""},
		{"the same default and maximum", func(s *core.Settings) { s.LockDefaultTTL = s.LockMaxTTL }, ""},
		{"the largest batch", func(s *core.Settings) { s.SweepBatch = 5000 }, ""},
		{"limits", func(s *core.Settings) { s.MaxSeatsPerLock, s.MaxActiveLocksPerUser = 1, 1 }, ""},
		{"no default time", func(s *core.Settings) { s.LockDefaultTTL = 0 }, "LockDefaultTTL is 0s, but must be greater than 0"},
		{"a negative default time", func(s *core.Settings) { s.LockDefaultTTL = -1 }, "LockDefaultTTL is -1ns, but must"},
		{"less than a millisecond", func(s *core.Settings) { s.LockMaxTTL = time.Microsecond }, "LockMaxTTL is 1µs, but must"},
		{"a negative window", func(s *core.Settings) { s.PaymentMaxTTL = -time.Hour }, "PAY is -1h0m0s, but must"},
		{
			"a default above the maximum", func(s *core.Settings) { s.LockDefaultTTL = 2 * time.Hour },
			"LockDefaultTTL (2h0m0s) is greater than LockMaxTTL (1h0m0s): lower the first or raise the second",
		},
		{"no batch", func(s *core.Settings) { s.SweepBatch = 0 }, "SweepBatch is 0, but must be between 1 and 5000"},
		{"a negative batch", func(s *core.Settings) { s.SweepBatch = -1 }, "SweepBatch is -1, but must be between 1 and 5000"},
		{"a batch too large", func(s *core.Settings) { s.SweepBatch = 5001 }, "SweepBatch is 5001, but must be between 1 and 5000"},
		{"negative seats", func(s *core.Settings) { s.MaxSeatsPerLock = -1 }, "MaxSeatsPerLock is -1, but must be greater than 0"},
		{"negative locks", func(s *core.Settings) { s.MaxActiveLocksPerUser = -1 }, "MaxActiveLocksPerUser is -1, but must be greater than 0"},
		{"a name with a slash", func(s *core.Settings) { s.Database = "a/b" }, `Database "a/b" is not a valid database name`},
		{"a database of MongoDB", func(s *core.Settings) { s.Database = "Config" }, "Database is Config, which is a database of MongoDB's own"},
		{"a name too long", func(s *core.Settings) { s.Database = strings.Repeat("a", 64) }, "is not a valid database name"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := right
			row.change(&s)
			err := s.Check(map[string]string{"PaymentMaxTTL": "PAY"})
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

// Connect checks the settings before it connects to a server.
func TestConnect_RefusesWrongSettings(t *testing.T) {
	const uri = "mongodb://127.0.0.1:1/?replicaSet=x"
	for want, o := range map[string]core.Options{
		"URI is not set": {},
		"LockDefaultTTL (10m0s) is greater than LockMaxTTL (1m0s)": {URI: uri, Settings: core.Settings{LockMaxTTL: time.Minute}},
		"SweepBatch is -1": {URI: uri, Settings: core.Settings{SweepBatch: -1}},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := core.Connect(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// This test fails if Settings gets a field that Check does not check.
func TestSettings_HaveTheFieldsThatAreChecked(t *testing.T) {
	if n := reflect.TypeFor[core.Settings]().NumField(); n != 7 {
		t.Errorf("%d settings, 7 are checked", n)
	}
}
