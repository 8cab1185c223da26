package main

// originMutations remove what keeps pages of other origins out.
var originMutations = []mutation{
	{name: "pages of every origin call customers' routes", file: "httpapi/origins.go",
		from: "if !slices.Contains(a.Origins, origin) {", to: "if origin == \"\" {",
		tests: "Origins_EveryRoute"},
	{name: "a listed page calls every route", file: "httpapi/origins.go",
		from: "!a.customerRoutes[route] {", to: "route == \"\" {",
		tests: "Origins_EveryRoute"},
	{name: "a listed page uses a key", file: "httpapi/origins.go",
		from: "requestInfoOf(r.Context()).key != \"\"", to: "false",
		tests: "Origins_EveryRoute"},
	{name: "a listed page reads with a key", file: "httpapi/origins.go",
		from: "protection.Check(withMethod(r, http.MethodPost))", to: "protection.Check(r)",
		tests: "Origins_EveryRoute"},
	{name: "caches give the answer for one origin to another", file: "httpapi/origins.go",
		from: "\th.Add(\"Vary\", headerOrigin)", to: "\t_ = \"Vary\"",
		tests: "Origins_EveryRoute"},
	{name: "an entry of CORS_ORIGINS only begins with an origin", file: "internal/config/origins.go",
		from: "(?::([1-9][0-9]*))?$`", to: "(?::([1-9][0-9]*))?`",
		tests: "Origins_AreThose"},
}
