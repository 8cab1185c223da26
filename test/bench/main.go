package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// wallClock measures durations.
var wallClock mongodb.Clock = mongodb.SystemTime

// settings are the settings of a run.
type settings struct {
	only        *regexp.Regexp
	rounds      int
	duration    time.Duration // of the load of one measurement
	outDir      string
	binDir      string // has the API's binary
	mongoURI    string
	postgresURL string // empty if PostgreSQL is not installed
	pretix      string // a virtual environment with pretix; empty: it is not measured
	against     string // the checkout or binary of another revision
	pairs       int
	soakTime    time.Duration // 0: the scenarios are measured
	// afterScenario registers a function that runs when all rounds of a scenario are over.
	afterScenario func(func(context.Context) error)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) > 1 {
		switch os.Args[1] { // processes that scenarios start
		case "serve":
			return serve(os.Args[2:])
		case "recover":
			return recoverProcess(ctx, os.Args[2:])
		}
	}
	s, err := parseFlags()
	switch {
	case err != nil:
		return fmt.Errorf("%w (-help lists the flags)", err)
	case s.against != "":
		return compareBuilds(ctx, s)
	case s.soakTime > 0:
		return measureSoak(ctx, s)
	default:
		return measureAll(ctx, s)
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
	flag.StringVar(&s.pretix, "pretix", "", "virtual environment with pretix, to measure it too; scripts/compare-pretix makes one")
	flag.DurationVar(&s.soakTime, "soak", 0,
		"only load a deployment with a steady mix of customers, at half the best rate, for so long, such as 60m")
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
	case s.soakTime != 0 && s.soakTime < minSoakTime:
		return s, fmt.Errorf("-soak must be at least %v", minSoakTime)
	case flag.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	return s, nil
}

// measureAll runs the selected rows of all scenarios and writes the results.
func measureAll(ctx context.Context, s settings) error {
	stop, err := s.startMongod(ctx)
	if err != nil {
		return err
	}
	defer stop()
	postgres, url, err := startPostgres(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "PostgreSQL is left out:", err)
	} else {
		defer postgres.Stop()
		s.postgresURL = url
	}
	if err := os.MkdirAll(s.outDir, 0o750); err != nil {
		return err
	}
	start := wallClock()
	var results []*result
	for _, scenario := range scenarios {
		rows, err := scenario.measure(ctx, s)
		if err != nil {
			return err
		}
		results = append(results, rows...)
	}
	file, err := writeResults(s, start, results)
	if err != nil {
		return err
	}
	fmt.Printf("\nAll invariants held after each measurement. %s has the figures; the run took %v.\n",
		file, wallClock.Since(start).Round(time.Second))
	return nil
}

// startMongod starts the MongoDB to measure on, if none is given.
func (s *settings) startMongod(ctx context.Context) (stop func(), err error) {
	if s.mongoURI != "" {
		return func() {}, nil
	}
	mongod, err := devserver.StartMongod(ctx, devserver.MongodOptions{Progress: os.Stderr, CacheGB: cacheGB})
	if err != nil {
		return nil, err
	}
	s.mongoURI = mongod.URI
	return mongod.Stop, nil
}

// measure runs the selected rows of a scenario in all rounds, and prints the table.
func (sc scenario) measure(ctx context.Context, s settings) (rows []*result, err error) {
	var cleanups []func(context.Context) error
	s.afterScenario = func(f func(context.Context) error) { cleanups = append(cleanups, f) }
	if rows = sc.selectRows(s); len(rows) == 0 {
		return nil, nil
	}
	fmt.Printf("\n%s: %s\n", sc.name, sc.description)
	for round := range s.rounds {
		for i := range rows {
			r := rows[(i+round)%len(rows)] // each round starts with another row
			fmt.Fprintf(os.Stderr, "\r\033[K  round %d of %d: %s", round+1, s.rounds, r.title())
			m, err := r.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", sc.name, r.title(), err)
			}
			r.measurements = append(r.measurements, m)
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	for _, r := range rows {
		r.summarize()
	}
	err = printTable(rows)
	for _, cleanup := range cleanups {
		err = errors.Join(err, cleanup(ctx))
	}
	return rows, err
}

// selectRows returns the rows that -only selects.
func (sc scenario) selectRows(s settings) []*result {
	rows := sc.rows(s)
	for _, r := range rows {
		r.Scenario = sc.name
	}
	return slices.DeleteFunc(rows, func(r *result) bool { return !s.only.MatchString(r.fullTitle()) })
}
