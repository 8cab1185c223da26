// Package jsonwalk reads JSON texts value by value, strictly and with little memory: keys are
// exact, and each problem has the path of the invalid value. The readers of files and of large
// requests use it, because Go's decoder reports only one problem, without a path.
package jsonwalk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Reader walks through a JSON text. Each of its methods reads the value at the present position,
// and stands at the first byte of what follows it.
type Reader struct {
	text         []byte
	at           int
	path         []byte // of the present value
	problems     []holdfast.FieldError
	mostProblems int
}

// NewReader returns a reader at the value of a text that passes Check. It keeps the
// first mostProblems.
func NewReader(text []byte, mostProblems int) *Reader {
	r := &Reader{text: text, mostProblems: mostProblems}
	r.space()
	return r
}

// Problems returns the problems in the order of the text.
func (r *Reader) Problems() []holdfast.FieldError { return r.problems }

// Problem adds a problem of the present value.
func (r *Reader) Problem(what string, args ...any) {
	if len(r.problems) < r.mostProblems {
		r.problems = append(r.problems, holdfast.FieldError{Where: string(r.path), What: fmt.Sprintf(what, args...)})
	}
}

// First returns the first byte of the present value.
func (r *Reader) First() byte { return r.text[r.at] }

func (r *Reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}

// Object reads an object. For each key, field reads its value, or returns false for an unknown
// key without reading.
func (r *Reader) Object(field func(key string) bool, required ...string) {
	if r.text[r.at] != '{' {
		r.Problem("expected object")
		r.Skip()
		return
	}
	length := len(r.path)
	var seen uint64 // of required
	for r.next('}') {
		key := r.quoted()
		r.space()
		r.at++ // the colon
		r.space()
		r.enter(key)
		if i := slices.Index(required, key); i >= 0 {
			seen |= 1 << i
		}
		if !field(key) {
			r.Problem("unexpected property")
			r.Skip()
		}
		r.path = r.path[:length]
	}
	for i, key := range required {
		if seen>>i&1 == 0 {
			r.enter(key)
			r.Problem("expected required property %s to be present", key)
			r.path = r.path[:length]
		}
	}
}

// enter adds a key to the path, or only its beginning if it is longer than any valid key.
func (r *Reader) enter(key string) {
	const longest = 64
	if len(key) > longest {
		key = strings.ToValidUTF8(key[:longest], "") + "..."
	}
	if len(r.path) > 0 {
		r.path = append(r.path, '.')
	}
	r.path = append(r.path, key...)
}

// List reads an array; item reads the value at an index.
func (r *Reader) List(item func(i int)) {
	if r.text[r.at] != '[' {
		r.Problem("expected array")
		r.Skip()
		return
	}
	length := len(r.path)
	for i := 0; r.next(']'); i++ {
		r.path = append(strconv.AppendInt(append(r.path, '['), int64(i), 10), ']')
		item(i)
		r.path = r.path[:length]
	}
}

// next goes to the next member of an object or an array, past the byte that opens it or the
// comma. It returns false, and goes past the end, if there is none.
func (r *Reader) next(end byte) bool {
	r.space()
	if r.text[r.at] != end {
		r.at++
		r.space()
		if r.text[r.at] != end {
			return true
		}
	}
	r.at++
	return false
}

// Skip goes past a value.
func (r *Reader) Skip() {
	switch depth := 0; r.text[r.at] {
	case '{', '[':
		for {
			switch r.text[r.at] {
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			case '"':
				r.at = r.stringEnd() - 1
			}
			r.at++
			if depth == 0 {
				return
			}
		}
	case '"':
		r.at = r.stringEnd()
	default:
		r.word()
	}
}

// stringEnd returns where the string ends that begins at the present position.
func (r *Reader) stringEnd() int {
	end := r.at + 1
	for r.text[end] != '"' {
		if r.text[end] == '\\' {
			end++
		}
		end++
	}
	return end + 1
}

// word reads a number, true, false or null.
func (r *Reader) word() []byte {
	begin := r.at
	if i := bytes.IndexAny(r.text[r.at:], " \t\r\n,]}"); i >= 0 {
		r.at += i
	} else {
		r.at = len(r.text)
	}
	return r.text[begin:r.at]
}

// quoted reads a value that is known to be a string.
func (r *Reader) quoted() string {
	begin := r.at
	r.at = r.stringEnd()
	text := r.text[begin:r.at]
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1])
	}
	var s string
	_ = json.Unmarshal(text, &s) // it is valid
	return s
}

// Text reads a string.
func (r *Reader) Text() string {
	if r.text[r.at] != '"' {
		r.Problem("expected string")
		r.Skip()
		return ""
	}
	return r.quoted()
}

// Null reads null if it is there.
func (r *Reader) Null() bool {
	isNull := r.text[r.at] == 'n'
	if isNull {
		r.word()
	}
	return isNull
}

// OptionalString reads a text that is absent if it is null. An empty one would be read as
// absent too, and is refused.
func (r *Reader) OptionalString() string {
	if r.Null() {
		return ""
	}
	isString := r.text[r.at] == '"'
	s := r.Text()
	if isString && s == "" {
		r.Problem("expected length >= 1")
	}
	return s
}

// OptionalBool reads true or false; null is false.
func (r *Reader) OptionalBool() bool {
	if r.Null() {
		return false
	}
	c := r.text[r.at]
	if c != 't' && c != 'f' {
		r.Problem("expected boolean")
	}
	r.Skip()
	return c == 't'
}

// IsNumber reports whether a value with this first byte is a number.
func IsNumber(first byte) bool { return first == '-' || '0' <= first && first <= '9' }

// Number reads a number; one beyond float64 becomes infinite.
func (r *Reader) Number() (float64, bool) {
	if !IsNumber(r.text[r.at]) {
		r.Problem("expected number")
		r.Skip()
		return 0, false
	}
	f, _ := strconv.ParseFloat(string(r.word()), 64) // an error is the range, and f is infinite
	return f, true
}

// Integer reads a whole number as JSON Schema defines it: 2.0 and 2e0 are integers. A number
// too large for every limit stays too large.
func (r *Reader) Integer() (int64, bool) {
	f, ok := r.Number()
	if !ok {
		return 0, false
	}
	if f != math.Trunc(f) {
		r.Problem("expected integer")
		return 0, false
	}
	const tooLarge = 1 << 53
	return int64(max(-tooLarge, min(f, tooLarge))), true
}
