package flatjson

import "bytes"

// Object reads an object as encoding/json reads it into an any.
func Object(text []byte) (object map[string]any, ok bool) {
	const usualKeys = 8
	object = make(map[string]any, usualKeys)
	ok = read(text, func(key []byte, v value) bool {
		if _, isRepeated := object[string(key)]; isRepeated {
			return false
		}
		object[string(key)] = v.any()
		return true
	})
	return object, ok
}

// value is a value of an object.
type value struct {
	kind   kind
	text   []byte // of a string
	number int64
}

type kind int

const (
	isNull kind = iota
	isTrue
	isFalse
	isNumber
	isString
)

func (v value) any() any {
	switch v.kind {
	case isString:
		return string(v.text)
	case isNumber:
		return float64(v.number)
	case isTrue, isFalse:
		return v.kind == isTrue
	default:
		return nil
	}
}

// read calls field for each key of an object, until that refuses one.
func read(text []byte, field func(key []byte, v value) bool) (ok bool) {
	r := reader{text}
	if !r.take('{') {
		return false
	}
	for {
		key, ok := r.string()
		if !ok || !r.take(':') {
			return false
		}
		v, ok := r.value()
		if !ok || !field(key, v) {
			return false
		}
		if r.take('}') {
			r.space()
			return len(r.rest) == 0
		}
		if !r.take(',') {
			return false
		}
	}
}

// reader stands at the rest of a text.
type reader struct{ rest []byte }

func (r *reader) space() {
	for len(r.rest) > 0 && (r.rest[0] == ' ' || r.rest[0] == '\n' || r.rest[0] == '\t' || r.rest[0] == '\r') {
		r.rest = r.rest[1:]
	}
}

// take reads a mark.
func (r *reader) take(mark byte) bool {
	r.space()
	if len(r.rest) == 0 || r.rest[0] != mark {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *reader) string() (text []byte, ok bool) {
	if !r.take('"') {
		return nil, false
	}
	for i, c := range r.rest {
		switch {
		case c == '"':
			text, r.rest = r.rest[:i], r.rest[i+1:]
			return text, true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

func (r *reader) value() (v value, ok bool) {
	r.space()
	switch {
	case bytes.HasPrefix(r.rest, []byte(`"`)):
		v.kind = isString
		v.text, ok = r.string()
		return v, ok
	case r.word("null"):
		return value{kind: isNull}, true
	case r.word("true"):
		return value{kind: isTrue}, true
	case r.word("false"):
		return value{kind: isFalse}, true
	default:
		v.kind = isNumber
		v.number, ok = r.number()
		return v, ok
	}
}

func (r *reader) word(w string) bool {
	rest, found := bytes.CutPrefix(r.rest, []byte(w))
	r.rest = rest
	return found
}

// number reads digits. What follows them decides whether the text is right.
func (r *reader) number() (n int64, ok bool) {
	const maxDigits = 15 // a float64 has them exactly
	digits := 0
	for ; digits < len(r.rest) && '0' <= r.rest[digits] && r.rest[digits] <= '9'; digits++ {
		if digits == maxDigits {
			return 0, false
		}
		n = n*10 + int64(r.rest[digits]-'0')
	}
	if digits == 0 || digits > 1 && r.rest[0] == '0' {
		return 0, false
	}
	r.rest = r.rest[digits:]
	return n, true
}
