package seatctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/app"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// Exit codes.
const (
	well     = 0
	failed   = 1
	usage    = 2
	findings = 3
)

type commands struct {
	Config config.Config `embed:""`
	Output string        `short:"o" enum:"table,json" default:"table" help:"How to print: table or json."`

	Doctor   doctor   `cmd:"" help:"Look whether everything is well, and what to do where it is not. Changes nothing."`
	Recover  recovers `cmd:"" help:"Expire what is stale, and prove the counters against the locks; see --dry-run."`
	Sweep    sweep    `cmd:"" help:"Expire what is due now: locks, bookings, or both."`
	Jobs     jobsList `cmd:"" help:"List the jobs: last run, lease, leader."`
	Leases   leases   `cmd:"" help:"Free a stuck lease."`
	Events   events   `cmd:"" help:"List events."`
	Locks    locks    `cmd:"" help:"List locks."`
	Bookings bookings `cmd:"" help:"List bookings."`
	Export   export   `cmd:"" help:"Write all events as JSON lines; their locks and bookings stay."`
	Import   imports  `cmd:"" help:"Make events from JSON lines; those that there are stay as they are."`
}

// command is one of them. The code is what to exit with where err is nil.
type command interface {
	run(ctx context.Context, s *session) (code int, err error)
}

// session is what a command works with.
type session struct {
	*app.App
	out  printer
	in   io.Reader
	errs io.Writer
}

// closeTime is how long the end may take.
const closeTime = 10 * time.Second

// Main runs a command line and returns what to exit with.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	var c commands
	if os.Getenv("LOG_LEVEL") == "" && !telemetry.IsTerminal(os.Stderr) { // progress is for people
		os.Setenv("LOG_LEVEL", "warn") //nolint:errcheck // fails only for an invalid name
	}
	parsed, err := config.ParseInto(&c, &c.Config, "seatctl", "Looks at Holdfast's database, and mends it. Every flag can be set in the environment.", args)
	if err != nil {
		fmt.Fprintln(errs, "seatctl:", err) //nolint:errcheck // nobody reads
		return usage
	}
	chosen, ok := parsed.Selected().Target.Addr().Interface().(command)
	if !ok {
		fmt.Fprintln(errs, "seatctl: no such command; see --help") //nolint:errcheck // nobody reads
		return usage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, &c, chosen, in, out, errs)
	if err != nil {
		fmt.Fprintln(errs, "seatctl:", err) //nolint:errcheck // nobody reads
		if code == usage {
			return usage
		}
		return failed
	}
	return code
}

func run(ctx context.Context, c *commands, chosen command, in io.Reader, out, errs io.Writer) (code int, err error) {
	log := telemetry.NewLog(errs, c.Config.LogLevel, c.Config.LogFormat)
	s := &session{out: printer{out, c.Output}, in: in, errs: errs}
	if s.App, err = app.Connect(ctx, &c.Config, quiet(chosen, log)); err != nil {
		if d, is := chosen.(*doctor); is {
			return d.unreachable(s, err)
		}
		return failed, err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		err = errors.Join(err, s.Close(last))
	}()
	return chosen.run(ctx, s)
}

// quiet is the log of commands that only look: nothing but warnings.
func quiet(chosen command, log *slog.Logger) *slog.Logger {
	switch chosen.(type) {
	case *recovers, *sweepLocks, *sweepBookings, *sweepAll:
		return log
	default:
		return slog.New(slog.DiscardHandler)
	}
}
