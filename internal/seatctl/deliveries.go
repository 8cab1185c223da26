package seatctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// checkState refuses a state of deliveries that is not allowed. nil is a flag that is not given.
func checkState(given *string, allowed ...string) error {
	if given == nil || slices.Contains(allowed, *given) {
		return nil
	}
	return fmt.Errorf("--state %q is not a state: use %s", *given, strings.Join(allowed, " or "))
}

func textOf(flag *string) string {
	if flag == nil {
		return ""
	}
	return *flag
}

type deliveriesCmd struct {
	endpointArg `embed:""`
	State       *string `help:"Only with this state: PENDING, DELIVERED or DEAD."`
	Limit       limit   `default:"50" help:"Maximum number of items; 0 for all."`
}

// Validate is called by the parser.
func (c *deliveriesCmd) Validate() error {
	return checkState(c.State, webhooks.Pending, webhooks.Delivered, webhooks.Dead)
}

func (c *deliveriesCmd) run(ctx context.Context, s *session) (int, error) {
	id, err := c.parse()
	if err != nil {
		return exitUsage, err
	}
	all, err := readPages(c.Limit, func(p holdfast.Page) ([]webhooks.Delivery, string, error) {
		return s.Webhooks.Deliveries(ctx, id, textOf(c.State), p)
	})
	if err != nil {
		return exitFailed, err
	}
	type line struct {
		ID            string     `json:"id"`
		ChangeID      string     `json:"changeId"`
		Type          string     `json:"type"`
		Subject       string     `json:"subject"`
		State         string     `json:"state"`
		Attempts      int64      `json:"attempts"`
		NextAttemptAt *time.Time `json:"nextAttemptAt,omitempty"`
		LastStatus    int64      `json:"lastStatus,omitempty"`
	}
	var lines []line
	for _, d := range all {
		l := line{
			ID: d.ID.String(), ChangeID: d.ChangeID, Type: d.Type, Subject: d.Subject, State: d.State,
			Attempts: d.Attempts, LastStatus: d.LastStatus,
		}
		if d.State == webhooks.Pending && !d.NextAttemptAt.IsZero() {
			l.NextAttemptAt = &d.NextAttemptAt
		}
		lines = append(lines, l)
	}
	columns := []any{"change", "type", "state", "attempts", "last status", "next attempt"}
	return exitOK, printRows(s.out, lines, columns, func(l line) []any {
		status, next := "", ""
		if l.Attempts > 0 {
			status = statusOrNone(l.LastStatus)
		}
		if l.NextAttemptAt != nil {
			next = formatTime(*l.NextAttemptAt)
		}
		return []any{l.ChangeID, l.Type, l.State, l.Attempts, status, next}
	})
}

type replayCmd struct {
	endpointArg `embed:""`
	Since       *time.Time `help:"Changes of this time or later, such as 2026-06-15T10:00:00Z."`
	Until       *time.Time `help:"Changes before this time."`
	Types       []string   `name:"type" help:"Types of changes, or their beginning with * at the end; comma-separated, or repeated."`
	State       *string    `help:"Only what was DELIVERED, or is DEAD. Otherwise also what was never told."`
}

// Validate is called by the parser.
func (c *replayCmd) Validate() error {
	if c.Since != nil && c.Until != nil && !c.Since.Before(*c.Until) {
		return errors.New("--until is not after --since")
	}
	return checkState(c.State, webhooks.Delivered, webhooks.Dead)
}

func (c *replayCmd) run(ctx context.Context, s *session) (int, error) {
	id, err := c.parse()
	if err != nil {
		return exitUsage, err
	}
	r := webhooks.Replay{Types: c.Types, State: textOf(c.State)}
	if c.Since != nil {
		r.Since = c.Since.UTC()
	}
	if c.Until != nil {
		r.Until = c.Until.UTC()
	}
	n, err := s.Webhooks.Replay(ctx, id, r)
	if err != nil {
		return exitOf(err), err
	}
	if n == webhooks.MaxReplayed {
		if _, err := fmt.Fprintln(s.errs, "There may be more. When these are delivered, go on with a later --since."); err != nil {
			return exitFailed, err
		}
	}
	type line struct {
		Deliveries int `json:"deliveries"`
	}
	return exitOK, printRows(s.out, []line{{n}}, []any{"planned deliveries"}, func(l line) []any { return []any{l.Deliveries} })
}
