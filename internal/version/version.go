// Package version knows the version of a program. scripts/release sets it from the tag:
//
//	go build -ldflags "-X github.com/holdfast-dev/holdfast/internal/version.release=v1.2.3"
package version

import "runtime/debug"

var release string

// String returns the version of a release, or devel with the commit of another build.
func String() string {
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
