package seats

import "testing"

// What is in memory at a time is a section, or several with at most seatsPerRead seats, however many the next one has.
func TestTexts_OfFewSeatsAreReadTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seats []int64
		want  int
	}{
		"none":             {nil, 0},
		"one":              {[]int64{20_000, 1}, 1},
		"small":            {[]int64{2_000, 2_000, 1_000, 1}, 3},
		"a large one next": {[]int64{4_999, 20_000}, 1},
		"all":              {[]int64{1, 2, 3}, 3},
		"a capacity":       {[]int64{10_000_000, 1}, 1},
	} {
		var of PlanSummary
		for _, seats := range c.seats {
			of.Sections = append(of.Sections, SectionSummary{Seats: seats})
		}
		numbers, _ := of.Numbers()
		if got := of.perRead(numbers); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
