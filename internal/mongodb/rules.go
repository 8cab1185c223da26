package mongodb

import (
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// MaxWhole is the largest whole number that every numeric type of BSON holds exactly.
const MaxWhole = math.MaxInt32 * int64(1<<20)

// Dates are in the years that RFC 3339 can write.
const firstDate, lastDate = bson.DateTime(-62_135_596_800_000), bson.DateTime(253_402_300_799_999)

// Field is a field of a document, with what $jsonSchema requires of its value if it is there.
type Field struct {
	Name string
	Rule bson.D
}

// Field applies the rule to the field with a name.
func (r Rule) Field(name string) Field { return Field{name, bson.D(r)} }

// Rule is a condition of $jsonSchema on a value.
type Rule bson.D

// These are the types of values in lists, and in rules that allow several types.
var (
	WholeRule  = WholeIn(-MaxWhole, MaxWhole)
	NumberRule = Rule{{Key: "bsonType", Value: bson.A{"int", "long", "double"}}}
	TextsRule  = ListOf(ofType("string"))
)

// Each of these returns a field of a type; the argument is the name of the field.
var (
	ObjectIDField = ofType("objectId").Field
	TextField     = ofType("string").Field
	DateField     = ofType("date").Field
	BoolField     = ofType("bool").Field
	ListField     = ofType("array").Field
	NumberField   = NumberRule.Field
	WholeField    = WholeRule.Field
	TextsField    = TextsRule.Field
	// TextsByNameField is a document whose values are texts.
	TextsByNameField = Rule{{Key: "bsonType", Value: "object"}, {Key: "additionalProperties", Value: bson.D(ofType("string"))}}.Field
)

func ofType(name string) Rule { return Rule{{Key: "bsonType", Value: name}} }

// WholeIn requires a whole number of any numeric type but a decimal.
func WholeIn(least, most int64) Rule {
	return Rule{
		{Key: "bsonType", Value: bson.A{"int", "long", "double"}}, {Key: "minimum", Value: least}, {Key: "maximum", Value: most},
	}
}

// OneOf requires one of the texts.
func OneOf[T ~string](texts ...T) Rule {
	list := make(bson.A, len(texts))
	for i, t := range texts {
		list[i] = string(t)
	}
	return Rule{{Key: "enum", Value: list}}
}

// ListOf requires a list in which every value matches the rule.
func ListOf(item Rule) Rule {
	return Rule{{Key: "bsonType", Value: "array"}, {Key: "items", Value: bson.D(item)}}
}

// DocumentOf requires a document whose fields match.
func DocumentOf(fields ...Field) Rule {
	return Rule{{Key: "bsonType", Value: "object"}, {Key: "properties", Value: properties(fields)}}
}

// AnyOf requires a value that matches at least one of the rules.
func AnyOf(rules ...Rule) Rule { return Rule{{Key: "anyOf", Value: ruleList(rules)}} }

func ruleList(rules []Rule) bson.A {
	all := make(bson.A, len(rules))
	for i, r := range rules {
		all[i] = bson.D(r)
	}
	return all
}

func properties(fields []Field) bson.D {
	all := make(bson.D, len(fields))
	for i, f := range fields {
		all[i] = bson.E{Key: f.Name, Value: f.Rule}
	}
	return all
}

// Schema is the condition on the documents of a collection. MongoDB applies it as a filter to writes and reads.
type Schema struct {
	// Required lists the fields that every document must have.
	Required []string
	Fields   []Field
	// Also has further rules for the whole document.
	Also []Rule
	// Filters are further conditions, which $jsonSchema can't express. Check is the same condition in Go, on the field
	// Checked; it is nil if there are none.
	Filters []bson.D
	Check   func(bson.Raw) bool
	Checked string
}

// Requires is a rule for a document: it must have the field.
func Requires(field string) Rule { return Rule{{Key: "required", Value: bson.A{field}}} }

// IfPresent is a rule for a document: if it has the field, the rule of the field applies.
func IfPresent(f Field) Rule { return Rule{{Key: "properties", Value: properties([]Field{f})}} }

// Filter returns the schema as a filter of MongoDB.
// Some conditions are in $nor instead of $jsonSchema. $jsonSchema can't bound dates to the years that RFC 3339 can
// write. MongoDB computes multipleOf with decimals, which takes as long as all the rest. It would try indexes for
// the fields of required. And it looks up an optional field twice, which makes each write of a lock slower.
func (s Schema) Filter() bson.D {
	never, fields := bson.A{}, []Field{}
	for _, field := range s.Required {
		never = append(never, Is(field, bson.D{{Key: "$exists", Value: false}}))
	}
	for _, f := range s.Fields {
		kind, isType := f.Rule[0].Value.(string)
		if isType && kind != "array" && len(f.Rule) == 1 && !slices.Contains(s.Required, f.Name) { // $type also looks into lists
			never = append(never, Is(f.Name, bson.D{{Key: "$type", Value: otherTypes(kind)}}))
		} else {
			fields = append(fields, f)
		}
	}
	rules := bson.D{{Key: "properties", Value: properties(fields)}}
	if len(s.Also) > 0 {
		rules = append(rules, bson.E{Key: "allOf", Value: ruleList(s.Also)})
	}
	all := bson.A{bson.D{{Key: "$jsonSchema", Value: rules}}, bson.D{{Key: "$nor", Value: append(never, wrongValues("", s.Fields)...)}}}
	for _, f := range s.Filters {
		all = append(all, f)
	}
	return bson.D{{Key: "$and", Value: all}}
}

// otherTypes returns all types of BSON but one, by the names of $type.
func otherTypes(kind string) bson.A {
	others := bson.A{}
	for _, name := range []string{
		"double", "string", "object", "array", "binData", "undefined", "objectId", "bool", "date", "null", "regex", "dbPointer",
		"javascript", "symbol", "javascriptWithScope", "int", "timestamp", "long", "decimal", "minKey", "maxKey",
	} {
		if name != kind {
			others = append(others, name)
		}
	}
	return others
}

// wrongValues returns filters for values that have the type of their field, but are not valid.
func wrongValues(in string, fields []Field) (all bson.A) {
	for _, f := range fields {
		name, isNumber := in+f.Name, false
		for _, rule := range f.Rule {
			switch inner, isDocument := rule.Value.(bson.D); {
			case rule.Value == "date":
				all = append(all, Is(name, bson.D{{Key: "$lt", Value: firstDate}}), Is(name, bson.D{{Key: "$gt", Value: lastDate}}))
			case rule.Key == "minimum":
				isNumber = true
			case rule.Key == "anyOf":
				isNumber = isNumber || slices.ContainsFunc(rule.Value.(bson.A), hasMinimum) //nolint:forcetypeassert // see AnyOf
			case rule.Key == "properties" && isDocument:
				for _, e := range inner {
					rule, _ := e.Value.(bson.D)
					all = append(all, wrongValues(name+".", []Field{{e.Key, rule}})...)
				}
			case rule.Key == "items" && isDocument:
				for _, item := range wrongItems(inner) {
					all = append(all, Is(name, bson.D{{Key: "$elemMatch", Value: item}}))
				}
			}
		}
		if isNumber {
			all = append(all, Is(name, fraction))
		}
	}
	return all
}

// wrongItems returns filters for items of a list that have the type of their rule, but are not valid.
func wrongItems(rule bson.D) (all bson.A) {
	if hasMinimum(rule) {
		return bson.A{fraction}
	}
	for _, e := range rule {
		if fields, isDocument := e.Value.(bson.D); e.Key == "properties" && isDocument {
			for _, f := range fields {
				all = append(all, wrongValues("", []Field{{f.Key, bson.D(ruleFrom(f.Value))}})...)
			}
		}
	}
	return all
}

// fraction matches a double that is not a whole number: a whole number has no bit of the empty mask set, a fraction has no bits.
var fraction = bson.D{
	{Key: "$type", Value: "double"}, {Key: "$not", Value: bson.D{{Key: "$bitsAllClear", Value: 0}}},
}

func hasMinimum(rule any) bool {
	return slices.ContainsFunc(ruleFrom(rule), func(e bson.E) bool { return e.Key == "minimum" })
}
