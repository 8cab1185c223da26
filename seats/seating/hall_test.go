package seating_test

import (
	"reflect"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

func TestExpand_WritesOutWhatIsAbsent(t *testing.T) {
	t.Parallel()
	const unit = holdfast.Unit
	plan := hall()
	plan.Sections[0].Rows[0].Category = "standing"
	plan.Sections[0].Rows[0].Seats[0].Label = "1a"
	plan.Sections[0].Rows[0].Seats[0].X = new(7 * unit)
	plan.Sections[0].Rows[0].Seats[2].Category = "stalls"
	plan.Sections[0].Rows[1].Count = 2
	got := seating.Expand(plan).Sections
	want := []holdfast.Row{
		{Key: "1", Label: "1", Category: "standing", Adjacency: holdfast.AdjacencyLine, Seats: []*holdfast.Seat{
			{ID: "A-1-1", Label: "1a", Category: "standing", X: new(7 * unit), Y: new(0 * unit)}, nil,
			{ID: "A-1-2", Label: "3", Category: "stalls", X: new(3 * unit), Y: new(0 * unit), Accessible: true},
		}},
		{Key: "2", Label: "2", Category: "stalls", Adjacency: holdfast.AdjacencyLine, Seats: []*holdfast.Seat{
			{ID: "A-2-1", Label: "1", Category: "stalls", X: new(unit), Y: new(unit)},
			{ID: "A-2-2", Label: "2", Category: "stalls", X: new(2 * unit), Y: new(unit)},
		}},
	}
	if !reflect.DeepEqual(got[0].Rows, want) {
		t.Errorf("%+v", got[0].Rows)
	}
	if got[1].Rows != nil || !reflect.DeepEqual(got[1], plan.Sections[1]) {
		t.Errorf("general admission is %+v", got[1])
	}
	if plan.Sections[0].Rows[1].Count != 2 || plan.Sections[0].Rows[0].Label != "" || plan.Sections[0].Rows[0].Seats[2].X != nil {
		t.Error("the plan itself was changed")
	}
}

func TestHall_HasWhatThePlanSays(t *testing.T) {
	t.Parallel()
	h := newHall(t, hall())
	if n := hall().TotalSeats(); n != 542 || seating.Expand(hall()).TotalSeats() != n {
		t.Error("the plan has ", n)
	}
	if h.TotalSeats() != 542 || h.NumberedSeats() != 42 || !h.HasFocalPoint() {
		t.Error(h.TotalSeats(), h.NumberedSeats(), h.HasFocalPoint())
	}
	if n, ok := h.FindSection("pit"); !ok || n != 1 || !h.Sections()[n].GeneralAdmission() {
		t.Error("the pit is section ", n, ok)
	}
	if n, ok := h.FindCategory("standing"); !ok || n != 1 {
		t.Error("standing is category ", n, ok)
	}
	_, isSeat := h.Find("A-1-3")
	_, isSection := h.FindSection("a")
	_, isCategory := h.FindCategory("")
	if isSeat || isSection || isCategory {
		t.Error("found what the plan does not have")
	}
	s := h.Sections()[0]
	segments := []seating.Segment{{Row: 0, First: 0, End: 1}, {Row: 0, First: 1, End: 2}, {Row: 1, First: 2, End: 42}}
	if !reflect.DeepEqual(s.Segments, segments) {
		t.Error(s.Segments)
	}
	if r := s.Rows[1]; r.First != 2 || r.End != 42 || r.FirstSegment != 2 || r.EndSegment != 3 || r.Places != 40 || r.Key != "2" {
		t.Errorf("%+v", r)
	}
	parts := []seating.Part{{Seats: 41}, {Accessible: true, Seats: 1}, {Section: 1, Category: 1, Seats: 500}}
	if !reflect.DeepEqual(h.Parts(), parts) || !reflect.DeepEqual(s.Parts, []int{0, 1}) {
		t.Error(h.Parts(), s.Parts)
	}
	p := find(t, h, "A-2-2")
	if seat := h.Seat(p); seat.Distance != (48_000*48_000+1_000*1_000) || seat.Position != 2 || h.Row(p).Key != "2" {
		t.Errorf("%+v", seat)
	}
}

// Without a focal point, distances are from the middle of the row: of its seats and its gaps.
func TestHall_DistancesFromTheMiddleOfTheRow(t *testing.T) {
	t.Parallel()
	p := hall()
	p.FocalPoint = nil
	p.Sections[0].Rows[0].Seats = append([]*holdfast.Seat{nil}, p.Sections[0].Rows[0].Seats...) // gap, seat, gap, seat
	h := newHall(t, p)
	for id, want := range map[string]int64{"A-1-1": 1, "A-1-2": 3, "A-2-1": 39, "A-2-20": 1, "A-2-21": 1, "A-2-40": 39} {
		if got := h.Seat(find(t, h, id)).Distance; got != want {
			t.Errorf("%s: %d", id, got)
		}
	}
}

// The squared distances of as many seats as a request can have are summed without overflow.
func TestHall_DistancesOfOneRequestFit(t *testing.T) {
	t.Parallel()
	p := hall()
	p.FocalPoint = &holdfast.Point{X: holdfast.MaxPlanCoordinate, Y: -holdfast.MaxPlanCoordinate}
	seat := p.Sections[0].Rows[0].Seats[0]
	seat.X, seat.Y = new(-holdfast.MaxPlanCoordinate), new(holdfast.MaxPlanCoordinate)
	h := newHall(t, p)
	sum := int64(0)
	for range holdfast.MaxNamedSeats {
		if sum += h.Seat(find(t, h, seat.ID)).Distance; sum <= 0 {
			t.Fatal("overflow")
		}
	}
}

// What was found before a seat makes finding it faster and changes nothing.
func TestHall_FindsASeatAfterAnyOther(t *testing.T) {
	t.Parallel()
	h := newHall(t, hall())
	for section, s := range h.Sections() {
		for seat := range max(1, len(s.Seats)) {
			before := seating.Place{Section: section, Seat: seat}
			for _, id := range []string{"A-1-1", "A-1-2", "A-2-1", "A-2-40", "", "pit", "A-1-3"} {
				want, exists := h.Find(id)
				if got, found := h.FindAfter(before, []byte(id)); got != want || found != exists {
					t.Errorf("%s after %v is at %v, %t; want %v, %t", id, before, got, found, want, exists)
				}
			}
		}
	}
}
