package planjson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/seats/seating"
	"github.com/holdfast-dev/holdfast/seats/seating/planjson"
)

// FuzzRead reads any text. A text that is accepted is written and read back as the same plan.
func FuzzRead(f *testing.F) {
	f.Add([]byte(example))
	for _, row := range wrong {
		f.Add([]byte(strings.Replace(example, row.old, row.new, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, problems, err := planjson.Read(text)
		if valid := json.Valid(text); err == nil && !valid {
			t.Fatal("this is no JSON")
		}
		if err != nil || len(problems) > 0 {
			return
		}
		written, err := json.Marshal(planjson.Of(plan))
		if err != nil {
			t.Fatal(err)
		}
		again, problems, err := planjson.Read(written)
		if err != nil || len(problems) > 0 || !reflect.DeepEqual(seating.Expand(again), seating.Expand(plan)) {
			t.Fatalf("%s: %v, %v", written, problems, err)
		}
	})
}
