package mongodb_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

func TestWhole_ReadsWholeNumbersOfEveryType(t *testing.T) {
	t.Parallel()
	decimal, err := bson.ParseDecimal128("7")
	if err != nil {
		t.Fatal(err)
	}
	almostSeven, err := bson.ParseDecimal128("7.000000000000000000000000000000001")
	if err != nil {
		t.Fatal(err)
	}
	seven, wrong := mongodb.Whole{N: 7, Valid: true}, mongodb.Whole{Wrong: true}
	for _, c := range []struct {
		value any
		want  mongodb.Whole
	}{
		{int32(7), seven}, {int64(7), seven}, {7.0, seven}, {decimal, seven},
		{7.5, wrong}, {almostSeven, wrong}, {"7", wrong}, {1e300, wrong}, {bson.A{7}, wrong}, {nil, wrong}, {mongodb.MaxWhole + 1, wrong},
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

// Every date of a document can be printed, and stays in the past or in the future.
func TestDate_CanBePrinted(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{
		math.MinInt64: "0001-01-01T00:00:00.000Z", -62_135_596_800_001: "0001-01-01T00:00:00.000Z", 0: "1970-01-01T00:00:00.000Z",
		253_402_300_799_999: "9999-12-31T23:59:59.999Z", 253_402_300_800_000: "9999-12-31T23:59:59.999Z",
		math.MaxInt64: "9999-12-31T23:59:59.999Z",
	} {
		t.Run(fmt.Sprint(ms), func(t *testing.T) {
			raw, err := bson.Marshal(bson.D{{Key: "at", Value: bson.DateTime(ms)}})
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ At mongodb.Date }
			if err := bson.Unmarshal(raw, &got); err != nil || got.At.IsZero() || got.At.Format("2006-01-02T15:04:05.000Z") != want {
				t.Errorf("got %v, %v, want %s", got.At, err, want)
			}
			if _, err := json.Marshal(got.At.Time); err != nil {
				t.Error(err)
			}
			if now := time.Now(); (ms > now.UnixMilli()) != got.At.After(now) {
				t.Errorf("%v is on the other side of now", got.At)
			}
		})
	}
}

// MongoDB sees the first of repeated fields, and names exactly.
func TestUnmarshal_TakesTheFirstFieldOfTheExactName(t *testing.T) {
	t.Parallel()
	type part struct {
		Seats mongodb.Whole `bson:"seats"`
	}
	type doc struct {
		Part part         `bson:",inline"`
		Rows []part       `bson:"rows"`
		User mongodb.Text `bson:"userName"`
		Name mongodb.Text
	}
	rows := bson.A{bson.D{{Key: "Seats", Value: 7}, {Key: "seats", Value: 2}, {Key: "seats", Value: 3}}}
	raw, err := bson.Marshal(bson.D{
		{Key: "SEATS", Value: 9}, {Key: "Name", Value: "x"}, {Key: "seats", Value: 1}, {Key: "userName", Value: ""}, {Key: "rows", Value: rows},
		{Key: "name", Value: 5}, {Key: "seats", Value: 5}, {Key: "rows", Value: bson.A{}}, {Key: "userName", Value: "x"},
		{Key: "name", Value: "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got doc
	if err := mongodb.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.Part.Seats.N != 1 || got.User != "" || got.Name != "" || len(got.Rows) != 1 || got.Rows[0].Seats.N != 2 {
		t.Errorf("got %+v", got)
	}
}

// The registered decoders read every value as the methods do, by which the driver's own registry reads, and leave what follows.
func TestUnmarshal_ReadsEveryTypeAsTheMethodsDo(t *testing.T) {
	t.Parallel()
	decimal, err := bson.ParseDecimal128("7E2")
	if err != nil {
		t.Fatal(err)
	}
	type fields struct {
		Whole mongodb.Whole
		Text  mongodb.Text
		Date  mongodb.Date
	}
	type doc struct {
		Values   fields
		Pointers struct {
			Whole *mongodb.Whole
			Text  *mongodb.Text
			Date  *mongodb.Date
		}
		Lists struct {
			Whole []mongodb.Whole
			Text  []mongodb.Text
			Date  []mongodb.Date
		}
		Last mongodb.Text
	}
	for _, value := range []any{
		int32(-7), int64(7), int64(math.MaxInt64), 7.0, 7.5, math.NaN(), math.Inf(1), decimal, "", "7", "\xff", true, nil,
		bson.DateTime(0), bson.DateTime(math.MinInt64), bson.DateTime(1e12), bson.D{{Key: "whole", Value: 1}}, bson.A{7, "x"}, bson.NewObjectID(),
		bson.Binary{Data: []byte("x")}, bson.Regex{Pattern: "x"}, bson.DBPointer{DB: "x"}, bson.JavaScript("x"), bson.Symbol("x"),
		bson.CodeWithScope{Code: "x", Scope: bson.D{}}, bson.Timestamp{T: 1}, bson.Undefined{}, bson.MinKey{}, bson.MaxKey{},
	} {
		t.Run(fmt.Sprintf("%v (%T)", value, value), func(t *testing.T) {
			same := bson.D{{Key: "whole", Value: value}, {Key: "text", Value: value}, {Key: "date", Value: value}}
			list := bson.A{value, value}
			raw, err := bson.Marshal(bson.D{
				{Key: "values", Value: same}, {Key: "pointers", Value: same},
				{Key: "lists", Value: bson.D{{Key: "whole", Value: list}, {Key: "text", Value: list}, {Key: "date", Value: list}}},
				{Key: "last", Value: "read"},
			})
			if err != nil {
				t.Fatal(err)
			}
			var got, want doc
			if err := bson.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			if err := mongodb.Unmarshal(raw, &got); err != nil || got.Last != "read" || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}
