package seats_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A plan whose seats were damaged fails as a whole: it is never read with fewer seats.
func TestGet_FailsOnDamage(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	rows := []holdfast.Row{{Key: "1", Count: 3}, {Key: "2", Count: 2}}
	plan := holdfast.SeatingPlan{Name: "P", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{
		{Key: "A", Name: "A", Category: "c", Rows: rows}, {Key: "B", Name: "B", Category: "c", Rows: rows},
	}}
	section := plan.Sections[0]
	set := func(field string, value any) func(bson.D) error {
		return func(filter bson.D) error {
			_, err := w.DB.Collection("seatingsections").UpdateOne(w.Ctx(), filter, bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: value}}}})
			return err
		}
	}
	for name, damage := range map[string]func(filter bson.D) error{
		"no part": func(filter bson.D) error {
			_, err := w.DB.Collection("seatingsections").DeleteOne(w.Ctx(), filter)
			return err
		},
		"another part's number": set("part", 1), "another key": set("key", "X"), "no rows": set("rows", bson.A{}),
		"a row of text": set("rows.0", "x"), "a seat of text": set("rows.0.seats.0", "x"),
		"a gap in place of a seat": set("rows.0.seats.0", nil), "a label that is a number": set("rows.0.label", 5),
		"a position that is a text": set("rows.0.seats.0.x", "1"), "a doubled ID": set("rows.0.seats.0.id", "A-1-2"),
		"a category that the plan does not have": set("rows.0.seats.0.category", "none"),
	} {
		t.Run(name, func(t *testing.T) {
			of, _, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{})
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(bson.D{{Key: "planId", Value: of.ID}, {Key: "key", Value: section.Key}}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Plans.Hall(w.Ctx(), of.ID); !holdfast.HasCode(err, holdfast.CodeUnavailable) {
				t.Errorf("the hall: %v", err)
			}
		})
	}
	t.Run("whole numbers of another type", func(t *testing.T) { // as a restored backup may have them
		of, _, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{})
		if err != nil {
			t.Fatal(err)
		}
		filter := bson.D{{Key: "planId", Value: of.ID}, {Key: "key", Value: section.Key}}
		for field, value := range map[string]any{"number": 0.0, "part": int32(0), "rows.0.seats.0.x": int32(3), "rows.0.seats.0.y": int64(4)} {
			if err := set(field, value)(filter); err != nil {
				t.Fatal(err)
			}
		}
		got, err := w.Plans.Get(w.Ctx(), of.ID)
		if err != nil {
			t.Fatal(err)
		}
		if seat := got.Sections[0].Rows[0].Seats[0]; *seat.X != 3*holdfast.Unit || *seat.Y != 4*holdfast.Unit {
			t.Errorf("at %d, %d", *seat.X, *seat.Y)
		}
	})
}

// A damaged decoration is not drawn elsewhere.
func TestGet_FailsOnADamagedDecoration(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	plan := decorated(example(t, "cinema"))
	for name, damaged := range map[string]any{
		"three numbers": bson.A{1.0, 2.0, 3.0}, "no numbers": bson.A{}, "a text": bson.A{"1", 2.0}, "no list": 7.0, "an object": bson.D{},
	} {
		t.Run(name, func(t *testing.T) {
			of, _, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{})
			if err != nil {
				t.Fatal(err)
			}
			w.ChangeUnchecked("seatingplans", of.ID, bson.D{{Key: "$set", Value: bson.D{{Key: "decorations.0.points.1", Value: damaged}}}})
			if _, err := w.Plans.Get(w.Ctx(), of.ID); err == nil {
				t.Error("the plan is read")
			}
		})
	}
}
