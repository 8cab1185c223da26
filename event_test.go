package holdfast_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

func TestEventChange_CloneSharesNothingWithTheCaller(t *testing.T) {
	name, total, date, status, limit := "Opening night", int64(100), now, holdfast.Closed, int64(4)
	orphans, accessible := holdfast.OrphansRefused, holdfast.AccessibleOpen
	late, lateSeconds := holdfast.LatePaymentsAccepted, int64(60)
	plan, starts, ends := holdfast.ID{7}, now, now.Add(time.Hour)
	reference, value := "order", "1"
	list, offers, fit := holdfast.WaitlistOpen, int64(90), holdfast.WaitlistStrict
	change := holdfast.EventChange{
		Name: &name, TotalSeats: &total, EventDate: &date, Status: &status, MaxSeatsPerUser: &limit,
		OrphanRule: &orphans, AccessiblePolicy: &accessible, LatePayments: &late, LateSeconds: &lateSeconds,
		Waitlist: &list, OfferSeconds: &offers, WaitlistFit: &fit,
		SaleStartsAt: &starts, SaleEndsAt: &ends,
		SeatingPlanID: &plan, Sections: []holdfast.SectionCapacity{{Key: "pit", Capacity: 5}},
		ShopData: holdfast.ShopDataChange{Reference: &reference, Metadata: map[string]*string{"a": &value}},
	}
	fields := reflect.ValueOf(change)
	for i := range fields.NumField() { // a field that is added is copied too
		if fields.Field(i).IsZero() {
			t.Fatalf("the test sets no %s", fields.Type().Field(i).Name)
		}
	}
	clone := change.Clone()
	starts, ends = time.Time{}, time.Time{}
	plan, change.Sections[0].Key = holdfast.ID{}, "X"
	name, total, date, status, limit, reference, value = "", -1, time.Time{}, "X", -1, "X", "X"
	change.ShopData.Metadata["b"] = nil
	orphans, accessible, late, lateSeconds = "X", "X", "X", -1
	list, offers, fit = "X", -1, "X"
	if *clone.Name != "Opening night" || *clone.TotalSeats != 100 || !clone.EventDate.Equal(now) ||
		*clone.Status != holdfast.Closed || *clone.MaxSeatsPerUser != 4 ||
		*clone.OrphanRule != holdfast.OrphansRefused || *clone.AccessiblePolicy != holdfast.AccessibleOpen ||
		*clone.LatePayments != holdfast.LatePaymentsAccepted || *clone.LateSeconds != 60 ||
		*clone.Waitlist != holdfast.WaitlistOpen || *clone.OfferSeconds != 90 || *clone.WaitlistFit != holdfast.WaitlistStrict ||
		!clone.SaleStartsAt.Equal(now) || !clone.SaleEndsAt.Equal(now.Add(time.Hour)) ||
		*clone.SeatingPlanID != (holdfast.ID{7}) || clone.Sections[0].Key != "pit" ||
		*clone.ShopData.Reference != "order" || len(clone.ShopData.Metadata) != 1 || *clone.ShopData.Metadata["a"] != "1" {
		t.Errorf("got %s, %d, %v, %s, %d after the caller changed its values",
			*clone.Name, *clone.TotalSeats, clone.EventDate, *clone.Status, *clone.MaxSeatsPerUser)
	}
	if empty := (holdfast.EventChange{}).Clone(); !reflect.DeepEqual(empty, holdfast.EventChange{}) {
		t.Errorf("the clone of no change is %+v", empty)
	}
}

// A counter that can't be right promises no seat.
func TestEvent_AnswerPromisesNoSeatOfAnImpossibleCounter(t *testing.T) {
	for _, row := range []struct{ total, available, oversold, want int64 }{
		{10, 4, 0, 4}, {10, 10, 0, 10}, {10, 0, 3, 0}, {0, 0, 0, 0},
		{10, 11, 0, 0}, {0, 4, 0, 0}, {-1, 4, 0, 0}, {10, -1, 0, 0}, {10, 4, 1, 0}, {10, 4, -1, 0},
	} {
		e := holdfast.Event{TotalSeats: row.total, AvailableSeats: row.available, Oversold: row.oversold}
		if got := e.Answer().AvailableSeats; got != row.want {
			t.Errorf("%+v: %d seats are available", row, got)
		}
	}
}

// Every field but the shop's own data counts.
func TestEventChange_NamesShopDataAlone(t *testing.T) {
	t.Parallel()
	if reference := (holdfast.EventChange{ShopData: holdfast.ShopDataChange{Reference: new("r")}}); !reference.NamesShopDataAlone() {
		t.Error("a reference alone is something else")
	}
	for field := range reflect.TypeFor[holdfast.EventChange]().Fields() {
		var c holdfast.EventChange
		value := reflect.ValueOf(&c).Elem().FieldByIndex(field.Index)
		switch value.Kind() { //nolint:exhaustive // the kinds of the fields
		case reflect.Pointer:
			value.Set(reflect.New(value.Type().Elem()))
		case reflect.Slice:
			value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		default:
			continue
		}
		if c.NamesShopDataAlone() {
			t.Errorf("%s does not count", field.Name)
		}
	}
}
