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

	"github.com/alecthomas/kong"

	"github.com/holdfast-dev/holdfast/internal/app"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// Exit codes.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitFindings = 3
)

type commands struct {
	Config config.Config `embed:""`
	Output string        `short:"o" default:"table" help:"Output format: table or json. For plans check, also a file for a picture."`

	Doctor    doctorCmd    `cmd:"" help:"Check servers, schema, jobs and data, and suggest actions. Changes nothing."`
	Recover   recoverCmd   `cmd:"" help:"Expire stale locks and bookings, and correct the counters; see --dry-run."`
	Sweep     sweepCmd     `cmd:"" help:"Expire due locks, due bookings, or both, now."`
	Retention retentionCmd `cmd:"" help:"Remove what ended longer than ENDED_RETENTION ago, and seal events that are over, now."`
	Upgrade   upgradeCmd   `cmd:"" help:"Show how far the upgrade from the former version is, and finish it."`
	Jobs      jobsCmd      `cmd:"" help:"List the jobs with their last run and lease, and the leader."`
	Leases    leasesCmd    `cmd:"" help:"Free a stuck lease."`
	Events    eventsCmd    `cmd:"" help:"List events."`
	Locks     locksCmd     `cmd:"" help:"List locks."`
	Bookings  bookingsCmd  `cmd:"" help:"List bookings."`
	Payments  paymentsCmd  `cmd:"" help:"List payments, sum them up, or print one."`
	Webhooks  webhooksCmd  `cmd:"" help:"Endpoints that are told of changes: list, create and test them, look at deliveries, replay."`
	Plans     plansCmd     `cmd:"" help:"Check, import, export and list seating plans."`
	Seats     seatsCmd     `cmd:"" help:"Show what is taken of an event with a seating plan: a map, counts by section, or seat by seat."`
	SeatIndex seatIndexCmd `cmd:"" help:"Show whether MongoDB has the unique index of seats, and switch it on or off."`
	Export    exportCmd    `cmd:"" help:"Write all events, without their locks and bookings, as JSON lines."`
	Import    importCmd    `cmd:"" help:"Create events from JSON lines. Events that exist already are not changed."`
}

// command is a command of seatctl. code is the exit code if err is nil.
type command interface {
	run(ctx context.Context, s *session) (code int, err error)
}

// offlineCommand is a command that needs no database, and no settings. Its session has no services.
type offlineCommand interface {
	command
	runOffline(s *session) (code int, err error)
}

// session has the services and streams of a command.
type session struct {
	*app.App
	out  printer
	term terminal
	in   io.Reader
	errs io.Writer
}

const closeTimeout = 10 * time.Second

// Main runs a command line and returns the exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	var c commands
	if os.Getenv("LOG_LEVEL") == "" && !telemetry.IsTerminal(os.Stderr) { // do not show progress to scripts
		os.Setenv("LOG_LEVEL", "warn")
	}
	const description = "Checks and repairs Holdfast's database. Settings can be set in the environment too."
	ended := -1 // the exit code, once --help or --version has been answered
	parsed, err := config.ParseInto(&c, &c.Config, "seatctl", description, args,
		kong.Help(printHelp), kong.Writers(out, errs), kong.Exit(func(code int) { ended = code }))
	if ended >= 0 {
		return ended
	}
	var chosen command
	if parsed != nil {
		chosen, _ = parsed.Selected().Target.Addr().Interface().(command)
	}
	_, isOffline := chosen.(offlineCommand)
	switch {
	case err != nil && !isOffline: // without settings, an offline command works all the same
		printError(errs, err)
		return exitUsage
	case chosen == nil:
		printError(errs, errors.New("no such command; see --help"))
		return exitUsage
	}
	if err := c.checkOutput(chosen); err != nil {
		printError(errs, err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, &c, chosen, in, out, errs)
	if err != nil {
		printError(errs, err)
		if code == exitUsage {
			return exitUsage
		}
		return exitFailed
	}
	return code
}

// checkOutput refuses what is no format. A command that draws takes the name of a file in its place.
func (c *commands) checkOutput(chosen command) error {
	if c.Output == formatTable || c.Output == formatJSON {
		return nil
	}
	check, draws := chosen.(*checkPlanCmd)
	switch {
	case draws && isPicture(c.Output):
		check.picture, c.Output = c.Output, formatTable
		return nil
	case draws:
		return fmt.Errorf("--output is table, json, a file for the picture whose name ends in .svg, or -; not %q", c.Output)
	default:
		return fmt.Errorf("--output is table or json; not %q", c.Output)
	}
}

func run(ctx context.Context, c *commands, chosen command, in io.Reader, out, errs io.Writer) (code int, err error) {
	log := telemetry.NewLog(errs, c.Config.LogLevel, c.Config.LogFormat)
	s := &session{out: printer{w: out, format: c.Output}, term: terminalOf(out), in: in, errs: errs}
	if offline, is := chosen.(offlineCommand); is {
		return offline.runOffline(s)
	}
	if s.App, err = app.Connect(ctx, &c.Config, logFor(chosen, log)); err != nil {
		if d, ok := chosen.(*doctorCmd); ok {
			return d.unreachable(s, err)
		}
		return exitFailed, err
	}
	defer func() {
		closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, s.Close(closeCtx))
	}()
	return chosen.run(ctx, s)
}

func printError(w io.Writer, err error) {
	_, _ = fmt.Fprintln(w, "seatctl:", visibleLines(err.Error())) // there is no other place to report a failure
}

// logFor returns the log of a command. Commands that only read do not log.
func logFor(chosen command, log *slog.Logger) *slog.Logger {
	switch chosen.(type) {
	case *recoverCmd, *sweepLocksCmd, *sweepBookingsCmd, *sweepAllCmd, *retentionCmd, *finishCmd:
		return log
	default:
		return slog.New(slog.DiscardHandler)
	}
}
