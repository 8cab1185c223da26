package main

import (
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

// settings of a run.
type settings struct {
	only     *regexp.Regexp
	rounds   int
	lasting  time.Duration // of a turn
	out      string
	binaries string // where the API's is
	uri      string
	postgres string                            // the URL of one; empty where none is at hand
	later    func(func(context.Context) error) // once a scenario's turns are over
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 {
		switch os.Args[1] { // processes that scenarios start
		case "serve":
			os.Exit(told(serve(os.Args[2:]))) //nolint:gocritic // nothing is left to do
		case "recover":
			os.Exit(told(recoverProcess(ctx, os.Args[2:])))
		}
	}
	var s settings
	only := flag.String("only", ".", "what matches this regular expression of scenario, side, load, such as hot-event-http,.*256")
	flag.IntVar(&s.rounds, "rounds", 3, "turns of each side")
	flag.DurationVar(&s.lasting, "time", 3*time.Second, "duration of a turn")
	flag.StringVar(&s.out, "out", ".build/benchmarks", "folder for the results")
	flag.StringVar(&s.binaries, "binaries", ".build", "folder of the API's binary")
	flag.StringVar(&s.uri, "mongodb-uri", "", "a MongoDB to measure on; empty: one of its own")
	flag.Parse()
	var err error
	if s.only, err = regexp.Compile(*only); err != nil || s.rounds < 1 || s.lasting < time.Millisecond || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	os.Exit(told(measureAll(ctx, s)))
}

func told(err error) (status int) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// measureAll lets each side of each scenario have its turn in every round.
func measureAll(ctx context.Context, s settings) error {
	if s.uri == "" {
		mongod, err := devserver.StartMongod(ctx, devserver.MongodOptions{Progress: os.Stderr})
		if err != nil {
			return err
		}
		defer mongod.Stop()
		s.uri = mongod.URI
	}
	stop, url, found, err := startPostgres(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "PostgreSQL is left out:", err)
	case found:
		defer stop()
		s.postgres = url
	default:
		fmt.Fprintln(os.Stderr, "PostgreSQL is left out: there is none (Debian's package is postgresql)")
	}
	if err := os.MkdirAll(s.out, 0o750); err != nil {
		return err
	}
	start := clock.System()
	var results []*result
	var document strings.Builder // the tables as Markdown
	for _, scenario := range scenarios {
		var after []func(context.Context) error
		s.later = func(do func(context.Context) error) { after = append(after, do) }
		rows := slices.DeleteFunc(scenario.rows(s), func(r *result) bool {
			return !s.only.MatchString(scenario.name + ", " + r.title())
		})
		if len(rows) == 0 {
			continue
		}
		fmt.Printf("\n%s: %s\n", scenario.name, scenario.what)
		for round := range s.rounds {
			for i := range rows {
				r := rows[(i+round)%len(rows)] // nobody is always first
				fmt.Fprintf(os.Stderr, "\r\033[K  round %d of %d: %s", round+1, s.rounds, r.title())
				m, err := r.turn(ctx)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", scenario.name, r.title(), err)
				}
				r.turns = append(r.turns, m)
			}
		}
		fmt.Fprint(os.Stderr, "\r\033[K")
		for _, r := range rows {
			r.Scenario = scenario.name
			r.sum()
		}
		fmt.Fprintf(&document, "## %s\n\n%s:\n\n%s\n\n", scenario.name, strings.ToUpper(scenario.what[:1])+scenario.what[1:], printTable(os.Stdout, rows))
		for _, do := range after {
			if err := do(ctx); err != nil {
				return err
			}
		}
		results = append(results, rows...)
	}
	file := filepath.Join(s.out, "results.json")
	if err := writeJSON(file, s, start, results); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.out, "results.md"), []byte(document.String()), 0o600); err != nil {
		return err
	}
	if err := writePlot(filepath.Join(s.out, "hot-event.svg"), results); err != nil {
		return err
	}
	fmt.Printf("\nAll invariants were proved after each turn. %s holds the figures; it took %v.\n", file, clock.Clock(clock.System).Since(start).Round(time.Second))
	return nil
}
