package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// wallClock measures durations.
var wallClock clock.Clock = clock.System

// settings of a run.
type settings struct {
	only          *regexp.Regexp
	rounds        int
	duration      time.Duration // of the load of one measurement
	outDir        string
	binDir        string // has the API's binary
	mongoURI      string
	postgresURL   string // empty if PostgreSQL is not installed
	against       string // the checkout or binary of another revision
	pairs         int
	liveLocks     int // of the scenario recovery-sealed
	sealedLocks   int
	steadyTime    time.Duration // of the scenario steady; 0: the other scenarios are measured
	simulate      bool
	measure       bool   // with simulate: the parameters and the points first
	parametersDir string // of the simulation
	fleet         fleetSettings
	// afterScenario registers a function that runs when all rounds of a scenario are over.
	afterScenario func(func(context.Context) error)
}

func main() { os.Exit(run()) }

func run() (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 {
		switch os.Args[1] { // processes that scenarios start, or other measurements
		case "serve":
			return exitStatus(serve(os.Args[2:]))
		case "recover":
			return exitStatus(recoverProcess(ctx, os.Args[2:]))
		case "sell":
			return exitStatus(sell(ctx, os.Args[2:]))
		}
	}
	s, err := parseFlags()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		flag.Usage()
		return 2
	case s.against != "":
		return exitStatus(compareBuilds(ctx, s))
	case s.steadyTime > 0:
		return exitStatus(measureSteady(ctx, s))
	case s.simulate:
		return exitStatus(runSimulation(ctx, s))
	default:
		return exitStatus(measureAll(ctx, s))
	}
}

func parseFlags() (s settings, err error) {
	only := flag.String("only", "", "regular expression of the rows to measure, matched against \"scenario, side, load\", "+
		"such as hot-event-http,.*256; empty: all (with -against: a selection)")
	flag.IntVar(&s.rounds, "rounds", 3, "measurements of each row")
	flag.DurationVar(&s.duration, "time", 3*time.Second, "duration of one measurement")
	flag.StringVar(&s.outDir, "out", ".build/benchmarks", "folder for the results")
	flag.StringVar(&s.binDir, "binaries", ".build", "folder of the binaries of the API and the worker")
	flag.StringVar(&s.mongoURI, "mongodb-uri", "", "MongoDB to measure on; empty: the program starts one")
	flag.StringVar(&s.against, "against", "", "compare this build with another one: a checkout of another revision, "+
		"or its bench binary with the api binary in the same folder")
	flag.IntVar(&s.pairs, "pairs", 7, "with -against: counted pairs of measurements of each row")
	flag.IntVar(&s.liveLocks, "live-locks", 50_000, "live locks of recovery-sealed, of which each event has 10")
	flag.IntVar(&s.sealedLocks, "sealed-locks", 2_000_000, "locks of sealed events in recovery-sealed, of which each event has 1,000")
	flag.DurationVar(&s.steadyTime, "steady", 0, "run the scenario steady alone, for so long, such as 60m: a mix of customers "+
		"at half the best rate, with all processes")
	flag.BoolVar(&s.simulate, "simulate", false, "predict rates from parameters that were measured by themselves, and extrapolate")
	flag.BoolVar(&s.measure, "measure", false, "with -simulate: measure the parameters and the points first, two minutes")
	flag.StringVar(&s.parametersDir, "parameters", "bench/testdata/simulation", "with -simulate: the folder of the parameters and the points")
	s.fleet.register(flag.CommandLine)
	flag.Parse()
	defaultRows := "."
	if s.against != "" {
		defaultRows = comparedByDefault
	}
	s.only, err = regexp.Compile(cmp.Or(*only, defaultRows))
	switch {
	case err != nil:
		return s, fmt.Errorf("-only: %w", err)
	case s.rounds < 1, s.pairs < 1:
		return s, fmt.Errorf("-rounds and -pairs must be at least 1")
	case s.duration < time.Millisecond:
		return s, fmt.Errorf("-time must be at least 1ms")
	case s.liveLocks < liveLocksPerEvent, s.sealedLocks < sealedLocksPerEvent:
		return s, fmt.Errorf("-live-locks must be at least %d, and -sealed-locks at least %d", liveLocksPerEvent, sealedLocksPerEvent)
	case s.steadyTime != 0 && s.steadyTime < minSteadyTime:
		return s, fmt.Errorf("-steady must be at least %v", minSteadyTime)
	case flag.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	return s, s.fleet.check()
}

func exitStatus(err error) (status int) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// measureAll runs the selected rows of all scenarios and writes the results.
func measureAll(ctx context.Context, s settings) error {
	if s.mongoURI == "" {
		mongod, err := devserver.StartMongod(ctx, devserver.MongodOptions{Progress: os.Stderr, CacheGB: cacheGB})
		if err != nil {
			return err
		}
		defer mongod.Stop()
		s.mongoURI = mongod.URI
	}
	postgres, err := startPostgres(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "PostgreSQL is left out:", err)
	case postgres == nil:
		fmt.Fprintln(os.Stderr, "PostgreSQL is left out: it is not installed (Debian's package is postgresql)")
	default:
		defer postgres.Stop()
		s.postgresURL = postgres.url
	}
	if err := os.MkdirAll(s.outDir, 0o750); err != nil {
		return err
	}
	start := wallClock()
	var results []*result
	var markdown strings.Builder
	for _, scenario := range scenarios {
		rows, table, err := scenario.measure(ctx, s)
		if err != nil {
			return err
		}
		results = append(results, rows...)
		markdown.WriteString(table)
	}
	file, err := writeResults(s, start, results, markdown.String())
	if err != nil {
		return err
	}
	fmt.Printf("\nAll invariants held after each measurement. %s has the figures; the run took %v.\n",
		file, wallClock.Since(start).Round(time.Second))
	return nil
}

// measure runs the selected rows of a scenario in all rounds. It prints the
// table, and returns it as Markdown too.
func (sc scenario) measure(ctx context.Context, s settings) (rows []*result, markdown string, err error) {
	var cleanups []func(context.Context) error
	s.afterScenario = func(f func(context.Context) error) { cleanups = append(cleanups, f) }
	rows = sc.selectRows(s)
	if len(rows) == 0 {
		return nil, "", nil
	}
	fmt.Printf("\n%s: %s\n", sc.name, sc.description)
	for round := range s.rounds {
		for i := range rows {
			r := rows[(i+round)%len(rows)] // each round starts with another row
			fmt.Fprintf(os.Stderr, "\r\033[K  round %d of %d: %s", round+1, s.rounds, r.title())
			m, err := r.measure(ctx)
			if err != nil {
				return nil, "", fmt.Errorf("%s, %s: %w", sc.name, r.title(), err)
			}
			r.measurements = append(r.measurements, m)
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	for _, r := range rows {
		r.summarize()
	}
	title := strings.ToUpper(sc.description[:1]) + sc.description[1:]
	markdown = fmt.Sprintf("## %s\n\n%s:\n\n%s\n\n", sc.name, title, printTable(os.Stdout, rows))
	for _, r := range rows {
		if r.Fleet != nil {
			fmt.Printf("\n%s", r.Fleet.markdown())
			markdown += r.Fleet.markdown() + "\n"
		}
	}
	for _, cleanup := range cleanups {
		if err := cleanup(ctx); err != nil {
			return nil, "", err
		}
	}
	return rows, markdown, nil
}

// selectRows returns the rows that -only selects.
func (sc scenario) selectRows(s settings) []*result {
	rows := sc.rows(s)
	for _, r := range rows {
		r.Scenario = sc.name
	}
	return slices.DeleteFunc(rows, func(r *result) bool { return !s.only.MatchString(r.fullTitle()) })
}

// writeResults writes the figures, the tables and the chart; it returns the name
// of the file with the figures.
func writeResults(s settings, start time.Time, results []*result, markdown string) (file string, err error) {
	file = filepath.Join(s.outDir, resultsFile)
	if err := writeJSON(file, s, start, results); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(s.outDir, "results.md"), []byte(markdown), 0o600); err != nil {
		return "", err
	}
	return file, writePlot(filepath.Join(s.outDir, "hot-event.svg"), results)
}
