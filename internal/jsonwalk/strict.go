package jsonwalk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// The errors of a text, for the client.
var (
	ErrNotUTF8     = errors.New("the text is not UTF-8, or escapes half of a surrogate pair")
	ErrRepeatedKey = errors.New("an object has the same key twice")
)

// Check refuses a text that is not one JSON value in UTF-8, and one in which an object has the
// same key twice. Go's decoder takes the last of repeated keys, and replaces text that is not
// UTF-8. The API and the readers of files refuse the same texts.
func Check(text []byte) error {
	if !utf8.Valid(text) {
		return ErrNotUTF8
	}
	var value json.RawMessage
	if err := json.Unmarshal(text, &value); err != nil {
		return SyntaxError(err)
	}
	return CheckValid(text)
}

// CheckValid is Check for a text that is known to be a JSON value in UTF-8.
func CheckValid(text []byte) error {
	if hasLoneSurrogate(text) {
		return ErrNotUTF8
	}
	if repeatsKey(text) {
		return ErrRepeatedKey
	}
	return nil
}

// SyntaxError returns an error for clients that a text is not JSON; err is Go's error.
func SyntaxError(err error) error {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("the text is not JSON, see byte %d", syntax.Offset)
	}
	return errors.New("the text is not JSON")
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
	keys, begins := keyBuffer[:0], beginBuffer[:0] // the keys of the open objects, and where the keys of each begin
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
