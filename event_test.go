package holdfast_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

func TestEventChange_CloneSharesNothingWithTheCaller(t *testing.T) {
	name, total, date, status, limit := "Opening night", int64(100), now, holdfast.Closed, int64(4)
	change := holdfast.EventChange{Name: &name, TotalSeats: &total, EventDate: &date, Status: &status, MaxSeatsPerUser: &limit}
	fields := reflect.ValueOf(change)
	for i := range fields.NumField() { // a field that is added is copied too
		if fields.Field(i).IsNil() {
			t.Fatalf("the test sets no %s", fields.Type().Field(i).Name)
		}
	}
	clone := change.Clone()
	name, total, date, status, limit = "", -1, time.Time{}, "X", -1
	if *clone.Name != "Opening night" || *clone.TotalSeats != 100 || !clone.EventDate.Equal(now) ||
		*clone.Status != holdfast.Closed || *clone.MaxSeatsPerUser != 4 {
		t.Errorf("got %s, %d, %v, %s, %d after the caller changed its values",
			*clone.Name, *clone.TotalSeats, clone.EventDate, *clone.Status, *clone.MaxSeatsPerUser)
	}
	if empty := (holdfast.EventChange{}).Clone(); empty != (holdfast.EventChange{}) {
		t.Errorf("the clone of no change is %+v", empty)
	}
}
