package main

import (
	"fmt"
	"slices"
	"testing"
)

// Every course has its share of the customers, and is possible.
func TestCourses(t *testing.T) {
	counts, total := map[string]int{}, 0
	for percent := range 100 {
		counts[fmt.Sprint(pickCourse(percent).steps)]++
	}
	for _, c := range courses {
		total += c.share
		name := fmt.Sprint(c.steps)
		if counts[name] != c.share {
			t.Errorf("%s has %d of 100 customers, want %d", name, counts[name], c.share)
		}
		if c.steps[0] != stepLock {
			t.Errorf("%s does not begin with a lock", name)
		}
		if book, pay := slices.Index(c.steps, stepBook), slices.Index(c.steps, stepPay); pay >= 0 && pay < book {
			t.Errorf("%s pays before it books", name)
		}
	}
	if total != 100 {
		t.Errorf("the shares are %d %%", total)
	}
	if canceledCourse.last() != stepCancel {
		t.Error("halls would sell out")
	}
}

// Customers that pick seats of one hall at the same time never pick the same ones.
func TestPickSeats_NoSeatTwice(t *testing.T) {
	event := soakEvent{seats: &picture{}}
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
