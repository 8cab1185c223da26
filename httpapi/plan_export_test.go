package httpapi_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func (s *site) export(format, plan string) answer {
	s.t.Helper()
	return s.call("POST", "/api/admin/seating-plans/export?format="+format, plan)
}

// What is exported is converted back to the same seats, and what a format does not have is counted.
func TestExportPlan_IsConvertedBack(t *testing.T) {
	t.Parallel()
	s := open(t)
	for format, says := range map[string]string{"csv": "decorations", "pretix": "sections for general admission"} {
		a := s.want(s.export(format, givenPlan), 200, "")
		if a.text("format") != format || !strings.Contains(a.raw, says) {
			t.Errorf("%s: %s", format, a.raw)
		}
		back := s.want(s.convert("format="+format, a.text("file")), 200, "")
		if want := map[string]string{"csv": "506", "pretix": "6"}[format]; back.text("totalSeats") != want { // without the standing area
			t.Errorf("%s: %s seats, want %s", format, back.text("totalSeats"), want)
		}
		again, err := json.Marshal(back.body["plan"])
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"A-1-1", "A-1-2", "A-1-3", "A-2-1", "B-1-1"} {
			if !strings.Contains(string(again), `"`+id+`"`) {
				t.Errorf("%s: %s is not in %s", format, id, again)
			}
		}
	}
	if a := s.call("GET", plansPath, nil); !strings.Contains(a.raw, `"items":[]`) {
		t.Errorf("a plan was stored: %s", a.raw)
	}
}

// A picture has the texts of the plan as text.
func TestExportPlan_APicture(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := s.want(s.export("svg", strings.Replace(givenPlan, "Stalls left", `<script>1</script>`, 1)), 200, "")
	svg := a.text("file")
	decoder, texts := xml.NewDecoder(strings.NewReader(svg)), ""
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err, svg)
		}
		switch token := token.(type) {
		case xml.CharData:
			texts += string(token)
		case xml.StartElement:
			if token.Name.Local == "script" || token.Name.Local == "b" || token.Name.Local == "a" {
				t.Errorf("the element %s is in the picture", token.Name.Local)
			}
		}
	}
	if !strings.HasPrefix(svg, "<svg") || !strings.Contains(texts, "<b>&amp;") || !strings.Contains(texts, "<script>1</script>") {
		t.Errorf("%s", svg)
	}
	if !strings.Contains(a.raw, `"differences":[]`) || strings.Contains(svg, "https://a.example") {
		t.Errorf("%s", a.raw)
	}
}

func TestExportPlan_Refuses(t *testing.T) {
	t.Parallel()
	s := open(t)
	const invalid = "VALIDATION_FAILED"
	standing := `{"name":"P","categories":[{"key":"c","name":"C"}],"sections":[{"key":"A","name":"A","category":"c","capacity":5}]}`
	for _, c := range []struct {
		name, format, plan string
		status             int
		code, says         string
	}{
		{"a plan with a problem", "csv", strings.Replace(hallPlan, `"A-1-3"`, `"A-1-1"`, 1), 422, invalid,
			`"body.sections[0].rows[0].seats[2].id"`},
		{"no numbered seats", "pretix", standing, 422, invalid, `"query.format"`},
		{"standing in a table", "csv", standing, 200, "", "capacity"},
		{"another format", "json", hallPlan, 422, invalid, `"query.format"`},
		{"no format", "", hallPlan, 422, invalid, `"query.format"`},
		{"cut off", "svg", hallPlan[:50], 400, "MALFORMED_REQUEST", "not JSON"},
		{"too large", "svg", strings.Repeat(" ", 20_000_001), 413, "BODY_TOO_LARGE", ""},
	} {
		if a := s.want(s.export(c.format, c.plan), c.status, c.code); !strings.Contains(a.raw, c.says) {
			t.Errorf("%s: %s is not in %s", c.name, c.says, a.raw)
		}
	}
	s.want(s.call("POST", "/api/admin/seating-plans/export", hallPlan), 422, invalid)
}
