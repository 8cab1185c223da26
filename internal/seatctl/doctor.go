package seatctl

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
)

// doctor looks at everything that operators would.
type doctor struct{}

// States of a check.
const (
	stateOK      = "ok"
	stateNote    = "note"    // good to know, and no reason to act
	stateFinding = "FINDING" // people have to look
	stateFailed  = "FAILED"  // it could not be looked at
)

// finding is what a check found.
type finding struct {
	State string `json:"state"`
	What  string `json:"what"`
	Count int64  `json:"count"`
	Says  string `json:"says,omitempty"`
	Do    string `json:"do,omitempty"`
}

func ok(what, says string) finding { return finding{State: stateOK, What: what, Says: says} }

func (d *doctor) run(ctx context.Context, s *session) (int, error) {
	var all []finding
	for _, check := range []func(context.Context, *session) []finding{
		checkServer, checkSchema, checkClock, checkLeases, checkOverdue, checkData,
	} {
		all = append(all, check(ctx, s)...)
		if ctx.Err() != nil {
			return failed, ctx.Err()
		}
	}
	return tell(s.out, all)
}

// unreachable is the doctor's word where there is no database to look at.
func (d *doctor) unreachable(s *session, err error) (int, error) {
	_, printed := tell(s.out, []finding{{State: stateFailed, What: "connection", Says: err.Error(), Do: "start MongoDB, or mend MONGODB_URI"}})
	return failed, printed
}

// tell prints findings and chooses the exit code.
func tell(out printer, all []finding) (code int, err error) {
	for _, f := range all {
		switch {
		case f.State == stateFailed:
			code = failed
		case f.State == stateFinding && code == well:
			code = findings
		}
	}
	return code, rows(out, all, []any{"", "what", "says", "what to do"}, func(f finding) []any { return []any{f.State, f.What, f.Says, f.Do} })
}

func failedCheck(what string, err error) []finding {
	return []finding{{State: stateFailed, What: what, Says: err.Error(), Do: "mend that and ask again"}}
}

// oldServer is the first major version of MongoDB that is kept.
const oldServer = 7

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
	if len(build.Parts) > 0 && build.Parts[0] < oldServer {
		found = append(found, finding{State: stateNote, What: "version", Says: "MongoDB " + build.Version + " is past its end of life", Do: "use 8.0 in production"})
	}
	switch n := len(hello.Hosts); {
	case hello.Msg == "isdbgrid":
		found = append(found, ok("replica set", "a sharded cluster"))
	case n < 3: //nolint:mnd // a majority that survives a loss
		found = append(found, finding{State: stateNote, What: "replica set", Count: int64(n), Says: fmt.Sprintf("%s has %d members that hold data", hello.SetName, n),
			Do: "three or more survive the loss of one"})
	default:
		found = append(found, ok("replica set", fmt.Sprintf("%s of %s", hello.SetName, strings.Join(hello.Hosts, ", "))))
	}
	return found
}

func checkSchema(ctx context.Context, s *session) (found []finding) {
	gaps, err := mongodb.SchemaGaps(ctx, s.DB, s.Collections()...)
	if err != nil {
		return failedCheck("indexes and validators", err)
	}
	for _, gap := range gaps {
		says, do, _ := strings.Cut(gap, ": ")
		if do == "" {
			says, do, _ = strings.Cut(gap, "; ")
		}
		found = append(found, finding{State: stateFinding, What: "indexes and validators", Count: 1, Says: says, Do: do})
	}
	if len(found) == 0 {
		found = append(found, ok("indexes and validators", "all there"))
	}
	return found
}

// apart is how far this machine's clock may be from the database's. It decides
// nothing; logs and people go by it.
const apart = 2 * time.Second

func checkClock(ctx context.Context, s *session) []finding {
	before := clock.System()
	now, err := s.DB.Now(ctx)
	if err != nil {
		return failedCheck("clock", err)
	}
	off := now.Sub(before.Add(clock.Clock(clock.System).Since(before) / 2)).Round(time.Millisecond) //nolint:mnd // there and back
	if off.Abs() > apart {
		return []finding{{State: stateFinding, What: "clock", Says: fmt.Sprintf("the database's clock is %v off from this machine's", off),
			Do: "synchronize both by NTP; expiry goes by the database's alone"}}
	}
	return []finding{ok("clock", fmt.Sprintf("%v off", off))}
}

func checkLeases(ctx context.Context, s *session) (found []finding) {
	store, why := s.Config.LeaseStore()
	if err := s.Jobs.Leases.Ping(ctx); err != nil {
		return []finding{{State: stateFinding, What: "leases", Says: store + " (" + why + ") does not answer: " + err.Error(), Do: "start it, or mend its settings; jobs wait meanwhile"}}
	}
	states, leader, err := s.Jobs.States(ctx)
	if err != nil {
		return failedCheck("jobs", err)
	}
	switch {
	case store == lease.KindNone:
		found = append(found, finding{State: stateNote, What: "leader", Says: "JOB_LEASES=none: nobody can tell who schedules", Do: "use leases where there is more than one process"})
	case !leader.Held():
		found = append(found, finding{State: stateFinding, What: "leader", Says: "no process schedules the jobs", Do: "start a worker, or an API with RUN_JOBS=true; the settings of leases have to be the same"})
	default:
		found = append(found, ok("leader", leader.Holder))
	}
	now := clock.System()
	for _, state := range states {
		found = append(found, checkJob(state, now)...)
	}
	return found
}

// checkJob looks at one job's lease and last run.
func checkJob(state jobs.State, now time.Time) (found []finding) {
	free := "seatctl leases free " + state.Name
	l, last := state.Lease, state.Last
	switch {
	case l.Known && l.Held() && l.Until.IsZero():
		found = append(found, finding{State: stateFinding, What: "lease of " + state.Name, Count: 1, Says: "held by " + l.Holder + ", without an end", Do: free})
	case l.Known && l.Held() && (last == nil || last.Outcome != jobs.Running):
		found = append(found, finding{State: stateFinding, What: "lease of " + state.Name, Count: 1, Says: "held by " + l.Holder + ", which runs nothing",
			Do: "wait until " + when(l.Until) + ", or " + free})
	case last != nil && last.Outcome == jobs.Running && now.Sub(last.StartedAt) > state.MaxDuration+time.Minute:
		found = append(found, finding{State: stateFinding, What: "job " + state.Name, Count: 1, Says: "runs since " + when(last.StartedAt) + ", longer than it may", Do: free})
	}
	if last != nil && last.Outcome == jobs.Failed {
		found = append(found, finding{State: stateFinding, What: "job " + state.Name, Count: 1, Says: "its last run failed: " + last.Reason,
			Do: "read the log of " + last.Pod + " by correlationId=" + last.ID})
	}
	return found
}

func checkOverdue(ctx context.Context, s *session) []finding {
	page, err := s.Seats.DueLocks(ctx, seats.After{}, 1)
	if err != nil {
		return failedCheck("overdue locks", err)
	}
	now, err := s.DB.Now(ctx)
	if err != nil {
		return failedCheck("overdue locks", err)
	}
	patience := 2*s.Config.LockExpiryInterval + s.Config.LeaseTTL //nolint:mnd // a tick that was missed
	if len(page) == 0 || now.Sub(page[0].ExpiresAt) < patience {
		return []finding{ok("overdue locks", "none")}
	}
	n, err := s.Seats.CountDue(ctx, 0)
	if err != nil {
		return failedCheck("overdue locks", err)
	}
	return []finding{{State: stateFinding, What: "overdue locks", Count: n,
		Says: fmt.Sprintf("%d locks are due, the oldest since %v", n, now.Sub(page[0].ExpiresAt).Round(time.Second)),
		Do:   "look why no worker sweeps; seatctl sweep expires them now. Their seats can be sold meanwhile all the same"}}
}

func checkData(ctx context.Context, s *session) []finding {
	survey, err := s.Recovery.Survey(ctx)
	if err != nil {
		return failedCheck("data", err)
	}
	var found []finding
	for _, f := range surveyed(survey, false) {
		if f.Count > 0 && f.State == stateFinding {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		found = append(found, ok("data", fmt.Sprintf("%d counters agree with their locks, bookings with theirs", survey.EventsMeasured)))
	}
	return found
}

// surveyed tells a survey: with what a pass would do, or with what to do.
func surveyed(v recovery.Survey, wouldDo bool) (list []finding) {
	for _, f := range v.Findings() {
		line := finding{State: stateFinding, What: f.What, Count: f.Count, Says: fmt.Sprint(f.Count), Do: f.Would}
		if f.Kind == recovery.Ordinary {
			line.State = stateNote
		}
		if f.Kind == recovery.Mendable && !wouldDo {
			line.Do = "seatctl recover"
		}
		if f.Says != "" {
			line.Says += ", " + f.Says
		}
		list = append(list, line)
	}
	return list
}
