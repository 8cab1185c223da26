package mongodb_test

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

func TestWhole_ReadsWholeNumbersOfEveryType(t *testing.T) {
	t.Parallel()
	decimal, err := bson.ParseDecimal128("7")
	if err != nil {
		t.Fatal(err)
	}
	seven, wrong := mongodb.Whole{N: 7, Valid: true}, mongodb.Whole{Wrong: true}
	for _, c := range []struct {
		value any
		want  mongodb.Whole
	}{
		{int32(7), seven}, {int64(7), seven}, {7.0, seven}, {decimal, seven},
		{7.5, wrong}, {"7", wrong}, {1e300, wrong}, {bson.A{7}, wrong}, {nil, wrong}, {mongodb.MaxWhole + 1, wrong},
	} {
		t.Run(fmt.Sprintf("%v (%T)", c.value, c.value), func(t *testing.T) {
			raw, err := bson.Marshal(bson.D{{Key: "n", Value: c.value}})
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				N mongodb.Whole
			}
			if err := bson.Unmarshal(raw, &got); err != nil || got.N.Valid != c.want.Valid || got.N.Or(0) != c.want.Or(0) ||
				got.N.Wrong != c.want.Wrong {
				t.Errorf("got %+v, %v", got.N, err)
			}
		})
	}
}
