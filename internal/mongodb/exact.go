package mongodb

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// A document may have a field twice, or an unknown field whose name differs from a known one only in its case.
// MongoDB's queries and updates use the first field with the exact name. The driver's decoder uses the last one, in
// any case, so a decision would rely on a different value than its guard.

// registry decodes structs by exactDecoder.
var registry = func() *bson.Registry {
	r := bson.NewRegistry()
	ofStructs, err := r.LookupDecoder(reflect.TypeFor[struct{}]())
	if err != nil {
		panic(err) // the driver's own registry has this decoder
	}
	r.RegisterKindDecoder(reflect.Struct, &exactDecoder{ValueDecoder: ofStructs})
	registerFast(r)
	return r
}()

// registerFast registers decoders for the types that most fields have. For values that match the schema they return
// the same as the driver's own decoders, in less time: the driver makes a reflect.Value of each value, or looks for
// the method UnmarshalBSONValue.
func registerFast(r *bson.Registry) {
	decode(r, func(id *holdfast.ID, v bson.ValueReader) error {
		read, err := v.ReadObjectID()
		*id = holdfast.ID(read)
		return err
	})
	decode(r, func(s *string, v bson.ValueReader) (err error) {
		if v.Type() == bson.TypeSymbol { // MongoDB treats a symbol as its text
			*s, err = v.ReadSymbol()
			return err
		}
		*s, err = v.ReadString()
		return err
	})
	decode(r, func(n *int64, v bson.ValueReader) error {
		switch v.Type() {
		case bson.TypeInt32:
			read, err := v.ReadInt32()
			*n = int64(read)
			return err
		case bson.TypeDouble:
			f, err := v.ReadDouble()
			if *n = int64(f); float64(*n) != f {
				return fmt.Errorf("%v is not a whole number", f)
			}
			return err
		default:
			read, err := v.ReadInt64()
			*n = read
			return err
		}
	})
	decode(r, func(t *time.Time, v bson.ValueReader) error {
		ms, err := v.ReadDateTime()
		if *t = time.UnixMilli(ms).UTC(); t.IsZero() { // which would mean that there is none; see holdfast.Instant
			*t = t.Add(1)
		}
		return err
	})
	decode(r, func(t *DatabaseNow, v bson.ValueReader) error {
		if v.Type() != bson.TypeDateTime { // an unknown field of the document itself
			return v.Skip()
		}
		ms, err := v.ReadDateTime()
		t.Time = time.UnixMilli(ms).UTC()
		return err
	})
}

// decode registers a decoder. Null counts as absent, because an index that covers a query returns null for an absent
// field.
func decode[T any](r *bson.Registry, read func(into *T, v bson.ValueReader) error) {
	r.RegisterTypeDecoder(reflect.TypeFor[T](), bson.ValueDecoderFunc(
		func(_ bson.DecodeContext, v bson.ValueReader, into reflect.Value) error {
			value := into.Addr().Interface().(*T) //nolint:forcetypeassert // it is registered for this type
			if v.Type() == bson.TypeNull {
				*value = *new(T)
				return v.ReadNull()
			}
			return read(value, v)
		}))
}

// Unmarshal decodes a document as the database's reads do. It fails with ErrCorrupt if that is not possible.
func Unmarshal(doc bson.Raw, into any) error {
	return UnmarshalValue(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}, into)
}

// UnmarshalValue is Unmarshal for a single value.
func UnmarshalValue(v bson.RawValue, into any) error {
	return corrupt(v.UnmarshalWithRegistry(registry, into))
}

// corrupt wraps the error of a decoder in ErrCorrupt.
func corrupt(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// DatabaseNow is the database's clock when a document was read. It is the type of the field databaseNow, which WithNow
// sets. The document may have an unknown field of that name: WithNow replaces it, and a read without WithNow must not
// use the value.
type DatabaseNow struct{ time.Time }

// exactDecoder decodes each field of a struct from the first field of the document with its exact name.
type exactDecoder struct {
	bson.ValueDecoder
	names sync.Map // reflect.Type → map[string]int
}

// DecodeValue decodes one struct.
func (d *exactDecoder) DecodeValue(dc bson.DecodeContext, vr bson.ValueReader, val reflect.Value) error {
	cached, ok := d.names.Load(val.Type())
	if !ok {
		cached, _ = d.names.LoadOrStore(val.Type(), fieldNames(map[string]int{}, val.Type()))
	}
	names := cached.(map[string]int) //nolint:forcetypeassert // nothing else is stored
	return d.ValueDecoder.DecodeValue(dc, &exactReader{ValueReader: vr, names: names, seen: make([]bool, len(names))}, val)
}

// fieldNames adds the names of a struct's fields, numbered.
func fieldNames(names map[string]int, t reflect.Type) map[string]int {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("bson"), ",")
		if name == "-" {
			continue // an unknown field of that name must not count as this field
		}
		if options == "inline" {
			fieldNames(names, f.Type)
		} else {
			names[cmp.Or(name, strings.ToLower(f.Name))] = len(names)
		}
	}
	return names
}

// exactReader skips the fields of a document that its struct does not have, or that it has read already.
type exactReader struct {
	bson.ValueReader
	fields bson.DocumentReader
	names  map[string]int
	seen   []bool
}

// ReadDocument begins the document.
func (r *exactReader) ReadDocument() (fields bson.DocumentReader, err error) {
	r.fields, err = r.ValueReader.ReadDocument()
	return r, err
}

// ReadElement reads the next field.
func (r *exactReader) ReadElement() (string, bson.ValueReader, error) {
	for {
		name, value, err := r.fields.ReadElement()
		if err != nil {
			return name, value, err
		}
		if i, ok := r.names[name]; ok && !r.seen[i] {
			r.seen[i] = true
			return name, value, nil
		}
		if err := value.Skip(); err != nil {
			return "", nil, err
		}
	}
}
