package main

// unreadMutations remove guards of requests that are refused before their body, and of what
// decides that.
var unreadMutations = []mutation{
	{name: "a refusal waits for a body that is not read", file: "httpapi/unread.go",
		from:  "\tif w.begun = true; w.body.ended {",
		to:    "\tif w.begun = true; w.body != nil {",
		tests: "Unread_NoResponse"},
	{name: "a probe waits for a body that is not read", file: "httpapi/probes.go",
		from:  "withRequestID(withUnreadBodies(withUnknownRoutes(mux)))",
		to:    "withRequestID(withUnknownRoutes(mux))",
		tests: "Unread_NoResponse"},
	{name: "all requests at once ask a Redis that hangs", file: "internal/ratelimit/ratelimit.go",
		from:  "\t\tif other == nil {",
		to:    "\t\tif other != nil {\n\t\t\treturn nil, true\n\t\t} else {",
		tests: "Allow_OneOfMany"},
	{name: "requests that come while another one asks are counted locally", file: "internal/ratelimit/ratelimit.go",
		from:  "if other.answered {\n\t\t\t\treturn nil, true",
		to:    "if other.answered {\n\t\t\t\treturn nil, false",
		tests: "Allow_ManyAtOnce"},
}
