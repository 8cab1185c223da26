package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// comparedByDefault selects the rows of a comparison without -only: all take less
// than half an hour together.
const comparedByDefault = `^(hot-event(-http)?, engine, (1|64|256) clients` +
	`|sold-out(-http)?, engine(, without keys)?, 256 clients` +
	`|processes, engine, 3 processes` +
	`|sweep, engine, 100 events` +
	`|recovery, engine, [0-9]+ locks)$`

// warmUpTimeout bounds the load before the counted pairs, which fills the system's file
// cache.
const warmUpTimeout = 500 * time.Millisecond

// comparedRow is a row with the rates of both builds, pair by pair.
type comparedRow struct {
	Title string    `json:"title"`
	Old   []float64 `json:"old"` // operations a second
	New   []float64 `json:"new"`
}

// add appends a rate of one build.
func (r *comparedRow) add(b build, rate float64) {
	if b.name == oldBuild {
		r.Old = append(r.Old, rate)
	} else {
		r.New = append(r.New, rate)
	}
}

// compareBuilds measures the engine's rows with the other build and with this one
// in turn, old, new, old, new. The machine's speed changes over minutes, but
// hardly between the two measurements of a pair: so the ratio within a pair says
// more than the rates.
//
// Each measurement is a process that starts its own MongoDB. It gets only flags
// that the old build has too, and its report is read.
func compareBuilds(ctx context.Context, s settings) error {
	start := wallClock()
	// Scenarios are only asked for their rows here: nothing is left to clean up.
	s.afterScenario = func(func(context.Context) error) {}
	outDir, err := filepath.Abs(s.outDir)
	if err != nil {
		return err
	}
	s.outDir = outDir
	if err := os.MkdirAll(s.outDir, 0o750); err != nil {
		return err
	}
	builds, err := prepareBuilds(ctx, s)
	if err != nil {
		return err
	}
	fmt.Printf("old: %s; new: %s; %d pairs, %v of load in each measurement\n\n", builds[0].revision, builds[1].revision, s.pairs, s.duration)
	fmt.Print(comparisonHeader)
	var all []*comparedRow
	for _, scenario := range scenarios {
		rows := slices.DeleteFunc(scenario.selectRows(s), func(r *result) bool { return !strings.HasPrefix(r.Variant, engineName) })
		if len(rows) == 0 {
			continue
		}
		compare := compareScenario
		if scenario.name == recoveryName {
			compare = compareRecovery
		}
		compared, err := compare(ctx, s, builds, rows)
		if err != nil {
			return fmt.Errorf("%s: %w", scenario.name, err)
		}
		for _, r := range compared {
			fmt.Print(r.markdown())
		}
		all = append(all, compared...)
	}
	if len(all) == 0 {
		return errors.New("-only selects no row of the engine")
	}
	file := filepath.Join(s.outDir, "comparison.json")
	if err := writeComparison(file, s, builds, start, all); err != nil {
		return err
	}
	fmt.Printf("\n%s has the rates of all pairs; the comparison took %v.\n", file, wallClock.Since(start).Round(time.Second))
	return nil
}

// forEachPair calls measure for the old and the new build in turn: for a warm-up
// (pair 0), and then for each counted pair.
func forEachPair(s settings, builds []build, title string, measure func(b build, pair int) error) error {
	defer fmt.Fprint(os.Stderr, "\r\033[K")
	for pair := range s.pairs + 1 {
		for _, b := range builds {
			fmt.Fprintf(os.Stderr, "\r\033[K  %s: pair %d of %d, %s build", title, pair, s.pairs, b.name)
			if err := measure(b, pair); err != nil {
				return fmt.Errorf("%s build: %w", b.name, err)
			}
		}
	}
	return nil
}

// compareScenario compares the rows of one scenario. A process measures all of
// them, one after the other.
func compareScenario(ctx context.Context, s settings, builds []build, rows []*result) ([]*comparedRow, error) {
	compared := make([]*comparedRow, len(rows))
	patterns := make([]string, len(rows))
	for i, r := range rows {
		compared[i] = &comparedRow{Title: r.fullTitle()}
		patterns[i] = regexp.QuoteMeta(r.fullTitle())
	}
	only := "^(" + strings.Join(patterns, "|") + ")$"
	err := forEachPair(s, builds, rows[0].Scenario, func(b build, pair int) error {
		duration := s.duration
		if pair == 0 {
			duration = min(duration, warmUpTimeout)
		}
		rates, err := b.measure(ctx, s, only, duration)
		if err != nil {
			return err
		}
		for _, r := range compared {
			rate, found := rates[r.Title]
			if !found {
				return fmt.Errorf("its report lacks the row %q", r.Title)
			}
			if pair > 0 {
				r.add(b, rate)
			}
		}
		return nil
	})
	return compared, err
}

// measure runs the build's benchmark once and returns the rates by full title.
func (b build) measure(ctx context.Context, s settings, only string, duration time.Duration) (rates map[string]float64, err error) {
	dir, err := os.MkdirTemp(s.outDir, b.name+"-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	command := []string{b.bench, "-rounds", "1", "-time", duration.String(), "-out", dir, "-binaries", filepath.Dir(b.api), "-only", only}
	if s.mongoURI != "" {
		command = append(command, "-mongodb-uri", s.mongoURI)
	}
	if _, err := output(ctx, command...); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(dir, resultsFile))
	if err != nil {
		return nil, err
	}
	var report struct {
		Results []*result `json:"results"`
	}
	if err := json.Unmarshal(content, &report); err != nil {
		return nil, err
	}
	rates = map[string]float64{}
	for _, r := range report.Results {
		rates[r.fullTitle()] = r.PerSecond
	}
	return rates, nil
}

// compareRecovery fills a database for each build once, because that takes longer
// than the recovery. The build's own API creates the indexes, the build's own
// recover process is measured.
func compareRecovery(ctx context.Context, s settings, builds []build, rows []*result) ([]*comparedRow, error) {
	databases := map[string]recoveryData{} // by the build's name
	for _, b := range builds {
		uri := s.mongoURI
		if uri == "" {
			mongod, err := devserver.StartMongod(ctx, devserver.MongodOptions{Progress: os.Stderr, CacheGB: cacheGB})
			if err != nil {
				return nil, err
			}
			defer mongod.Stop()
			uri = mongod.URI
		}
		client, err := mongo.Connect(options.Client().ApplyURI(uri))
		if err != nil {
			return nil, err
		}
		d := recoveryData{uri: uri, db: client.Database(newDatabaseName())}
		fmt.Fprintf(os.Stderr, "\r\033[K  %s: filling the %s build's database", recoveryName, b.name)
		if err := b.createSchema(ctx, d); err != nil {
			return nil, fmt.Errorf("%s build: %w", b.name, err)
		}
		if err := d.fill(ctx); err != nil {
			return nil, err
		}
		databases[b.name] = d
	}
	var compared []*comparedRow
	for _, r := range rows {
		row := &comparedRow{Title: r.fullTitle()}
		err := forEachPair(s, builds, row.Title, func(b build, pair int) error {
			m, err := databases[b.name].recover(ctx, b.bench, recoverySteps[r.Variant])
			if err == nil && pair > 0 {
				row.add(b, m.perSecond())
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		compared = append(compared, row)
	}
	for _, d := range databases {
		if err := errors.Join(d.db.Drop(ctx), d.db.Client().Disconnect(ctx)); err != nil {
			return nil, err
		}
	}
	return compared, nil
}

// createSchema starts and stops the build's API on the database.
func (b build) createSchema(ctx context.Context, d recoveryData) error {
	server, err := startServer(ctx, engineName, serverConfig{binDir: filepath.Dir(b.api), mongoURI: d.uri, database: d.db.Name()})
	if err != nil {
		return err
	}
	server.Stop()
	return nil
}
