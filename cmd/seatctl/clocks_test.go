package main

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The primary's clock is right, so its offset alone shows nothing.
func TestDoctor_TellsOfMembersWhoseClocksDiffer(t *testing.T) {
	t.Parallel()
	slow, err := devserver.ClockOffset(t.Context(), "-5m", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	set, err := devserver.StartReplicaSet(t.Context(), devserver.MongodOptions{Progress: os.Stderr,
		Member: func(i int) devserver.MemberOptions {
			if i == 0 {
				return devserver.MemberOptions{}
			}
			return devserver.MemberOptions{Env: slow}
		}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Stop)
	code, out, errs := ctl(testenv.Open(t, set.URI, "clocks"), "", "doctor")
	if code == 0 || !strings.Contains(out, "clocks of the members") || !strings.Contains(out, "ahead of "+set.Members[1].Host) {
		t.Errorf("exit code %d: %s %s", code, out, errs)
	}
}
