package planfile

import (
	"bytes"
	"encoding/json"

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
}

// Content is the content of a file. The plan is valid if there are no problems. A problem's location is
// a path in the file, or a line of CSV.
type Content struct {
	Plan     holdfast.SeatingPlan
	Format   Format
	Report   Report
	Problems []holdfast.FieldError
}

const byteOrderMark = "\ufeff"

// Read reads a plan. The error is for a text that is not of the format at all.
func Read(text []byte, o Options) (c Content, err error) {
	c.Format = formatOf(text, o)
	if c.Format != CSV {
		text = bytes.TrimPrefix(text, []byte(byteOrderMark)) // some editors write it, but it is not valid in JSON
	}
	switch c.Format {
	case CSV:
		c.Plan, c.Report, c.Problems = readCSV(text, o.Name)
	case Pretix:
		c.Plan, c.Report, c.Problems, err = readPretix(text, o)
	default:
		c.Plan, c.Problems, err = ReadJSON(text)
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
