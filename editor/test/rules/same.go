package main

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/planfile"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// differenceOf compares two plans, written out. The second one may have an outline for an area that has none, and may
// have moved a whole section: the seat map draws sections next to each other that lie on each other, and so does the editor.
func differenceOf(line []byte) (any, error) {
	var pair [2]json.RawMessage
	if err := json.Unmarshal(line, &pair); err != nil {
		return nil, err
	}
	var plans [2]holdfast.SeatingPlan
	for i, text := range pair {
		plan, problems, err := planfile.ReadJSON(text)
		if err != nil || len(problems) > 0 {
			return fmt.Sprint("plan ", i, " is refused: ", problems), err
		}
		plans[i] = seating.Expand(plan)
	}
	before, after := plans[0], plans[1]
	if len(before.Sections) != len(after.Sections) {
		return "other sections", nil
	}
	for i := range before.Sections {
		a, b := &before.Sections[i], &after.Sections[i]
		if dx, dy, isMoved := moved(*a, *b); isMoved {
			move(a, dx, dy)
		}
		if a.Capacity > 0 && len(a.Outline) < 3 {
			a.Outline = b.Outline
		}
	}
	if !reflect.DeepEqual(before, after) {
		for i := range before.Sections {
			if !reflect.DeepEqual(before.Sections[i], after.Sections[i]) {
				return fmt.Sprintf("section %d: %+v is now %+v", i, before.Sections[i], after.Sections[i]), nil
			}
		}
		return "the plans differ", nil
	}
	return "", nil
}

// moved returns how far the first seat of a section has moved.
func moved(a, b holdfast.Section) (dx, dy holdfast.Thousandths, isMoved bool) {
	if len(a.Rows) == 0 || len(b.Rows) == 0 {
		return 0, 0, false
	}
	for i, seat := range a.Rows[0].Seats {
		if seat == nil || i >= len(b.Rows[0].Seats) || b.Rows[0].Seats[i] == nil {
			continue
		}
		dx, dy = *b.Rows[0].Seats[i].X-*seat.X, *b.Rows[0].Seats[i].Y-*seat.Y
		return dx, dy, dx != 0 || dy != 0
	}
	return 0, 0, false
}

func move(s *holdfast.Section, dx, dy holdfast.Thousandths) {
	for _, row := range s.Rows {
		for _, seat := range row.Seats {
			if seat != nil {
				seat.X, seat.Y = new(*seat.X+dx), new(*seat.Y+dy)
			}
		}
	}
	outline := make([]holdfast.Point, len(s.Outline))
	for i, p := range s.Outline {
		outline[i] = holdfast.Point{X: p.X + dx, Y: p.Y + dy}
	}
	if s.Outline != nil {
		s.Outline = outline
	}
}
