package main

// mutation takes a guard out of a file: the text is there once.
type mutation struct {
	name, file, from, to string
	// faults of the storms that ask for this guard; "" for any.
	faults string
	// tests that look for it besides storms: a package and a name; those of its own
	// package where there is none. A second line of defence, which something else
	// makes up for, is found by these alone.
	pkg, tests string
}

// mutations are the guards of everything that the invariants hang on.
var mutations = []mutation{
	// Transactions.
	{name: "no transactions at all", file: "internal/mongodb/tx.go",
		from: "if err := fn(mongo.NewSessionContext(late, session)); err != nil {", to: "_ = late\n\tif err := fn(ctx); err != nil {"},
	{name: "commits wait for one member only", file: "internal/mongodb/tx.go",
		from: "SetWriteConcern(writeconcern.Majority()))", to: "SetWriteConcern(writeconcern.W1()))", faults: "primary dies alone"},
	{name: "a lost reply of a commit is a conflict", file: "internal/mongodb/tx.go",
		from: `if labeled.HasErrorLabel("UnknownTransactionCommitResult") {
			return false`, to: `if labeled.HasErrorLabel("UnknownTransactionCommitResult") {
			return true`, faults: "commits' replies lost"},
	{name: "an unknown outcome is told as none", file: "internal/mongodb/tx.go",
		from: "return Unknown, attempt, unknown(err)", to: "return Unavailable, attempt, busy(err)", faults: "cut from the primary,primary is not heard",
		pkg: "./internal/mongodb", tests: "Unknown|Commit|Outcome"},
	{name: "conflicts are not repeated", file: "internal/mongodb/tx.go",
		from: "if !repeatable(err) {", to: "if !repeatable(err) || err != nil {", pkg: "./seats", tests: "."},
	{name: "who leaves cuts their commands off", file: "internal/mongodb/tx.go",
		from: "late, end := lasting(ctx)", to: "late, end := context.WithCancel(ctx)", pkg: "./internal/mongodb", tests: "ACallerThatLeaves"},
	{name: "refusals are not proved", file: "internal/mongodb/surely.go",
		from: "if err == nil || !doubt(err)", to: "if true || err == nil || !doubt(err)", faults: "primary frozen,primary dies alone", pkg: "./internal/mongodb", tests: "Surely"},
	{name: "orphans are not looked for", file: "internal/mongodb/orphans.go",
		from: "if !db.orphans.TryLock() {", to: "if true {", pkg: "./seats", tests: "EndsWhat"},

	// Taking seats.
	{name: "a full event still sells, quickly", file: "seats/quick.go",
		from: `onSaleForAll, bson.D{{Key: "availableSeats", Value: bson.D{{Key: "$gte", Value: total}}}})`, to: "onSaleForAll)"},
	{name: "a closed event still sells, quickly", file: "seats/quick.go",
		from: `{Key: "status", Value: bson.D{{Key: "$in", Value: bson.A{nil, string(OnSale)}}}},`, to: ""},
	{name: "nothing is counted, quickly", file: "seats/quick.go",
		from: `{Key: "availableSeats", Value: -total}, `, to: ""},
	{name: "a key that was used is not looked up", file: "seats/batch.go",
		from: "ok && q.Key != \"\" {\n\t\tif !q.sameAs", to: "ok && q.Key == \"never\" {\n\t\tif !q.sameAs"},
	{name: "keys are not compared with their requests", file: "seats/batch.go", from: "if !q.sameAs(before) {", to: "if false {"},
	{name: "seats are granted without being counted", file: "seats/rules.go", from: "\tt.available -= n\n", to: ""},
	{name: "customers hold what they like", file: "seats/holding.go", from: "most > 0 && held.seats+q.Seats > most {", to: "most > 0 && q.Seats > most {"},
	{name: "what is due is not reclaimed", file: "seats/batch.go", from: "if len(b.due) == 0 {", to: "if true {"},
	{name: "what is not due is reclaimed", file: "seats/expire.go",
		from: "return s.toEnd(ctx, limit, mongodb.Is(\"eventId\", eventID), due)\n}", to: "return s.toEnd(ctx, limit, mongodb.Is(\"eventId\", eventID))\n}"},
	{name: "sold out is forever", file: "seats/soldout.go",
		from: "bson.D{{Key: \"availableSeats\", Value: bson.D{{Key: \"$lt\", Value: least}}}}),", to: "),"},
	{name: "a refusal has no fence", file: "seats/soldout.go", from: "if keyed(batch) {", to: "if false {", faults: "API frozen",
		pkg: "./seats", tests: "SoldOut"},
	{name: "who left is granted seats, quickly", file: "seats/quick.go", from: "if slices.ContainsFunc(b.requests, (*request).hasLeft) {", to: "if false {",
		faults: "API frozen", pkg: "./seats", tests: "CallerThatLeft"},
	{name: "a commit that is not answered is not settled", file: "seats/queue.go",
		from: "case fault.Is(err, mongodb.CodeOutcomeUnknown):\n\t\treturn s.settle(ctx, eventID, batch)", to: "case false:\n\t\treturn nil",
		faults: "cut from the primary", pkg: "./seats", tests: "."},
	{name: "who lost goes on reading first", file: "seats/queue.go", from: "tried > mayLose {", to: "tried < 0 {", pkg: "./seats", tests: "GetsThroughBeside"},

	// Giving them back.
	{name: "a released lock keeps its seats", file: "seats/batch.go", from: "\t\tb.tally.give(lock.Seats)\n", to: ""},
	{name: "a released lock keeps its booking", file: "seats/batch.go", from: "b.also = append(b.also,", to: "_ = append(b.also,"},
	{name: "a sold lock can be released", file: "booking/cancel.go", from: "\t\tif ended != nil {\n\t\t\treturn false, ended\n\t\t}\n", to: ""},
	{name: "a lock that is due can be released", file: "seats/rules.go", from: "case l.Status == Active && !l.Due(now):", to: "case l.Status == Active:"},
	{name: "a sweep gives nothing back", file: "seats/expire.go", from: "\t\tcounter.give(d.Seats.N)\n", to: ""},
	{name: "a sweep ends what has ended", file: "seats/expire.go",
		from: "mongodb.Match(append(filters, mongodb.Is(\"status\", string(Active)))...)", to: "mongodb.Match(filters...)", faults: "two sweepers,worker frozen"},
	{name: "a sweep ends what was extended", file: "seats/expire.go",
		from: "return s.toEnd(ctx, 0, mongodb.In(\"_id\", lockIDs), mongodb.Is(\"eventId\", eventID), due)", to: "return s.toEnd(ctx, 0, mongodb.In(\"_id\", lockIDs), mongodb.Is(\"eventId\", eventID))",
		faults: "MongoDB slow,two sweepers", pkg: "./seats", tests: "Guards"},
	{name: "a sweep finds what is not due", file: "seats/expire.go",
		from: "mongodb.Match(mongodb.Is(\"status\", string(Active)), due, after.Filter(\"expiresAt\")),", to: "mongodb.Match(mongodb.Is(\"status\", string(Active)), after.Filter(\"expiresAt\")),",
		pkg: "./expiry", tests: "."},
	{name: "a booking's sweep leaves its lock", file: "booking/expire.go", from: "\t\t\t\tlockIDs = append(lockIDs, lock.ID)\n", to: ""},
	{name: "nobody sweeps bookings", file: "internal/app/jobs.go", from: "MaxDuration: c.BookingExpiryMaxDuration, Do: a.sweepBookings}", to: "MaxDuration: c.BookingExpiryMaxDuration, Do: func(context.Context, jobs.Run) (jobs.Counts, error) { return jobs.Counts{}, nil }}"},
	{name: "nobody sweeps locks", file: "internal/app/jobs.go", from: "MaxDuration: c.LockExpiryMaxDuration, Do: a.sweepLocks}", to: "MaxDuration: c.LockExpiryMaxDuration, Do: func(context.Context, jobs.Run) (jobs.Counts, error) { return jobs.Counts{}, nil }}"},

	// Bookings.
	{name: "an extension shortens", file: "seats/release.go", from: "return s.claim(ctx, lock, later(lock.ExpiresAt, expires), lock.BookingID)", to: "return s.claim(ctx, lock, expires, lock.BookingID)"},
	{name: "a booking doesn't move its lock's time", file: "seats/claims.go", from: "return s.claim(ctx, lock, later(lock.ExpiresAt, until), booking)", to: "return s.claim(ctx, lock, lock.ExpiresAt, booking)", pkg: "./booking", tests: "."},
	{name: "a lock has many bookings", file: "booking/service.go", from: "err != nil || found {", to: "err != nil || (found && false) {"},
	{name: "what is due is confirmed", file: "booking/rules.go", from: "\tif b.due(lock) {", to: "\tif false {", pkg: "./booking", tests: "."},
	{name: "a window that passes meanwhile is no matter", file: "booking/advance.go", from: "filter = mongodb.And(filter, mongodb.Ahead(\"paymentExpiresAt\"))", to: "_ = filter",
		faults: "MongoDB slow", pkg: "./booking", tests: "."},
	{name: "a lock that passes meanwhile is no matter", file: "seats/claims.go", from: "return s.endLocks(ctx, []ID{id}, Active, Consume, ending{}, notDue)", to: "return s.endLocks(ctx, []ID{id}, Active, Consume, ending{})",
		faults: "MongoDB slow", pkg: "./seats", tests: "Guards"},
	{name: "a confirmation leaves the lock", file: "booking/advance.go", from: "\t\tif err := s.seats.Consume(ctx, lock.ID); err != nil {", to: "\t\tif err := error(nil); err != nil {"},
	{name: "a cancelled booking is confirmed", file: "booking/rules.go", from: "\tPending:   {Confirm: Confirmed, Cancel: Cancelled, Expire: Expired},", to: "\tPending:   {Confirm: Confirmed, Cancel: Cancelled, Expire: Expired},\n\tCancelled: {Confirm: Confirmed},"},
	{name: "time is a pod's", file: "booking/rules.go", from: "return !b.PaymentExpiresAt.IsZero() && !b.PaymentExpiresAt.After(now)", to: "return !b.PaymentExpiresAt.IsZero() && !b.PaymentExpiresAt.After(clock.System())",
		pkg: "./booking", tests: "."},
	{name: "refusals for time leave the door open", file: "seats/claims.go", from: "if err := s.witness(ctx, []ID{lock.ID}); err != nil {", to: "if err := error(nil); err != nil {", pkg: "./booking", tests: "."},

	// Capacity, repairs, recovery.
	{name: "a capacity below what is taken", file: "seats/events.go", from: "bson.D{{Key: \"$lte\", Value: bson.A{taken, *c.TotalSeats}}},", to: "bson.D{{Key: \"$lte\", Value: bson.A{0, *c.TotalSeats}}},"},
	{name: "a capacity forgets what is taken", file: "seats/events.go", from: "netThen := bson.D{{Key: \"$subtract\", Value: bson.A{*c.TotalSeats, taken}}}", to: "netThen := bson.D{{Key: \"$subtract\", Value: bson.A{*c.TotalSeats, 0}}}"},
	{name: "two repairs take a drift off twice", file: "seats/repair.go", from: "return mongodb.And(mongodb.Is(\"_id\", m.event.ID), fixes)", to: "return mongodb.And(mongodb.Is(\"_id\", m.event.ID), bson.D{}[:0*len(fixes)])", pkg: "./recovery", tests: "."},
	{name: "recovery mends no counter", file: "recovery/recovery.go", from: "\tif len(found.Suspects) == 0 {", to: "\tif true {", pkg: "./recovery", tests: "."},
	{name: "recovery marks nothing sold", file: "recovery/recovery.go", from: "\tfor _, sale := range active {", to: "\tfor _, sale := range active[:0] {", pkg: "./recovery", tests: "."},

	// Who works.
	{name: "leases are not renewed", file: "jobs/lease/keep.go", from: "\treturn l.Renew(ctx)\n", to: "\treturn nil\n", pkg: "./chaos", tests: "Workers"},
	{name: "who was frozen leads on", file: "jobs/elector.go", from: "return until != nil && e.runner.Clock().Before(*until)", to: "return until != nil", pkg: "./jobs", tests: "."},

	// Who listens.
	{name: "a deposed primary tells listeners", file: "live/topic.go", from: "if err != nil || at >= seq {", to: "if err != nil || at >= 0*seq {", faults: "primary frozen", pkg: "./httpapi", tests: "Stream"},
	{name: "a stream that begins anew trusts what it knew", file: "live/hub.go", from: "\tfor _, t := range topics {\n\t\tif err := t.look(", to: "\tfor _, t := range topics[:0] {\n\t\tif err := t.look(", pkg: "./httpapi", tests: "Stream"},
	{name: "what is heard during the first read is lost", file: "live/topic.go", from: "t.early = append(t.early, c)", to: "t.early = nil", pkg: "./httpapi", tests: "Stream"},
	{name: "a message's ID may be the last one's", file: "live/topic.go", from: "t.seq = max(t.seq, t.told+1)", to: "t.seq = t.seq + 0*t.told", pkg: "./live", tests: "."},
	{name: "any ID is known", file: "live/hub.go", from: "if last == 0 || last < t.from || last > t.seq {", to: "if last == 0 {", pkg: "./httpapi", tests: "Stream"},
	{name: "a change of removed fields is not heard", file: "seats/watch.go", from: `if slices.Contains(c.removed, "oversold") {`, to: `if slices.Contains(c.removed, "nothing") {`, pkg: "./httpapi", tests: "Stream"},
}
