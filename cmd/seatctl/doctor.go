package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/recovery"
)

// doctorCmd checks servers, schema, jobs and data.
type doctorCmd struct{}

// States of a finding.
const (
	stateOK      = "ok"
	stateNote    = "note"    // information; no action is necessary
	stateFinding = "FINDING" // an operator must look at it
	stateFailed  = "FAILED"  // the check itself failed
)

// finding is a result of a check.
type finding struct {
	State  string `json:"state"`
	What   string `json:"what"`
	Count  int64  `json:"count"`
	Detail string `json:"says,omitempty"`
	Action string `json:"do,omitempty"`
}

func ok(what, detail string) finding { return finding{State: stateOK, What: what, Detail: detail} }

func note(what, detail, action string) finding {
	return finding{State: stateNote, What: what, Detail: detail, Action: action}
}

func problem(what, detail, action string) finding {
	return finding{State: stateFinding, What: what, Detail: detail, Action: action}
}

// counted sets the number of affected items.
func (f finding) counted(n int64) finding {
	f.Count = n
	return f
}

func (d *doctorCmd) run(ctx context.Context, s *session) (int, error) {
	var all []finding
	for _, check := range []func(context.Context, *session) []finding{
		checkServer, checkSchema, checkClock, checkMemberClocks, checkLeases, checkOverdue, checkCancellations, checkCorrupt, checkData,
	} {
		all = append(all, check(ctx, s)...)
		if ctx.Err() != nil {
			return exitFailed, ctx.Err()
		}
	}
	return printFindings(s.out, all)
}

// unreachable reports that the database cannot be reached. The error says what to do.
func (d *doctorCmd) unreachable(s *session, err error) (int, error) {
	_, err = printFindings(s.out, failedCheck("connection", err))
	return exitFailed, err
}

// Widths of the columns of findings, whose lines have at most 100 characters.
const checkWidth, detailWidth = 24, 60

// printFindings prints findings and returns the exit code. A table ends with a verdict.
func printFindings(out printer, all []finding) (code int, err error) {
	problems, failed := 0, 0
	for _, f := range all {
		switch f.State {
		case stateFailed:
			failed++
		case stateFinding:
			problems++
		}
	}
	verdict := "no problem found"
	switch {
	case failed > 0:
		code, verdict = exitFailed, "a check failed, so there may be more problems; see FAILED above"
	case problems == 1:
		code, verdict = exitFindings, "1 problem needs an operator; see FINDING above"
	case problems > 0:
		code, verdict = exitFindings, fmt.Sprintf("%d problems need an operator; see FINDING above", problems)
	}
	err = printRows(out, all, []any{"", "check", "detail and action"}, func(f finding) []any {
		action := f.Action
		if action != "" {
			action = "-> " + action
		}
		return []any{f.State, wrapTo(checkWidth, f.What), wrapTo(detailWidth, f.Detail, action)}
	})
	if err == nil && out.format == formatTable {
		_, err = fmt.Fprintf(out.w, "Verdict: %s.\n", verdict)
	}
	return code, err
}

func failedCheck(what string, err error) []finding {
	return []finding{{State: stateFailed, What: what, Detail: err.Error(), Action: "correct the cause and run the command again"}}
}

// minServerVersion is the oldest major version of MongoDB that is supported.
const minServerVersion = 7

func checkServer(ctx context.Context, s *session) []finding {
	var hello struct {
		SetName string   `bson:"setName"`
		Hosts   []string `bson:"hosts"`
		Msg     string   `bson:"msg"`
	}
	var build struct {
		Version string  `bson:"version"`
		Parts   []int32 `bson:"versionArray"`
	}
	admin := s.DB.Client().Database("admin")
	if err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		return failedCheck("connection", err)
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return failedCheck("connection", err)
	}
	found := []finding{ok("connection", "MongoDB "+build.Version)}
	if len(build.Parts) > 0 && build.Parts[0] < minServerVersion {
		found = append(found, note("version", "MongoDB "+build.Version+" is past its end of life", "use 8.0 in production"))
	}
	switch n := len(hello.Hosts); {
	case hello.Msg == "isdbgrid":
		found = append(found, ok("replica set", "a sharded cluster"))
	case n < 3: // a majority does not survive the loss of a member
		found = append(found, note("replica set", fmt.Sprintf("%s has %d data-bearing members", hello.SetName, n),
			"use three or more, which survive the loss of one").counted(int64(n)))
	default:
		found = append(found, ok("replica set", fmt.Sprintf("%s of %s", hello.SetName, strings.Join(hello.Hosts, ", "))))
	}
	return found
}

func checkSchema(ctx context.Context, s *session) (found []finding) {
	gaps, err := core.SchemaGaps(ctx, s.DB, s.Collections()...)
	if err != nil {
		return failedCheck("indexes and validators", err)
	}
	for _, gap := range gaps {
		detail, action, _ := strings.Cut(gap, ": ")
		if action == "" {
			detail, action, _ = strings.Cut(gap, "; ")
		}
		found = append(found, problem("indexes and validators", detail, action).counted(1))
	}
	if len(found) == 0 {
		found = append(found, ok("indexes and validators", "complete"))
	}
	return append(found, checkSeatIndex(ctx, s)...)
}

// maxClockOffset is the tolerated difference between this machine's clock and the
// database's. No decision depends on this machine's clock, but the log does.
const maxClockOffset = 2 * time.Second

func checkClock(ctx context.Context, s *session) []finding {
	before := mongodb.SystemTime()
	now, err := s.DB.Now(ctx)
	if err != nil {
		return failedCheck("clock", err)
	}
	roundTrip := mongodb.Clock(mongodb.SystemTime).Since(before)
	offset := now.Sub(before.Add(roundTrip / 2)).Round(time.Millisecond)
	if offset.Abs() > maxClockOffset {
		return []finding{problem("clock", fmt.Sprintf("the database's clock differs by %v from this machine's", offset),
			"synchronize both by NTP; the database's clock alone decides about expiry")}
	}
	return []finding{ok("clock", fmt.Sprintf("differs by %v", offset))}
}

// checkMemberClocks finds members of the replica set whose clocks differ. Expiry follows the
// primary's clock, so after a failover a due lock may not be due any more, and vice versa.
func checkMemberClocks(ctx context.Context, s *session) (found []finding) {
	clocks, err := s.DB.MemberClocks(ctx, string(s.Config.MongoDBURI))
	if err != nil {
		return failedCheck("clocks of the members", err)
	}
	var earliest, latest *mongodb.MemberClock
	for i, c := range clocks {
		if c.Err != nil {
			found = append(found, note("clock of "+c.Host, "the member does not answer: "+c.Err.Error(),
				"start it, or let this machine connect to it"))
			continue
		}
		if earliest == nil || c.Offset < earliest.Offset {
			earliest = &clocks[i]
		}
		if latest == nil || c.Offset > latest.Offset {
			latest = &clocks[i]
		}
	}
	if earliest != nil && latest.Offset-earliest.Offset > maxClockOffset {
		found = append(found, problem("clocks of the members",
			fmt.Sprintf("%s is %v ahead of %s", latest.Host, latest.Offset-earliest.Offset, earliest.Host),
			"synchronize them by NTP; after a failover between them, locks expire too early or too late"))
	}
	return found
}

func checkLeases(ctx context.Context, s *session) (found []finding) {
	store, reason := s.Config.LeaseStore()
	if _, err := s.Jobs.Mode(ctx); err != nil {
		return []finding{problem("leases", store+" ("+reason+") "+jobs.DescribeUnavailable(err)+": "+err.Error(),
			"start it, correct its settings, or free the lease that is of a WRONGTYPE; jobs wait until then")}
	}
	states, leader, err := s.Jobs.States(ctx)
	if err != nil {
		return failedCheck("jobs", err)
	}
	switch {
	case store == jobs.StoreNone:
		found = append(found, note("leader", "JOB_LEASES=none: the leader is unknown", "use leases if there is more than one process"))
	case !leader.Held():
		found = append(found, problem("leader", "no process schedules the jobs",
			"start a worker, or an API with RUN_JOBS=true; the settings of leases must be the same"))
	default:
		found = append(found, ok("leader", leader.Holder))
	}
	now := mongodb.SystemTime()
	for _, state := range states {
		found = append(found, checkJob(state, now)...)
	}
	return found
}

// checkJob checks a job's lease and last run.
func checkJob(state jobs.State, now time.Time) (found []finding) {
	free := "seatctl leases free " + state.Name
	l, last := state.Lease, state.Last
	switch {
	case l.Known && l.Held() && l.Until.IsZero():
		found = append(found, problem("lease of "+state.Name, "held by "+l.Holder+", without an end", free).counted(1))
	case l.Known && l.Held() && (last == nil || last.Outcome != jobs.Running):
		found = append(found, problem("lease of "+state.Name, "held by "+l.Holder+", but no run is in progress",
			"wait until "+formatTime(l.Until)+", or "+free).counted(1))
	case last != nil && last.Outcome == jobs.Running && state.MaxDuration > 0 && now.Sub(last.StartedAt) > state.MaxDuration+time.Minute:
		found = append(found, problem("job "+state.Name,
			"its run started at "+formatTime(last.StartedAt)+" and exceeds its time limit", free).counted(1))
	}
	if last != nil && last.Outcome == jobs.Failed {
		found = append(found, problem("job "+state.Name, "its last run failed: "+last.Reason,
			"search the log of "+last.Pod+" for correlationId="+last.ID).counted(1))
	}
	return found
}

// maxMissingEvents bounds the missing events that doctor names.
const maxMissingEvents = 20

func checkOverdue(ctx context.Context, s *session) (found []finding) {
	page, err := s.Store.DueLocks(ctx, store.After{}, 1)
	if err != nil {
		return failedCheck("overdue locks", err)
	}
	now, err := s.DB.Now(ctx)
	if err != nil {
		return failedCheck("overdue locks", err)
	}
	tolerance := 2*s.Config.LockExpiryInterval + s.Config.LeaseTTL // one tick may be missed
	if len(page) == 0 || now.Sub(page[0].ExpiresAt.Time()) < tolerance {
		return []finding{ok("overdue locks", "none")}
	}
	n, err := s.Store.CountDueLocks(ctx, 0)
	if err != nil {
		return failedCheck("overdue locks", err)
	}
	missing, err := s.Store.MissingEvents(ctx, maxMissingEvents)
	if err != nil {
		return failedCheck("overdue locks", err)
	}
	for _, m := range missing {
		if m.ID.IsZero() {
			continue // these locks name a value that is not an ID
		}
		n -= m.Locks
		found = append(found, problem("locks of a missing event",
			fmt.Sprintf("%d due locks name the event %s, which does not exist", m.Locks, m.ID),
			"restore the event, or remove these locks").counted(m.Locks))
	}
	if n <= 0 {
		return found
	}
	return append(found, problem("overdue locks",
		fmt.Sprintf("%d locks are due; the oldest one of all has been due for %v", n, now.Sub(page[0].ExpiresAt.Time()).Round(time.Second)),
		"start a worker, or run seatctl sweep; if a worker is running, its log says which of them it set aside, and why").counted(n))
}

// maxStuck bounds the cancellations that doctor names.
const maxStuck = 20

func checkCancellations(ctx context.Context, s *session) (found []finding) {
	const what = "cancelled events"
	stuck, err := s.Store.StuckCancellations(ctx, maxStuck)
	if err != nil {
		return failedCheck(what, err)
	}
	for _, c := range stuck {
		found = append(found, problem(what,
			fmt.Sprintf("%d locks or bookings of the event %s can't be ended: %s", c.Left, c.EventID, c.Why),
			"correct that; the job event-cancel tries again every 15 s").counted(int64(c.Left)))
	}
	if len(found) == 0 {
		found = append(found, ok(what, "none is stuck"))
	}
	return found
}

func checkData(ctx context.Context, s *session) []finding {
	plan, err := s.Recovery.Plan(ctx)
	if err != nil {
		return failedCheck("data", err)
	}
	var found []finding
	for _, f := range planFindings(plan, recommendedAction) {
		if f.Count > 0 && f.State == stateFinding {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		found = append(found, ok("data", fmt.Sprintf("%d counters agree with their locks, and all bookings agree with their locks",
			plan.EventsMeasured)))
	}
	if plan.Archived > 0 {
		found = append(found, note("archived events", fmt.Sprintf("%d events are archived, so they were not checked",
			plan.Archived), "seatctl recover --all --dry-run checks them too").counted(plan.Archived))
	}
	return found
}

// planFindings lists the findings of a recovery plan. action returns what the pass or an
// operator does about a finding.
func planFindings(plan recovery.Plan, action func(recovery.Finding) string) (list []finding) {
	for _, f := range plan.Findings() {
		line := finding{State: stateFinding, What: f.What, Count: f.Count, Detail: fmt.Sprint(f.Count), Action: action(f)}
		if f.Kind == recovery.Ordinary {
			line.State = stateNote
		}
		if f.Detail != "" {
			line.Detail += ", " + f.Detail
		}
		list = append(list, line)
	}
	return list
}

// dryRunAction is the action of a recovery pass.
func dryRunAction(f recovery.Finding) string { return f.Action }

// recommendedAction is what an operator should do.
func recommendedAction(f recovery.Finding) string {
	if f.Kind == recovery.Repairable {
		return "seatctl recover; its log says what it could not repair, and why"
	}
	return f.Action
}
