package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/jobs"
)

// recoverCmd runs a recovery pass.
type recoverCmd struct {
	DryRun bool `help:"Print what the pass would change, and change nothing."`
	All    bool `help:"Check all events, including archived ones, which the pass otherwise leaves out."`
}

func (r *recoverCmd) run(ctx context.Context, s *session) (int, error) {
	switch {
	case !r.DryRun && r.All:
		result, err := s.RecoverAll(ctx)
		s.findCorrupt(ctx)
		return s.printRuns([]ran{{"recovery", result, err}})
	case !r.DryRun:
		return s.runJobs(ctx, "recovery")
	}
	makePlan := s.Recovery.Plan
	if r.All {
		makePlan = s.Recovery.PlanAll
	}
	plan, err := makePlan(ctx)
	if err != nil {
		return exitFailed, err
	}
	list := planFindings(plan, dryRunAction)
	err = printRows(s.out, list, []any{"what", "count", "a pass would"}, func(f finding) []any {
		return []any{wrapTo(checkWidth, f.What), f.Count, wrapTo(detailWidth, f.Action)}
	})
	if err != nil {
		return exitFailed, err
	}
	for _, f := range list {
		if f.Count > 0 && f.State == stateFinding {
			return exitFindings, nil
		}
	}
	return exitOK, nil
}

// sweepCmd expires due locks and bookings.
type sweepCmd struct {
	Locks    runJobsCmd `cmd:"" help:"Expire due locks."`
	Bookings runJobsCmd `cmd:"" help:"Expire due bookings."`
	All      runJobsCmd `cmd:"" default:"1" help:"Expire both, do what is due for waiting lists, and number the changes that wait for it."`
}

// runJobsCmd runs jobs in this process, by their names.
type runJobsCmd struct{ names []string }

func (c *runJobsCmd) run(ctx context.Context, s *session) (int, error) {
	return s.runJobs(ctx, c.names...)
}

// runLine is the result of a run.
type runLine struct {
	Job           string `json:"job"`
	Run           string `json:"run,omitempty"`
	Outcome       string `json:"outcome"`
	Found         int    `json:"found"`
	Applied       int    `json:"applied"`
	Skipped       int    `json:"skipped"`
	Errors        int    `json:"errors"`
	SeatsRestored int64  `json:"seatsRestored"`
	Reason        string `json:"why,omitempty"`
}

// runJobs runs jobs in this process, under their leases. It skips a job that another process
// is running, without an error.
func (s *session) runJobs(ctx context.Context, names ...string) (int, error) {
	var all []ran
	for _, name := range names {
		result, err := s.RunManually(ctx, name)
		all = append(all, ran{name, result, err})
	}
	s.findCorrupt(ctx)
	return s.printRuns(all)
}

// findCorrupt searches for corrupt documents, as a process that runs the jobs does after them.
func (s *session) findCorrupt(ctx context.Context) {
	if err := s.Corrupt.Refresh(ctx); err != nil {
		s.Log.WarnContext(ctx, "Could not search for corrupt documents", slog.Any("error", err))
	}
}

// ran is a job that was run.
type ran struct {
	name   string
	result jobs.Result
	err    error
}

func (s *session) printRuns(all []ran) (int, error) {
	var lines []runLine
	var failures []error
	for _, r := range all {
		name, result, err := r.name, r.result, r.err
		line := runLine{
			Job: name, Run: result.ID, Outcome: string(result.Outcome),
			Found: result.Found, Applied: result.Applied, Skipped: result.Skipped, Errors: result.Errors,
			SeatsRestored: result.SeatsRestored, Reason: result.Reason,
		}
		if held, ok := jobs.IsHeld(result.SkipErr); ok {
			line.Reason = "already running on " + held.Holder
		} else if result.Outcome == jobs.Skipped {
			err = fmt.Errorf("%s: %w", name, result.SkipErr)
			line.Reason = "its lease is unavailable"
		}
		lines, failures = append(lines, line), append(failures, err)
	}
	columns := []any{"job", "outcome", "found", "applied", "skipped", "errors", "seats restored", "reason", "run"}
	err := printRows(s.out, lines, columns, func(l runLine) []any {
		return []any{l.Job, l.Outcome, l.Found, l.Applied, l.Skipped, l.Errors, l.SeatsRestored, l.Reason, l.Run}
	})
	return exitOK, errors.Join(append(failures, err)...)
}

// jobsCmd lists the jobs.
type jobsCmd struct{}

type jobLine struct {
	Job      string `json:"job"`
	Interval string `json:"interval,omitempty"`
	LastRun  string `json:"lastRun,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
	Found    int    `json:"found"`
	Applied  int    `json:"applied"`
	Errors   int    `json:"errors"`
	Reason   string `json:"reason,omitempty"`
	Lease    string `json:"lease"`
}

func (*jobsCmd) run(ctx context.Context, s *session) (int, error) {
	states, leader, err := s.Jobs.States(ctx)
	if err != nil {
		return exitFailed, err
	}
	list := []jobLine{{Job: "leader", Lease: describeLease(leader)}}
	for _, state := range states {
		line := jobLine{Job: state.Name, Lease: describeLease(state.Lease)}
		if state.Interval > 0 {
			line.Interval = state.Interval.String()
		}
		if last := state.Last; last != nil {
			line.LastRun, line.Outcome, line.Reason = formatTime(last.StartedAt), string(last.Outcome), last.Reason
			line.Found, line.Applied, line.Errors = last.Found, last.Applied, last.Errors
		}
		list = append(list, line)
	}
	columns := []any{"job", "interval", "last run", "outcome", "found", "applied", "errors", "reason", "lease"}
	return exitOK, printRows(s.out, list, columns, func(l jobLine) []any {
		return []any{l.Job, l.Interval, l.LastRun, l.Outcome, l.Found, l.Applied, l.Errors, l.Reason, l.Lease}
	})
}

func describeLease(l jobs.LeaseState) string {
	switch {
	case !l.Known:
		return "unknown: the lease store does not answer, or refuses"
	case !l.Held():
		return "free"
	case l.Until.IsZero():
		return l.Holder + ", without an end"
	default:
		return l.Holder + ", until " + formatTime(l.Until)
	}
}

// leasesCmd changes leases.
type leasesCmd struct {
	Free freeLeaseCmd `cmd:"" help:"Remove a job's lease. If its holder is alive, its run is cancelled at the next renewal."`
}

type freeLeaseCmd struct {
	Job string `arg:"" help:"A job, or leader for the leader's lease."`
	Yes bool   `help:"Free the leader's lease without asking."`
}

func (f *freeLeaseCmd) run(ctx context.Context, s *session) (int, error) {
	if jobs.LeaseOf(f.Job) == jobs.LeaderLease && !f.Yes {
		if err := s.confirmNewLeader(ctx); err != nil {
			return exitFailed, err
		}
	}
	previous, err := s.Jobs.FreeLease(ctx, f.Job)
	if err != nil {
		return exitFailed, err
	}
	type line struct {
		Lease  string `json:"lease"`
		Holder string `json:"wasHeldBy"`
	}
	lines := []line{{Lease: previous.Name, Holder: previous.Holder}}
	return exitOK, printRows(s.out, lines, []any{"lease", "was held by"}, func(l line) []any { return []any{l.Lease, l.Holder} })
}

// confirmNewLeader asks before the lease of the leader is freed: if its holder is alive, two
// processes schedule jobs until it notices.
func (s *session) confirmNewLeader(ctx context.Context) error {
	_, leader, err := s.Jobs.States(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.errs, "The leader's lease: %s.\nIf its holder is alive, two processes schedule jobs until it notices. "+
		"Free the lease? [yes/no] ", visible(describeLease(leader)))
	if err != nil {
		return err
	}
	return s.awaitYes("the lease was not freed")
}

// awaitYes reads the answer to a question; another one than yes is an error.
func (s *session) awaitYes(otherwise string) error {
	answer := bufio.NewScanner(s.in)
	if answer.Scan() && slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer.Text()))) {
		return nil
	}
	return errors.Join(errors.New(otherwise+": answer yes, or use --yes"), answer.Err())
}
