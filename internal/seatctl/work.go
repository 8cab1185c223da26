package seatctl

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// recovers is the recovery pass.
type recovers struct {
	DryRun bool `help:"Tell what the pass would find, and change nothing."`
}

func (r *recovers) run(ctx context.Context, s *session) (int, error) {
	if !r.DryRun {
		return s.work(ctx, "recovery")
	}
	survey, err := s.Recovery.Survey(ctx)
	if err != nil {
		return failed, err
	}
	list := surveyed(survey, true)
	if err := rows(s.out, list, []any{"what", "how many", "a pass would"}, func(f finding) []any { return []any{f.What, f.Count, f.Do} }); err != nil {
		return failed, err
	}
	for _, f := range list {
		if f.Count > 0 && f.State == stateFinding {
			return findings, nil
		}
	}
	return well, nil
}

// sweep expires what is due.
type sweep struct {
	Locks    sweepLocks    `cmd:"" help:"Expire due locks."`
	Bookings sweepBookings `cmd:"" help:"Expire due bookings."`
	All      sweepAll      `cmd:"" default:"1" help:"Expire both."`
}

type (
	sweepLocks    struct{}
	sweepBookings struct{}
	sweepAll      struct{}
)

func (*sweepLocks) run(ctx context.Context, s *session) (int, error) {
	return s.work(ctx, "lock-expiry")
}

func (*sweepBookings) run(ctx context.Context, s *session) (int, error) {
	return s.work(ctx, "booking-expiry")
}

func (*sweepAll) run(ctx context.Context, s *session) (int, error) {
	return s.work(ctx, "lock-expiry", "booking-expiry")
}

// ran is what a run came to, for print.
type ran struct {
	Job           string `json:"job"`
	Run           string `json:"run,omitempty"`
	Outcome       string `json:"outcome"`
	Found         int    `json:"found"`
	Applied       int    `json:"applied"`
	Skipped       int    `json:"skipped"`
	Errors        int    `json:"errors"`
	SeatsRestored int64  `json:"seatsRestored"`
	Why           string `json:"why,omitempty"`
}

// work runs jobs here, under their leases. One that another process is running
// needs no second run, which is well.
func (s *session) work(ctx context.Context, names ...string) (int, error) {
	var done []ran
	var failures []error
	for _, name := range names {
		result, err := s.RunByHand(ctx, name)
		r := ran{name, result.ID, string(result.Outcome), result.Found, result.Applied, result.Skipped, result.Errors, result.SeatsRestored, result.Reason}
		if held, ok := lease.IsHeld(result.Why); ok {
			r.Why = "it is being run by " + held.Holder
		} else if result.Outcome == jobs.Skipped {
			err = fmt.Errorf("%s: %w", name, result.Why)
			r.Why = "its lease can't be had"
		}
		done, failures = append(done, r), append(failures, err)
	}
	err := rows(s.out, done, []any{"job", "outcome", "found", "applied", "skipped", "errors", "seats restored", "why", "run"}, func(r ran) []any {
		return []any{r.Job, r.Outcome, r.Found, r.Applied, r.Skipped, r.Errors, r.SeatsRestored, r.Why, r.Run}
	})
	return well, errors.Join(append(failures, err)...)
}

// jobsList lists the jobs.
type jobsList struct{}

type jobState struct {
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

func (*jobsList) run(ctx context.Context, s *session) (int, error) {
	states, leader, err := s.Jobs.States(ctx)
	if err != nil {
		return failed, err
	}
	list := []jobState{{Job: "leader", Lease: holderOf(leader)}}
	for _, state := range states {
		j := jobState{Job: state.Name, Lease: holderOf(state.Lease)}
		if state.Interval > 0 {
			j.Interval = state.Interval.String()
		}
		if l := state.Last; l != nil {
			j.LastRun, j.Outcome, j.Found, j.Applied, j.Errors, j.Reason = when(l.StartedAt), string(l.Outcome), l.Found, l.Applied, l.Errors, l.Reason
		}
		list = append(list, j)
	}
	return well, rows(s.out, list, []any{"job", "interval", "last run", "outcome", "found", "applied", "errors", "reason", "lease"}, func(j jobState) []any {
		return []any{j.Job, j.Interval, j.LastRun, j.Outcome, j.Found, j.Applied, j.Errors, j.Reason, j.Lease}
	})
}

func holderOf(h jobs.Holder) string {
	switch {
	case !h.Known:
		return "unknown: its store does not answer"
	case !h.Held():
		return "free"
	case h.Until.IsZero():
		return h.Holder + ", without an end"
	default:
		return h.Holder + ", until " + when(h.Until)
	}
}

// leases frees one.
type leases struct {
	Free freeLease `cmd:"" help:"Take a job's lease away from its holder, dead or alive. A run that lives is cancelled at its next renewal."`
}

type freeLease struct {
	Job string `arg:"" help:"The job, or leader."`
}

func (f *freeLease) run(ctx context.Context, s *session) (int, error) {
	was, err := s.Jobs.FreeLease(ctx, f.Job)
	if err != nil {
		return failed, err
	}
	type freed struct {
		Lease  string `json:"lease"`
		Holder string `json:"wasHeldBy"`
	}
	return well, rows(s.out, []freed{{was.Name, was.Holder}}, []any{"lease", "was held by"}, func(f freed) []any { return []any{f.Lease, f.Holder} })
}
