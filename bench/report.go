package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
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

	Fleet *fleetReport `json:"fleet,omitempty"` // of the last round

	measure      func(context.Context) (measurement, error)
	measurements []measurement
}

func (r *result) title() string { return r.Variant + ", " + r.Load }

// fullTitle is what -only is matched against.
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
		r.Fleet = m.fleet
	}
	slices.Sort(rates)
	r.PerSecond, r.Min, r.Max = rates[len(rates)/2], rates[0], rates[len(rates)-1]
	r.Processor = median(processor)
	r.P50, r.P99, r.P999 = inMilliseconds(all.quantile(.5)), inMilliseconds(all.quantile(.99)), inMilliseconds(all.quantile(.999))
}

func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// printTable prints the rows of a scenario and returns the table as Markdown. The
// column "engine ×" is the engine's rate divided by the variant's, the column "CPU µs" how long the servers' processes
// used a core for each operation.
func printTable(out io.Writer, rows []*result) (markdown string) {
	engineRates := map[string]float64{} // by load
	for _, r := range rows {
		if r.Variant == engineName {
			engineRates[r.Load] = r.PerSecond
		}
	}
	t := table.NewWriter()
	t.SetOutputMirror(out)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"load", "side", "per second", "least – most", "engine ×", "p50 ms", "p99 ms", "p99.9 ms", "CPU µs", ""})
	var columns []table.ColumnConfig
	for n := 3; n <= 9; n++ {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	previousLoad := ""
	for _, r := range rows {
		if previousLoad != "" && previousLoad != r.Load {
			t.AppendSeparator()
		}
		previousLoad = r.Load
		ratio := ""
		if rate := engineRates[r.Load]; rate > 0 && r.Variant != engineName {
			ratio = fmt.Sprintf("%.2f", rate/r.PerSecond)
		}
		t.AppendRow(table.Row{r.Load, r.Variant, formatRate(r.PerSecond), formatRate(r.Min) + " – " + formatRate(r.Max), ratio,
			formatFigure(r.P50), formatFigure(r.P99), formatFigure(r.P999), formatFigure(r.Processor), r.Note})
	}
	t.Render()
	t.SetOutputMirror(nil)
	return t.RenderMarkdown()
}

// formatFigure returns "" for 0: the row has no latencies of single operations, or no servers.
func formatFigure(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

func formatRate(f float64) string { return strconv.FormatFloat(f, 'f', 0, 64) }

// writeJSON writes the figures and describes the machine.
func writeJSON(file string, s settings, start time.Time, results []*result) error {
	report, err := json.MarshalIndent(map[string]any{
		"startedAt": start.UTC(), "rounds": s.rounds, "secondsPerTurn": s.duration.Seconds(),
		"cpus": runtime.NumCPU(), "cpu": cpuName(), "go": runtime.Version(), "os": runtime.GOOS + "/" + runtime.GOARCH, "results": results,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(report, '\n'), 0o600)
}

// cpuName returns "" if the system does not report the processor's name.
func cpuName() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(info)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
