package seating_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/seats/seating"
)

// FuzzCheck checks any plan. Check never panics, and a plan that it accepts makes a hall, written
// out or not.
func FuzzCheck(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkAnyPlan)) }

// TestCheck_OfAnyPlan is FuzzCheck with drawn input.
func TestCheck_OfAnyPlan(t *testing.T) { rapid.Check(t, checkAnyPlan) }

func checkAnyPlan(t *rapid.T) {
	plan := anyPlan(t)
	problems := seating.Check(plan)
	h, err := seating.NewHall(plan)
	if (err == nil) != (len(problems) == 0) {
		t.Fatal(problems, err)
	}
	if err != nil {
		return
	}
	written := seating.Expand(plan)
	again, err := seating.NewHall(written)
	if err != nil || !reflect.DeepEqual(h, again) || !reflect.DeepEqual(seating.Expand(written), written) {
		t.Fatal("the plan written out is another one: ", err)
	}
}
