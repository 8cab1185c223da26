package planfile

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

func TestKeys_KeepValidNamesAndMakeOthers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		most        int
		names, want string
	}{
		{12, "A,B,C", "A,B,C"},
		{12, "A,A,A-2,A", "A,A-3,A-2,A-4"},
		{32, "Main Area,Main  Area,Main-Area", "Main-Area-2,Main-Area-3,Main-Area"},
		{32, "Süd-Tribüne,Çırağan,naïve", "Sued-Tribuene,Ciragan,naive"},
		{12, "-a-,_b,.c,d.", "a,b,c,d."},
		{12, ",舞台,!", "x,x-2,x-3"},
		{12, "x,舞台", "x,x-2"},
		{12, "a (1),a / 2,a.5 m", "a-1,a-2,a.5-m"},
		{12, "twelve chars long,twelve chars longer", "twelve-chars,twelve-cha-2"},
		{12, "block,stream", "block-2,stream"},
	} {
		if got := strings.Join(keysOf(strings.Split(row.names, ","), row.most, "x", "block"), ","); got != row.want {
			t.Errorf("%s: %s, want %s", row.names, got, row.want)
		}
	}
}

// Keys are valid and different, and no valid name loses its key to another name.
func TestKeys_AreValidAndDifferent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.StringMatching(`[aAbé舞 ._\-2]{0,9}`)).Draw(t, "names")
		keys := keysOf(names, 6, "seat", "a")
		seen := map[string]bool{"a": true}
		for i, key := range keys {
			if !seating.IsKey(key, 6) || seen[key] {
				t.Fatalf("%q has the key %q in %q", names[i], key, keys)
			}
			seen[key] = true
			if name := names[i]; seating.IsKey(name, 6) && name != "a" && slices.Index(names, name) == i && key != name {
				t.Fatalf("%q has the key %q", name, key)
			}
		}
	})
}

func TestKeys_OfManyEqualNamesTakeNoSeconds(t *testing.T) {
	t.Parallel()
	keys := keysOf(make([]string, holdfast.MaxPlanSeats), holdfast.MaxSeatIDLength, "seat")
	if keys[len(keys)-1] != "seat-200000" {
		t.Error(keys[len(keys)-1])
	}
}

func TestSetCategories_AtTheHighestLevelThatSaysThem(t *testing.T) {
	t.Parallel()
	row := func(categories string) (row holdfast.Row) {
		for _, c := range categories {
			if c == ' ' {
				row.Seats = append(row.Seats, nil)
			} else {
				row.Seats = append(row.Seats, &holdfast.Seat{ID: "x", Category: string(c)})
			}
		}
		return row
	}
	s := holdfast.Section{Rows: []holdfast.Row{row("aa"), row(" bb"), row("ab a"), row("ba")}}
	setCategories(&s)
	got := s.Category
	for _, row := range s.Rows {
		got += "|" + row.Category + ":"
		for _, seat := range row.Seats {
			if seat != nil {
				got += seat.Category + ","
			}
		}
	}
	if want := "a|:,,|b:,,|:,b,,|:b,,"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestParsePlace_ReadsWhatCheckSays(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]place{
		"name":                            {Field: "name"},
		"sections":                        {Field: "sections"},
		"focalPoint.x":                    {List: "focalPoint", Field: "x"},
		"categories[4].color":             {List: "categories", Index: []int{4}, Field: "color"},
		"decorations[3].points[7]":        {List: "decorations", Index: []int{3}, Field: "points[7]"},
		"decorations[3].text":             {List: "decorations", Index: []int{3}, Field: "text"},
		"sections[3].rows":                {List: "sections", Index: []int{3}, Field: "rows"},
		"sections[3].outline[7]":          {List: "sections", Index: []int{3}, Field: "outline[7]"},
		"sections[3].rows[2].seats":       {List: "sections", Index: []int{3, 2}, Field: "seats"},
		"sections[3].rows[2].seats[7].id": {List: "sections", Index: []int{3, 2, 7}, Field: "id"},
		"sections[3].rows[2].seats[7]":    {List: "sections", Index: []int{3, 2, 7}},
	} {
		if got := parsePlace(path); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestReport_CountsAndShowsTheFirst(t *testing.T) {
	t.Parallel()
	var r Report
	for _, example := range []string{"a", "b", "", "c", "d", "e", "f"} {
		r.count(Renamed, "seats", 2, example)
	}
	r.count(Dropped, "areas", 3, "")
	if len(r) != 2 || r[0].String() != "renamed: seats: 14 (a; b; c; d; e; …)" || r[1].String() != "dropped: areas: 3" {
		t.Error(r)
	}
}
