package seatctl

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// drawSections draws a section of rows, in which locks have seats.
func drawSections(t *testing.T, out terminal, rows []holdfast.Row, locks ...holdfast.Lock) string {
	t.Helper()
	hall, err := seating.NewHall(holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}},
		Sections: []holdfast.Section{{Key: "A", Name: "A", Category: "c", Rows: rows}},
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range locks {
		locks[i].ID, locks[i].Seats = ids.New(), int64(len(locks[i].SeatIDs))
		locks[i].ExpiresAt = now.Add(time.Hour)
	}
	m := newSeatMap(newHoldings(store.SeatLocks{Free: seating.NewOccupancy(hall), Locks: locks, Now: now}), out)
	m.section(0)
	m.legend()
	return m.text.String()
}

func lockOf(status holdfast.LockStatus, seatIDs ...string) holdfast.Lock {
	return holdfast.Lock{Status: status, SeatIDs: seatIDs}
}

func seatOf(id string) *holdfast.Seat { return &holdfast.Seat{ID: id} }

// seatMaps are sections with their maps, line by line.
var seatMaps = map[string]struct {
	out   terminal
	rows  []holdfast.Row
	locks []holdfast.Lock
	want  []string
}{
	"gaps": {
		rows: []holdfast.Row{
			{Key: "1", Seats: []*holdfast.Seat{nil, seatOf("a"), nil, nil, seatOf("b"), seatOf("c"), nil}},
			{Key: "2", Label: "Row 2", Count: 9},
		},
		locks: []holdfast.Lock{lockOf(holdfast.LockConsumed, "b", "A-2-1"), lockOf(holdfast.LockBlocked, "A-2-9")},
		want: []string{
			"Section A: 9 of 12 seats available",
			"      1   .  #.",
			"  Row 2  #.......x",
			"",
			". 9 available   o 0 held   d 0 held, due   # 2 sold   x 1 blocked",
		},
	},
	"one seat": {
		rows: []holdfast.Row{{Key: "1", Count: 1}},
		want: []string{
			"Section A: 1 of 1 seat available",
			"  1  .",
			"",
			". 1 available   o 0 held   d 0 held, due   # 0 sold   x 0 blocked",
		},
	},
	"wider than the terminal": {
		out: terminal{is: true, width: 16}, rows: []holdfast.Row{{Key: "1", Count: 25}, {Key: "2", Count: 3}},
		locks: []holdfast.Lock{lockOf(holdfast.LockActive, "A-1-11", "A-1-12", "A-1-25")},
		want: []string{
			"Section A: 25 of 28 seats available",
			"  1  ..........o",
			"  +  o..........",
			"  +  ..o",
			"  2  ...",
			"",
			". 25 available",
			"o 3 held",
			"d 0 held, due",
			"# 0 sold",
			"x 0 blocked",
		},
	},
	"no narrower than ten seats": {
		out: terminal{is: true, width: 1}, rows: []holdfast.Row{{Key: "1", Count: 11}},
		want: []string{
			"Section A: 11 of 11 seats available",
			"  1  ..........",
			"  +  .",
			"",
			". 11 available",
			"o 0 held",
			"d 0 held, due",
			"# 0 sold",
			"x 0 blocked",
		},
	},
	"colors": {
		out:   terminal{is: true, color: true},
		rows:  []holdfast.Row{{Key: "1", Seats: []*holdfast.Seat{seatOf("a"), nil, seatOf("b"), seatOf("c")}}},
		locks: []holdfast.Lock{lockOf(holdfast.LockConsumed, "c")},
		want: []string{
			"Section A: 2 of 3 seats available",
			"  1  \x1b[32m. .\x1b[31m#\x1b[0m",
			"",
			"\x1b[32m.\x1b[0m 2 available   \x1b[33mo\x1b[0m 0 held   \x1b[35md\x1b[0m 0 held, due   " +
				"\x1b[31m#\x1b[0m 1 sold   \x1b[90mx\x1b[0m 0 blocked",
		},
	},
	"labels": {
		rows: []holdfast.Row{
			{Key: "1", Label: strings.Repeat("x", 20), Count: 1}, {Key: "2", Label: "生命", Count: 1}, {Key: "3", Label: "a\u202eb", Count: 1},
		},
		want: []string{
			"Section A: 3 of 3 seats available",
			"  " + strings.Repeat("x", 15) + "~  .",
			"              生命  .",
			`          a\u202eb  .`,
			"",
			". 3 available   o 0 held   d 0 held, due   # 0 sold   x 0 blocked",
		},
	},
}

func TestSeatMap_Golden(t *testing.T) {
	t.Parallel()
	for name, c := range seatMaps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := strings.Join(c.want, "\n") + "\n"
			if got := drawSections(t, c.out, c.rows, c.locks...); got != want {
				t.Errorf("got\n%s\nwant\n%s\n%q", got, want, got)
			}
		})
	}
}

// A map is for a person: a script gets what it got before.
func TestSeats_ShowsAMapOnATerminal(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, c := range map[string]struct {
		flag   *bool
		is     bool
		format string
		want   bool
	}{
		"a terminal":         {nil, true, formatTable, true},
		"JSON on a terminal": {nil, true, formatJSON, false},
		"a pipe":             {nil, false, formatTable, false},
		"--map":              {&yes, false, formatTable, true},
		"--no-map":           {&no, true, formatTable, false},
	} {
		s := &session{out: printer{format: c.format}, term: terminal{is: c.is}}
		if got := (&seatsCmd{Map: c.flag}).showsMap(s); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() }) // nothing was written
	if terminalOf(file) != (terminal{}) || terminalOf(&bytes.Buffer{}) != (terminal{}) {
		t.Error("a file or a buffer is no terminal")
	}
}
