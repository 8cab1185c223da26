package mongodb

import (
	"cmp"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// Holds reports whether a document matches the schema, as Filter does. It checks documents that were read by their
// key: that costs less than a filter.
func (s *Schema) Holds(doc bson.Raw) bool {
	length, rest, ok := bsoncore.ReadLength(doc)
	if !ok || int(length) != len(doc) {
		return false
	}
	seen := uint64(0) // one bit for each field
	for len(rest) > 1 {
		var e bsoncore.Element
		if e, rest, ok = bsoncore.ReadElement(rest); !ok {
			return false
		}
		i := s.index(e.KeyBytes())
		if i < 0 || seen&(1<<i) != 0 { // MongoDB uses the first of several fields with the same name
			continue
		}
		seen |= 1 << i
		if v := e.Value(); !Rule(s.Fields[i].Rule).holds(bson.RawValue{Type: bson.Type(v.Type), Value: v.Data}) {
			return false
		}
	}
	for _, name := range s.Required {
		if seen&(1<<s.index([]byte(name))) == 0 {
			return false
		}
	}
	for _, rule := range s.Also {
		if !rule.holds(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}) {
			return false
		}
	}
	return s.Check == nil || s.Check(doc)
}

// Why says why a document does not match the schema, by the first field that breaks it.
func (s *Schema) Why(doc bson.Raw) string {
	for _, f := range s.Fields {
		value, err := doc.LookupErr(f.Name)
		switch {
		case err != nil && slices.Contains(s.Required, f.Name):
			return f.Name + " is missing"
		case err == nil && !Rule(f.Rule).holds(value):
			return f.why(value)
		}
	}
	for _, rule := range s.Also {
		if !rule.holds(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}) {
			return rule.required() + " is missing"
		}
	}
	if s.Check != nil && !s.Check(doc) {
		return s.Checked + " has a value that is not allowed"
	}
	return "it does not match the schema"
}

func (f Field) why(value bson.RawValue) string {
	for _, e := range f.Rule {
		is := cmp.Or(typeNames[value.Type], value.Type.String())
		if kinds, isList := e.Value.(bson.A); e.Key == "bsonType" && e.Value != is && (!isList || !slices.Contains(kinds, any(is))) {
			return f.Name + " is of type " + is
		}
	}
	return f.Name + " has a value that is not allowed"
}

// required returns the field that the rule, or one of several rules, requires.
func (r Rule) required() string {
	for _, e := range r {
		switch e.Key {
		case "required":
			return e.Value.(bson.A)[0].(string) //nolint:forcetypeassert // see Requires
		case "anyOf":
			return ruleFrom(e.Value.(bson.A)[0]).required() //nolint:forcetypeassert // see AnyOf
		}
	}
	return ""
}

// index returns the number of a field, or -1 if the schema does not have it.
func (s *Schema) index(name []byte) int {
	return slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == string(name) })
}

// holds reports whether a value matches the rule.
func (r Rule) holds(v bson.RawValue) bool {
	return !slices.ContainsFunc(r, func(e bson.E) bool { return !keeps(v, e) })
}

func keeps(v bson.RawValue, e bson.E) bool {
	switch e.Key {
	case "bsonType":
		return isOfType(v, e.Value)
	case "minimum":
		n, ok := WholeOf(v)
		return ok && n >= e.Value.(int64) //nolint:forcetypeassert // see WholeIn
	case "maximum":
		n, ok := WholeOf(v)
		return ok && n <= e.Value.(int64) //nolint:forcetypeassert // see WholeIn
	case "enum":
		text, isText := v.StringValueOK()
		if !isText {
			text, _ = v.SymbolOK() // MongoDB treats a symbol as its text
		}
		return slices.Contains(e.Value.(bson.A), any(text)) //nolint:forcetypeassert // see OneOf
	case "items":
		values, err := bson.RawArray(v.Value).Values()
		return err == nil && !slices.ContainsFunc(values, func(v bson.RawValue) bool { return !Rule(e.Value.(bson.D)).holds(v) })
	case "properties":
		doc, ok := v.DocumentOK()
		return !ok || !slices.ContainsFunc(e.Value.(bson.D), func(f bson.E) bool {
			value, err := doc.LookupErr(f.Key)
			return err == nil && !ruleFrom(f.Value).holds(value)
		})
	case "additionalProperties":
		values, err := bson.Raw(v.Value).Values()
		return err == nil && !slices.ContainsFunc(values, func(v bson.RawValue) bool { return !ruleFrom(e.Value).holds(v) })
	case "required":
		_, err := v.Document().LookupErr(e.Value.(bson.A)[0].(string)) //nolint:forcetypeassert // see Requires
		return err == nil
	case "anyOf":
		return slices.ContainsFunc(e.Value.(bson.A), func(rule any) bool { return ruleFrom(rule).holds(v) })
	default:
		panic("mongodb: no check for " + e.Key) // the functions of this package can't make such a rule
	}
}

func ruleFrom(v any) Rule {
	if rule, ok := v.(Rule); ok {
		return rule
	}
	return Rule(v.(bson.D)) //nolint:forcetypeassert // see list and properties
}

var typeNames = map[bson.Type]string{
	bson.TypeObjectID: "objectId", bson.TypeString: "string", bson.TypeDateTime: "date", bson.TypeBoolean: "bool",
	bson.TypeEmbeddedDocument: "object", bson.TypeArray: "array", bson.TypeInt32: "int", bson.TypeInt64: "long", bson.TypeDouble: "double",
}

func isOfType(v bson.RawValue, want any) bool {
	name := typeNames[v.Type]
	if anyOf, ok := want.(bson.A); ok {
		return slices.Contains(anyOf, any(name))
	}
	if date, ok := v.DateTimeOK(); ok && (bson.DateTime(date) < firstDate || bson.DateTime(date) > lastDate) {
		return false
	}
	return name == want
}

// WholeOf returns the whole number of a value. ok is false if the value is not a whole number.
func WholeOf(v bson.RawValue) (n int64, ok bool) {
	switch v.Type {
	case bson.TypeInt32:
		return int64(v.Int32()), true
	case bson.TypeInt64:
		return v.Int64(), true
	case bson.TypeDouble:
		f := v.Double()
		return int64(f), f == math.Trunc(f) && math.Abs(f) <= float64(MaxWhole)
	default:
		return 0, false
	}
}
