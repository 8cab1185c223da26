package httpapi_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

const previewPath = "/api/admin/seating-plans/preview"

// picksOf returns the picks of a preview of a plan.
func (s *site) picksOf(plan, seats string) (picks []struct {
	Seats    int
	SeatIDs  []string
	Adjacent bool
}) {
	s.t.Helper()
	a := s.want(s.call("POST", previewPath, `{"plan":`+plan+`,"seats":`+seats+`}`), 200, "")
	text, err := json.Marshal(a.body["picks"])
	if err != nil || json.Unmarshal(text, &picks) != nil || len(a.body["problems"].([]any)) > 0 {
		s.t.Fatal(a.raw, err)
	}
	return picks
}

// What a preview picks is what an event sells first.
func TestPreviewPlan_PicksWhatAnEventSellsFirst(t *testing.T) {
	t.Parallel()
	s := open(t)
	theatre, err := os.ReadFile("../seats/planfile/examples/theatre.json")
	if err != nil {
		t.Fatal(err)
	}
	user := s.user()
	for name, plan := range map[string]string{"small": hallPlan, "theatre": string(theatre)} {
		picks := s.picksOf(plan, "[1,2,3,4,5,6,7,8,12]")
		id := s.want(s.call("POST", plansPath, plan), 201, "").text("id")
		for _, pick := range picks {
			event := s.want(s.call("POST", "/api/events", fields{"name": "E", "seatingPlanId": id, "eventDate": "2030-06-15T20:00:00Z"}), 201, "")
			adjacent := map[bool]string{true: "REQUIRED", false: "PREFERRED"}[pick.Adjacent]
			a := s.lockSeats(event.text("id"), user, fields{"bestAvailable": fields{"seats": pick.Seats, "adjacent": adjacent}})
			if len(pick.SeatIDs) == 0 {
				s.want(a, 409, "SEATS_UNAVAILABLE")
				continue
			}
			var seats []string
			for _, place := range s.want(a, 201, "").body["places"].([]any) {
				seats = append(seats, place.(map[string]any)["seatId"].(string))
			}
			if !reflect.DeepEqual(seats, pick.SeatIDs) || len(seats) != pick.Seats {
				t.Errorf("%s: the preview is %+v, the event gives %v", name, pick, seats)
			}
		}
	}
}

// No pick takes an accessible seat, and a preview picks from the empty hall for each number.
func TestPreviewPlan_OfASmallHall(t *testing.T) {
	t.Parallel()
	s := open(t)
	picks := s.picksOf(hallPlan, "[6,5,6,9,12,1]")
	for i, want := range []struct {
		seats    int
		adjacent bool
	}{{6, true}, {5, true}, {6, true}, {9, false}, {0, false}, {1, true}} { // 11 seats are not accessible
		if got := picks[i]; len(got.SeatIDs) != want.seats || got.Adjacent != want.adjacent ||
			strings.Contains(strings.Join(got.SeatIDs, " "), "A-1-6") {
			t.Errorf("pick %d is %+v, want %+v", i, got, want)
		}
	}
	if !reflect.DeepEqual(picks[0], picks[2]) {
		t.Errorf("%+v, then %+v", picks[0], picks[2])
	}
	if a := s.call("GET", plansPath, nil); !strings.Contains(a.raw, `"items":[]`) {
		t.Errorf("a plan was stored: %s", a.raw)
	}
	a := s.call("POST", previewPath, `{"plan":`+hallPlan+`,"seats":[]}`)
	if a.text("totalSeats") != "22" || !strings.Contains(a.raw, `"picks":[]`) {
		t.Errorf("without seats: %s", a.raw)
	}
}

// The problems are those that POST /api/seating-plans refuses with.
func TestPreviewPlan_NamesTheProblemsOfThePlan(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, plan := range map[string]string{
		"rules":      strings.NewReplacer(`"category":"seats"`, `"category":"none"`, `"A-1-3"`, `"A-1-1"`).Replace(hallPlan),
		"form":       strings.NewReplacer(`"id":"A-1-3"`, `"id":7`, `"label":"Second"`, `"label":"Second","colour":1`).Replace(hallPlan),
		"both":       strings.NewReplacer(`"id":"A-1-3"`, `"id":7`, `"category":"seats"`, `"category":"none"`).Replace(hallPlan),
		"no plan":    `{}`,
		"many":       strings.Replace(hallPlan, `"seats":6`, `"seats":[`+strings.Repeat(`{"id":"-"},`, 300)+`null]`, 1),
		"cut":        `{"name":"P","categories":[` + strings.Repeat(`{},`, 70) + `{}],"sections":[]}`,
		"decoration": strings.Replace(hallPlan, `{"name"`, `{"decorations":[{"kind":"wall","points":[[1,2],[3]]}],"name"`, 1),
	} {
		a := s.want(s.call("POST", previewPath, `{"seats":[1],"plan":`+plan+`}`), 200, "")
		refused := s.want(s.call("POST", plansPath, plan), 422, "VALIDATION_FAILED")
		var got, want []string
		for _, p := range a.body["problems"].([]any) {
			p := p.(map[string]any)
			got = append(got, strings.TrimSuffix("body."+p["where"].(string), ".")+": "+p["what"].(string))
		}
		for _, e := range refused.body["errors"].([]any) {
			e := e.(map[string]any)
			want = append(want, e["location"].(string)+": "+e["message"].(string))
		}
		if !reflect.DeepEqual(got, want) || len(a.body["picks"].([]any)) != 0 || a.text("totalSeats") != "0" {
			t.Errorf("%s: %v\nwant %v", name, got, want)
		}
	}
}

func TestPreviewPlan_RefusesOtherRequests(t *testing.T) {
	t.Parallel()
	s := open(t)
	const invalid, malformed = "VALIDATION_FAILED", "MALFORMED_REQUEST"
	with := func(seats string) string { return `{"plan":` + hallPlan + `,"seats":` + seats + `}` }
	s.checkShapes(t, "POST", previewPath, []shapeOf{
		{"no seats", `{"plan":` + hallPlan + `}`, 422, invalid, `"body.seats"`},
		{"no plan", `{"seats":[1]}`, 422, invalid, `"body.plan"`},
		{"a plan of another type", `{"seats":[1],"plan":"x"}`, 422, invalid, `"body.plan"`},
		{"another property", `{"seats":[1],"plan":` + hallPlan + `,"x":1}`, 422, invalid, `"body.x"`},
		{"an idempotency key", strings.Replace(with("[1]"), `{"name"`, `{"idempotencyKey":"k","name"`, 1), 200, "", `"idempotencyKey"`},
		{"0", with("[2,0]"), 422, invalid, `"body.seats[1]"`},
		{"51", with("[51]"), 422, invalid, `"body.seats[0]"`},
		{"a text", with(`["1"]`), 422, invalid, `"body.seats[0]"`},
		{"too many", with("[" + strings.Repeat("1,", 50) + "1]"), 422, invalid, `"body.seats[50]"`},
		{"not a list", with("5"), 422, invalid, `"body.seats"`},
		{"a list", `[]`, 422, invalid, `"body"`},
		{"cut off", with("[1")[:100], 400, malformed, "not JSON"},
		{"nothing", ``, 400, malformed, "required"},
	})
	s.want(s.call("POST", previewPath, with("[1]"), "Content-Type", "text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE")
	s.want(s.call("POST", previewPath, strings.Repeat(" ", 20_000_001)), 413, "BODY_TOO_LARGE")
}
