package jsonwalk_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/jsonwalk"
)

// FuzzReader walks through any JSON text: it ends, and reads nothing beyond the text.
func FuzzReader(f *testing.F) {
	for _, text := range []string{`{"name":"a","of":[{"count":1e999}]}`, `[]`, ` "\"" `, `{"other":{"a":[{}]}}`, "7"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(_ *testing.T, text []byte) {
		if jsonwalk.Check(text) == nil {
			read(jsonwalk.NewReader(text, 5))
		}
	})
}
