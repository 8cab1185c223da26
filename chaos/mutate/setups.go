package main

// setupMutations remove what tells of, and goes on in spite of, what other software has set up.
var setupMutations = []mutation{
	{name: "any unique index says that a key or an ID is in use", file: "internal/mongodb/errors.go",
		from: "return violated != nil && slices.ContainsFunc(ours, func(keys bson.D) bool { return hasKeys(violated, keys) })",
		to:   "return violated != nil",
		pkg:  "./internal/store", tests: "TestForeignIndex"},
	{name: "a lease of other software holds a job up for a day", file: "jobs/lease/mongo.go",
		from: "maxAhead = MaxTTL + 15*time.Minute", to: "maxAhead = 24 * time.Hour",
		tests: "TestForeignLease"},
}
