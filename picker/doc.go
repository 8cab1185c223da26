// Package picker has the seat map that shops embed: the web component holdfast-seats. Its source is in src, and what
// the API serves, made of it by scripts/picker, in dist. README.md is for those who embed it.
package picker

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Module is the name of the module among the files of Dist.
const Module = "holdfast-seats.js"

// Dist has the module and its source map.
func Dist() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // a programming error
	}
	return files
}
