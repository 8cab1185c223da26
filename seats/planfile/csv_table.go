package planfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table reads a text line by line.
type table struct {
	reader    *csv.Reader
	separator rune
	offset    int   // lines before those of the reader
	columns   []int // column of each cell; -1 if the cell is left out
	line      int   // of the cells that were read last
}

// errLine is a problem of a line, which ends the reading.
type errLine struct {
	line int
	what string
}

func (e *errLine) Error() string { return "line " + strconv.Itoa(e.line) + ": " + e.what }

// newTable reads the header. The error is an errLine or an OptionError.
func newTable(text []byte, o Options, report *Report) (*table, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !bytes.ContainsRune(text, '\n') { // old spreadsheets end lines with CR alone
		text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	}
	if !utf8.Valid(text) {
		valid := 0
		for r, size := utf8.DecodeRune(text); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(text[valid:]) {
			valid += size
		}
		return nil, &errLine{1 + bytes.Count(text[:valid], []byte("\n")), "The text is not UTF-8: save the file as CSV in UTF-8."}
	}
	n := 0
	for line := range bytes.Lines(text) {
		if n++; len(line) > maxLineBytes {
			return nil, &errLine{n, fmt.Sprintf("The line has more than %d bytes.", maxLineBytes)}
		}
	}
	t := &table{}
	if first, rest, ok := bytes.Cut(text, []byte("\n")); ok { // spreadsheets write such a line
		if named, is := strings.CutPrefix(strings.TrimRight(string(first), "\r"), "sep="); is && utf8.RuneCountInString(named) == 1 {
			t.separator, _ = utf8.DecodeRuneInString(named)
			text, t.offset = rest, 1
		}
	}
	if t.separator == 0 {
		t.separator = separatorOf(text)
	}
	if !strings.ContainsRune(separators, t.separator) {
		return nil, &errLine{1, "The separator must be a comma, a semicolon or a tab."}
	}
	t.reader = csv.NewReader(bytes.NewReader(text))
	t.reader.Comma, t.reader.FieldsPerRecord, t.reader.ReuseRecord = t.separator, -1, true
	t.reader.TrimLeadingSpace = t.separator != '\t'
	return t, t.readHeader(o, report)
}

const separators = ",;\t"

// maxLineBytes bounds the cells of a line.
const maxLineBytes = 100_000

// separatorOf is the separator that occurs most often in the first line with text.
func separatorOf(text []byte) (separator rune) {
	first, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n "), []byte("\n"))
	most := -1
	for _, s := range separators {
		if n := bytes.Count(first, []byte(string(s))); n > most {
			separator, most = s, n
		}
	}
	return separator
}

func (t *table) readHeader(o Options, report *Report) error {
	header, err := t.record()
	if errors.Is(err, io.EOF) {
		return &errLine{1, "The file is empty. Its first line must have the names of the columns."}
	}
	if err != nil {
		return err
	}
	named := func(column int) bool {
		return slices.ContainsFunc(header, func(name string) bool { return plainName(name) == plainName(columnNames[column]) })
	}
	hasSection, hasSeat := named(colSection), named(colSeat)
	seen, isMapped := map[int]bool{}, o.Accessible == ""
	for _, name := range header {
		column := slices.IndexFunc(columnNames[:], func(known string) bool { return plainName(known) == plainName(name) })
		switch {
		case column < 0 && !hasSection && plainName(name) == "zone":
			column = colSection
		case !isMapped && plainName(name) == plainName(o.Accessible) && (column < 0 || column == colAccessible):
			column, isMapped = colAccessible, true
		case hasSeat && (column == colStart || column == colEnd):
			column = -1
		}
		switch {
		case column >= 0 && seen[column]:
			return &errLine{t.line, fmt.Sprintf("The column %s occurs twice. Remove one of them.", columnNames[column])}
		case column >= 0:
			seen[column] = true
		case strings.TrimSpace(name) != "":
			report.unknown("unknown column", strings.TrimSpace(name), true)
		}
		t.columns = append(t.columns, column)
	}
	if !isMapped {
		return &OptionError{OptionAccessible, "No column of the table has this name."}
	}
	return t.missing(seen, o)
}

// missing returns the error of a table without the columns that it must have.
func (t *table) missing(seen map[int]bool, o Options) error {
	var names []string
	for _, c := range requiredColumns {
		isRange := c == colSeat && seen[colStart] && seen[colEnd]
		if !seen[c] && !isRange && (c != colCategory || o.Category == "") {
			names = append(names, columnNames[c])
		}
	}
	switch n := len(names) - 1; {
	case n < 0:
		return nil
	case n == 0 && names[0] == columnNames[colCategory]:
		return &OptionError{OptionCategory, "The table has no column category. Add it, or give all its seats one category."}
	case n == 0:
		return &errLine{t.line, fmt.Sprintf("The first line must have the names of the columns, but %s is missing.", names[0])}
	default:
		const what = "The first line must have the names of the columns, but %s and %s are missing."
		return &errLine{t.line, fmt.Sprintf(what, strings.Join(names[:n], ", "), names[n])}
	}
}

// record reads a line with text. The error is io.EOF, or an errLine.
func (t *table) record() ([]string, error) {
	for {
		record, err := t.reader.Read()
		if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
			return nil, &errLine{t.offset + parse.StartLine, "A quoted text must end with a quote, and quotes within it must be doubled."}
		}
		if err != nil {
			return nil, err
		}
		t.line, _ = t.reader.FieldPos(0)
		t.line += t.offset
		for _, cell := range record {
			if strings.TrimSpace(cell) != "" {
				return record, nil
			}
		}
	}
}

// next reads the cells of the next line. The error is io.EOF, or an errLine.
func (t *table) next() (c cells, err error) {
	record, err := t.record()
	if err != nil {
		return c, err
	}
	for i, cell := range record {
		cell = strings.TrimSpace(cell)
		switch {
		case i < len(t.columns) && t.columns[i] >= 0:
			c[t.columns[i]] = strings.Clone(cell)
		case i >= len(t.columns) && cell != "":
			return c, &errLine{t.line, "The line has more cells than the first line."}
		}
	}
	return c, nil
}
