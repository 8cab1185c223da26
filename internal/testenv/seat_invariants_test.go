package testenv

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

func TestSeatViolations(t *testing.T) {
	t.Parallel()
	var rows PlanPart
	raw, err := bson.Marshal(bson.D{{Key: "key", Value: "rows"}, {Key: "rows", Value: bson.A{bson.D{
		{Key: "seats", Value: bson.A{bson.D{{Key: "id", Value: "A1"}}, nil, bson.D{{Key: "id", Value: "A2"}}, bson.D{{Key: "id", Value: "A3"}}}},
	}}}})
	if err == nil {
		err = bson.Unmarshal(raw, &rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	plans := PlanSeats{}
	plans.Add(rows)
	plans.Add(PlanPart{Section: 1, Key: "pit", Capacity: 5})
	named := func(ids ...string) HeldSeats { return HeldSeats{Seats: int64(len(ids)), SeatIDs: ids} }
	for name, c := range map[string]struct {
		bits  byte
		taken any
		locks []HeldSeats
		want  []string
	}{
		"the maps of the locks":  {0b101 << 5, int64(2), []HeldSeats{named("A1", "A3"), {Seats: 2, Section: "pit"}}, nil},
		"an int32":               {0, int32(2), []HeldSeats{{Seats: 2, Section: "pit"}}, nil},
		"seats of other plans":   {0, int64(0), []HeldSeats{named("Z1"), {Seats: 2, Section: "none"}, {Seats: 3}}, nil},
		"a seat in two locks":    {0b100 << 5, int64(0), []HeldSeats{named("A1"), named("A1")}, []string{"several locks have the seat A1"}},
		"a seat twice in a lock": {0b100 << 5, int64(0), []HeldSeats{named("A1", "A1")}, []string{"several locks have the seat A1"}},
		"a seat of no lock":      {0b010 << 5, int64(0), nil, []string{"seat A2 is in 0 locks; taken in the map: true"}},
		"a free seat of a lock":  {0, int64(0), []HeldSeats{named("A3")}, []string{"seat A3 is in 1 locks; taken in the map: false"}},
		"a count":                {0, int64(1), nil, []string{`the map has {"$numberLong":"1"} of section pit taken, its locks 0`}},
		"no count":               {0, nil, nil, []string{"section pit has no map"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := bson.D{{Key: "0", Value: bson.Binary{Data: []byte{c.bits}}}}
			if c.taken != nil {
				doc = append(doc, bson.E{Key: "1", Value: c.taken})
			}
			stored := map[string]bson.RawValue{}
			raw, err := bson.Marshal(doc)
			if err == nil {
				err = bson.Unmarshal(raw, &stored)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := SeatViolations(plans[holdfast.ID{}], stored, c.locks); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
