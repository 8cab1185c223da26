package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Values of --output.
const (
	formatTable = "table"
	formatJSON  = "json"
)

// printer prints rows as a table or as JSON.
type printer struct {
	w      io.Writer
	format string
}

// printRows prints items as a JSON array, or as a table with the cells that row
// returns.
func printRows[T any](p printer, items []T, columns []any, row func(T) []any) error {
	if p.format == formatJSON {
		if items == nil {
			items = []T{}
		}
		return p.printJSON(items, "  ")
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.SeparateColumns, t.Style().Options.DrawBorder = false, false
	t.AppendHeader(columns)
	for _, item := range items {
		cells := row(item)
		for i, cell := range cells {
			if text, ok := cell.(string); ok {
				cells[i] = wrap(visible(text))
			}
		}
		t.AppendRow(cells)
	}
	_, err := fmt.Fprintln(p.w, t.Render())
	return err
}

// wrap breaks a text into lines of a cell, at spaces only: what an operator copies, such as a
// command or an address, stays in one piece.
func wrap(text string) string {
	const maxWidth = 80 // characters of a line
	var b strings.Builder
	width := 0
	for word := range strings.SplitSeq(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case b.Len() == 0:
		case width+1+n > maxWidth:
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}

// printJSON prints a value on a line, or indented.
func (p printer) printJSON(value any, indent string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", indent)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err
	}
	// In JSON, only strings have other characters that a terminal obeys than the new lines.
	_, err := io.WriteString(p.w, visibleLines(text.String()))
	return err
}

// visibleLines is visible for a text of several lines.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	return strings.Join(lines, "\n")
}

// visible writes the characters that a terminal would obey as their escapes in JSON: control
// characters, line ends, and marks that change the direction of the text.
func visible(text string) string {
	if !strings.ContainsFunc(text, isObeyed) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isObeyed(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isObeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
