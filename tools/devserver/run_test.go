package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// On a new machine the help takes minutes, because the programs are built first.
func TestRun_HelpSaysThatItBuilds(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "bash", "../../scripts/run", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	builds, flags := strings.Index(string(out), "builds the programs"), strings.Index(string(out), "--http-addr")
	if builds < 0 || flags < builds {
		t.Errorf("the help does not say first that the script builds: %s", out)
	}
}

// Ctrl-C stops scripts/run at once, unless the environment wants the delay.
func TestRun_SetsNoShutdownDelay(t *testing.T) {
	for set, want := range map[string]string{"": "SHUTDOWN_DELAY=0s", "3s": "SHUTDOWN_DELAY=3s"} {
		t.Setenv("SHUTDOWN_DELAY", set)
		if env := processEnv("mongodb://x"); !slices.Contains(env, want) {
			t.Errorf("%q: %v", set, env)
		}
	}
}
