package main

// requestMutations remove guards of the shape of requests.
var requestMutations = []mutation{
	{name: "keys in another case are read as the field", file: "httpapi/server.go",
		from:  "huma.NewError, huma.ValidateStrictCasing = newHumaError, true",
		to:    "huma.NewError, huma.ValidateStrictCasing = newHumaError, false",
		tests: "TestShape_KeysOf"},
	{name: "the last of two equal keys counts", file: "httpapi/json.go",
		from:  "if repeatsKey(data) {",
		to:    "if false {",
		tests: "TestShape_KeysOf"},
	{name: "what can't be read of a query is left out", file: "httpapi/server.go",
		from:  "isLong: isLong}), readableQuery}",
		to:    "isLong: isLong})}",
		tests: "TestShape_QueriesThatShowTooMuchAreRefused"},
	{name: "the zero ID lists everything", file: "filter.go",
		from:  "if filter.id != nil && filter.id.IsZero() {",
		to:    "if false {",
		pkg:   "./seats",
		tests: "TestList_RefusesFiltersThatNothingCanMatch"},
}
