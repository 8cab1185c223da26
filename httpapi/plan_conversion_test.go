package httpapi_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func (s *site) convert(query, text string) answer {
	s.t.Helper()
	return s.call("POST", "/api/admin/seating-plans/convert?"+query, text, "Content-Type", "application/octet-stream")
}

// What is answered for a file of each format can be created as it is.
func TestConvertPlan_AnswersWhatCanBeCreated(t *testing.T) {
	t.Parallel()
	s := open(t)
	chamber, err := os.ReadFile("../seats/planfile/testdata/chamber.json")
	if err != nil {
		t.Fatal(err)
	}
	const table = "section,row,seat,category,mood\nA,1,1,Best,good\nA,1,2,Best,bad\n"
	for _, c := range []struct{ query, text, format, name, says string }{
		{"", hallPlan, "json", "Small hall", `"differences":[]`},
		{"format=json&name=%20Other%20", hallPlan, "json", "Other", `"differences":[]`},
		{"", table, "csv", "Seating plan", `"kind":"dropped"`},
		{"name=Hall&format=csv", table, "csv", "Hall", `unknown column \"mood\"`},
		{"", string(chamber), "pretix", "", `"kind":"guessed"`},
		{"asListed=true&name=Chamber", string(chamber), "pretix", "Chamber", `"kind":"dropped"`},
	} {
		t.Run(c.query+" "+c.format, func(t *testing.T) {
			s := s.in(t)
			a := s.want(s.convert(c.query, c.text), 200, "")
			plan, _ := a.body["plan"].(map[string]any)
			if a.text("format") != c.format || c.name != "" && plan["name"] != c.name || !strings.Contains(a.raw, c.says) {
				t.Errorf("%.600s", a.raw)
			}
			text, err := json.Marshal(plan)
			if err != nil {
				t.Fatal(err)
			}
			created := s.want(s.call("POST", "/api/seating-plans", string(text)), 201, "")
			if created.text("totalSeats") != a.text("totalSeats") {
				t.Errorf("%s seats were created of %s", created.text("totalSeats"), a.text("totalSeats"))
			}
		})
	}
}

func TestConvertPlan_NamesThePlacesOfProblems(t *testing.T) {
	t.Parallel()
	s := open(t)
	const invalid = "VALIDATION_FAILED"
	for _, c := range []struct {
		name, query, text string
		status            int
		code, says        string
	}{
		{"JSON", "", strings.Replace(hallPlan, `"category":"seats"`, `"category":"none"`, 1), 422, invalid, `"body.sections[0].category"`},
		{"pretix", "", `{"name":"P","categories":[],"zones":[{"name":"A","rows":[{"seats":[{}]}]}]}`, 422, invalid, `"body.zones[0].`},
		{"CSV", "", "section,row,seat,category\nA,1,1,c\nA,,2,c\n", 422, invalid, `"location":"line 3"`},
		{"not of the format", "format=json", "section,row\n", 400, "MALFORMED_REQUEST", "body"},
		{"no body", "", "", 400, "MALFORMED_REQUEST", "required"},
		{"another format", "format=xml", hallPlan, 422, invalid, "query.format"},
		{"a name with a line break", "name=a%0Ab", hallPlan, 422, invalid, "query.name"},
		{"too large", "", strings.Repeat(" ", 20_000_001), 413, "BODY_TOO_LARGE", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := s.in(t)
			if a := s.want(s.convert(c.query, c.text), c.status, c.code); !strings.Contains(a.raw, c.says) {
				t.Errorf("%s is not in %s", c.says, a.raw)
			}
		})
	}
	if a := s.call("GET", "/api/seating-plans", nil); !strings.Contains(a.raw, `"items":[]`) {
		t.Errorf("a plan was stored: %s", a.raw)
	}
}

// What a file lacks is a parameter, and no hint names a flag of seatctl.
func TestConvertPlan_TakesParametersForWhatAFileLacks(t *testing.T) {
	t.Parallel()
	s := open(t)
	seat := func(id, x, y string) string {
		return `{"seat_guid":"` + id + `","seat_number":"1","category":"","position":{"x":` + x + `,"y":` + y + `},"wheelchair":true}`
	}
	bench := `{"name":"Bench","categories":[],"zones":[{"name":"Main, left","rows":[{"row_number":"1","seats":[` +
		strings.Join([]string{seat("a", "0", "0"), seat("b", "60", "0"), seat("c", "0", "25"), seat("d", "60", "25")}, ",") + `]}]}]}`
	const invalid = "VALIDATION_FAILED"
	for _, c := range []struct {
		query, text string
		status      int
		code, says  string
	}{
		{"", bench, 422, invalid, `"location":"query.category"`},
		{"category=c", bench, 200, "", `"option":"accessible"`},
		{"category=c", bench, 200, "", "become a row for each"},
		{"category=c&accessible=wheelchair", bench, 200, "", `"accessible":true`},
		{"category=c&accessible=weelchair", bench, 422, invalid, `"location":"query.accessible"`},
		{"category=c&adjacency=Main,%20left/1%3DALL", bench, 200, "", `"adjacency":"ALL"`},
		{"category=c&adjacency=Main,%20left%3DNONE&adjacency=Main-left/1%3DALL", bench, 200, "", `"adjacency":"ALL"`},
		{"category=c&adjacency=Nowhere%3DALL", bench, 422, invalid, `"location":"query.adjacency"`},
		{"category=c&adjacency=ALL", bench, 422, invalid, `"message":"Value 1 must be such as Main=ALL`},
		{"", "zone,row,start,end\nHall,1,1,25\n", 422, invalid, `"location":"query.category"`},
		{"category=c", "zone,row,start,end\nHall,1,1,25\n", 200, "", `"totalSeats":25`},
	} {
		t.Run(c.query, func(t *testing.T) {
			s := s.in(t)
			if a := s.want(s.convert(c.query, c.text), c.status, c.code); !strings.Contains(a.raw, c.says) || strings.Contains(a.raw, "--") {
				t.Errorf("%s is not in %s", c.says, a.raw)
			}
		})
	}
}
