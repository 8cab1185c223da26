package main

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestTrendOf(t *testing.T) {
	for _, row := range []struct {
		name         string
		values       []float64
		mean, change float64
		verdict      string
	}{
		{"no values", nil, 0, 0, "flat"},
		{"one value", []float64{7}, 7, 0, "flat"},
		{"constant", []float64{5, 5, 5, 5, 5, 5, 5, 5}, 5, 0, "flat"},
		{"a line after the warm-up", []float64{100, 3, 8, 9, 10, 11, 12}, 8.83, 88.9, "rises"},
		{"rises by a fifth", []float64{0, 90, 100, 110}, 100, 20, "rises"},
		{"falls by a fifth", []float64{0, 110, 100, 90}, 100, -20, "falls"},
		{"noise", []float64{0, 101, 99, 101, 99, 101, 99, 101}, 100, 0, "flat"},
		{"zeros", []float64{0, 0, 0, 0}, 0, 0, "flat"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := trendOf(row.values)
			if math.Abs(got.Mean-row.mean) > .5 || math.Abs(got.Change-row.change) > 1 || got.verdict() != row.verdict {
				t.Errorf("got %+v, %s; want mean %v, change %v, %s", got, got.verdict(), row.mean, row.change, row.verdict)
			}
		})
	}
}

// Every customer and every request of the mix has its share, and courses are possible.
func TestCourses(t *testing.T) {
	counts, total := map[string]int{}, 0
	for percent := range 100 {
		counts[pickCourse(percent).name]++
	}
	for _, c := range courses {
		total += c.share
		if counts[c.name] != c.share {
			t.Errorf("%s has %d of 100 customers, want %d", c.name, counts[c.name], c.share)
		}
		t.Run(c.name, func(t *testing.T) {
			if c.steps[0] != stepLock {
				t.Errorf("it begins with %s", c.steps[0])
			}
			if book, pay := slices.Index(c.steps, stepBook), slices.Index(c.steps, stepPay); pay >= 0 && pay < book {
				t.Error("it pays before it books")
			}
			if c.keepsSeats() && c.isAbandoned() {
				t.Error("it keeps and leaves its seats")
			}
		})
	}
	if total != 100 {
		t.Errorf("the shares are %d %%", total)
	}
	if canceledCourse.keepsSeats() {
		t.Error("halls would sell out")
	}
}

func TestPickCrowd(t *testing.T) {
	seen := map[string]int{}
	for percent := range 100 {
		first, events := pickCrowd(percent)
		seen[fmt.Sprint(first, " ", events)]++
	}
	first := 0
	for _, c := range crowds {
		if n := seen[fmt.Sprint(first, " ", c.events)]; n != c.share {
			t.Errorf("%d events from %d are wanted by %d of 100, want %d", c.events, first, n, c.share)
		}
		first += c.events
	}
}

// Customers that pick seats of one hall at the same time never pick the same ones.
func TestPickSeats_NoSeatTwice(t *testing.T) {
	event := steadyEvent{seats: &picture{}}
	const pickers, each = 8, 1000
	picked := make(chan block, pickers*each)
	for range pickers {
		go func() {
			for n := range each {
				picked <- event.pickSeats(1 + n%maxTogether)
			}
		}()
	}
	taken := &picture{}
	for range pickers * each {
		b := <-picked
		if taken[b.row].Or(b.mask())&b.mask() != 0 {
			t.Fatalf("a seat of %+v was picked twice", b)
		}
	}
}
