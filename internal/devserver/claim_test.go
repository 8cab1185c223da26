package devserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// A second scripts/run on the same data must say which process has it, and where.
func TestClaimData_TellsWhoHasTheData(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	first, err := devserver.ClaimData("http://127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	_, err = devserver.ClaimData("http://127.0.0.1:8090")
	data, process := filepath.Join(folder, devserver.Home, "data"), fmt.Sprintf("process %d,", os.Getpid())
	for _, want := range []string{data, process, "at http://127.0.0.1:8080."} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second, err := devserver.ClaimData("http://127.0.0.1:8090")
	if err != nil {
		t.Fatal("a released claim is in the way:", err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}
