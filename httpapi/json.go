package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// jsonFormat reads bodies more strictly than Go's decoder, which takes keys in any case,
// the last of repeated keys, and text that is not UTF-8. It reads integers as JSON Schema
// defines them: 2.0 and 2e0 are integers too. Its errors speak of JSON, not of Go.
var jsonFormat = huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshalJSON}

// unmarshalJSON is called twice for a body: with a *any, which is checked against the
// schema, and then with the request's own type.
func unmarshalJSON(data []byte, v any) error {
	if tree, ok := v.(*any); ok {
		return readTree(data, tree)
	}
	if json.Unmarshal(data, v) == nil {
		return nil
	}
	var tree any
	if err := decodeNumbers(data, &tree); err != nil {
		return errSchema
	}
	normalized, err := json.Marshal(withIntegers(tree))
	if err != nil || json.Unmarshal(normalized, v) != nil {
		return errSchema
	}
	return nil
}

// What is wrong with a body, for the client.
var (
	errSchema   = errors.New("a value does not have the form that the schema describes")
	errNotUTF8  = errors.New("the body is not UTF-8, or escapes half of a surrogate pair")
	errRepeated = errors.New("an object has the same key twice")
)

// readTree reads a body for the check against the schema. Every object has each of its
// keys once.
func readTree(data []byte, tree *any) error {
	if !utf8.Valid(data) {
		return errNotUTF8
	}
	err := json.Unmarshal(data, tree)
	if typeError := (*json.UnmarshalTypeError)(nil); errors.As(err, &typeError) { // a number beyond float64
		if err = decodeNumbers(data, tree); err == nil {
			*tree = withFloats(*tree)
		}
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("the body is not JSON, see byte %d", syntax.Offset)
	}
	if err != nil {
		return errors.New("the body is not JSON")
	}
	if hasLoneSurrogate(data) {
		return errNotUTF8
	}
	if repeatsKey(data) {
		return errRepeated
	}
	return nil
}

// hasLoneSurrogate reports whether a valid JSON text escapes half of a surrogate pair. Go
// would read all of them as the same character.
func hasLoneSurrogate(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		r, length := escapedRune(text[i:])
		if second, more := escapedRune(text[i+length:]); utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, second) == utf8.RuneError {
				return true
			}
			length += more
		}
		text = text[i+length:]
	}
}

// escapedRune reads an escape at the beginning of a valid JSON text. Only \u has a rune.
func escapedRune(text []byte) (r rune, length int) {
	const short, long = len(`\n`), len(`\u0000`)
	if len(text) < long || text[0] != '\\' || text[1] != 'u' {
		return 0, short
	}
	code, err := strconv.ParseUint(string(text[short:long]), 16, 16)
	if err != nil {
		return 0, short
	}
	return rune(code), long
}

// maxKeys bounds the work on an object. No schema has so many properties, so that an
// object with more keys is refused for its unknown ones.
const maxKeys = 64

// repeatsKey reports whether an object in a valid JSON text has the same key twice.
func repeatsKey(text []byte) bool {
	var keyBuffer [16][]byte
	var beginBuffer [8]int
	keys, begins := keyBuffer[:0], beginBuffer[:0] // of the objects that are open, and where the keys of each begin
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			begins = append(begins, len(keys))
		case '}':
			last := len(begins) - 1
			keys, begins = keys[:begins[last]], begins[:last]
		case '"':
			end := stringEnd(text, i)
			key := text[i+1 : end]
			i = end
			if !isKey(text[end+1:]) {
				continue
			}
			if bytes.IndexByte(key, '\\') >= 0 {
				key = unescape(text[end-len(key)-1 : end+1])
			}
			siblings := keys[begins[len(begins)-1]:]
			for _, sibling := range siblings {
				if bytes.Equal(sibling, key) {
					return true
				}
			}
			if len(siblings) < maxKeys {
				keys = append(keys, key)
			}
		}
	}
	return false
}

// stringEnd returns the index of the quote that ends the string which begins at an index.
func stringEnd(text []byte, begin int) int {
	end := begin + 1
	for text[end] != '"' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	return end
}

// isKey reports whether the text after a string says that the string is a key.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

func unescape(quoted []byte) []byte {
	var key string
	if json.Unmarshal(quoted, &key) != nil {
		return quoted
	}
	return []byte(key)
}

func decodeNumbers(data []byte, tree *any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(tree)
}

// withFloats replaces numbers by floats; a number beyond their range becomes infinite, and
// is then beyond the maximum of its field.
func withFloats(tree any) any {
	return mapNumbers(tree, func(n json.Number) any {
		f, _ := strconv.ParseFloat(n.String(), 64) // an error is the range, and f is infinite
		return f
	})
}

// withIntegers replaces whole numbers by integers without fraction and exponent.
func withIntegers(tree any) any {
	return mapNumbers(tree, func(n json.Number) any {
		const maxExactInteger = 1 << 53 // of a float64
		if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= maxExactInteger {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
		return n
	})
}

func mapNumbers(tree any, change func(json.Number) any) any {
	switch t := tree.(type) {
	case map[string]any:
		for key, value := range t {
			t[key] = mapNumbers(value, change)
		}
	case []any:
		for i, value := range t {
			t[i] = mapNumbers(value, change)
		}
	case json.Number:
		return change(t)
	}
	return tree
}
