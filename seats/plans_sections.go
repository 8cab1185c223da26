package seats

import (
	"context"
	"errors"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// sections reads sections of a plan, written out; of is its summary, and numbers are their indexes
// in the plan. It holds at most seatsPerRead seats in memory at a
// time, or one section. The iteration ends with the first error.
func (s *Plans) sections(ctx context.Context, of PlanSummary, numbers []int) iter.Seq2[holdfast.Section, error] {
	return func(yield func(holdfast.Section, error) bool) {
		for rest := numbers; len(rest) > 0; {
			n := of.perRead(rest)
			sections, err := s.readSections(ctx, of, rest[:n])
			if err != nil {
				yield(holdfast.Section{}, err)
				return
			}
			for _, section := range sections {
				if !yield(section, nil) {
					return
				}
			}
			rest = rest[n:]
		}
	}
}

// seatsPerRead is the most seats of a read, unless it is of a single section: a MiB or so, without long notes.
const seatsPerRead = 5_000

// perRead returns how many of the sections, from the first on, one read takes. A capacity counts, although it has
// no seats to read.
func (s PlanSummary) perRead(numbers []int) (n int) {
	for seats := int64(0); n < len(numbers); n++ {
		if seats += s.Sections[numbers[n]].Seats; seats > seatsPerRead && n > 0 {
			break
		}
	}
	return n
}

// readSections reads sections by one command. A missing part may be committed, but not yet
// known to a primary that was just elected, so the absence is confirmed.
func (s *Plans) readSections(ctx context.Context, of PlanSummary, numbers []int) ([]holdfast.Section, error) {
	isIncomplete := func(err error) bool { return errors.Is(err, errPlanIncomplete) }
	sections, err := mongodb.ConfirmRefusal(ctx, s.db, isIncomplete, func(ctx context.Context) ([]holdfast.Section, error) {
		parts, err := mongodb.All[bson.Raw](ctx, s.db.Collection(sectionsName), mongo.Pipeline{
			mongodb.Match(mongodb.Is("planId", of.ID), mongodb.In("number", numbers)), mongodb.Sort("planId", "number", "part"),
		})
		if err != nil {
			return nil, mongodb.Translate(err)
		}
		return joinParts(of, numbers, parts)
	})
	if isIncomplete(err) {
		err = damagedPlan(err)
	}
	return sections, err
}

// joinParts makes sections of their parts, which are in order. A section with all its seats has all its
// parts.
func joinParts(of PlanSummary, numbers []int, parts []bson.Raw) ([]holdfast.Section, error) {
	sections := make([]holdfast.Section, len(numbers))
	for _, part := range parts {
		number, n, section, err := decodePart(part)
		if err != nil {
			return nil, err
		}
		switch i := slices.Index(numbers, int(number)); {
		case i < 0: // the query does not match it
			return nil, errPlanIncomplete
		case n == 0:
			sections[i] = section
		default:
			sections[i].Rows = append(sections[i].Rows, section.Rows...)
		}
	}
	for i, section := range sections {
		summary := of.Sections[numbers[i]]
		if section.Key != summary.Key || section.TotalSeats() != summary.Seats {
			return nil, errPlanIncomplete
		}
	}
	return sections, nil
}
