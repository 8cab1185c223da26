package seatctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating/convert"
	"github.com/holdfast-dev/holdfast/seats/seating/plancsv"
	"github.com/holdfast-dev/holdfast/seats/seating/planjson"
	"github.com/holdfast-dev/holdfast/seats/seating/pretix"
)

// Values of --format.
const (
	planJSON   = "json"
	planPretix = "pretix"
	planCSV    = "csv"
)

// standardStream is the name of the standard input as a file, or the standard output.
const standardStream = "-"

// maxPlanFileBytes is several times what a plan of 200,000 seats takes in any format.
const maxPlanFileBytes = 128 << 20

// planFile is a file with a seating plan.
type planFile struct {
	File     string  `arg:"" help:"A file, or - for the standard input."`
	Format   string  `enum:",json,pretix,csv" default:"" help:"json, pretix or csv; by default what the file's name and content say."`
	Name     *string `help:"Name of the plan. The default is what the file says, or else the file's name."`
	AsListed bool    `help:"Take the rows of a pretix plan as they are listed: guess neither the order of the seats nor gaps."`
}

// Validate is called by the parser.
func (f *planFile) Validate() error {
	if f.Name == nil {
		return nil
	}
	if err := holdfast.CheckName("", *f.Name); err != nil {
		return fmt.Errorf("--name %q is not a valid name: %w", *f.Name, err)
	}
	return nil
}

// planContent is what a file has. The plan is valid if there are no problems.
type planContent struct {
	plan     holdfast.SeatingPlan
	format   string
	report   convert.Report
	problems []holdfast.FieldError
}

// read reads the file, and prints on errs what of it is not in the plan.
func (f *planFile) read(s *session) (c planContent, err error) {
	text, err := f.text(s.in)
	if err != nil {
		return c, err
	}
	c.format = f.formatOf(text)
	if c.format != planCSV {
		text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors write it, and no JSON has it
	}
	switch c.format {
	case planCSV:
		c.plan, c.report, c.problems = plancsv.Read(text, f.name())
	case planPretix:
		c.plan, c.report, c.problems, err = pretix.Read(text, pretix.Options{Name: f.name(), AsListed: f.AsListed})
	default:
		c.plan, c.problems, err = planjson.Read(text)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", f, err)
	}
	if f.Name != nil {
		c.plan.Name = *f.Name
	}
	return c, s.printReport(c.report)
}

// printReport prints what differs between a plan and a file, for operators.
func (s *session) printReport(report convert.Report) error {
	for _, note := range report {
		if _, err := fmt.Fprintln(s.errs, visible(note.String())); err != nil {
			return err
		}
	}
	return nil
}

func (f *planFile) text(in io.Reader) (text []byte, err error) {
	if f.File != standardStream {
		var file fs.File // errors of reading are checked, those of closing lose nothing
		if file, err = os.Open(f.File); err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	text, err = io.ReadAll(io.LimitReader(in, maxPlanFileBytes+1))
	if len(text) > maxPlanFileBytes {
		err = fmt.Errorf("%s has more than %d bytes", f, maxPlanFileBytes)
	}
	return text, err
}

// String is the file's name in messages.
func (f *planFile) String() string {
	if f.File == standardStream {
		return "the standard input"
	}
	return f.File
}

// name returns the name of a plan that has none in its file.
func (f *planFile) name() string {
	switch base := filepath.Base(f.File); {
	case f.Name != nil:
		return *f.Name
	case f.File == standardStream:
		return "Seating plan"
	default:
		return strings.TrimSuffix(base, filepath.Ext(base))
	}
}

// formatOf returns the format of a file.
func (f *planFile) formatOf(text []byte) string {
	extension := strings.ToLower(filepath.Ext(f.File))
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r\n")
	isObject := bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("["))
	switch {
	case f.Format != "":
		return f.Format
	case extension == ".csv" || extension != ".json" && !isObject:
		return planCSV
	}
	var parts struct{ Zones, Sections json.RawMessage }
	if json.Unmarshal(text, &parts) == nil && parts.Zones != nil && parts.Sections == nil {
		return planPretix
	}
	return planJSON
}
