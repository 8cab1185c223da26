package main

// fleetMutations remove guards of processes that start beside others, of the schema and of
// runs that end early.
var fleetMutations = []mutation{
	{name: "a dead process's heartbeat counts as alive", file: "jobs/peers.go",
		from:  "} else if !known || before != f.Beats.Or(0) {",
		to:    "} else if before+1 > 0 || known {",
		tests: "RunAtBoot_ASingleProcessThatRestarts"},
	{name: "a recent pass is enough though no other process lives", file: "jobs/peers.go",
		from:  "return false, len(found) > 0, nil",
		to:    "return true, len(found) > 0, nil",
		tests: "RunAtBoot_AProcessThatJoins"},
	{name: "a pass that ran out of time satisfies other processes", file: "jobs/history.go",
		from:  `bson.D{{Key: "$ne", Value: reasonTimeLimit}}`,
		to:    `bson.D{{Key: "$ne", Value: "-" + reasonTimeLimit}}`,
		tests: "RunAtBoot_APassThatRanOutOfTime"},
	{name: "a pass that left documents over satisfies nobody", file: "jobs/exclusive.go",
		from:  "case errors.Is(err, ErrLeftOver):",
		to:    "case errors.Is(err, ErrLeftOver) && advanced && !advanced:",
		tests: "RunAtBoot_APassThatLeftDocuments"},
}
