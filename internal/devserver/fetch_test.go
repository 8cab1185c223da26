package devserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A download that is not the expected file is not used.
func TestVerify_RefusesAnotherFile(t *testing.T) {
	t.Parallel()
	const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of hello
	path := filepath.Join(t.TempDir(), "file")
	for text, isExpected := range map[string]bool{"hello": true, "hell0": false, "": false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := verify(path, sum); (err == nil) != isExpected || err != nil && !strings.Contains(err.Error(), "it is not used") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
