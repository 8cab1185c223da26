package flatjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// Into reads an object into a struct, as encoding/json does. It takes only keys of fields that are strings, whole numbers,
// booleans or pointers to these. If it does not take the text, the struct is zero afterwards.
func Into(text []byte, to any) (ok bool) {
	v := reflect.ValueOf(to)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	v = v.Elem()
	fields := fieldsOf(v.Type())
	var seenBuffer [16]*field
	seen := seenBuffer[:0]
	ok = read(text, func(key []byte, value value) bool {
		f := fields[string(key)]
		if f == nil {
			return false
		}
		for _, other := range seen {
			if other == f {
				return false
			}
		}
		seen = append(seen, f)
		return set(v.FieldByIndex(f.index), value)
	})
	if !ok {
		v.SetZero()
	}
	return ok
}

// set sets a field. Null leaves it as it is.
func set(f reflect.Value, v value) bool {
	if v.kind == isNull {
		return true
	}
	if f.Kind() == reflect.Pointer {
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	switch {
	case v.kind == isString && f.Kind() == reflect.String:
		f.SetString(string(v.text))
	case v.kind == isNumber && f.CanInt() && !f.OverflowInt(v.number):
		f.SetInt(v.number)
	case (v.kind == isTrue || v.kind == isFalse) && f.Kind() == reflect.Bool:
		f.SetBool(v.kind == isTrue)
	default:
		return false
	}
	return true
}

// field is where a key's value goes.
type field struct{ index []int }

var knownTypes sync.Map // from reflect.Type to map[string]*field

// fieldsOf returns the fields of a struct that Into sets, by their keys.
func fieldsOf(t reflect.Type) map[string]*field {
	if fields, isKnown := knownTypes.Load(t); isKnown {
		return fields.(map[string]*field)
	}
	fields, keys := map[string]*field{}, map[string]int{}
	if readsItself(t) {
		return fields
	}
	for _, f := range reflect.VisibleFields(t) {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys[key]++
		if key != "" && key != "-" && f.IsExported() && !strings.Contains(options, "string") && isPlain(f.Type) && isPromoted(t, f.Index) {
			fields[key] = &field{f.Index}
		}
	}
	for key, count := range keys {
		if count > 1 { // which field has it is a question for encoding/json
			delete(fields, key)
		}
	}
	knownTypes.Store(t, fields)
	return fields
}

// isPlain reports whether a field is a string, a whole number, a boolean or a pointer to one.
func isPlain(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return !readsItself(t) && (t.Kind() == reflect.String || t.Kind() == reflect.Bool || reflect.Int <= t.Kind() && t.Kind() <= reflect.Int64)
}

// readsItself reports whether a type has a method that reads its JSON text.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// isPromoted reports whether encoding/json takes a field for one of the struct itself: it is in structs that are embedded
// without a key, and not behind a pointer.
func isPromoted(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		outer := t.Field(i)
		if t = outer.Type; t.Kind() != reflect.Struct || outer.Tag.Get("json") != "" {
			return false
		}
	}
	return true
}
