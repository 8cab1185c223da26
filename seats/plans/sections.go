package plans

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

// Sections reads sections of a plan, written out; of is its summary, and numbers say where they are
// in the plan, all of them if there are none. It holds about seatsPerRead seats in memory at a
// time. The iteration ends with the first error.
func (s *Service) Sections(ctx context.Context, of Summary, numbers ...int) iter.Seq2[holdfast.Section, error] {
	if len(numbers) == 0 {
		for n := range of.Sections {
			numbers = append(numbers, n)
		}
	}
	return func(yield func(holdfast.Section, error) bool) {
		for rest := numbers; len(rest) > 0; {
			n, seats := 0, int64(0)
			for n < len(rest) && (n == 0 || seats < seatsPerRead) {
				seats += min(of.Sections[rest[n]].Seats, holdfast.MaxSectionSeats) // a capacity has no seats to read
				n++
			}
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

// seatsPerRead is how many seats one read returns, or the seats of one section more: some MiB.
const seatsPerRead = 5_000

// readSections reads sections by one command. A part that is missing may be committed, and not yet
// known to a primary that was just elected, so that this is confirmed.
func (s *Service) readSections(ctx context.Context, of Summary, numbers []int) ([]holdfast.Section, error) {
	isIncomplete := func(err error) bool { return errors.Is(err, errIncomplete) }
	at := mongodb.At(mongodb.Place{Collection: sectionsName, Filter: mongodb.Is("planId", of.ID)})
	sections, err := mongodb.ConfirmRefusal(ctx, s.db, isIncomplete, at, func(ctx context.Context) ([]holdfast.Section, error) {
		parts, err := mongodb.All[bson.Raw](ctx, s.db.Collection(sectionsName), mongo.Pipeline{
			mongodb.Match(mongodb.Is("planId", of.ID), mongodb.In("number", numbers)), mongodb.Sort("planId", "number", "part"),
		})
		if err != nil {
			return nil, mongodb.Translate(err)
		}
		return join(of, numbers, parts)
	})
	if isIncomplete(err) {
		err = damaged(err)
	}
	return sections, err
}

// join makes sections of their parts, which are in order. A section with all its seats has all its
// parts.
func join(of Summary, numbers []int, parts []bson.Raw) ([]holdfast.Section, error) {
	sections := make([]holdfast.Section, len(numbers))
	for _, part := range parts {
		number, n, section, err := decodePart(part)
		if err != nil {
			return nil, err
		}
		switch i := slices.Index(numbers, int(number)); {
		case i < 0: // the query does not match it
			return nil, errIncomplete
		case n == 0:
			sections[i] = section
		default:
			sections[i].Rows = append(sections[i].Rows, section.Rows...)
		}
	}
	for i, section := range sections {
		summary := of.Sections[numbers[i]]
		if section.Key != summary.Key || section.TotalSeats() != summary.Seats {
			return nil, errIncomplete
		}
	}
	return sections, nil
}
