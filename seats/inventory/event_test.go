package inventory_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func change(c holdfast.EventChange) inventory.ChangeEvent {
	return inventory.ChangeEvent{EventChange: c}
}

func TestChangeEvent_TheSeatsTakenStayTaken(t *testing.T) {
	for _, row := range []struct {
		name                string
		total, taken        int64
		to                  int64
		code                holdfast.Code
		available, oversold int64
	}{
		{name: "more", total: 10, taken: 4, to: 20, available: 16},
		{name: "fewer", total: 10, taken: 4, to: 5, available: 1},
		{name: "as many as are taken", total: 10, taken: 4, to: 4, available: 0},
		{name: "fewer than are taken", total: 10, taken: 4, to: 3, code: holdfast.CodeCapacityBelowTaken, available: 6},
		{name: "the same", total: 10, taken: 4, to: 10, available: 6},
		{name: "the same, oversold", total: 3, taken: 4, to: 3, available: 0, oversold: 1},
		{name: "fewer, oversold", total: 3, taken: 4, to: 2, code: holdfast.CodeCapacityBelowTaken, available: 0, oversold: 1},
		{name: "more, and still too few", total: 2, taken: 5, to: 4, code: holdfast.CodeCapacityBelowTaken, available: 0, oversold: 3},
		{name: "as many as are oversold", total: 2, taken: 5, to: 5, available: 0},
		{name: "more than are oversold", total: 2, taken: 5, to: 6, available: 1},
	} {
		for _, remember := range []bool{false, true} {
			t.Run(row.name, func(t *testing.T) {
				s := newStore(row.total).withLock(1, row.taken, "CONSUMED", begin)
				s.event.AvailableSeats, s.event.Oversold = max(0, row.total-row.taken), max(0, row.taken-row.total)
				p := &pipeline{store: s, rules: theRules, remember: remember, remembered: copyOf(s.event)}
				r := p.batch(t, change(holdfast.EventChange{TotalSeats: &row.to}))[0]
				wantCode(t, r, row.code)
				s.wantCounter(t, row.available, row.oversold)
				if row.code != "" {
					got, ok := holdfast.DetailsOf[holdfast.CapacityBelowTaken](r.Err)
					if !ok || got.Taken != row.taken || s.event.TotalSeats != row.total {
						t.Errorf("refused with %+v, the capacity is %d", got, s.event.TotalSeats)
					}
					return
				}
				if !reflect.DeepEqual(r.Event, s.event.Event) || s.event.TotalSeats != row.to {
					t.Errorf("answered %+v, stored %+v", r.Event, s.event.Event)
				}
			})
		}
	}
}

func TestChangeEvent_ACancelledEventStaysCancelled(t *testing.T) {
	statuses := []holdfast.EventStatus{holdfast.OnSale, holdfast.Closed, holdfast.Cancelled, "PLANNED"}
	for _, from := range statuses {
		for _, to := range statuses {
			t.Run(string(from+" to "+to), func(t *testing.T) {
				s := newStore(5)
				s.event.Status = from
				r := s.one(t, change(holdfast.EventChange{Status: &to}))
				if from == holdfast.Cancelled && to != from {
					wantCode(t, r, holdfast.CodeEventNotOnSale)
					to = from
				} else {
					wantCode(t, r, "")
				}
				if s.event.Status != to {
					t.Errorf("the event is %s, want %s", s.event.Status, to)
				}
			})
		}
	}
}

func TestChangeEvent_ACancelledEventsOtherFieldsCanChange(t *testing.T) {
	s := newStore(5)
	s.event.Status = holdfast.Cancelled
	wantCode(t, s.one(t, change(holdfast.EventChange{Name: pointer("Called off")})), "")
	if s.event.Name != "Called off" {
		t.Errorf("the event is %+v", s.event.Event)
	}
}

func TestChangeEvent_ChangesFieldsThatAreNotNil(t *testing.T) {
	all := holdfast.EventChange{
		Name: pointer("New"), TotalSeats: pointer(int64(8)), EventDate: pointer(in(time.Hour)),
		Status: pointer(holdfast.Closed), MaxSeatsPerUser: pointer(int64(3)),
	}
	want := newStore(8).event.Event
	want.Name, want.EventDate, want.Status, want.MaxSeatsPerUser = "New", in(time.Hour), holdfast.Closed, 3
	for _, row := range []struct {
		name string
		c    holdfast.EventChange
		want holdfast.Event
	}{
		{"nothing", holdfast.EventChange{}, newStore(5).event.Event},
		{"everything", all, want},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5)
			if r := s.one(t, change(row.c)); r.Err != nil || !reflect.DeepEqual(r.Event, row.want) || !reflect.DeepEqual(s.event.Event, row.want) {
				t.Errorf("answered %+v, %v, stored %+v", r.Event, r.Err, s.event.Event)
			}
			if s.event.Revision != 1 {
				t.Errorf("the revision is %d, want 1", s.event.Revision)
			}
		})
	}
}

func TestChangeEvent_AppliesToLaterCommandsOfTheBatch(t *testing.T) {
	closed, limit, more := holdfast.Closed, int64(1), int64(9)
	for _, row := range []struct {
		name  string
		batch []inventory.Command
		want  []holdfast.Code
	}{
		{"closed", []inventory.Command{acquire(1, 1), change(holdfast.EventChange{Status: &closed}), acquire(2, 1)},
			[]holdfast.Code{"", "", holdfast.CodeEventNotOnSale}},
		{"limited", []inventory.Command{acquire(1, 2), change(holdfast.EventChange{MaxSeatsPerUser: &limit}), acquire(2, 1)},
			[]holdfast.Code{"", "", holdfast.CodeSeatLimitReached}},
		{"enlarged", []inventory.Command{acquire(1, 6), change(holdfast.EventChange{TotalSeats: &more}), acquire(2, 9)},
			[]holdfast.Code{holdfast.CodeSeatsUnavailable, "", ""}},
		{"several changes", []inventory.Command{
			change(holdfast.EventChange{Name: pointer("A"), TotalSeats: &more}), change(holdfast.EventChange{Name: pointer("B")}), acquire(2, 9),
		}, []holdfast.Code{"", "", ""}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5)
			p := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event)}
			results := p.batch(t, row.batch...)
			for i, r := range results {
				wantCode(t, r, row.want[i])
			}
			if row.name == "limited" && s.event.MaxSeatsPerUser != 1 || row.name == "several changes" && s.event.Name != "B" {
				t.Errorf("the event is %+v", s.event.Event)
			}
		})
	}
}

// What a user acquired before a limit in the same batch counts for it.
func TestChangeEvent_ALimitCountsWhatTheBatchAcquiredBefore(t *testing.T) {
	s, limit := newStore(9), int64(3)
	p := &pipeline{store: s, rules: theRules}
	results := p.batch(t, acquire(1, 2), change(holdfast.EventChange{MaxSeatsPerUser: &limit}), acquire(2, 2))
	wantCode(t, results[2], holdfast.CodeSeatLimitReached)
}
