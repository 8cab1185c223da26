package main

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
	JSON   bool          `name:"json" help:"The same as --output json."`

	Doctor    doctorCmd  `cmd:"" help:"Check servers, schema, jobs and data, and suggest actions. Changes nothing."`
	Recover   recoverCmd `cmd:"" help:"Expire stale locks and bookings, and correct the counters; see --dry-run."`
	Sweep     sweepCmd   `cmd:"" help:"Expire due locks, due bookings, or both, now."`
	Retention runJobsCmd `cmd:"" help:"Remove locks and bookings that ended longer than ENDED_RETENTION ago, and archive past events, now."`
	Jobs      jobsCmd    `cmd:"" help:"List the jobs with their last run and lease, and the leader."`
	Leases    leasesCmd  `cmd:"" help:"Free a stuck lease."`
	List      listCmd    `cmd:"" help:"List events, locks, bookings, waiting lists, payments, webhooks or seating plans, over the API."`
	Report    reportCmd  `cmd:"" help:"Count the seats of an event by their state, section and category, over the API."`
	API       apiCmd     `cmd:"" name:"api" help:"Call any route of the API, such as: api POST /api/events name=Gala totalSeats:=100."`
	Sales     salesCmd   `cmd:"" help:"Sell the seats of a file's rows, over the API."`
	Plans     plansCmd   `cmd:"" help:"Check, import and export seating plans."`
	Export    exportCmd  `cmd:"" help:"Write all events, without their locks and bookings, as JSON lines."`
	Import    importCmd  `cmd:"" help:"Create events from JSON lines. Events that exist already are not changed."`

	Completion completionCmd `cmd:"" help:"Print a script that completes command lines in a shell: bash, zsh or fish."`
	Complete   completeCmd   `cmd:"" hidden:"" passthrough:""`
}

// command is a command of seatctl. code is the exit code if err is nil.
type command interface {
	run(ctx context.Context, s *session) (code int, err error)
}

// offlineCommand is a command that needs no database, and no settings. Its session has no services.
type offlineCommand interface {
	command
	isOffline()
}

// session has the services and streams of a command.
type session struct {
	*app.App
	out  printer
	in   io.Reader
	errs io.Writer
}

const closeTimeout = 10 * time.Second

func main() { os.Exit(runCommandLine(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// runCommandLine runs a command line and returns the exit code.
func runCommandLine(args []string, in io.Reader, out, errs io.Writer) int {
	c := commands{
		Sweep: sweepCmd{
			Locks: runJobsCmd{[]string{"lock-expiry"}}, Bookings: runJobsCmd{[]string{"booking-expiry"}},
			All: runJobsCmd{[]string{"lock-expiry", "booking-expiry", "waitlist", "changes"}},
		},
		Retention: runJobsCmd{[]string{"retention"}},
	}
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
	case err != nil && !isOffline: // an offline command works without settings
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

// checkOutput refuses what is not a format. A command that draws takes the name of a file in its place.
func (c *commands) checkOutput(chosen command) error {
	check, draws := chosen.(*checkPlanCmd)
	switch {
	case c.Output == formatTable || c.Output == formatJSON:
	case draws && isPicture(c.Output):
		check.picture, c.Output = c.Output, formatTable
	case draws:
		return fmt.Errorf("--output must be table, json, a file for the picture whose name ends in .svg, or -; not %q", c.Output)
	default:
		return fmt.Errorf("--output must be table or json; not %q", c.Output)
	}
	if c.JSON {
		c.Output = formatJSON
	}
	return nil
}

func run(ctx context.Context, c *commands, chosen command, in io.Reader, out, errs io.Writer) (code int, err error) {
	log := telemetry.NewLog(errs, c.Config.LogLevel, c.Config.LogFormat)
	s := &session{out: printer{w: out, format: c.Output}, in: in, errs: errs}
	if _, isOffline := chosen.(offlineCommand); isOffline {
		return chosen.run(ctx, s)
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
	case *recoverCmd, *runJobsCmd:
		return log
	default:
		return slog.New(slog.DiscardHandler)
	}
}
