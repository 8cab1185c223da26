package seats

import (
	"context"
	"encoding/json"
	"iter"

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
// error. While it pauses, it holds one run of sections: at most seatsPerRead seats, or one section.
func (s *Plans) Texts(ctx context.Context, of PlanSummary, numbers []int) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		all, _ := of.Numbers() // without keys, none is missing
		for len(numbers) > 0 {
			run := all[:of.perRead(all)]
			first, end := run[0], run[0]+len(run)
			all = all[len(run):]
			if numbers[0] >= end {
				continue
			}
			texts, err := s.texts.get(ctx, textKey{of.ID, first}, func(ctx context.Context) ([]json.RawMessage, error) {
				return s.encodeRun(ctx, of, run)
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for ; len(numbers) > 0 && numbers[0] < end; numbers = numbers[1:] {
				if !yield(texts[numbers[0]-first], nil) {
					return
				}
			}
		}
	}
}

// encodeRun reads sections, and encodes them.
func (s *Plans) encodeRun(ctx context.Context, of PlanSummary, numbers []int) (run []json.RawMessage, err error) {
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
