package webhooks

import "github.com/holdfast-dev/holdfast/internal/mongodb"

var endpointRules = mongodb.Schema{
	Required: []string{"_id", "url", "types", "state"},
	Fields: []mongodb.Field{
		mongodb.ObjectIDField("_id"), mongodb.TextField("url"), mongodb.TextsField("types"),
		mongodb.ObjectIDField("eventId"), mongodb.OneOf(Enabled, Disabled).Field("state"), mongodb.TextField("reason"),
		mongodb.ListOf(mongodb.DocumentOf(mongodb.TextField("secret"), mongodb.DateField("until"))).Field("secrets"),
		mongodb.DateField("createdAt"), mongodb.DateField("updatedAt"),
		mongodb.DocumentOf(
			mongodb.DateField("failingSince"), mongodb.DateField("disabledAt"), mongodb.WholeField("disabledSeq"),
		).Field("internal"),
	},
}
