package mongodb

import (
	"math"
	"math/big"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Documents may come from other software: a whole number may be an int32, an int64, a
// double or a decimal, and a field may be missing or of another type. The types below
// never fail: a value that does not fit counts as absent.

// Whole is a whole number of any numeric type, exact.
type Whole struct {
	N     int64
	Valid bool // false: missing, another type, a fraction, or beyond MaxWhole
	Wrong bool // there is a value, and it is not valid
}

// UnmarshalBSONValue reads any value.
func (w *Whole) UnmarshalBSONValue(kind byte, data []byte) error {
	*w = Whole{}
	v := bson.RawValue{Type: bson.Type(kind), Value: data}
	switch bson.Type(kind) {
	case bson.TypeInt32:
		*w = Whole{N: int64(v.Int32()), Valid: true}
	case bson.TypeInt64:
		*w = Whole{N: v.Int64(), Valid: true}
	case bson.TypeDouble:
		w.fromFloat(v.Double())
	case bson.TypeDecimal128:
		if r, ok := new(big.Rat).SetString(v.Decimal128().String()); ok && r.IsInt() && r.Num().IsInt64() {
			*w = Whole{N: r.Num().Int64(), Valid: true}
		}
	default:
	}
	w.Valid = w.Valid && -MaxWhole <= w.N && w.N <= MaxWhole
	w.Wrong = !w.Valid
	return nil
}

func (w *Whole) fromFloat(f float64) {
	if f == math.Trunc(f) && math.Abs(f) <= float64(MaxWhole) {
		*w = Whole{N: int64(f), Valid: true}
	}
}

// Or is the number, or another one if there is none.
func (w Whole) Or(other int64) int64 {
	if w.Valid {
		return w.N
	}
	return other
}

// Pointer is the number, or nil if there is none.
func (w Whole) Pointer() *int64 {
	if !w.Valid {
		return nil
	}
	return &w.N
}

// Text is a string, or "".
type Text string

// UnmarshalBSONValue reads any value.
func (t *Text) UnmarshalBSONValue(kind byte, data []byte) error {
	s, _ := bson.RawValue{Type: bson.Type(kind), Value: data}.StringValueOK()
	*t = Text(s)
	return nil
}

// Bool is true, or any other value.
type Bool bool

// UnmarshalBSONValue reads any value.
func (b *Bool) UnmarshalBSONValue(kind byte, data []byte) error {
	value, _ := bson.RawValue{Type: bson.Type(kind), Value: data}.BooleanOK()
	*b = Bool(value)
	return nil
}

// Texts are the strings of a list, in their order; nil for any other value, and for a list without
// strings.
type Texts []string

// UnmarshalBSONValue reads any value.
func (t *Texts) UnmarshalBSONValue(kind byte, data []byte) error {
	*t = nil
	if bson.Type(kind) != bson.TypeArray {
		return nil
	}
	values, err := bson.RawArray(data).Values()
	if err != nil {
		return nil //nolint:nilerr // a value that can't be read counts as absent
	}
	for _, v := range values {
		if s, ok := v.StringValueOK(); ok {
			if *t == nil {
				*t = make(Texts, 0, len(values))
			}
			*t = append(*t, s)
		}
	}
	return nil
}

// Date is a date in UTC, or the zero time. A date before the year 1 or after 9999, which
// RFC 3339 can't write, is the first or the last one that it can. Stored is the date as it
// is, for conditions.
type Date struct {
	time.Time
	Stored bson.DateTime
}

const firstMilli, lastMilli = -62_135_596_800_000, 253_402_300_799_999

// UnmarshalBSONValue reads any value.
func (d *Date) UnmarshalBSONValue(kind byte, data []byte) error {
	*d = Date{}
	if ms, ok := (bson.RawValue{Type: bson.Type(kind), Value: data}).DateTimeOK(); ok {
		d.Stored = bson.DateTime(ms)
		if d.Time = time.UnixMilli(max(firstMilli, min(ms, lastMilli))).UTC(); d.IsZero() { // a date, although it is Go's zero time
			d.Time = d.Add(time.Nanosecond)
		}
	}
	return nil
}
