package main

// proofMutations remove what ties an answer to its proof.
var proofMutations = []mutation{
	{name: "a failed write without a code counts as undone", file: "httpapi/server.go",
		from: "p := outcomeOf(op.Method, err)", to: "p := problemOf(err)",
		tests: "TestOutcomes_OfErrorsWithoutACode"},
	{name: "a handler that panicked has written nothing", file: "httpapi/server.go",
		from: `outcomeOf(r.Method, fmt.Errorf("panic: %v", p))`, to: `problemOf(fmt.Errorf("panic: %v", p))`,
		tests: "TestOutcomes_OfRoutesThatWrite"},
	{name: "the client's last attempt hides an unknown one", file: "client/client.go",
		from: "if unknown {", to: "if unknown && false {",
		tests: "TestClient_UnavailableDoesNotHide"},
	{name: "a confirmed refusal reads at any time", file: "internal/mongodb/confirm.go",
		from: "return do(WithReadTime(ctx, at))", to: "return do(WithReadTime(ctx, ReadTime{}))",
		tests: "TestConfirmRefusal_TheReadHasTheTime"},
	{name: "a key's creation is read at any time", file: "internal/mongodb/create.go",
		from: "ctx = WithReadTime(ctx, at)", to: "ctx = WithReadTime(ctx, ReadTime{})",
		tests: "TestConfirmRefusal_TheReadHasTheTime"},
	{name: "a batch reads before its callers' proofs", file: "internal/pipeline/callers.go",
		from: "ctx = mongodb.WithReadTime(ctx, c.read)", to: "_ = c.read",
		pkg: "./internal/mongodb", tests: "TestConfirmRefusal_TheReadHasTheTime"},
	{name: "a booking is confirmed although another one sold its lock", file: "seats/inventory/claim.go",
		from: "d.sales[b.LockID] > 0 {", to: "d.sales[b.LockID] > 0 && false {",
		tests: "TestClaim_OfABookingWhoseSeatsAnotherBookingSold"},
}
