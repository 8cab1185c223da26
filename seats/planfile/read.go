package planfile

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast"
)

// Format is a format of files with seating plans.
type Format string

// The formats. With Auto the file's name and its content decide.
const (
	Auto   Format = ""
	JSON   Format = "json"
	Pretix Format = "pretix"
	CSV    Format = "csv"
)

// Options configures Read.
type Options struct {
	Format    Format
	Extension string // of the file's name, in lower case with its dot; "" if it is not known
	Name      string // name of the plan if the file has none, as in CSV
	AsListed  bool   // guess neither the order of seats nor gaps nor tables

	Adjacency  []string // of rows, as SECTION=ALL or SECTION/ROW=ALL: such rows are taken as they are listed
	Category   string   // name of the category of seats that have none, in pretix's format and CSV
	Accessible string   // the property or the column that says which seats are accessible, in these formats
}

// Names of options in an OptionError and in Note.Option. Each surface has its own words for them.
const (
	OptionAdjacency  = "adjacency"
	OptionCategory   = "category"
	OptionAccessible = "accessible"
)

// OptionError says that the file needs another value of an option.
type OptionError struct{ Option, What string }

func (e *OptionError) Error() string { return e.Option + ": " + e.What }

// Content is the content of a file. The plan is valid if there are no problems. A problem's location is
// a path in the file, or a line of CSV.
type Content struct {
	Plan     holdfast.SeatingPlan
	Format   Format
	Report   Report
	Problems []holdfast.FieldError
}

const byteOrderMark = "\ufeff"

// Read reads a plan. The error is an OptionError, or for a text that is not of the format at all.
func Read(text []byte, o Options) (c Content, err error) {
	c.Format = formatOf(text, o)
	if o.Category != "" && holdfast.CheckName("", o.Category) != nil {
		return c, &OptionError{OptionCategory, fmt.Sprintf("A category must have 1 to %d characters.", holdfast.MaxNameLength)}
	}
	if c.Format != CSV {
		text = bytes.TrimPrefix(text, []byte(byteOrderMark)) // some editors write it, but it is not valid in JSON
	}
	switch c.Format {
	case CSV:
		c.Plan, c.Report, c.Problems, err = readCSV(text, o)
	case Pretix:
		c.Plan, c.Report, c.Problems, err = readPretix(text, o)
	default:
		c.Plan, c.Problems, err = ReadJSON(text)
		if err == nil && len(c.Problems) == 0 && o.Accessible != "" {
			err = &OptionError{OptionAccessible, "A plan of JSON has its own property accessible."}
		}
	}
	if err == nil && len(c.Problems) == 0 {
		c.Report.similarNames(c.Plan)
		err = setAdjacency(&c.Plan, o.Adjacency)
	}
	if err == nil && len(c.Problems) == 0 && c.Format != JSON && !o.AsListed { // a plan of JSON says which seats are neighbours
		(&arranger{report: &c.Report, gaps: c.Format == Pretix}).arrange(&c.Plan)
	}
	return c, err
}

func formatOf(text []byte, o Options) Format {
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte(byteOrderMark)), " \t\r\n")
	isObject := bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("["))
	switch {
	case o.Format != Auto:
		return o.Format
	case o.Extension == ".csv" || o.Extension != ".json" && !isObject:
		return CSV
	}
	var parts struct{ Zones, Sections json.RawMessage }
	if json.Unmarshal(text, &parts) == nil && parts.Zones != nil && parts.Sections == nil {
		return Pretix
	}
	return JSON
}
