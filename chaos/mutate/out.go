package main

// outcomeMutations remove what makes an answer true: proofs, keys of creations, counts.
var outcomeMutations = []mutation{
	{name: "a commit that the majority may have is reported as undone", file: "internal/mongodb/tx.go",
		from:  "case rejection == nil && RejectedByServer(err):\n\t\t\trejection = err",
		to:    "case RejectedByServer(err):\n\t\t\treturn false, err",
		tests: "InTx_ACommitThatMayBeDone|InTx_ARejectedCommit"},
	{name: "a creation does not write its key", file: "internal/mongodb/create.go",
		from: "if err := db.insertKey(ctx, c); err != nil {", to: "if err := error(nil); err != nil {",
		pkg: "users", tests: "CreateUserOnce"},
	{name: "a creation answers another request with the same key", file: "internal/mongodb/create.go",
		from: "earlier.CreatedID.IsZero(), string(earlier.Hash) != c.Hash:", to: "earlier.CreatedID.IsZero():",
		pkg: "users", tests: "CreateUserOnce"},
	{name: "callers share their keys", file: "internal/mongodb/create.go",
		from: `{Key: "caller", Value: c.Key.Caller}, `, to: "",
		pkg: "seats", tests: "CreateEventOnce"},
	{name: "corrections without an answer are not counted", file: "recovery/counters.go",
		from: "if unknown == nil {", to: "if unknown == nil || true {",
		tests: "CountsCorrectionsWithoutAnAnswer"},
}
