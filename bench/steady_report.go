package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// steadyFigure is a column of the table.
type steadyFigure struct {
	name  string
	panel string // of the chart; "": none
	of    func(steadyRow) float64
	// trended figures should stay flat.
	trended bool
}

// Panels of the chart.
const (
	panelRate    = "requests a second"
	panelLatency = "latency, ms"
	panelMemory  = "memory, MiB"
	panelCount   = "goroutines and connections"
)

var steadyFigures = []steadyFigure{
	{"requests a second", panelRate, func(r steadyRow) float64 { return r.PerSecond }, true},
	{"p50 ms", panelLatency, func(r steadyRow) float64 { return r.P50 }, true},
	{"p99 ms", panelLatency, func(r steadyRow) float64 { return r.P99 }, true},
	{"errors", "", func(r steadyRow) float64 { return float64(r.Errors) }, false},
	{"API MiB", panelMemory, func(r steadyRow) float64 { return r.APIMemory }, true},
	{"API heap MiB", panelMemory, func(r steadyRow) float64 { return r.APIHeap }, true},
	{"API goroutines", panelCount, func(r steadyRow) float64 { return r.APIGoroutines }, true},
	{"API cores", "", func(r steadyRow) float64 { return r.APICPU }, true},
	{"worker MiB", panelMemory, func(r steadyRow) float64 { return r.WorkerMemory }, true},
	{"worker heap MiB", panelMemory, func(r steadyRow) float64 { return r.WorkerHeap }, true},
	{"worker goroutines", panelCount, func(r steadyRow) float64 { return r.WorkerGoroutines }, true},
	{"worker cores", "", func(r steadyRow) float64 { return r.WorkerCPU }, true},
	{"connections to MongoDB", panelCount, func(r steadyRow) float64 { return r.Connections }, true},
	{"mongod MiB", panelMemory, func(r steadyRow) float64 { return r.MongodMemory }, true},
	{"mongod cores", "", func(r steadyRow) float64 { return r.MongodCPU }, true},
	{"due locks", "", func(r steadyRow) float64 { return float64(r.DueLocks) }, true},
	{"untold changes", "", func(r steadyRow) float64 { return float64(r.Untold) }, true},
	{"locks", "", func(r steadyRow) float64 { return float64(r.Locks) }, false},
}

// values of a figure, interval by interval.
func (f steadyFigure) values(rows []steadyRow) (values []float64) {
	for _, r := range rows {
		values = append(values, f.of(r))
	}
	return values
}

// progress is a line about an interval.
func (r steadyRow) progress() string {
	return fmt.Sprintf("%5.1f min: %.0f requests a second, p50 %.1f ms, p99 %.1f ms, %d errors; MiB: API %.0f, worker %.0f, mongod %.0f; "+
		"goroutines: %.0f, %.0f; %.0f connections; %d due locks, %d untold; cores: API %.2f, worker %.2f, mongod %.2f",
		r.Minutes, r.PerSecond, r.P50, r.P99, r.Errors, r.APIMemory, r.WorkerMemory, r.MongodMemory,
		r.APIGoroutines, r.WorkerGoroutines, r.Connections, r.DueLocks, r.Untold, r.APICPU, r.WorkerCPU, r.MongodCPU)
}

// trend is the line of least squares through some values at equal distances.
type trend struct {
	Mean float64 `json:"mean"`
	// Change is from the first to the last point of the line, in percent of the mean; 0 if the mean is 0.
	Change float64 `json:"changePercent"`
}

// trendOf returns the trend of the last three quarters: the first one warms up.
func trendOf(values []float64) (t trend) {
	const warmUp = 4 // a quarter
	values = values[len(values)/warmUp:]
	n := float64(len(values))
	if n == 0 {
		return t
	}
	for _, v := range values {
		t.Mean += v / n
	}
	middle := (n - 1) / 2 //nolint:mnd // halfway
	var covariance, variance float64
	for i, v := range values {
		x := float64(i) - middle
		covariance += x * (v - t.Mean)
		variance += x * x
	}
	if variance > 0 && t.Mean != 0 {
		t.Change = 100 * covariance / variance * (n - 1) / t.Mean //nolint:mnd // percent
	}
	return t
}

// flatWithin is the greatest change of a figure that is called flat, in percent.
const flatWithin = 10

// verdict says in a word what became of a figure.
func (t trend) verdict() string {
	switch {
	case math.Abs(t.Change) <= flatWithin:
		return "flat"
	case t.Change > 0:
		return "rises"
	default:
		return "falls"
	}
}

// write writes the rows as a table, as figures, and as a chart.
func (st *steady) write(started time.Time) error {
	rows := table.NewWriter()
	header := table.Row{"minute"}
	for _, f := range steadyFigures {
		header = append(header, f.name)
	}
	rows.AppendHeader(header)
	for _, r := range st.rows {
		line := table.Row{fmt.Sprintf("%.1f", r.Minutes)}
		for _, f := range steadyFigures {
			line = append(line, formatTrend(f.of(r)))
		}
		rows.AppendRow(line)
	}
	trends := map[string]trend{}
	verdicts := table.NewWriter()
	verdicts.SetStyle(table.StyleLight)
	verdicts.AppendHeader(table.Row{"figure", "mean", "change, % of the mean", "verdict"})
	for _, f := range steadyFigures {
		if f.trended {
			t := trendOf(f.values(st.rows))
			trends[f.name] = t
			verdicts.AppendRow(table.Row{f.name, formatTrend(t.Mean), fmt.Sprintf("%+.1f", t.Change), t.verdict()})
		}
	}
	summary := fmt.Sprintf("Best rate: %.0f requests a second. Load: %.0f customers a second for %v. "+
		"The change is that of a line of least squares over the last three quarters.", st.best, st.customersPerSecond, st.steadyTime)
	fmt.Printf("\n%s\n%s\n", summary, verdicts.Render())
	markdown := summary + "\n\n" + verdicts.RenderMarkdown() + "\n\n" + rows.RenderMarkdown() + "\n"
	if err := os.WriteFile(st.steadyFile("md"), []byte(markdown), 0o600); err != nil {
		return err
	}
	report, err := json.MarshalIndent(map[string]any{
		"startedAt": started.UTC(), "cpus": runtime.NumCPU(), "cpu": cpuName(), "go": runtime.Version(),
		"bestRequestsPerSecond": st.best, "customersPerSecond": st.customersPerSecond, "seconds": st.steadyTime.Seconds(),
		"trends": trends, "rows": st.rows,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(st.steadyFile("json"), append(report, '\n'), 0o600); err != nil {
		return err
	}
	return st.draw()
}

// formatTrend writes small figures with more digits.
func formatTrend(f float64) string {
	const large, small = 100, 10
	switch {
	case f == math.Trunc(f) || f >= large:
		return fmt.Sprintf("%.0f", f)
	case f >= small:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

// draw draws the figures over time.
func (st *steady) draw() error {
	var panels []*plot.Plot
	for _, title := range []string{panelRate, panelLatency, panelMemory, panelCount} {
		p := plot.New()
		p.Title.Text, p.X.Label.Text, p.Y.Min = title, "minutes", 0
		p.Legend.Top = true
		p.Add(plotter.NewGrid())
		lines, top := 0, 0.0
		for _, f := range steadyFigures {
			if f.panel != title {
				continue
			}
			var points plotter.XYs
			for _, r := range st.rows {
				points = append(points, plotter.XY{X: r.Minutes, Y: f.of(r)})
				top = max(top, f.of(r))
			}
			line, err := plotter.NewLine(points)
			if err != nil {
				return err
			}
			line.Color, line.Width = palette[lines%len(palette)], vg.Points(1.5) //nolint:mnd // thin
			lines++
			p.Add(line)
			p.Legend.Add(f.name, line)
		}
		p.Y.Max = 1.4 * top //nolint:mnd // room for the legend
		panels = append(panels, p)
	}
	return drawPanels(st.steadyFile("svg"), [][]*plot.Plot{panels[:2], panels[2:]})
}

// conclude says that the invariants held, and adds the size of the database to the table.
func (st *steady) conclude(size string) error {
	w := st.world
	text := fmt.Sprintf("%d customers came, %d requests failed, %d customers were turned away, %d streams ended. %d locks stay sold. "+
		"Afterwards the database had %s. All invariants held: counters, maps, locks and payments; the endpoint "+
		"was told of all %d changes of bookings.",
		w.customers.Load(), w.failed.Load(), w.dropped.Load(), st.lostStreams, w.kept.Load(), size, w.bookingChanges.Load())
	fmt.Println(text)
	before, err := os.ReadFile(st.steadyFile("md"))
	if err != nil {
		return err
	}
	return os.WriteFile(st.steadyFile("md"), slices.Concat(bytes.TrimSpace(before), []byte("\n\n"+strings.TrimSpace(text)+"\n")), 0o600)
}
