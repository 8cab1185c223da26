package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// jsonFormat reads integers as JSON Schema defines them: 2.0 and 2e0 are integers
// too, although Go's decoder refuses them.
var jsonFormat = huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshalJSON}

func unmarshalJSON(data []byte, v any) error {
	err := huma.DefaultJSONFormat.Unmarshal(data, v)
	var typeError *json.UnmarshalTypeError
	if !errors.As(err, &typeError) {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var tree any
	if decoder.Decode(&tree) != nil {
		return err
	}
	normalized, encodeErr := json.Marshal(withIntegers(tree))
	if encodeErr != nil {
		return err
	}
	return huma.DefaultJSONFormat.Unmarshal(normalized, v)
}

// withIntegers replaces whole numbers by integers without fraction and exponent.
func withIntegers(tree any) any {
	switch t := tree.(type) {
	case map[string]any:
		for key, value := range t {
			t[key] = withIntegers(value)
		}
	case []any:
		for i, value := range t {
			t[i] = withIntegers(value)
		}
	case json.Number:
		const maxExactInteger = 1 << 53 // of a float64
		if f, err := t.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= maxExactInteger {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
	}
	return tree
}
