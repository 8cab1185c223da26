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

// maxCellWidth is the number of characters of a line in a cell, unless the row wraps it to fewer.
const maxCellWidth = 80

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
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.AppendHeader(columns)
	for _, item := range items {
		cells := row(item)
		for i, cell := range cells {
			if text, ok := cell.(string); ok {
				cells[i] = wrapTo(maxCellWidth, text)
			}
		}
		t.AppendRow(cells)
	}
	lines := strings.Split(t.Render(), "\n")
	for i, line := range lines { // a word that is longer than its column makes only its own line longer
		lines[i] = strings.TrimRight(line, " ")
	}
	_, err := fmt.Fprintln(p.w, strings.Join(lines, "\n"))
	return err
}

// wrapped is a cell that is ready to be printed.
type wrapped string

// wrapTo is a cell with lines of a width. Each text begins a line; blank ones are left out.
func wrapTo(width int, texts ...string) wrapped {
	var lines []string
	for _, text := range texts {
		if text != "" {
			lines = append(lines, wrap(visible(text), width))
		}
	}
	return wrapped(strings.Join(lines, "\n"))
}

// wrap breaks a text into lines of a cell, at spaces only: what an operator copies, such as a
// command or an address, stays in one piece.
func wrap(text string, maxWidth int) string {
	var b strings.Builder
	width := 0
	for word := range strings.SplitSeq(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case b.Len() == 0:
		case width+1+n > maxWidth && n <= maxWidth: // a longer word fits no line
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
