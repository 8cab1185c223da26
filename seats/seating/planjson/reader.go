package planjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// reader walks through a valid JSON text in UTF-8. Each of its methods reads the value at the
// present position, and stands at the first byte of what follows it.
type reader struct {
	text     []byte
	at       int
	path     []byte // of the present value
	problems []holdfast.FieldError
}

func (r *reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}

// object reads an object. For each key, field reads its value, or returns false for an unknown
// key without reading.
func (r *reader) object(field func(key string) bool, required ...string) {
	if r.text[r.at] != '{' {
		r.problem("expected object")
		r.skip()
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
			r.problem("unexpected property")
			r.skip()
		}
		r.path = r.path[:length]
	}
	for i, key := range required {
		if seen>>i&1 == 0 {
			r.enter(key)
			r.problem("expected required property %s to be present", key)
			r.path = r.path[:length]
		}
	}
}

// enter adds a key to the path, and of a key that no plan has no more than its beginning.
func (r *reader) enter(key string) {
	const longest = 64
	if len(key) > longest {
		key = strings.ToValidUTF8(key[:longest], "") + "..."
	}
	if len(r.path) > 0 {
		r.path = append(r.path, '.')
	}
	r.path = append(r.path, key...)
}

// list reads an array; item reads the value at an index.
func (r *reader) list(item func(i int)) {
	if r.text[r.at] != '[' {
		r.problem("expected array")
		r.skip()
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
func (r *reader) next(end byte) bool {
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

// skip goes past a value.
func (r *reader) skip() {
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
func (r *reader) stringEnd() int {
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
func (r *reader) word() []byte {
	begin := r.at
	if i := bytes.IndexAny(r.text[r.at:], " \t\r\n,]}"); i >= 0 {
		r.at += i
	} else {
		r.at = len(r.text)
	}
	return r.text[begin:r.at]
}

// quoted reads what is known to be a string.
func (r *reader) quoted() string {
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

func (r *reader) string() string {
	if r.text[r.at] != '"' {
		r.problem("expected string")
		r.skip()
		return ""
	}
	return r.quoted()
}

// null reads null if it is there.
func (r *reader) null() bool {
	isNull := r.text[r.at] == 'n'
	if isNull {
		r.word()
	}
	return isNull
}

// optionalString reads a text that is absent if it is null. An empty one would be read as
// absent too, and is refused.
func (r *reader) optionalString() string {
	if r.null() {
		return ""
	}
	isString := r.text[r.at] == '"'
	s := r.string()
	if isString && s == "" {
		r.problem("expected length >= 1")
	}
	return s
}

func (r *reader) optionalBool() bool {
	if r.null() {
		return false
	}
	c := r.text[r.at]
	if c != 't' && c != 'f' {
		r.problem("expected boolean")
	}
	r.skip()
	return c == 't'
}

func isNumber(first byte) bool { return first == '-' || '0' <= first && first <= '9' }

// number reads a number; one beyond float64 becomes infinite.
func (r *reader) number() (float64, bool) {
	if !isNumber(r.text[r.at]) {
		r.problem("expected number")
		r.skip()
		return 0, false
	}
	f, _ := strconv.ParseFloat(string(r.word()), 64) // an error is the range, and f is infinite
	return f, true
}
