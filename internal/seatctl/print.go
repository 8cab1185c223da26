package seatctl

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// printer prints rows as a table or as JSON.
type printer struct {
	w      io.Writer
	format string
}

// printRows prints items as a JSON array, or as a table with the cells that row
// returns.
func printRows[T any](p printer, items []T, columns []any, row func(T) []any) error {
	if p.format == "json" {
		if items == nil {
			items = []T{}
		}
		e := json.NewEncoder(p.w)
		e.SetIndent("", "  ")
		return e.Encode(items)
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.SeparateColumns, t.Style().Options.DrawBorder = false, false
	const maxWidth = 80 // characters of a column
	var configs []table.ColumnConfig
	for i := range columns {
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: maxWidth})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(columns)
	for _, item := range items {
		t.AppendRow(row(item))
	}
	_, err := fmt.Fprintln(p.w, t.Render())
	return err
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
