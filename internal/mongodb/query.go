package mongodb

import (
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Is matches a field's value.
func Is(field string, value any) bson.D { return bson.D{{Key: field, Value: value}} }

// In matches any of a field's values, and nothing if there are none.
func In[T any](field string, values []T) bson.D {
	if values == nil { // MongoDB refuses null
		values = []T{}
	}
	return bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: values}}}}
}

// And matches all of the filters, which may name the same field; empty filters are left out.
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

// Keys are ascending fields, of an index or a sort.
func Keys(fields ...string) bson.D {
	d := bson.D{}
	for _, f := range fields {
		d = append(d, bson.E{Key: f, Value: 1})
	}
	return d
}

// ByID are the keys of the index that every collection has.
var ByID = Keys("_id")

// Stages of pipelines.

// Match keeps the documents that match all filters.
func Match(filters ...bson.D) bson.D { return stage("$match", And(filters...)) }

// Sort orders by ascending fields.
func Sort(fields ...string) bson.D { return stage("$sort", Keys(fields...)) }

// Limit keeps the first n.
func Limit(n int) bson.D { return stage("$limit", n) }

// Only reads these fields and _id.
func Only(fields ...string) bson.D { return stage("$project", Keys(fields...)) }

// Group makes one document for each value of a key.
func Group(by any, fields ...bson.E) bson.D {
	return stage("$group", append(bson.D{{Key: "_id", Value: by}}, fields...))
}

// Sum adds a value up over a group.
func Sum(value any) bson.D { return bson.D{{Key: "$sum", Value: value}} }

// Join runs the stages on another collection, and adds the result as a list.
func Join(as, collection string, stages ...bson.D) bson.D {
	return stage("$lookup", bson.D{{Key: "from", Value: collection}, {Key: "as", Value: as}, {Key: "pipeline", Value: stages}})
}

// JoinBy is Join for the documents whose field foreign is the document's field local.
func JoinBy(as, collection, local, foreign string, stages ...bson.D) bson.D {
	if stages == nil {
		stages = []bson.D{}
	}
	return stage("$lookup", bson.D{
		{Key: "from", Value: collection}, {Key: "as", Value: as},
		{Key: "localField", Value: local}, {Key: "foreignField", Value: foreign}, {Key: "pipeline", Value: stages},
	})
}

// WithNow adds the database's clock to the documents, as the field now.
var WithNow = stage("$set", bson.D{{Key: "now", Value: "$$NOW"}})

func stage(name string, value any) bson.D { return bson.D{{Key: name, Value: value}} }

// Passed matches a field with a date that is not after the database's clock.
// The type clause keeps missing dates out and bounds an index on both sides. An array is
// no date; MongoDB would match one that has a date among its elements.
func Passed(field string) bson.D {
	return And(againstNow("$lte", field), Not(field, bson.E{Key: "$type", Value: "array"}))
}

// Not matches a field that does not match the condition.
func Not(field string, condition bson.E) bson.D {
	return bson.D{{Key: field, Value: bson.D{{Key: "$not", Value: bson.D{condition}}}}}
}

// Ahead matches a field with a date after the database's clock.
func Ahead(field string) bson.D { return againstNow("$gt", field) }

func againstNow(compare, field string) bson.D {
	return bson.D{
		{Key: field, Value: bson.D{{Key: "$type", Value: "date"}}},
		{Key: "$expr", Value: bson.D{{Key: compare, Value: bson.A{"$" + field, "$$NOW"}}}},
	}
}

// TouchDate sets updatedAt to the time of the update.
var TouchDate = bson.E{Key: "$currentDate", Value: bson.D{{Key: "updatedAt", Value: true}}}
