package planfile

import (
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/jsonwalk"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// Preview is a plan, and how many seats are wanted of its empty hall, again and again.
type Preview struct {
	Plan  holdfast.SeatingPlan
	Seats []int
	// Problems are those of the plan, as ReadJSON returns them.
	Problems []holdfast.FieldError
}

// ReadPreview reads an object with the members plan and seats. There are problems if those of the plan
// are not the only ones. The error is one of ReadJSON.
func ReadPreview(text []byte) (p Preview, problems []holdfast.FieldError, err error) {
	if err := jsonwalk.Check(text); err != nil {
		return p, nil, err
	}
	r := &jsonReader{Reader: jsonwalk.NewReader(text, seating.MaxProblems)}
	r.Object(func(name string) bool {
		switch name {
		case "plan":
			if r.First() != '{' {
				r.Problem("expected object")
				r.Skip()
				break
			}
			r.plan(&p.Plan, func(string) bool { return false })
		case "seats":
			r.list(holdfast.MaxNamedSeats, func() {
				n, ok := r.Integer()
				if ok && (n < 1 || n > holdfast.MaxNamedSeats) {
					r.Problem("The number must be from 1 to %d, not %d.", holdfast.MaxNamedSeats, n)
				}
				p.Seats = append(p.Seats, int(n))
			})
		default:
			return false
		}
		return true
	}, "plan", "seats")
	var ofPlan []holdfast.FieldError
	for _, problem := range r.Problems() {
		where, isOfPlan := strings.CutPrefix(problem.Where, "plan.")
		if !isOfPlan {
			return p, r.Problems(), nil
		}
		ofPlan = append(ofPlan, holdfast.FieldError{Where: where, What: problem.What})
	}
	p.Problems = r.checked(p.Plan, ofPlan)
	return p, nil, nil
}
