package planfile

import "embed"

// Examples has examples/theatre.json, arena.json and cinema.json, for the demo shop and for tests.
//
//go:embed examples/*.json
var Examples embed.FS
