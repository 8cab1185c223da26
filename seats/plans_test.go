package seats_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/planfile"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// example reads one of the example plans.
func example(t testing.TB, name string) holdfast.SeatingPlan {
	t.Helper()
	text, err := os.ReadFile("planfile/examples/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	plan, problems, err := planfile.ReadJSON(text)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return plan
}

// A plan is read as it was created, written out, whole and by sections.
func TestCreate_KeepsThePlan(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for _, name := range []string{"arena", "cinema", "theatre"} {
		t.Run(name, func(t *testing.T) {
			plan := decorated(example(t, name))
			of, replayed, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{})
			if err != nil || replayed {
				t.Fatal(replayed, err)
			}
			want := seating.Expand(plan)
			want.ID, want.CreatedAt = of.ID, of.CreatedAt
			got, err := w.Plans.Get(w.Ctx(), of.ID)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("read %s\nwant %s", text(got), text(want))
			}
			hall, err := w.Plans.Hall(w.Ctx(), of.ID)
			if err != nil || hall.TotalSeats() != plan.TotalSeats() {
				t.Fatal(hall, err)
			}
		})
	}
}

// decorated adds a decoration of each kind, and views, to a plan.
func decorated(plan holdfast.SeatingPlan) holdfast.SeatingPlan {
	const unit = holdfast.Unit
	points := []holdfast.Point{{X: -unit}, {X: 35_125, Y: unit / 4}, {Y: -holdfast.MaxPlanCoordinate}}
	plan.Decorations = []holdfast.Decoration{
		{Kind: holdfast.DecorationStage, Points: points, Text: "Stage"}, {Kind: holdfast.DecorationArea, Points: points, Floor: "1"},
		{Kind: holdfast.DecorationWall, Points: points[:2]}, {Kind: holdfast.DecorationText, At: &points[1], Text: "<b>&"},
		{Kind: holdfast.DecorationIcon, At: &points[0], Icon: "lift", Text: "Up", Floor: "2"},
	}
	plan.Sections[0].ViewURL = "https://pictures.example/section.jpg"
	lastSeat(&plan).ViewURL = "https://pictures.example/seat.jpg?a=b&c"
	return plan
}

func text(plan holdfast.SeatingPlan) string {
	text, err := json.Marshal(planfile.PlanOf(plan))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// The same request with the same key gives the same plan; a plan that is written out is the same
// request.
func TestCreate_ReplaysByKey(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	plan, key := example(t, "cinema"), holdfast.CreationKey{Caller: "ops", Key: "k"}
	made, _, err := w.Plans.Create(w.Ctx(), plan, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string]holdfast.SeatingPlan{"as it was": plan, "written out": seating.Expand(plan)} {
		if again, replayed, err := w.Plans.Create(w.Ctx(), same, key); err != nil || !replayed || !reflect.DeepEqual(again, made) {
			t.Errorf("%s: %+v, replayed %v, %v", name, again, replayed, err)
		}
	}
	changes := map[string]func(*holdfast.SeatingPlan){
		"decoration": func(p *holdfast.SeatingPlan) { p.Decorations = decorated(*p).Decorations[:1] },
		"view":       func(p *holdfast.SeatingPlan) { lastSeat(p).ViewURL = "https://a/b" },
		"name":       func(p *holdfast.SeatingPlan) { p.Name = "Other" },
		"focalPoint": func(p *holdfast.SeatingPlan) { p.FocalPoint = &holdfast.Point{X: 1} },
		"category":   func(p *holdfast.SeatingPlan) { p.Categories[0].Color = "#123456" },
		"note":       func(p *holdfast.SeatingPlan) { lastSeat(p).Note = "x" },
		"position":   func(p *holdfast.SeatingPlan) { *lastSeat(p).X++ },
	}
	for name, change := range changes {
		other := seating.Expand(example(t, "cinema"))
		change(&other)
		if _, _, err := w.Plans.Create(w.Ctx(), other, key); !holdfast.HasCode(err, holdfast.CodeIdempotencyKeyReused) {
			t.Errorf("another %s: %v", name, err)
		}
		if _, replayed, err := w.Plans.Create(w.Ctx(), other, holdfast.CreationKey{Caller: "shop", Key: name}); err != nil || replayed {
			t.Errorf("another %s with another key: replayed %v, %v", name, replayed, err)
		}
	}
	if _, _, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{Key: "\xff"}); !holdfast.HasCode(err, holdfast.CodeInvalid) {
		t.Errorf("a key that is not a text: %v", err)
	}
}

func lastSeat(p *holdfast.SeatingPlan) *holdfast.Seat {
	rows := p.Sections[len(p.Sections)-1].Rows
	seats := rows[len(rows)-1].Seats
	return seats[len(seats)-1]
}

func TestCreate_RefusesAnInvalidPlan(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	plan := example(t, "cinema")
	plan.Sections[0].Rows[0].Label = strings.Repeat("x", 33)
	_, _, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{})
	var refusal *holdfast.Error
	if !errors.As(err, &refusal) || refusal.Code != holdfast.CodeInvalid {
		t.Fatal(err)
	}
	if d, _ := refusal.Details.(holdfast.Invalid); len(d) != 1 || d[0].Where != "body.sections[0].rows[0].label" {
		t.Errorf("%+v", refusal.Details)
	}
	checkCount(t, w, 0)
}

// checkCount checks that the database has as many whole plans, and no parts of others.
func checkCount(t *testing.T, w *testenv.Env, want int) {
	t.Helper()
	summaries, _, err := w.Plans.List(w.Ctx(), holdfast.Page{})
	if err != nil || len(summaries) != want {
		t.Fatalf("%d plans, want %d: %v", len(summaries), want, err)
	}
	var parents bson.A
	for _, of := range summaries {
		parents = append(parents, of.ID)
		if _, err := w.Plans.Get(w.Ctx(), of.ID); err != nil {
			t.Error(err)
		}
	}
	orphans := mongodb.Not("planId", bson.E{Key: "$in", Value: append(bson.A{mongodb.NewID()}, parents...)})
	if n, err := w.DB.Collection("seatingsections").CountDocuments(w.Ctx(), orphans); err != nil || n > 0 {
		t.Errorf("%d parts without a plan, %v", n, err)
	}
}

// UNAVAILABLE means that nothing was done, not even a part. After any failure, the same request with
// the same key makes the one plan, or finds it.
func TestCreate_IsAllOrNothingWhateverFails(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test", func(o *mongodb.Options) { o.CommitTimeout = 300 * time.Millisecond })
	plan, made := example(t, "cinema"), 0
	for name, c := range map[string]struct {
		command string
		skip    int
		failure bson.D
	}{
		"the key":          {"insert", 0, bson.D{{Key: "errorCode", Value: 11601}}},
		"the summary":      {"insert", 1, bson.D{{Key: "errorCode", Value: 11601}}},
		"the parts":        {"insert", 2, bson.D{{Key: "errorCode", Value: 11601}}},
		"no answer":        {"insert", 2, bson.D{{Key: "closeConnection", Value: true}}},
		"the commit":       {"commitTransaction", 0, bson.D{{Key: "errorCode", Value: 11601}}},
		"a commit unheard": {"commitTransaction", 0, bson.D{{Key: "closeConnection", Value: true}}},
		"a majority": {"commitTransaction", 0, bson.D{{Key: "writeConcernError", Value: bson.D{
			{Key: "code", Value: 64}, {Key: "errmsg", Value: "staged"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			key := holdfast.CreationKey{Key: name}
			off := w.FailCommands(c.command, bson.D{{Key: "skip", Value: c.skip}}, c.failure)
			ctx, cancel := context.WithTimeout(w.Ctx(), 2*time.Second)
			defer cancel()
			_, _, err := w.Plans.Create(ctx, plan, key)
			off()
			if err == nil {
				t.Fatal("nothing failed")
			}
			summaries, _, listErr := w.Plans.List(w.Ctx(), holdfast.Page{})
			exists := len(summaries) > made
			if listErr != nil || holdfast.HasCode(err, holdfast.CodeUnavailable) && exists {
				t.Errorf("answered %v; the plan exists: %v, %v", err, exists, listErr)
			}
			_, replayed, err := w.Plans.Create(w.Ctx(), plan, key)
			if err != nil || replayed != exists {
				t.Errorf("again: replayed %v, %v; the plan existed: %v", replayed, err, exists)
			}
			made++
			checkCount(t, w, made)
		})
	}
}

func TestGet_ReadsSections(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	plan := seating.Expand(example(t, "arena"))
	of, _, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	n := len(plan.Sections)
	for name, c := range map[string]struct {
		keys []string
		want []int
	}{
		"one": {[]string{plan.Sections[1].Key}, []int{1}},
		"in the plan's order, once": {
			[]string{plan.Sections[n-1].Key, plan.Sections[0].Key, plan.Sections[n-1].Key}, []int{0, n - 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := w.Plans.Get(w.Ctx(), of.ID, c.keys...)
			want := []holdfast.Section{}
			for _, i := range c.want {
				want = append(want, plan.Sections[i])
			}
			if err != nil || !reflect.DeepEqual(got.Sections, want) || got.Name != plan.Name {
				t.Errorf("%d sections of %q, %v", len(got.Sections), got.Name, err)
			}
		})
	}
	if _, err := w.Plans.Get(w.Ctx(), of.ID, plan.Sections[0].Key, "none"); !holdfast.HasCode(err, holdfast.CodeInvalid) {
		t.Errorf("an unknown section: %v", err)
	}
	for name, err := range map[string]error{
		"Get":     second(w.Plans.Get(w.Ctx(), mongodb.NewID())),
		"Summary": second(w.Plans.Summary(w.Ctx(), mongodb.NewID())),
		"Hall":    second(w.Plans.Hall(w.Ctx(), holdfast.ID{})),
	} {
		if !holdfast.HasCode(err, holdfast.CodeSeatingPlanNotFound) {
			t.Errorf("%s of no plan: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
