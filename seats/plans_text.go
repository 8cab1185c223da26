package seats

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/planfile"
)

const (
	// maxCachedText bounds the memory of the sections that are kept as JSON: four plans of the largest size.
	maxCachedText = 64 << 20
	// textOverhead is the constant memory of a run, and of each section in it.
	textOverhead = 128
)

// textKey names a run of sections: those from first on that encodeRun reads together.
type textKey struct {
	plan  ID
	first int
}

func sizeOfText(run []json.RawMessage) int {
	size := textOverhead
	for _, section := range run {
		size += textOverhead + len(section)
	}
	return size
}

// Texts returns sections of a plan as JSON; of is its summary, and numbers are their indexes in the plan, in its order. Each
// text is encoded once, kept in memory, and shared by all callers, which must not change it. The iteration ends with the first
// error. While it pauses, it holds one run of sections.
func (s *Plans) Texts(ctx context.Context, of PlanSummary, numbers []int) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for first := 0; len(numbers) > 0; {
			end := of.runEnd(first)
			if numbers[0] < end {
				run, err := s.texts.get(ctx, textKey{of.ID, first}, func(ctx context.Context) ([]json.RawMessage, error) {
					return s.encodeRun(ctx, of, first, end)
				})
				if err != nil {
					yield(nil, err)
					return
				}
				for ; len(numbers) > 0 && numbers[0] < end; numbers = numbers[1:] {
					if !yield(run[numbers[0]-first], nil) {
						return
					}
				}
			}
			first = end
		}
	}
}

// runEnd returns the end of the run of sections that begins at first.
func (s PlanSummary) runEnd(first int) int {
	for seats := int64(0); first < len(s.Sections) && seats < seatsPerRead; first++ {
		seats += min(s.Sections[first].Seats, holdfast.MaxSectionSeats) // a capacity has no seats to read
	}
	return first
}

// encodeRun reads the sections from first to end, and encodes them.
func (s *Plans) encodeRun(ctx context.Context, of PlanSummary, first, end int) (run []json.RawMessage, err error) {
	numbers := make([]int, 0, end-first)
	for n := first; n < end; n++ {
		numbers = append(numbers, n)
	}
	sections, err := s.readSections(ctx, of, numbers)
	if err != nil {
		return nil, err
	}
	for _, section := range sections {
		text, err := json.Marshal(planfile.SectionOf(section))
		if err != nil {
			return nil, err
		}
		run = append(run, text)
	}
	return run, nil
}
