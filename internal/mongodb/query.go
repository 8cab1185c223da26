package mongodb

import (
	"regexp"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Is matches documents whose field has the value.
func Is(field string, value any) bson.D { return bson.D{{Key: field, Value: value}} }

// Contains matches documents whose text field has a part, in any case. No index helps, so bound what is searched. The text
// must not have control characters.
func Contains(field, text string) bson.D {
	return Is(field, bson.Regex{Pattern: regexp.QuoteMeta(text), Options: "i"})
}

// In matches documents whose field has one of the values. It matches no document if there are no values.
func In[T any](field string, values []T) bson.D {
	if values == nil { // MongoDB refuses null
		values = []T{}
	}
	return bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: values}}}}
}

// And matches documents that match all of the filters. The filters may name the same field. Empty filters are left
// out.
func And(filters ...bson.D) bson.D {
	all := bson.A{}
	for _, f := range filters {
		if len(f) > 0 {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return bson.D{}
	}
	return bson.D{{Key: "$and", Value: all}}
}

// Keys lists ascending fields, for an index or a sort.
func Keys(fields ...string) bson.D {
	d := bson.D{}
	for _, f := range fields {
		d = append(d, bson.E{Key: f, Value: 1})
	}
	return d
}

// ByID are the keys of the index on _id, which every collection has.
var ByID = Keys("_id")

// The functions below return stages of pipelines.

// Match keeps the documents that match all filters.
func Match(filters ...bson.D) bson.D { return stage("$match", And(filters...)) }

// Sort orders by ascending fields.
func Sort(fields ...string) bson.D { return stage("$sort", Keys(fields...)) }

// Limit keeps the first n documents.
func Limit(n int) bson.D { return stage("$limit", n) }

// Only keeps these fields and _id.
func Only(fields ...string) bson.D { return stage("$project", Keys(fields...)) }

// Group makes one document for each value of a key.
func Group(by any, fields ...bson.E) bson.D {
	return stage("$group", append(bson.D{{Key: "_id", Value: by}}, fields...))
}

// Sum sums a value over a group.
func Sum(value any) bson.D { return bson.D{{Key: "$sum", Value: value}} }

// Join runs the stages on another collection, and adds the result as a list.
func Join(as, collection string, stages ...bson.D) bson.D {
	return stage("$lookup", bson.D{{Key: "from", Value: collection}, {Key: "as", Value: as}, {Key: "pipeline", Value: stages}})
}

// JoinBy is Join for the documents whose field foreign equals the field local of this document.
func JoinBy(as, collection, local, foreign string, stages ...bson.D) bson.D {
	if stages == nil {
		stages = []bson.D{}
	}
	return stage("$lookup", bson.D{
		{Key: "from", Value: collection}, {Key: "as", Value: as},
		{Key: "localField", Value: local}, {Key: "foreignField", Value: foreign}, {Key: "pipeline", Value: stages},
	})
}

// WithNow adds the database's clock to the documents, as a DatabaseNow.
var WithNow = stage("$set", bson.D{{Key: "databaseNow", Value: "$$NOW"}})

func stage(name string, value any) bson.D { return bson.D{{Key: name, Value: value}} }

// Passed matches a field whose date is not after the database's clock. The type clause leaves out missing dates and
// bounds an index on both sides.
func Passed(field string) bson.D { return againstNow("$lte", field) }

// Not matches a field that does not match the condition.
func Not(field string, condition bson.E) bson.D {
	return bson.D{{Key: field, Value: bson.D{{Key: "$not", Value: bson.D{condition}}}}}
}

// Ahead matches a field whose date is after the database's clock.
func Ahead(field string) bson.D { return againstNow("$gt", field) }

func againstNow(compare, field string) bson.D {
	return bson.D{
		{Key: field, Value: bson.D{{Key: "$type", Value: "date"}}},
		{Key: "$expr", Value: bson.D{{Key: compare, Value: bson.A{"$" + field, "$$NOW"}}}},
	}
}

// TouchDate sets updatedAt to the time of the update.
var TouchDate = bson.E{Key: "$currentDate", Value: bson.D{{Key: "updatedAt", Value: true}}}
