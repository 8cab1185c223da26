package planfile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// straight is n seats from a place, each a step further.
func straight(n int, x, y, dx, dy float64) (at [][2]float64) {
	for i := range n {
		at = append(at, [2]float64{x + float64(i)*dx, y + float64(i)*dy})
	}
	return at
}

// arc is n seats on a circle, in degrees.
func arc(n int, radius, from, to float64) (at [][2]float64) {
	for i := range n {
		sin, cos := math.Sincos((from + (to-from)*float64(i)/float64(n-1)) * math.Pi / 180)
		at = append(at, [2]float64{radius * cos, radius * sin})
	}
	return at
}

// zigzag lists two sides by turns.
func zigzag(a, b [][2]float64) (at [][2]float64) {
	for i := range a {
		at = append(at, a[i])
		if i < len(b) {
			at = append(at, b[i])
		}
	}
	return at
}

func reversed(at [][2]float64) [][2]float64 {
	at = slices.Clone(at)
	slices.Reverse(at)
	return at
}

func turned(at [][2]float64, degrees float64) (all [][2]float64) {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	for _, p := range at {
		all = append(all, [2]float64{p[0]*cos - p[1]*sin, p[0]*sin + p[1]*cos})
	}
	return all
}

func join(parts ...[][2]float64) [][2]float64 { return slices.Concat(parts...) }

// mixed puts seats in a random order, always the same one.
func mixed(at [][2]float64) [][2]float64 {
	at = slices.Clone(at)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
	return at
}

// shapeFound is how the rows of a source are arranged in a plan with ordinary rows of 25 apart: the number of seats of
// each row, whether neighbours stand next to each other, and the adjacency.
func shapeFound(t *testing.T, at [][2]float64) string {
	t.Helper()
	rows := []string{rowOf("T", at...)}
	for i := range 3 {
		rows = append(rows, rowOf(fmt.Sprint("R", i), straight(12, 5000, float64(i)*40, 25, 0)...))
	}
	plan, report := readZone(t, strings.Join(rows, ","), Options{})
	var found []string
	for _, row := range plan.Sections[0].Rows {
		if strings.HasPrefix(row.Key, "R") {
			if got := order(row); got != "012345678910 11" && got != "0123456789 10 11" || row.Adjacency != "" {
				t.Errorf("an ordinary row has become %s", got)
			}
			continue
		}
		text, usual := "", 0.0
		var last *holdfast.Seat
		n := 0
		for _, seat := range row.Seats {
			if seat == nil {
				text += fmt.Sprint(n, "|")
				n, last = 0, nil
				continue
			}
			if last != nil {
				usual = max(usual, math.Hypot(number(*seat.X-*last.X), number(*seat.Y-*last.Y)))
			}
			n, last = n+1, seat
		}
		text += fmt.Sprint(n)
		if row.Adjacency != "" {
			text += "=" + string(row.Adjacency)
		} else if usual > 42 {
			text += " scattered"
		}
		found = append(found, text)
	}
	if text := fmt.Sprint(report); strings.Contains(text, "another order") {
		found = append(found, "sorted")
	}
	return strings.Join(found, ", ")
}

func TestRead_FindsWhichSeatsAreNeighbours(t *testing.T) {
	t.Parallel()
	const d = 25
	heads := join(straight(4, 0, 0, d, 0), straight(1, 105, 30, 0, 0), straight(4, 75, 60, -d, 0), straight(1, -30, 30, 0, 0))
	aisle := join(straight(10, 0, 0, d, 0), straight(10, 300, 0, d, 0))
	swap := straight(10, 0, 0, d, 0)
	swap[3], swap[4] = swap[4], swap[3]
	long := straight(100, 0, 0, d, 0)
	long[60], long[61] = long[61], long[60]
	for name, c := range map[string]struct {
		at   [][2]float64
		want string
	}{
		"a bench, by turns":               {zigzag(straight(4, 0, 0, 0, d), straight(4, 60, 0, 0, d)), "4, 4"},
		"a bench, one side longer":        {zigzag(straight(4, 0, 0, 0, d), straight(3, 60, 0, 0, d)), "4, 3"},
		"a bench, sides staggered":        {zigzag(straight(4, 0, 0, 0, d), straight(4, 60, d/2, 0, d)), "4, 4"},
		"a bench, turned":                 {turned(zigzag(straight(4, 0, 0, 0, d), straight(4, 60, 0, 0, d)), 33), "4, 4"},
		"a bench, mixed":                  {mixed(join(straight(4, 0, 0, 0, d), straight(4, 60, 0, 0, d))), "4, 4, sorted"},
		"a bench of two and two":          {zigzag(straight(2, 0, 0, 0, d), straight(2, 60, 0, 0, d)), "2, 2"},
		"a long bench, by turns":          {zigzag(straight(30, 0, 0, d, 0), straight(30, 0, 45, d, 0)), "30, 30"},
		"a ring of ten":                   {arc(11, 45, 0, 360)[:10], "10=ALL"},
		"a ring of ten, mixed":            {mixed(arc(11, 45, 0, 360)[:10]), "10=ALL"},
		"a ring of four":                  {arc(5, 30, 0, 360)[:4], "4=ALL"},
		"a table with two heads":          {heads, "10=ALL"},
		"a square":                        {zigzag(straight(2, 0, 0, 0, d), straight(2, d, 0, 0, d)), "4=ALL"},
		"doubled back":                    {join(straight(30, 0, 0, d, 0), reversed(straight(30, 0, 32, d, 0))), "30, 30"},
		"doubled back, twice":             {join(straight(9, 0, 0, d, 0), straight(9, 200, 32, -d, 0), straight(9, 0, 64, d, 0)), "9, 9, 9"},
		"doubled back, from the start":    {join(straight(30, 0, 0, d, 0), straight(30, 0, 32, d, 0)), "30, 30"},
		"doubled back, on an arc":         {join(arc(40, 700, 45, 135), reversed(arc(42, 735, 45, 135))), "40, 42"},
		"doubled back, with aisles":       {join(aisle, straight(10, 525, 30, -d, 0), straight(10, 225, 30, -d, 0)), "10|10, 10|10"},
		"of 201 to 500 seats":             {straight(320, 0, 0, d, 0), "320"},
		"of 500, on an arc":               {arc(500, 8000, 50, 130), "500"},
		"of 500, doubled back":            {join(straight(250, 0, 0, d, 0), reversed(straight(250, 0, 32, d, 0))), "250, 250"},
		"of 400, by turns":                {zigzag(straight(200, 0, 0, d, 0), straight(200, 0, 60, d, 0)), "200, 200"},
		"two swapped neighbours":          {swap, "10, sorted"},
		"two swapped neighbours of 100":   {long, "100, sorted"},
		"an arc, mixed":                   {mixed(arc(30, 500, 60, 120)), "30, sorted"},
		"an arc":                          {arc(30, 500, 60, 120), "30"},
		"a half circle":                   {arc(40, 320, 0, 180), "40"},
		"a horseshoe":                     {arc(16, 100, 0, 240), "16"},
		"a ring of 200":                   {arc(201, 800, 0, 360)[:200], "200"},
		"a staggered row":                 {zigzag(straight(10, 0, 0, 2*d, 0), straight(10, d, 10, 2*d, 0)), "20"},
		"a step in a row":                 {join(straight(10, 0, 0, d, 0), straight(10, 10*d, 20, d, 0)), "20"},
		"four bays at the corners":        {[][2]float64{{0, 0}, {800, 10}, {0, 600}, {805, 590}}, "2|2 scattered, sorted"},
		"four bays, as a diamond":         {[][2]float64{{400, 0}, {800, 300}, {400, 600}, {0, 300}}, "4 scattered"},
		"six bays on a circle":            {arc(7, 500, 0, 360)[:6], "6 scattered"},
		"bays on a straight line, mixed":  {[][2]float64{{0, 0}, {600, 0}, {200, 0}, {400, 0}}, "4 scattered, sorted"},
		"a companion behind":              {join(straight(1, 0, 0, 0, 0), straight(1, 0, d, 0, 0), straight(8, d, 0, d, 0)), "10"},
		"a companion behind, listed last": {join(straight(9, 0, 0, d, 0), straight(1, 0, d, 0, 0)), "10, sorted"},
		"two companions behind":           {join(straight(6, 0, 0, d, 0), straight(2, 2*d, d, d, 0)), "8, sorted"},
		"companions behind all bays":      {zigzag(straight(4, 0, 0, 2*d, 0), straight(4, 0, d, 2*d, 0)), "2|2|2|2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := shapeFound(t, c.at); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A table of CSV has rows with gaps and an order of their own: only rows that can't stand so are arranged.
func TestRead_ArrangesRowsOfCSV(t *testing.T) {
	t.Parallel()
	table := func(adjacency string, at [][2]float64) string {
		text := "section,row,seat,category,x,y,adjacency\n"
		for i, p := range at {
			text += fmt.Sprintf("S,1,%d,c,%g,%g,%s\n", i, p[0], p[1], adjacency)
		}
		return text
	}
	bench := zigzag(straight(4, 0, 0, 0, 25), straight(4, 60, 0, 0, 25))
	for name, c := range map[string]struct {
		text, want string
		listed     bool
	}{
		"a bench":                {text: table("", bench), want: "0246/1357"},
		"a bench, as listed":     {text: table("", bench), want: "01234567", listed: true},
		"a bench that is a LINE": {text: table("LINE", bench), want: "01234567=LINE"},
		"a bench with a gap":     {text: table("", bench) + "S,1,,,,,\nS,1,8,c,0,99,\n", want: "01234567|8"},
		"no positions":           {text: strings.ReplaceAll(table("", bench), "60,", ","), want: "01234567"},
		"a ring":                 {text: table("", arc(9, 40, 0, 360)[:8]), want: "01234567=ALL"},
		"an aisle":               {text: table("", join(straight(3, 0, 0, 1, 0), straight(3, 9, 0, 1, 0))), want: "012345"},
		"odd numbers, then even": {text: table("", xs(-1, -2, -3, 1, 2, 3)), want: "210|345"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, _ := readAll(t, []byte(c.text), Options{Name: "file", AsListed: c.listed})
			if got := orders(plan.Sections[0].Rows); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			again, report := WriteCSV(plan)
			if same, _ := readAll(t, again, Options{Name: "file"}); describe(same) != describe(plan) || len(report) > 0 {
				t.Errorf("%s is %s", again, describe(same))
			}
		})
	}
}

// Seats keep their IDs, and rows get keys that the plan does not have.
func TestRead_KeepsIDsAndKeysOfRowsThatAreSplit(t *testing.T) {
	t.Parallel()
	bench := zigzag(straight(3, 0, 0, 0, 25), straight(3, 60, 0, 0, 25))
	rows := []string{rowOf("1", bench...), rowOf("1-2", xs(0, 25, 50)...), rowOf("1", straight(2, 0, 900, 25, 0)...)}
	plan, report := readZone(t, strings.Join(rows, ","), Options{})
	var got []string
	for _, row := range plan.Sections[0].Rows {
		got = append(got, row.Key+" "+row.Label+" "+row.Seats[0].ID)
	}
	const want = "1  10, 1-4 1 11, 1-2  1-20, 1-3 1 10-2"
	if text := strings.Join(got, ", "); text != want || !strings.Contains(fmt.Sprint(report), "for each: 1 (Z/1)") {
		t.Error(text, report)
	}
}

// Whatever the positions, no seat is lost, and the plan is valid.
func TestRead_ArrangesAnyRow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		grid := float64(rapid.SampledFrom([]int{1, 10, 1000}).Draw(r, "grid"))
		coordinate := rapid.Custom(func(r *rapid.T) float64 { return grid * float64(rapid.IntRange(-6, 6).Draw(r, "n")) })
		at := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) [2]float64 {
			return [2]float64{coordinate.Draw(r, "x"), coordinate.Draw(r, "y")}
		}), 1, 40).Draw(r, "at")
		plan, _ := readZone(t, rowOf("A", at...)+","+rowOf("B", xs(0, 10, 20)...), Options{})
		seen := map[string]bool{}
		for _, row := range plan.Sections[0].Rows {
			for _, seat := range row.Seats {
				if seat != nil {
					seen[seat.ID] = true
				}
			}
		}
		if problems := seating.Check(plan); len(problems) > 0 || len(seen) != len(at)+3 {
			r.Fatal(problems, len(seen), len(at))
		}
	})
}

// A row has at most 500 seats, and work in it grows with their number: this takes no minutes.
func TestRead_ALargeTableOfRowsInAnyOrder(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("section,row,seat,category,x,y\n")
	at := [][][2]float64{
		mixed(straight(500, 0, 0, 25, 0)), mixed(arc(500, 4000, 0, 90)), zigzag(straight(250, 0, 0, 25, 0), straight(250, 0, 60, 25, 0)),
		mixed(join(straight(250, 0, 0, 25, 0), straight(250, 0, 30, 25, 0))), make([][2]float64, 500),
	}
	for n := range holdfast.MaxPlanSeats {
		row := n / 500
		p := at[row%len(at)][n%500]
		fmt.Fprintf(&b, "%d,%d,%d,c,%g,%g\n", n/holdfast.MaxSectionSeats, row, n%500, p[0], p[1])
	}
	plan, report := readAll(t, []byte(b.String()), Options{Name: "file"})
	if plan.TotalSeats() != holdfast.MaxPlanSeats || !strings.Contains(fmt.Sprint(report), "for each: 160") {
		t.Error(plan.TotalSeats(), report)
	}
}
