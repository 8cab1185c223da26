package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/internal/jsonwalk"
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

var errSchema = errors.New("a value does not have the form that the schema describes")

// readTree reads a body for the check against the schema. Every object has each of its
// keys once.
func readTree(data []byte, tree *any) error {
	if !utf8.Valid(data) {
		return jsonwalk.ErrNotUTF8
	}
	err := json.Unmarshal(data, tree)
	if typeError := (*json.UnmarshalTypeError)(nil); errors.As(err, &typeError) { // the number exceeds float64
		if err = decodeNumbers(data, tree); err == nil {
			*tree = withFloats(*tree)
		}
	}
	if err != nil {
		return jsonwalk.SyntaxError(err)
	}
	return jsonwalk.CheckValid(data)
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
