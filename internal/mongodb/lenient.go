package mongodb

import (
	"math"
	"math/big"
	"reflect"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// Documents may come from other software: a whole number may be an int32, an int64, a
// double or a decimal, and a field may be missing or of another type. The types below
// never fail: a value that does not fit counts as absent.

// registerLenient registers decoders of the types that most fields have. They read as UnmarshalBSONValue does. The driver
// would look for this method with each value, and copy the value for it, which costs more than to decode it.
func registerLenient(r *bson.Registry) {
	decode(r, func(w *Whole, v bson.ValueReader) (err error) {
		*w = Whole{}
		var f float64
		switch v.Type() {
		case bson.TypeInt32:
			var n int32
			n, err = v.ReadInt32()
			w.fromInt(int64(n))
		case bson.TypeInt64:
			var n int64
			n, err = v.ReadInt64()
			w.fromInt(n)
		case bson.TypeDouble:
			f, err = v.ReadDouble()
			w.fromFloat(f)
		case bson.TypeDecimal128:
			var d bson.Decimal128
			d, err = v.ReadDecimal128()
			w.fromDecimal(d)
		default:
			err = v.Skip()
		}
		w.check()
		return err
	})
	decode(r, func(id *holdfast.ID, v bson.ValueReader) error {
		if *id = (holdfast.ID{}); v.Type() != bson.TypeObjectID {
			return v.Skip()
		}
		o, err := v.ReadObjectID()
		*id = holdfast.ID(o)
		return err
	})
	decode(r, func(t *Text, v bson.ValueReader) (err error) {
		if *t = ""; v.Type() != bson.TypeString {
			return v.Skip()
		}
		s, err := v.ReadString()
		*t = Text(s)
		return err
	})
	decode(r, func(d *Date, v bson.ValueReader) error {
		if *d = (Date{}); v.Type() != bson.TypeDateTime {
			return v.Skip()
		}
		ms, err := v.ReadDateTime()
		d.fromMillis(ms)
		return err
	})
}

func decode[T any](r *bson.Registry, read func(into *T, v bson.ValueReader) error) {
	r.RegisterTypeDecoder(reflect.TypeFor[T](), bson.ValueDecoderFunc(
		func(_ bson.DecodeContext, v bson.ValueReader, into reflect.Value) error {
			return read(into.Addr().Interface().(*T), v) //nolint:forcetypeassert // it is registered for this type
		}))
}

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
		w.fromInt(int64(v.Int32()))
	case bson.TypeInt64:
		w.fromInt(v.Int64())
	case bson.TypeDouble:
		w.fromFloat(v.Double())
	case bson.TypeDecimal128:
		w.fromDecimal(v.Decimal128())
	default:
	}
	w.check()
	return nil
}

func (w *Whole) fromInt(n int64) { *w = Whole{N: n, Valid: true} }

func (w *Whole) fromDecimal(d bson.Decimal128) {
	if r, ok := new(big.Rat).SetString(d.String()); ok && r.IsInt() && r.Num().IsInt64() {
		w.fromInt(r.Num().Int64())
	}
}

func (w *Whole) check() {
	w.Valid = w.Valid && -MaxWhole <= w.N && w.N <= MaxWhole
	w.Wrong = !w.Valid
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

// Texts are the strings of a list, in their order, or a single string, which MongoDB's queries and indexes take for a list of one; nil
// for any other value, for an empty string, and for a list without strings.
type Texts []string

// UnmarshalBSONValue reads any value.
func (t *Texts) UnmarshalBSONValue(kind byte, data []byte) error {
	*t = nil
	switch bson.Type(kind) {
	case bson.TypeArray:
	case bson.TypeString:
		if one, ok := (bson.RawValue{Type: bson.TypeString, Value: data}).StringValueOK(); ok && one != "" {
			*t = Texts{one}
		}
		return nil
	default:
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
		d.fromMillis(ms)
	}
	return nil
}

func (d *Date) fromMillis(ms int64) {
	d.Stored = bson.DateTime(ms)
	if d.Time = time.UnixMilli(max(firstMilli, min(ms, lastMilli))).UTC(); d.IsZero() { // a date, although it is Go's zero time
		d.Time = d.Add(time.Nanosecond)
	}
}
