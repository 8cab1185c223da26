package seats

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

var planSchema = planRules.Filter()

var planRules = mongodb.Schema{
	Required: []string{"_id", "name", "totalSeats", "categories", "sections", "internal"},
	Fields: []mongodb.Field{
		mongodb.ObjectIDField("_id"), mongodb.TextField("name"), mongodb.WholeIn(0, holdfast.MaxSeats).Field("totalSeats"),
		mongodb.ListOf(mongodb.DocumentOf(mongodb.TextField("key"), mongodb.TextField("name"), mongodb.TextField("color"))).Field("categories"),
		mongodb.DocumentOf(mongodb.NumberField("x"), mongodb.NumberField("y")).Field("focalPoint"),
		mongodb.ListOf(mongodb.DocumentOf(mongodb.TextField("kind"), pointsRule.Field("points"), mongodb.ListOf(mongodb.NumberRule).Field("at"),
			mongodb.TextField("text"), mongodb.TextField("icon"), mongodb.TextField("floor"))).Field("decorations"),
		mongodb.ListOf(mongodb.DocumentOf(mongodb.TextField("key"), mongodb.TextField("name"), mongodb.TextField("category"),
			mongodb.WholeIn(0, holdfast.MaxSeats).Field("seats"))).Field("sections"),
		mongodb.DateField("createdAt"), mongodb.DocumentOf(mongodb.WholeIn(planFormat, planFormat).Field("format")).Field("internal"),
	},
}

var pointsRule = mongodb.ListOf(mongodb.ListOf(mongodb.NumberRule))

// sectionRules leave the rows to the decoder: they may be a whole MiB.
var sectionRules = mongodb.Schema{
	Required: []string{"_id", "planId", "number", "part", "key"},
	Fields: []mongodb.Field{
		mongodb.ObjectIDField("_id"), mongodb.ObjectIDField("planId"), mongodb.WholeField("number"), mongodb.WholeField("part"),
		mongodb.TextField("key"), mongodb.TextField("name"), mongodb.TextField("category"), mongodb.TextField("floor"),
		mongodb.TextField("entrance"), mongodb.WholeIn(0, holdfast.MaxSeats).Field("capacity"), mongodb.ListField("outline"),
		mongodb.TextField("viewUrl"), mongodb.ListField("rows"),
	},
}
