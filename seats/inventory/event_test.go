package inventory_test

import (
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
		{"more", 10, 4, 20, "", 16, 0},
		{"fewer", 10, 4, 5, "", 1, 0},
		{"as many as are taken", 10, 4, 4, "", 0, 0},
		{"fewer than are taken", 10, 4, 3, holdfast.CodeCapacityBelowTaken, 6, 0},
		{"the same", 10, 4, 10, "", 6, 0},
		{"the same, oversold", 3, 4, 3, "", 0, 1},
		{"fewer, oversold", 3, 4, 2, holdfast.CodeCapacityBelowTaken, 0, 1},
		{"more, and still too few", 2, 5, 4, holdfast.CodeCapacityBelowTaken, 0, 3},
		{"as many as are oversold", 2, 5, 5, "", 0, 0},
		{"more than are oversold", 2, 5, 6, "", 1, 0},
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
				if r.Event != s.event.Event || s.event.TotalSeats != row.to {
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
			if r := s.one(t, change(row.c)); r.Err != nil || r.Event != row.want || s.event.Event != row.want {
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
