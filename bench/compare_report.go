package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// comparisonHeader begins the table. A ratio above 1 means that the new build is
// faster.
const comparisonHeader = `| row | old, per second | new, per second | new ÷ old | least | most |
| --- | ---: | ---: | ---: | ---: | ---: |
`

// markdown is the row's line of the table: the medians of both builds' rates, and
// the median, minimum and maximum of the ratios within the pairs.
func (r *comparedRow) markdown() string {
	ratios := r.ratios()
	return fmt.Sprintf("| %s | %s | %s | %.2f | %.2f | %.2f |\n", r.Title,
		formatRate(median(r.Old)), formatRate(median(r.New)), median(ratios), slices.Min(ratios), slices.Max(ratios))
}

func (r *comparedRow) ratios() []float64 {
	ratios := make([]float64, len(r.Old))
	for i := range r.Old {
		ratios[i] = r.New[i] / r.Old[i]
	}
	return ratios
}

// median of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// writeComparison writes the rates of all pairs.
func writeComparison(file string, s settings, builds []build, start time.Time, rows []*comparedRow) error {
	content, err := json.MarshalIndent(map[string]any{
		"startedAt": start.UTC(), "pairs": s.pairs, "seconds": s.duration.Seconds(),
		"old": builds[0].revision, "new": builds[1].revision, "rows": rows,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o600)
}
