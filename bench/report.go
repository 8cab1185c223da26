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

// result is one side of a scenario with a number of clients.
type result struct {
	Scenario string `json:"scenario"`
	Side     string `json:"side"`
	Load     string `json:"load"` // such as 256 clients

	PerSecond float64 `json:"perSecond"` // the median of the rounds
	Least     float64 `json:"least"`
	Most      float64 `json:"most"`
	P50       float64 `json:"p50ms"` // milliseconds, of all rounds
	P99       float64 `json:"p99ms"`
	P999      float64 `json:"p999ms"`
	Note      string  `json:"note,omitempty"`

	turn  func(context.Context) (measure, error)
	turns []measure
}

func (r *result) title() string { return r.Side + ", " + r.Load }

// sum makes the figures of the turns.
func (r *result) sum() {
	var rates []float64
	var all measure
	for _, m := range r.turns {
		rates = append(rates, m.perSecond())
		all.took = append(all.took, m.took...)
		if m.note != "" {
			r.Note = m.note
		}
	}
	slices.Sort(rates)
	r.PerSecond, r.Least, r.Most = rates[len(rates)/2], rates[0], rates[len(rates)-1]
	ms := func(q float64) float64 { return float64(all.quantile(q).Microseconds()) / 1000 }
	r.P50, r.P99, r.P999 = ms(.5), ms(.99), ms(.999)
}

// printTable shows a scenario, and returns the table as Markdown; × is the
// engine's rate as a multiple of the side's.
func printTable(out io.Writer, rows []*result) (markdown string) {
	engine := map[string]float64{}
	for _, r := range rows {
		if r.Side == engineName {
			engine[r.Load] = r.PerSecond
		}
	}
	t := table.NewWriter()
	t.SetOutputMirror(out)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"load", "side", "per second", "least – most", "engine ×", "p50 ms", "p99 ms", "p99.9 ms", ""})
	var columns []table.ColumnConfig
	for n := 3; n <= 8; n++ {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	last := ""
	for _, r := range rows {
		if last != "" && last != r.Load {
			t.AppendSeparator()
		}
		last = r.Load
		times := ""
		if e := engine[r.Load]; e > 0 && r.Side != engineName {
			times = fmt.Sprintf("%.2f", e/r.PerSecond)
		}
		t.AppendRow(table.Row{r.Load, r.Side, whole(r.PerSecond), whole(r.Least) + " – " + whole(r.Most), times,
			milliseconds(r.P50), milliseconds(r.P99), milliseconds(r.P999), r.Note})
	}
	t.Render()
	t.SetOutputMirror(nil)
	return t.RenderMarkdown()
}

// milliseconds is empty where no single operations were timed.
func milliseconds(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

func whole(f float64) string { return strconv.FormatFloat(f, 'f', 0, 64) }

// writeJSON keeps the figures with what they were measured on.
func writeJSON(file string, s settings, start time.Time, results []*result) error {
	raw, err := json.MarshalIndent(map[string]any{
		"startedAt": start.UTC(), "rounds": s.rounds, "secondsPerTurn": s.lasting.Seconds(),
		"cpus": runtime.NumCPU(), "cpu": cpu(), "go": runtime.Version(), "os": runtime.GOOS + "/" + runtime.GOARCH, "results": results,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o600)
}

// cpu is the processor's name, where the system tells.
func cpu() string {
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
