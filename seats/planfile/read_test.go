package planfile_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/seats/planfile"
)

const (
	asJSON = `{"name":"J","categories":[{"key":"c","name":"C"}],"sections":[
		{"key":"A","name":"A","category":"c","rows":[{"key":"1","seats":2}]}]}`
	asCSV    = "section,row,seat,category\nA,1,1,c\nA,1,2,c\n"
	asPretix = `{"name":"P","categories":[{"name":"c"}],"zones":[{"name":"A","rows":[{"row_number":"1","seats":[
		{"seat_guid":"A-1-1","seat_number":"1","category":"c","position":{"x":0,"y":0}},
		{"seat_guid":"A-1-2","seat_number":"2","category":"c","position":{"x":1,"y":0}}]}]}]}`
)

func TestRead_KnowsTheFormat(t *testing.T) {
	for _, c := range []struct {
		name, text string
		options    planfile.Options
		format     planfile.Format
		plan       string
	}{
		{"JSON", asJSON, planfile.Options{Name: "N"}, planfile.JSON, "J"},
		{"JSON with a byte order mark", "\ufeff" + asJSON, planfile.Options{}, planfile.JSON, "J"},
		{"pretix", " \n" + asPretix, planfile.Options{Name: "N"}, planfile.Pretix, "P"},
		{"CSV", asCSV, planfile.Options{Name: "N"}, planfile.CSV, "N"},
		{"CSV by its extension", "\ufeff" + asCSV, planfile.Options{Name: "N", Extension: ".csv"}, planfile.CSV, "N"},
		{"CSV as it is said", asCSV, planfile.Options{Name: "N", Extension: ".json", Format: planfile.CSV}, planfile.CSV, "N"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := planfile.Read([]byte(c.text), c.options)
			if err != nil || got.Format != c.format || got.Plan.Name != c.plan || got.Plan.TotalSeats() != 2 || len(got.Problems) > 0 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestRead_TellsWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		format  planfile.Format
		where   string // of the first problem
		isError bool
	}{
		"no JSON":       {"{", planfile.Auto, "", true},
		"a field":       {`{"name":"J","sections":[]}`, planfile.JSON, "categories", false},
		"a line of CSV": {"section,row,seat,category\nA,1,1,c\nA,,2,c\n", planfile.Auto, "line 3", false},
		"no CSV":        {"hello", planfile.Auto, "line 1", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := planfile.Read([]byte(c.text), planfile.Options{Format: c.format, Name: "N"})
			if (err != nil) != c.isError || !c.isError && (len(got.Problems) == 0 || got.Problems[0].Where != c.where) {
				t.Errorf("%+v, %v", got.Problems, err)
			}
		})
	}
}
