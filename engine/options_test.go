package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/engine"
)

// Open refuses wrong options before it connects, and names the option.
func TestOpen_RefusesWrongOptions(t *testing.T) {
	const server = "mongodb://127.0.0.1:1/?replicaSet=x" // no server is there
	for _, row := range []struct {
		name    string
		options engine.Options
		want    string
	}{
		{"no URI", engine.Options{}, "URI is not set"},
		{"a default above the maximum", engine.Options{URI: server, LockDefaultTTL: 3 * time.Hour},
			"LockDefaultTTL (3h0m0s) is greater than LockMaxTTL (2h0m0s): lower the first or raise the second"},
		{"a negative time", engine.Options{URI: server, PaymentMaxTTL: -1}, "PaymentMaxTTL is -1ns, but must be greater than 0"},
		{"a negative batch", engine.Options{URI: server, SweepBatch: -1}, "SweepBatch is -1, but must be between 1 and 5000"},
		{"a negative limit", engine.Options{URI: server, MaxSeatsPerLock: -1}, "MaxSeatsPerLock is -1"},
		{"another negative limit", engine.Options{URI: server, MaxActiveLocksPerUser: -1}, "MaxActiveLocksPerUser is -1"},
		{"a name", engine.Options{URI: server, Database: "a/b"}, `Database "a/b" is not a valid database name`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := engine.Open(t.Context(), row.options); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
