package chaos_test

import (
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// mirrored is an event of two seats and a standing section with a map, as the checker of committed states sees it.
func mirrored(t *testing.T) (c *hallChecker, event holdfast.ID, counters availability) {
	t.Helper()
	c, event = newHallChecker(), holdfast.ID{1}
	for n, seats := range [][]string{{"A1", "A2"}, nil} {
		var rows bson.A
		for _, id := range seats {
			rows = append(rows, bson.D{{Key: "seats", Value: bson.A{bson.D{{Key: "id", Value: id}}}}})
		}
		part := bson.D{{Key: "planId", Value: holdfast.ID{2}}, {Key: "number", Value: n}, {Key: "key", Value: strconv.Itoa(n)}}
		if seats == nil {
			part = append(part, bson.E{Key: "capacity", Value: 4})
		}
		c.addPart(changeEvent{Operation: "insert", FullDocument: document(t, append(part, bson.E{Key: "rows", Value: rows}))})
	}
	c.changeEvent(event, changeEvent{Operation: "insert", FullDocument: document(t, bson.D{
		{Key: "seatingPlanId", Value: holdfast.ID{2}}, capacity(4),
		{Key: "internal", Value: bson.D{{Key: "map", Value: bson.D{{Key: "0", Value: bson.Binary{Data: []byte{0x80}}}, {Key: "1", Value: 3}}}}},
	})})
	c.event(event).locks = map[holdfast.ID]testenv.HeldSeats{{3}: {Seats: 1, SeatIDs: []string{"A1"}}, {4}: {Seats: 3, Section: "1"}}
	return c, event, availability{Total: 6, Available: 2}
}

// capacity is the field of an event with the capacity of its standing section.
func capacity(n int) bson.E {
	return bson.E{Key: "sections", Value: bson.A{bson.D{{Key: "key", Value: "1"}, {Key: "capacity", Value: n}}}}
}

func document(t *testing.T, d bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A committed state is compared with the plan and the capacities that the event has then.
func TestHallChecker_KnowsThePlanOfEachState(t *testing.T) {
	t.Parallel()
	set := func(fields ...bson.E) bson.D { return fields }
	for name, c := range map[string]struct {
		fields bson.D // that change
		total  int64
		seats  []string // of a lock
		want   string   // part of a violation; "": there is none
	}{
		"unchanged":                   {nil, 6, []string{"A1"}, ""},
		"another capacity":            {set(capacity(3)), 5, []string{"A1"}, ""},
		"a capacity and the old sum":  {set(capacity(5)), 6, []string{"A1"}, "it has 6 seats"},
		"a capacity below the locks":  {set(capacity(2)), 4, []string{"A1"}, "section 1 has 1 seats too few"},
		"a seat that the plan lacks":  {nil, 6, []string{"A1", "B1"}, "a lock has the seat B1, which the plan lacks"},
		"a seat of the map is free":   {nil, 6, []string{"A1", "A2"}, "seat A2 is in 1 locks; taken in the map: false"},
		"a map with one section more": {set(bson.E{Key: "internal.map.2", Value: 0}), 6, []string{"A1"}, "the map of 3 sections"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checker, event, counters := mirrored(t)
			change := changeEvent{Operation: "update"}
			change.Update.Fields = document(t, append(bson.D{}, c.fields...))
			checker.changeEvent(event, change)
			checker.event(event).locks[holdfast.ID{3}] = testenv.HeldSeats{Seats: int64(len(c.seats)), SeatIDs: c.seats}
			counters.Total, counters.Available = c.total, c.total-3-int64(len(c.seats))
			found := strings.Join(checker.check(event, counters), "; ")
			if (found == "") != (c.want == "") || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}
