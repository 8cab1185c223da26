package telemetry

import (
	"runtime/debug"
	"testing"
)

func TestVersion_IsOfTheModuleOrOfTheCommit(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	checkout := []debug.BuildSetting{{Key: "-trimpath", Value: "true"}, {Key: "vcs.revision", Value: commit}}
	for want, info := range map[string]debug.BuildInfo{
		"v0.1.0":             {Main: debug.Module{Version: "v0.1.0"}}, // go install of a version
		"devel":              {Main: debug.Module{Version: "(devel)"}},
		"devel-0123456789ab": {Main: debug.Module{Version: "v0.1.1-0.20260101000000-0123456789ab+dirty"}, Settings: checkout},
	} {
		if got := versionOf(&info); got != want {
			t.Errorf("%+v: %s, want %s", info, got, want)
		}
	}
}
