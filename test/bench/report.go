package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// resultsFile is the report's name in the folder of the results. A comparison
// reads the reports of other revisions: its keys must not change.
const resultsFile = "results.json"

// result is one row of a scenario: a variant under a load.
type result struct {
	Scenario string `json:"scenario"`
	Variant  string `json:"side"`
	Load     string `json:"load"` // such as 256 clients

	PerSecond float64   `json:"perSecond"` // the median of the rounds
	Min       float64   `json:"least"`
	Max       float64   `json:"most"`
	P50       float64   `json:"p50ms"` // milliseconds, of all rounds
	P99       float64   `json:"p99ms"`
	P999      float64   `json:"p999ms"`
	P99s      []float64 `json:"p99msOfRounds"`
	Processor float64   `json:"cpuMicros,omitempty"` // of the servers for an operation, the median of the rounds
	Note      string    `json:"note,omitempty"`

	measure      func(context.Context) (measurement, error)
	measurements []measurement
}

func (r *result) title() string { return r.Variant + ", " + r.Load }

// fullTitle returns the text that -only is matched against.
func (r *result) fullTitle() string { return r.Scenario + ", " + r.title() }

// summarize computes the figures from the measurements.
func (r *result) summarize() {
	var rates, processor []float64
	var all measurement
	for _, m := range r.measurements {
		rates = append(rates, m.perSecond())
		processor = append(processor, float64(m.processorTime.Microseconds())/float64(max(1, m.Granted+m.Refused)))
		r.P99s = append(r.P99s, inMilliseconds(m.quantile(.99)))
		all.latencies = append(all.latencies, m.latencies...)
		if m.note != "" {
			r.Note = m.note
		}
	}
	slices.Sort(rates)
	r.PerSecond, r.Min, r.Max = rates[len(rates)/2], rates[0], rates[len(rates)-1]
	r.Processor = median(processor)
	r.P50, r.P99, r.P999 = inMilliseconds(all.quantile(.5)), inMilliseconds(all.quantile(.99)), inMilliseconds(all.quantile(.999))
}

func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// median returns the median of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// printTable prints the rows of a scenario. The column "engine ×" is the engine's rate divided by the variant's, the
// column "CPU µs" how long the servers' processes used a core for each operation.
func printTable(rows []*result) error {
	engineRates := map[string]float64{} // by load
	for _, r := range rows {
		if r.Variant == engineName {
			engineRates[r.Load] = r.PerSecond
		}
	}
	const gap = 2
	table := tabwriter.NewWriter(os.Stdout, 0, 0, gap, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "load\tside\tper second\tleast – most\tengine ×\tp50 ms\tp99 ms\tp99.9 ms\tCPU µs\t") // Flush reports errors
	for _, r := range rows {
		ratio := ""
		if rate := engineRates[r.Load]; rate > 0 && r.Variant != engineName {
			ratio = fmt.Sprintf("%.2f", rate/r.PerSecond)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%.0f\t%.0f – %.0f\t%s\t%s\t%s\t%s\t%s\t  %s\n", r.Load, r.Variant, r.PerSecond, r.Min, r.Max,
			ratio, formatFigure(r.P50), formatFigure(r.P99), formatFigure(r.P999), formatFigure(r.Processor), r.Note)
	}
	return table.Flush()
}

// formatFigure returns "" for 0: the row has no latencies of single operations, or no servers.
func formatFigure(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// writeResults writes the figures, and returns the name of the file.
func writeResults(s settings, start time.Time, results []*result) (file string, err error) {
	report, err := json.MarshalIndent(map[string]any{
		"startedAt": start.UTC(), "rounds": s.rounds, "secondsPerTurn": s.duration.Seconds(),
		"cpus": runtime.NumCPU(), "go": runtime.Version(), "os": runtime.GOOS + "/" + runtime.GOARCH, "results": results,
	}, "", "  ")
	if err != nil {
		return "", err
	}
	file = filepath.Join(s.outDir, resultsFile)
	return file, os.WriteFile(file, append(report, '\n'), 0o600)
}
