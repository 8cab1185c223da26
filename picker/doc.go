// Package picker has the seat map that shops embed: the web component holdfast-seats. Its source is in src, and what
// the API serves, made of it by scripts/picker, in dist. README.md is for developers who embed it.
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package picker

import (
	"embed"
	"encoding/json"
	"io/fs"
)

//go:embed dist package.json
var files embed.FS

// Module is the name of the module among the files of Dist.
const Module = "holdfast-seats.js"

// Version is that of the package.
var Version = func() string {
	var p struct{ Version string }
	text, err := files.ReadFile("package.json")
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		panic(err) // a programming error
	}
	return p.Version
}()

// Dist has the module, the files that it loads, in the folder holdfast-seats, and their source maps.
func Dist() fs.FS {
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		panic(err) // a programming error
	}
	return dist
}
