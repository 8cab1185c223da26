package testenv

import (
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Missing stands for no field; see With.
var Missing any = missing{}

type missing struct{}

// Extremes are values of every type of BSON, and Missing.
func Extremes() []any {
	past, infinite, notANumber := bson.NewDateTimeFromTime(mongodb.SystemTime().Add(-time.Hour)), math.Inf(1), math.NaN()
	huge, _ := bson.ParseDecimal128("9E6144")
	noDecimal, _ := bson.ParseDecimal128("NaN")
	return []any{
		Missing, nil, bson.Undefined{}, "", "text", "ACTIVE", 0, 1, -1, 2.5, math.MaxInt32, int64(math.MaxInt64), int64(math.MinInt64),
		infinite, -infinite, notANumber, 1e300, huge, noDecimal, true, bson.DateTime(math.MinInt64), bson.DateTime(math.MaxInt64),
		bson.DateTime(-62_167_219_200_000),
		bson.DateTime(253_402_300_800_000), past, bson.A{}, bson.A{1, "x"}, bson.A{past, past}, bson.D{}, bson.D{{Key: "a", Value: 1}},
		bson.Binary{Data: []byte("x")}, mongodb.NewID(), holdfast.ID{},
		bson.Regex{Pattern: "x"}, bson.Timestamp{T: 1}, bson.MinKey{}, bson.MaxKey{},
		bson.JavaScript("1"), bson.Symbol("ACTIVE"), bson.DBPointer{DB: "events", Pointer: bson.ObjectID(mongodb.NewID())},
		bson.CodeWithScope{Code: "1", Scope: bson.D{}},
	}
}

// With is a copy of a document with another value of a field.
func With(doc bson.D, field int, value any) bson.D {
	changed := append(bson.D{}, doc[:field]...)
	if value != Missing {
		changed = append(changed, bson.E{Key: doc[field].Key, Value: value})
	}
	return append(changed, doc[field+1:]...)
}
