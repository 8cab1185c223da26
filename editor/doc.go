// Package editor has the plan editor, in which venues draw seating plans: the web component holdfast-plan-editor. Its source
// is in src, and what the API serves, made of it by scripts/picker, in dist. It draws with the code of the seat map, in picker/src.
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package editor

import (
	"embed"
	"io/fs"
)

//go:embed dist
var files embed.FS

// Dist has the module and its source map.
func Dist() fs.FS {
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		panic(err) // a programming error
	}
	return dist
}
