package main

// jobMutations remove guards of the jobs, their leases and their leader.
var jobMutations = []mutation{
	{name: "the job booking-expiry does nothing", file: "internal/app/jobs.go",
		from: "MaxDuration: c.BookingExpiryMaxDuration, Do: a.sweepBookings}",
		to:   "MaxDuration: c.BookingExpiryMaxDuration, Do: func(context.Context, jobs.Run) (jobs.Counts, error) { return jobs.Counts{}, nil }}"},
	{name: "the job lock-expiry does nothing", file: "internal/app/jobs.go",
		from: "MaxDuration: c.LockExpiryMaxDuration, Do: a.sweepLocks}",
		to:   "MaxDuration: c.LockExpiryMaxDuration, Do: func(context.Context, jobs.Run) (jobs.Counts, error) { return jobs.Counts{}, nil }}"},
	{name: "leases are not renewed", file: "jobs/lease/keep.go",
		from:  "\treturn l.Renew(ctx)\n",
		to:    "\treturn nil\n",
		tests: "Keeper_DeadlineCounts"},
	{name: "a frozen leader goes on as leader", file: "jobs/elector.go",
		from:  "return until != nil && e.runner.Clock().Before(*until)",
		to:    "return until != nil",
		tests: "Elector_Paused"},
}

// streamMutations remove guards of the streams of changes.
var streamMutations = []mutation{
	{name: "streams trust reads from a deposed primary", file: "live/topic.go",
		from: "if err != nil || at >= seq {",
		to:   "if err != nil || at >= 0*seq {",
		pkg:  "./httpapi", tests: "Hub_IgnoresTheState",
		faults: "primary frozen"},
	{name: "a restarted change stream trusts its old state", file: "live/hub.go",
		from: "\tfor _, t := range topics {\n\t\tif err := t.load(",
		to:   "\tfor _, t := range topics[:0] {\n\t\tif err := t.load(",
		pkg:  "./httpapi", tests: "Stream_ContinuesAfter"},
	{name: "changes during the first read are lost", file: "live/topic.go",
		from: "t.early = append(t.early, c)",
		to:   "t.early = nil",
		pkg:  "./httpapi", tests: "Hub_AppliesChanges"},
	{name: "two messages can have the same ID", file: "live/topic.go",
		from:  "t.seq = max(t.seq, t.sentSeq+1)",
		to:    "t.seq = t.seq + 0*t.sentSeq",
		tests: "Hub_IDsRise"},
	{name: "any last event ID is accepted", file: "live/topic.go",
		from: "if last := l.lastSeq; last == 0 || last < t.replayFrom || last > t.seq {",
		to:   "if last := l.lastSeq; last == 0 {",
		pkg:  "./httpapi", tests: "Stream_Resumes"},
	{name: "removed fields are not noticed as a change", file: "internal/store/watch.go",
		from: `if slices.Contains(c.removed, "oversold") {`,
		to:   `if slices.Contains(c.removed, "nothing") {`,
		pkg:  "./httpapi", tests: "Stream_ShowsThatARepair"},
}
