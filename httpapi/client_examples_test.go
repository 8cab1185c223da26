package httpapi_test

import (
	"os/exec"
	"testing"
)

// The examples of the Go client print what they say, with a real API. The client is a module of its own, which can't start one.
func TestClient_Examples(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	examples := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-run", "^Example", "-v", ".")
	examples.Dir = "../client"
	examples.Env = append(examples.Environ(), "HOLDFAST_URL="+s.url, "HOLDFAST_KEY=sesame")
	if output, err := examples.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
