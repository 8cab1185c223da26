package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/planfile"
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
	AsListed bool    `help:"Take rows as they are listed: guess neither the order of the seats nor gaps nor tables."`

	Adjacency  []string `placeholder:"SECTION/ROW=ALL" sep:"none" help:"Adjacency of a row or a SECTION: ALL (a table), LINE or NONE."`
	Category   string   `help:"Category of seats that have none, in CSV or a pretix plan."`
	Accessible string   `placeholder:"PROPERTY" help:"The property, or the column, that says which seats are accessible."`
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

// read reads the file, and prints on errs what of it is not in the plan.
func (f *planFile) read(s *session) (c planfile.Content, err error) {
	text, err := f.text(s.in)
	if err != nil {
		return c, err
	}
	c, err = planfile.Read(text, planfile.Options{
		Format: planfile.Format(f.Format), Extension: strings.ToLower(filepath.Ext(f.File)), Name: f.name(), AsListed: f.AsListed,
		Adjacency: f.Adjacency, Category: f.Category, Accessible: f.Accessible,
	})
	if option := (*planfile.OptionError)(nil); errors.As(err, &option) {
		return c, fmt.Errorf("%s: --%s: %s", f, option.Option, option.What)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", f, err)
	}
	if f.Name != nil {
		c.Plan.Name = *f.Name
	}
	return c, s.printReport(c.Report)
}

// printReport prints what differs between a plan and a file, for operators.
func (s *session) printReport(report planfile.Report) error {
	for _, note := range report {
		text := note.String()
		if note.Option != "" {
			text += "; use it with --" + note.Option
		}
		if _, err := fmt.Fprintln(s.errs, visible(text)); err != nil {
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
