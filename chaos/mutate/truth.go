package main

// truthMutations remove what makes /readyz, the log and answers name the cause of a failure.
var truthMutations = []mutation{
	{name: "a Redis that refuses to write counts as up", file: "jobs/lease/redis.go",
		from: `p.Set(ctx, pingKey, "", pingTTL)`, to: "p.Ping(ctx)",
		pkg: "./jobs", tests: "Mode_RedisThatRefuses"},
	{name: "an outage is called a conflict", file: "internal/mongodb/errors.go",
		from: "if isOutage(cause) {", to: "if false {",
		tests: "ConflictError_TellsAnOutage"},
	{name: "a rejected request is called an outage", file: "internal/mongodb/tx.go",
		from: "case isDriver(err) && rejected:", to: "case isDriver(err) && rejected && false:",
		tests: "InTx_ARejectedWrite"},
}
