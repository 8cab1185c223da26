package main

// stormMutations remove guards that only an operator, a rare fault or clocks of members find.
var stormMutations = []mutation{
	{name: "commits wait for one member only, whose disk becomes full", file: "internal/mongodb/tx.go",
		from:   "SetWriteConcern(writeconcern.Majority()))",
		to:     "SetWriteConcern(writeconcern.W1()))",
		faults: "primary's disk full"},
	{name: "an operator's cancellation does not stop claims", file: "seats/inventory/claim.go",
		from:   "case d.event.Status == holdfast.Cancelled:",
		to:     "case d.event.Status == holdfast.Cancelled && false:",
		faults: "Redis flushed"},
	{name: "an operator's limit is answered but not kept", file: "seats/inventory/event.go",
		from:   "\tif c.MaxSeatsPerUser != nil {\n",
		to:     "\tif c.MaxSeatsPerUser != nil && *c.MaxSeatsPerUser < 0 {\n",
		faults: "Redis flushed"},
	{name: "the election ends when Redis answers with an error", file: "jobs/elector.go",
		from: "\tif logged.unavailableAt.IsZero() ||",
		to: "\tif why, _ := lease.IsUnavailable(err); why != nil && why.Reason == lease.RedisError {\n" +
			"\t\treturn nil, deadline, time.Hour\n\t}\n\tif logged.unavailableAt.IsZero() ||",
		faults: "Redis read-only"},
	{name: "decisions go by a clock that differs from the primary's", file: "internal/store/loaded.go",
		from: "s := inventory.State{Now: l.Event.Now.Time,",
		to:   "s := inventory.State{Now: clock.System().Add(0 * l.Event.Now.Sub(time.Time{})),",
		pkg:  "./chaos", tests: "TestClocks_OfMembers"},
	{name: "doctor trusts the members' clocks", file: "internal/seatctl/doctor.go",
		from:  "checkClock, checkMemberClocks,",
		to:    "checkClock,",
		tests: "TestDoctor_TellsOfMembersWhoseClocksDiffer"},
}
