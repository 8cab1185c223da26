package telemetry

import "runtime/debug"

// release is the version of a release. .goreleaser.yaml sets it from the tag:
//
//	go build -ldflags "-X github.com/holdfast-dev/holdfast/internal/telemetry.release=v1.2.3"
var release string

// Version returns the version of a release, or devel with the commit of another build.
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}
	return versionOf(info)
}

const devel = "devel"

// versionOf returns the version that go install MODULE@VERSION notes. A build in a checkout has its commit.
func versionOf(info *debug.BuildInfo) string {
	const shortCommit = 12 // characters
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) > shortCommit {
			return devel + "-" + setting.Value[:shortCommit]
		}
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return devel
}
