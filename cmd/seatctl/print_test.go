package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Other software may write any name and any date. A terminal obeys none of them.
func TestPrint_NothingThatATerminalObeys(t *testing.T) {
	t.Parallel()
	env, event := newHealthy(t)
	const name = "a\x1b[2J\u009b2J\u202e\x7f\r\nb"
	env.Set("events", event, bson.D{{Key: "name", Value: name}, {Key: "eventDate", Value: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}})
	env.Insert("bookings", bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "status", Value: "CANCELLED"}, {Key: "paymentReference", Value: name},
		{Key: "seatLockId", Value: mongodb.NewID()}, {Key: "paymentExpiresAt", Value: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
	})
	api := serve(t, env)
	for _, args := range [][]string{
		{"list", "events"}, {"list", "events", "--json"}, {"list", "bookings"}, {"list", "bookings", "-o", "json"}, {"export"},
		{"list", name},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			var out, errs string
			if args[0] == "list" {
				_, out, errs = list(api, args[1:]...)
			} else {
				_, out, errs = ctl(env, "", args...)
			}
			for _, r := range out + errs {
				if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
					t.Errorf("%q is in %q%q", r, out, errs)
					break
				}
			}
			if !strings.Contains(out+errs, `\u009b2J`) && !strings.Contains(out+errs, `\u202e`) {
				t.Errorf("the name is not shown: %s%s", out, errs)
			}
			if strings.HasSuffix(args[len(args)-1], "json") && !json.Valid([]byte(out)) {
				t.Errorf("not JSON: %s", out)
			}
		})
	}
}

// What an operator copies from a table, such as a command or an ID, is in one piece.
func TestPrint_BreaksLinesAtSpacesOnly(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	long := strings.Repeat("x", 100)
	words := strings.Repeat("twelve chars ", 15)
	for _, name := range []string{long, words} {
		if _, err := env.Seats.CreateEvent(env.Ctx(), holdfast.NewEvent{Name: strings.TrimSpace(name), TotalSeats: 1}); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := list(serve(t, env), "events")
	if code != 0 || !strings.Contains(out, long) {
		t.Errorf("the long word is not in one piece: %d %s %s", code, out, errs)
	}
	if strings.Count(out, "twelve") != 15 || strings.Count(out, "chars") != 15 {
		t.Errorf("a word is broken: %s", out)
	}
	for line := range strings.Lines(out) {
		if strings.Count(line, "twelve") > 80/len("twelve chars ") {
			t.Errorf("the line is not broken: %s", line)
		}
	}
}
