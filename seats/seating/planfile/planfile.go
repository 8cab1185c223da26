// Package planfile reads a seating plan from a file in any of the formats that operators have: the
// JSON of the API (planjson), a table of seats (plancsv), or pretix's format (pretix). It is pure,
// like package seating.
package planfile

import (
	"bytes"
	"encoding/json"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating/convert"
	"github.com/holdfast-dev/holdfast/seats/seating/plancsv"
	"github.com/holdfast-dev/holdfast/seats/seating/planjson"
	"github.com/holdfast-dev/holdfast/seats/seating/pretix"
)

// Format is a format of files with seating plans.
type Format string

// The formats. Auto is what the file's name and its content say.
const (
	Auto   Format = ""
	JSON   Format = "json"
	Pretix Format = "pretix"
	CSV    Format = "csv"
)

// Options of Read.
type Options struct {
	Format    Format
	Extension string // of the file's name, in lower case with its dot; "": not known
	Name      string // of a plan whose file has none, as CSV
	AsListed  bool   // of pretix's format: guess neither the order of seats nor gaps
}

// Content is what a file has. The plan is valid if there are no problems. A problem's location is
// a path in the file, or a line of CSV.
type Content struct {
	Plan     holdfast.SeatingPlan
	Format   Format
	Report   convert.Report
	Problems []holdfast.FieldError
}

const byteOrderMark = "\ufeff"

// Read reads a plan. The error is for a text that is not of the format at all.
func Read(text []byte, o Options) (c Content, err error) {
	c.Format = formatOf(text, o)
	if c.Format != CSV {
		text = bytes.TrimPrefix(text, []byte(byteOrderMark)) // some editors write it, and no JSON has it
	}
	switch c.Format {
	case CSV:
		c.Plan, c.Report, c.Problems = plancsv.Read(text, o.Name)
	case Pretix:
		c.Plan, c.Report, c.Problems, err = pretix.Read(text, pretix.Options{Name: o.Name, AsListed: o.AsListed})
	default:
		c.Plan, c.Problems, err = planjson.Read(text)
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
