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
}
