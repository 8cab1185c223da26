package mongodb

import (
	"cmp"
	"reflect"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Other software may write a field twice in a document, or a field whose name differs from ours in its
// case. MongoDB's queries and updates take the first field with the exact name. The driver's decoder
// takes the last one, in any case, so that a decision would rely on another value than its guard.

// registry decodes structs by exactDecoder.
var registry = func() *bson.Registry {
	r := bson.NewRegistry()
	ofStructs, err := r.LookupDecoder(reflect.TypeFor[struct{}]())
	if err != nil {
		panic(err) // the driver's own registry has it
	}
	r.RegisterKindDecoder(reflect.Struct, &exactDecoder{ValueDecoder: ofStructs})
	registerLenient(r)
	return r
}()

// Unmarshal decodes a document as the database's reads do.
func Unmarshal(doc bson.Raw, into any) error {
	return UnmarshalValue(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}, into)
}

// UnmarshalValue is Unmarshal for a value.
func UnmarshalValue(v bson.RawValue, into any) error { return v.UnmarshalWithRegistry(registry, into) }

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
		if options == "inline" {
			fieldNames(names, f.Type)
		} else {
			names[cmp.Or(name, strings.ToLower(f.Name))] = len(names)
		}
	}
	return names
}

// exactReader skips the fields of a document that its struct does not have, or has already.
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
