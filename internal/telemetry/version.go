package telemetry

import "runtime/debug"

// release is the version of a release. scripts/release sets it from the tag:
//
//	go build -ldflags "-X github.com/holdfast-dev/holdfast/internal/telemetry.release=v1.2.3"
var release string

// Version returns the version of a release, or devel with the commit of another build.
func Version() string {
	if release != "" {
		return release
	}
	const shortCommit = 12 // characters
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" && len(setting.Value) > shortCommit {
				return "devel-" + setting.Value[:shortCommit]
			}
		}
	}
	return "devel"
}
