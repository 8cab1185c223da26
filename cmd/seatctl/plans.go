package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/plandrawing"
	"github.com/holdfast-dev/holdfast/seats/planfile"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// plansCmd has the commands on seating plans.
type plansCmd struct {
	Check  checkPlanCmd  `cmd:"" help:"Check a file with a seating plan, without a database: print its content or its problems, and draw it."`
	Import importPlanCmd `cmd:"" help:"Create a seating plan from a file, and print its ID."`
	Export exportPlanCmd `cmd:"" help:"Write a seating plan to a file, as import reads it, or as a picture."`
}

// checkPlanCmd checks a file, and draws its plan.
type checkPlanCmd struct {
	planFile `embed:""`

	Pick []int `help:"Pick this many best available seats, and mark them in the picture; given again, the next ones." placeholder:"SEATS"`

	picture string // a file, or standardStream; "" means none
}

// Help is printed by --help.
func (c *checkPlanCmd) Help() string {
	return "With -o FILE.svg, the plan is drawn too. -o - writes the picture to the standard output, and nothing else. " +
		"A file that exists is replaced once the picture is complete; a plan with problems is not drawn."
}

// planLine is what a file has.
type planLine struct {
	Name        string          `json:"name"`
	Format      string          `json:"format"`
	Sections    int             `json:"sections"`
	Rows        int             `json:"rows"`
	Seats       int64           `json:"seats"` // in rows
	Standing    int64           `json:"generalAdmission"`
	Categories  int             `json:"categories"`
	Total       int64           `json:"totalSeats"`
	Differences planfile.Report `json:"differences,omitempty"`
}

func newPlanLine(c planfile.Content) planLine {
	l := planLine{
		Name: c.Plan.Name, Format: string(c.Format), Sections: len(c.Plan.Sections), Categories: len(c.Plan.Categories),
		Total: c.Plan.TotalSeats(), Differences: c.Report,
	}
	for _, section := range c.Plan.Sections {
		l.Rows += len(section.Rows)
		l.Standing += section.Capacity
	}
	l.Seats = l.Total - l.Standing
	return l
}

func (c *checkPlanCmd) isOffline() {}

func (c *checkPlanCmd) run(_ context.Context, s *session) (int, error) {
	content, err := c.read(s)
	if err != nil {
		return exitFailed, err
	}
	if len(content.Problems) > 0 {
		if c.picture == standardStream { // which is for a picture alone
			s.out.w = s.errs
		}
		return exitFailed, s.refusePlan(c.String(), content.Problems)
	}
	picks, err := bestSeats(content.Plan, c.Pick)
	if err != nil {
		return exitFailed, err
	}
	if c.picture != "" {
		if err := s.writePicture(c.picture, plandrawing.SVG(content.Plan, picks)); err != nil || c.picture == standardStream {
			return exitOK, err
		}
	}
	columns := []any{"name", "format", "sections", "rows", "seats in rows", "general admission", "total", "categories"}
	return exitOK, printRows(s.out, []planLine{newPlanLine(content)}, columns, func(l planLine) []any {
		return []any{l.Name, l.Format, l.Sections, l.Rows, l.Seats, l.Standing, l.Total, l.Categories}
	})
}

// bestSeats picks the best available seats of an empty hall, one pick after the other. It returns the number of the pick of
// each seat, by its ID.
func bestSeats(plan holdfast.SeatingPlan, picks []int) (map[string]int, error) {
	if len(picks) == 0 {
		return nil, nil
	}
	hall, err := seating.NewHall(plan)
	if err != nil {
		return nil, err
	}
	seats, picked := seating.NewOccupancy(hall), map[string]int{}
	for i, n := range picks {
		if n < 1 || n > holdfast.MaxNamedSeats {
			return nil, fmt.Errorf("--pick takes 1 to %d seats", holdfast.MaxNamedSeats)
		}
		places := seats.Best(seating.Wish{Seats: n, Section: seating.AnySection, Settled: true}, nil).Places
		if len(places) == 0 {
			return nil, fmt.Errorf("there are no %d seats in one category of one section left for pick %d", n, i+1)
		}
		for _, place := range places {
			seats.Take(place)
			picked[hall.Seat(place).ID] = i + 1
		}
	}
	return picked, nil
}

// refusePlan prints the problems of a file, and returns the error of the command.
func (s *session) refusePlan(file string, problems []holdfast.FieldError) error {
	err := printRows(s.out, problems, []any{"where", "problem"}, func(p holdfast.FieldError) []any { return []any{p.Where, p.What} })
	switch {
	case err != nil:
		return err
	case len(problems) == seating.MaxProblems:
		return fmt.Errorf("%s has no valid seating plan; these are the first %d problems", file, seating.MaxProblems)
	case len(problems) == 1:
		return fmt.Errorf("%s has no valid seating plan: there is 1 problem", file)
	default:
		return fmt.Errorf("%s has no valid seating plan: there are %d problems", file, len(problems))
	}
}

// importPlanCmd creates a plan.
type importPlanCmd struct {
	planFile `embed:""`

	Key string `help:"Idempotency key: the same file with the same key is the same plan for 24 h. Without it, each import is a new plan."`
}

// Validate is called by the parser.
func (i *importPlanCmd) Validate() error {
	if err := holdfast.CheckText("", i.Key, holdfast.MaxKeyLength); err != nil {
		return fmt.Errorf("--key is not a valid key: %w", err)
	}
	return i.planFile.Validate()
}

func (i *importPlanCmd) run(ctx context.Context, s *session) (int, error) {
	content, err := i.read(s)
	if err != nil {
		return exitFailed, err
	}
	if len(content.Problems) > 0 {
		return exitFailed, s.refusePlan(i.String(), content.Problems)
	}
	created, replayed, err := s.Plans.Create(ctx, content.Plan, holdfast.CreationKey{Caller: "seatctl", Key: i.Key})
	if err != nil {
		return exitFailed, err
	}
	if s.out.format == formatJSON {
		return exitOK, s.out.printJSON(struct {
			ID       string `json:"id"`
			Name     string `json:"name"`
			Total    int64  `json:"totalSeats"`
			Replayed bool   `json:"replayed"`
		}{created.ID.String(), created.Name, created.TotalSeats, replayed}, "  ")
	}
	if replayed {
		if _, err := fmt.Fprintln(s.errs, "The plan was created by an import before, with the same key."); err != nil {
			return exitFailed, err
		}
	}
	_, err = fmt.Fprintln(s.out.w, created.ID)
	return exitOK, err
}

// exportPlanCmd writes a plan.
type exportPlanCmd struct {
	ID     string `arg:"" help:"ID of the plan."`
	File   string `arg:"" optional:"" default:"-" help:"A file, or - for the standard output, which is the default."`
	Format string `enum:",json,csv,pretix,svg" default:"" help:"json, csv, pretix or svg; by default what the file's name says, or else json."`
}

func (e *exportPlanCmd) run(ctx context.Context, s *session) (int, error) {
	id, err := holdfast.ParseID(e.ID)
	if err != nil || id.IsZero() {
		return exitUsage, fmt.Errorf("ID %q is not a valid ID: use 24 hex digits, not all of them 0", e.ID)
	}
	plan, err := s.Plans.Get(ctx, id)
	if err != nil {
		return exitFailed, err
	}
	text, err := e.write(s, plan)
	if err != nil {
		return exitFailed, err
	}
	if e.File != standardStream {
		const permissions = 0o644 // a plan is not secret
		return exitOK, os.WriteFile(e.File, text, permissions)
	}
	_, err = s.out.w.Write(text)
	return exitOK, err
}

func (e *exportPlanCmd) write(s *session, plan holdfast.SeatingPlan) ([]byte, error) {
	switch cmp.Or(e.Format, strings.ToLower(strings.TrimPrefix(filepath.Ext(e.File), "."))) {
	case string(planfile.CSV):
		text, report := planfile.WriteCSV(plan)
		return text, s.printReport(report)
	case string(planfile.Pretix):
		text, report, err := planfile.WritePretix(plan)
		if err != nil {
			return nil, err
		}
		return []byte(visibleLines(string(text))), s.printReport(report)
	case "svg":
		return plandrawing.SVG(plan, nil), nil
	default:
		text, err := planfile.WriteJSON(plan)
		return []byte(visibleLines(string(text))), err // only texts have what is escaped: it stays the same JSON
	}
}
