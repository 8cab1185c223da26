package seats_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// wantCode fails unless err has the code; "" means no error.
func wantCode(t *testing.T, err error, code holdfast.Code) {
	t.Helper()
	if (err == nil) != (code == "") || holdfast.CodeOf(err) != code {
		t.Fatalf("got %v, want code %q", err, code)
	}
}
