// Package plans has the example seating plans, for the demo shop and for tests.
package plans

import "embed"

// Files has theatre.json, arena.json and cinema.json.
//
//go:embed *.json
var Files embed.FS
