package flatjson_test

import "testing"

// FuzzFlat compares the package with encoding/json.
func FuzzFlat(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { check(t, text) })
}
