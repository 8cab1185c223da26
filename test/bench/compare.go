package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// comparedByDefault selects the rows of a comparison without -only: all take less
// than half an hour together.
const comparedByDefault = `^(hot-event(-http)?, engine, (1|64|256) clients` +
	`|sold-out(-http)?, engine(, without keys)?, 256 clients` +
	`|processes, engine, 3 processes` +
	`|sweep, engine, 100 events)$`

// warmUpTimeout bounds the load before the counted pairs, which fills the system's file
// cache.
const warmUpTimeout = 500 * time.Millisecond

// build is a pair of binaries of one revision.
type build struct {
	name, revision string
	bench, api     string // files
}

// comparedRow is a row with the rates of both builds, pair by pair.
type comparedRow struct {
	Title string
	Rates [2][]float64 // operations a second of the old and of the new build
}

// comparisonHeader begins the table. A ratio above 1 means that the new build is
// faster.
const comparisonHeader = `| row | old, per second | new, per second | new ÷ old | least | most |
| --- | ---: | ---: | ---: | ---: | ---: |
`

// markdown returns the row's line of the table: the medians of both builds' rates, and the median, minimum and
// maximum of the ratios within the pairs.
func (r *comparedRow) markdown() string {
	before, after := r.Rates[0], r.Rates[1]
	ratios := make([]float64, len(before))
	for i := range before {
		ratios[i] = after[i] / before[i]
	}
	return fmt.Sprintf("| %s | %.0f | %.0f | %.2f | %.2f | %.2f |\n",
		r.Title, median(before), median(after), median(ratios), slices.Min(ratios), slices.Max(ratios))
}

// compareBuilds measures the engine's rows with the other build and with this one in turn, old, new, old, new. The
// machine's speed changes over minutes, but hardly between the two measurements of a pair. So the ratio within a
// pair is more precise than the rates.
//
// Each measurement is a process that starts its own MongoDB. It gets only flags that the old build has too, and
// writes a report, which this process reads.
func compareBuilds(ctx context.Context, s settings) (err error) {
	// Scenarios only list their rows here, so there is nothing to clean up.
	s.afterScenario = func(func(context.Context) error) {}
	if s.outDir, err = filepath.Abs(s.outDir); err != nil {
		return err
	}
	builds, err := prepareBuilds(ctx, s)
	if err != nil {
		return err
	}
	fmt.Printf("old: %s; new: %s; %d pairs, %v of load in each measurement\n\n", builds[0].revision, builds[1].revision, s.pairs, s.duration)
	fmt.Print(comparisonHeader)
	isEmpty := true
	for _, scenario := range scenarios {
		rows := slices.DeleteFunc(scenario.selectRows(s), func(r *result) bool { return !strings.HasPrefix(r.Variant, engineName) })
		if len(rows) == 0 {
			continue
		}
		isEmpty = false
		compared, err := compareScenario(ctx, s, builds, rows)
		if err != nil {
			return fmt.Errorf("%s: %w", scenario.name, err)
		}
		for _, r := range compared {
			fmt.Print(r.markdown())
		}
	}
	if isEmpty {
		return errors.New("-only selects no row of the engine")
	}
	return nil
}

// prepareBuilds returns the old build, made from the checkout that -against names, and the new build, which is this
// program.
func prepareBuilds(ctx context.Context, s settings) (builds [2]build, err error) {
	self, err := os.Executable()
	if err != nil {
		return builds, err
	}
	against, err := filepath.Abs(s.against)
	if err != nil {
		return builds, err
	}
	info, err := os.Stat(against)
	if err != nil {
		return builds, fmt.Errorf("-against: %w", err)
	}
	old := build{name: "old", revision: s.against, bench: against, api: filepath.Join(filepath.Dir(against), "api")}
	if info.IsDir() {
		if old, err = buildOld(ctx, against, filepath.Join(s.outDir, "old-build")); err != nil {
			return builds, err
		}
	}
	builds = [2]build{old, {name: "new", revision: revision(ctx, "."), bench: self, api: filepath.Join(s.binDir, "api")}}
	for _, b := range builds {
		if _, err := os.Stat(b.api); err != nil {
			return builds, fmt.Errorf("%s build: %w", b.name, err)
		}
	}
	return builds, os.MkdirAll(s.outDir, 0o750)
}

// buildOld builds the binaries of a checkout into binDir. The checkout itself is
// not changed.
func buildOld(ctx context.Context, checkout, binDir string) (build, error) {
	fmt.Fprintf(os.Stderr, "Building %s ...\n", checkout)
	for _, packages := range [][]string{{checkout, "./cmd/api", "./cmd/worker"}, {filepath.Join(checkout, "test", "bench"), "."}} {
		command := []string{"go", "build", "-C", packages[0], "-o", binDir + string(filepath.Separator)}
		if _, err := output(ctx, append(command, packages[1:]...)...); err != nil {
			return build{}, err
		}
	}
	return build{
		name: "old", revision: revision(ctx, checkout), bench: filepath.Join(binDir, "bench"), api: filepath.Join(binDir, "api"),
	}, nil
}

// revision names a checkout's revision; without git, its folder.
func revision(ctx context.Context, checkout string) string {
	stdout, err := output(ctx, "git", "-C", checkout, "describe", "--always", "--dirty")
	if err != nil {
		return checkout
	}
	return strings.TrimSpace(string(stdout))
}

// output runs a program and returns its standard output. An error contains the standard error of the program.
func output(ctx context.Context, command ...string) (stdout []byte, err error) {
	stdout, err = exec.CommandContext(ctx, command[0], command[1:]...).Output()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		return stdout, fmt.Errorf("%s: %w\n%s", command[0], err, exit.Stderr)
	}
	return stdout, err
}

// compareScenario compares the rows of one scenario, after a warm-up. A process measures all of them, one after the
// other.
func compareScenario(ctx context.Context, s settings, builds [2]build, rows []*result) ([]*comparedRow, error) {
	compared := make([]*comparedRow, len(rows))
	patterns := make([]string, len(rows))
	for i, r := range rows {
		compared[i] = &comparedRow{Title: r.fullTitle()}
		patterns[i] = regexp.QuoteMeta(r.fullTitle())
	}
	only := "^(" + strings.Join(patterns, "|") + ")$"
	defer fmt.Fprint(os.Stderr, "\r\033[K")
	for pair := range s.pairs + 1 {
		duration := s.duration
		if pair == 0 {
			duration = min(duration, warmUpTimeout)
		}
		for i, b := range builds {
			fmt.Fprintf(os.Stderr, "\r\033[K  %s: pair %d of %d, %s build", rows[0].Scenario, pair, s.pairs, b.name)
			rates, err := b.measure(ctx, s, only, duration)
			if err != nil {
				return nil, fmt.Errorf("%s build: %w", b.name, err)
			}
			for _, r := range compared {
				rate, found := rates[r.Title]
				if !found {
					return nil, fmt.Errorf("the report of the %s build lacks the row %q", b.name, r.Title)
				}
				if pair > 0 {
					r.Rates[i] = append(r.Rates[i], rate)
				}
			}
		}
	}
	return compared, nil
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
