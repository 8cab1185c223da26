package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// jsonFormat reads JSON as JSON Schema means it: 2.0 and 2e0 are integers too,
// which Go's decoder refuses.
var jsonFormat = huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}

func unmarshal(data []byte, v any) error {
	err := huma.DefaultJSONFormat.Unmarshal(data, v)
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var tree any
	if decoder.Decode(&tree) != nil {
		return err
	}
	plain, encodeErr := json.Marshal(withIntegers(tree))
	if encodeErr != nil {
		return err
	}
	return huma.DefaultJSONFormat.Unmarshal(plain, v)
}

// withIntegers writes whole numbers without fraction and exponent.
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
		const exact = 1 << 53
		if f, err := t.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= exact {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
	}
	return tree
}
