package main

import (
	"context"
	"regexp"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, row := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"one value", []float64{3}, 3},
		{"odd number of values", []float64{9, 1, 4}, 4},
		{"even number of values", []float64{9, 1, 4, 6}, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			values := slices.Clone(row.values)
			if got := median(values); got != row.want {
				t.Errorf("median(%v) = %v, want %v", row.values, got, row.want)
			}
			if !slices.Equal(values, row.values) {
				t.Errorf("median reordered its argument: %v", values)
			}
		})
	}
}

// The median of the ratios is not the ratio of the medians.
func TestComparedRow_MarkdownHasRatiosWithinPairs(t *testing.T) {
	r := comparedRow{Title: "sweep, engine, 1 events", Rates: [2][]float64{{100, 200, 400}, {200, 100, 480}}}
	want := "| sweep, engine, 1 events | 200 | 200 | 1.20 | 0.50 | 2.00 |\n"
	if got := r.markdown(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestComparedByDefault_SelectsTheseRows(t *testing.T) {
	s := settings{only: regexp.MustCompile(comparedByDefault)}
	s.afterScenario = func(func(context.Context) error) {}
	var got []string
	for _, scenario := range scenarios {
		for _, r := range scenario.selectRows(s) {
			got = append(got, r.fullTitle())
		}
	}
	want := []string{
		"hot-event, engine, 1 clients", "hot-event, engine, 64 clients", "hot-event, engine, 256 clients",
		"hot-event-http, engine, 1 clients", "hot-event-http, engine, 64 clients", "hot-event-http, engine, 256 clients",
		"processes, engine, 3 processes",
		"sold-out, engine, 256 clients", "sold-out, engine, without keys, 256 clients",
		"sold-out-http, engine, 256 clients", "sold-out-http, engine, without keys, 256 clients",
		"sweep, engine, 100 events",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
