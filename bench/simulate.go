package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

const (
	parametersFile = "parameters.json"
	measuredFile   = "measured.json"
	simulationSeed = 1
	simWarmUp      = 0.5 // seconds
	simSeconds     = 2
)

// predictedPoint is a row of a scenario that is predicted, and measured.
type predictedPoint struct {
	scenario, variant, load string
	simDeployment
}

// title is that of the row.
func (p predictedPoint) title() string {
	return (&result{Scenario: p.scenario, Variant: p.variant, Load: p.load}).fullTitle()
}

// predictedPoints are on a machine with so many cores, which all components share.
func predictedPoints(cores int) (points []predictedPoint) {
	add := func(scenario, load string, d simDeployment) {
		d.shared, d.cores, d.warmUpSeconds, d.seconds = true, cores, simWarmUp, simSeconds
		points = append(points, predictedPoint{scenario, engineName, load, d})
	}
	for _, http := range []bool{false, true} {
		scenario := map[bool]string{false: "hot-event", true: "hot-event-http"}[http]
		for _, clients := range []int{1, 8, 64, 256} {
			add(scenario, clientsLoad(clients), simDeployment{clients: clients, http: http, engines: 1, events: 1})
		}
	}
	add("many-events", clientsLoad(manyClients), simDeployment{clients: manyClients, engines: 1, events: manyCount})
	const processes = 3
	add("processes", fmt.Sprintf("%d processes", processes),
		simDeployment{clients: mostClients, http: true, engines: processes, events: 1})
	return points
}

// extrapolation is a deployment that was not measured.
type extrapolation struct {
	name string
	simDeployment
}

// extrapolations have a machine for each process and for the database, and half a millisecond between two machines.
func extrapolations() (all []extrapolation) {
	const (
		roundTrip       = 0.5e-3
		generatorCores  = 1024 // more than are needed
		clientsPerEvent = 1024
		mostEngines     = 20
		engineCores     = 8
	)
	for _, events := range []int{1, 10, 100} {
		for _, cores := range []int{8, 32, 64} {
			engines := min(events, mostEngines)
			all = append(all, extrapolation{
				fmt.Sprintf("%d hot events, %d processes of %d cores, a primary of %d cores", events, engines, engineCores, cores),
				simDeployment{
					clients: clientsPerEvent * engines, http: true, engines: engines, events: events, byEvent: true,
					cores: generatorCores, engineCores: engineCores, mongodCores: cores, roundTrip: roundTrip, extraRoundTrips: 1,
					warmUpSeconds: simWarmUp, seconds: 1,
				},
			})
		}
	}
	return all
}

// runSimulation predicts the points beside what was measured, and extrapolates. With -measure it measures the
// parameters and the points first, and stores both in the folder.
func runSimulation(ctx context.Context, s settings) error {
	if s.measure {
		if err := measureForSimulation(ctx, s); err != nil {
			return err
		}
	}
	p, err := readParameters(filepath.Join(s.parametersDir, parametersFile))
	if err != nil {
		return err
	}
	measured, err := readMeasured(filepath.Join(s.parametersDir, measuredFile))
	if err != nil {
		return err
	}
	text := predictionTable(p, measured) + "\n\n" + extrapolationTable(p)
	fmt.Println(text)
	if err := os.MkdirAll(s.outDir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.outDir, "simulation.md"), []byte(text+"\n"), 0o600)
}

// predictionTable compares the predictions with what was measured: rates by the titles of rows.
func predictionTable(p parameters, measured map[string]float64) string {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"row", "measured, per second", "predicted", "error, %", "locks in a transaction", "failed attempts, %"})
	const percent = 100
	for _, point := range predictedPoints(p.Cores) {
		got := simulate(point.simDeployment, p, simulationSeed)
		was, deviation := "", ""
		if rate := measured[point.title()]; rate > 0 {
			was, deviation = formatRate(rate), fmt.Sprintf("%+.0f", percent*(got.perSecond/rate-1))
		}
		t.AppendRow(table.Row{point.title(), was, formatRate(got.perSecond), deviation,
			formatFigure(got.locksPerCommit), fmt.Sprintf("%.0f", percent*got.conflicts)})
	}
	return t.RenderMarkdown()
}

// extrapolationTable has the deployments that were not measured.
func extrapolationTable(p parameters) string {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"extrapolated, not measured", "per second", "p50 ms", "p99 ms", "locks in a transaction",
		"cores of a process in use, %", "cores of the primary in use, %"})
	const percent = 100
	for _, e := range extrapolations() {
		got := simulate(e.simDeployment, p, simulationSeed)
		t.AppendRow(table.Row{e.name, formatRate(got.perSecond), formatFigure(got.p50), formatFigure(got.p99), formatFigure(got.locksPerCommit),
			fmt.Sprintf("%.0f", percent*got.engineUse), fmt.Sprintf("%.0f", percent*got.mongodUse)})
	}
	return t.RenderMarkdown()
}

// readMeasured reads the rates of rows by their titles; none if the file is missing.
func readMeasured(file string) (map[string]float64, error) {
	rates := map[string]float64{}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return rates, nil
	}
	if err != nil {
		return nil, err
	}
	var report struct {
		Rounds  int       `json:"rounds"`
		Results []*result `json:"results"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, r := range report.Results {
		rates[r.fullTitle()] = r.PerSecond
		if report.Rounds == 2 { //nolint:mnd // PerSecond is the higher one
			rates[r.fullTitle()] = (r.Min + r.Max) / 2 //nolint:mnd // the mean
		}
	}
	return rates, nil
}

// measureForSimulation measures the parameters and the points on one MongoDB. They take turns, so that other load on
// the machine affects both.
func measureForSimulation(ctx context.Context, s settings) error {
	if s.mongoURI == "" {
		mongod, err := devserver.StartMongod(ctx, devserver.MongodOptions{Progress: os.Stderr, CacheGB: cacheGB})
		if err != nil {
			return err
		}
		defer mongod.Stop()
		s.mongoURI = mongod.URI
	}
	var titles []string
	for _, point := range predictedPoints(runtime.NumCPU()) {
		titles = append(titles, regexp.QuoteMeta(point.title()))
	}
	s.only = regexp.MustCompile("^(" + strings.Join(titles, "|") + ")$")
	s.afterScenario = func(func(context.Context) error) {} // the rows of these scenarios leave nothing
	start := wallClock()
	var results []*result
	for _, scenario := range scenarios {
		results = append(results, scenario.selectRows(s)...)
	}
	var measured []parameters
	for range s.rounds {
		p, err := measureParameters(ctx, s)
		if err != nil {
			return err
		}
		measured = append(measured, p)
		for _, r := range results {
			fmt.Fprintf(os.Stderr, "\r\033[K  %s", r.fullTitle())
			m, err := r.measure(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", r.fullTitle(), err)
			}
			r.measurements = append(r.measurements, m)
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	for _, r := range results {
		r.summarize()
	}
	p, err := meanOf(measured)
	if err != nil {
		return err
	}
	if err := p.write(filepath.Join(s.parametersDir, parametersFile)); err != nil {
		return err
	}
	return writeJSON(filepath.Join(s.parametersDir, measuredFile), s, start, results)
}
