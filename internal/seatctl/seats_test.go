package seatctl_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// newSeated returns a database with an event whose plan has two rows of three seats, and standing.
func newSeated(t *testing.T) (*testenv.Env, holdfast.ID) {
	t.Helper()
	env := testenv.New(t)
	return env, newSeatedIn(t, env)
}

// newSeatedIn is newSeated in a database.
func newSeatedIn(t *testing.T, env *testenv.Env) holdfast.ID {
	t.Helper()
	of, _, err := env.Plans.Create(env.Ctx(), holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{
			{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 3}, {Key: "2", Label: "Second", Count: 3}}},
			{Key: "pit", Name: "Pit", Category: "c", Capacity: 10},
		},
	}, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := env.Seats.CreateEvent(env.Ctx(), holdfast.NewEvent{
		Name: "E", EventDate: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), Seating: holdfast.Seating{PlanID: of.ID},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// take locks seats of an event: named ones, or n of a section.
func take(t *testing.T, env *testenv.Env, event holdfast.ID, until holdfast.Until, n int64, wish holdfast.Wish) holdfast.Lock {
	t.Helper()
	l, _, err := env.Seats.AcquireLock(env.Ctx(), holdfast.LockRequest{
		EventID: event, UserID: ids.New(), Seats: n, Wish: wish, Until: until,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// insertSeatLock writes a lock past the engine, as other software would.
func insertSeatLock(env *testenv.Env, event holdfast.ID, status holdfast.LockStatus, seatIDs ...string) holdfast.ID {
	id := ids.New()
	env.Insert("seatlocks", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "seats", Value: len(seatIDs)},
		{Key: "seatIds", Value: seatIDs}, {Key: "status", Value: string(status)}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
	return id
}

func named(seatIDs ...string) holdfast.Wish { return holdfast.Wish{SeatIDs: seatIDs} }

// Each state of a seat is in its column, and the rows add up.
func TestSeats_CountsEachSection(t *testing.T) {
	t.Parallel()
	env, event := newSeated(t)
	take(t, env, event, testenv.Soon(), 0, named("A-1-1"))
	take(t, env, event, testenv.Past(), 0, named("A-1-3"))
	take(t, env, event, testenv.Soon(), 4, holdfast.Wish{Section: "pit"})
	sold := env.Book(take(t, env, event, testenv.Soon(), 0, named("A-2-1", "A-2-2")), testenv.Soon())
	if _, err := env.Bookings.ConfirmBooking(env.Ctx(), sold.ID, holdfast.Charge{Reference: "ref-" + sold.ID.String()}); err != nil {
		t.Fatal(err)
	}
	if _, err := env.Seats.BlockSeats(env.Ctx(), event, []string{"A-2-3"}); err != nil {
		t.Fatal(err)
	}
	code, out, errs := ctl(env, "", "seats", event.String())
	got := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		"SECTION TOTAL AVAILABLE HELD OF THEM DUE SOLD BLOCKED", "A 6 1 2 1 2 1", "pit 10 6 4 0 0 0", "all 16 7 6 1 2 1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if code != 0 || errs != "" || t.Failed() {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
}

// A seat is listed with its lock, and the customer and the booking of that.
func TestSeats_ListsTheSeatsOfASection(t *testing.T) {
	t.Parallel()
	env, event := newSeated(t)
	lock := take(t, env, event, testenv.Soon(), 0, named("A-2-2", "A-1-3"))
	booking := env.Book(lock, testenv.Soon())
	lock = env.Lock(lock.ID)
	if _, err := env.Seats.BlockSeats(env.Ctx(), event, []string{"A-1-1"}); err != nil {
		t.Fatal(err)
	}
	standing := take(t, env, event, testenv.Past(), 4, holdfast.Wish{Section: "pit"})
	list := func(section string) (lines []map[string]any) {
		t.Helper()
		code, out, errs := ctl(env, "", "seats", event.String(), "--section", section, "-o", "json")
		if err := json.Unmarshal([]byte(out), &lines); err != nil || code != 0 {
			t.Fatalf("code %d: %s%s %v", code, out, errs, err)
		}
		return lines
	}
	seats := list("A")
	if len(seats) != 3 || seats[0]["seatId"] != "A-1-1" || seats[0]["state"] != "blocked" || seats[0]["expiresAt"] != nil {
		t.Fatalf("%v", seats)
	}
	held, want := seats[2], map[string]any{
		"section": "A", "row": "Second", "seatId": "A-2-2", "label": "2", "seats": 1.0, "state": "held", "lockId": lock.ID.String(),
		"bookingId": booking.ID.String(), "userId": lock.UserID.String(), "expiresAt": lock.ExpiresAt.UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	for name, value := range want {
		if held[name] != value {
			t.Errorf("%s is %v, want %v", name, held[name], value)
		}
	}
	if area := list("pit"); len(area) != 1 || area[0]["seats"] != 4.0 || area[0]["state"] != "held, due" ||
		area[0]["lockId"] != standing.ID.String() || area[0]["seatId"] != nil {
		t.Errorf("standing: %v", area)
	}
	code, out, errs := ctl(env, "", "seats", event.String(), "--section", "A")
	if code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "A 1 A-1-3 1 held "+lock.ID.String()) {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
}

// A map has a character for each seat, and says how much of general admission is taken.
func TestSeats_AsAMap(t *testing.T) {
	t.Parallel()
	env, event := newSeated(t)
	take(t, env, event, testenv.Soon(), 0, named("A-1-1"))
	take(t, env, event, testenv.Past(), 0, named("A-1-3"))
	take(t, env, event, testenv.Soon(), 4, holdfast.Wish{Section: "pit"})
	sold := env.Book(take(t, env, event, testenv.Soon(), 0, named("A-2-1", "A-2-2")), testenv.Soon())
	if _, err := env.Bookings.ConfirmBooking(env.Ctx(), sold.ID, holdfast.Charge{Reference: "ref-" + sold.ID.String()}); err != nil {
		t.Fatal(err)
	}
	if _, err := env.Seats.BlockSeats(env.Ctx(), event, []string{"A-2-3"}); err != nil {
		t.Fatal(err)
	}
	const (
		rows   = "Section A: 1 of 6 seats available\n       1  o.d\n  Second  ##x\n\n"
		pit    = "Section pit, general admission: 4 / 10 taken\n\n"
		legend = ". 1 available   o 1 held   d 1 held, due   # 2 sold   x 1 blocked\n"
	)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, rows + pit + legend},
		{[]string{"--section", "A"}, rows + legend},
		{[]string{"--section", "pit"}, pit},
		{[]string{"--section", "pit", "--section", "A"}, rows + pit + legend},
	} {
		code, out, errs := ctl(env, "", append([]string{"seats", event.String(), "--map"}, c.args...)...)
		if code != 0 || out != c.want || errs != "" {
			t.Errorf("%q: code %d, %s\n%s\nwant\n%s", c.args, code, errs, out, c.want)
		}
	}
	// Where no terminal reads it, there is no map without --map.
	_, counts, _ := ctl(env, "", "seats", event.String())
	if _, out, _ := ctl(env, "", "seats", event.String(), "--no-map"); out != counts || !strings.Contains(out, "OF THEM DUE") {
		t.Errorf("%s\n%s", counts, out)
	}
	code, out, errs := ctl(env, "", "seats", event.String(), "--section", "pit", "--section", "A", "-o", "json")
	if code != 0 || errs != "" || strings.Count(out, `"lockId"`) != 6 || strings.Index(out, "A-1-1") > strings.Index(out, "pit") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
}

// A contradiction is told beside a map too.
func TestSeats_AMapTellsOfContradictions(t *testing.T) {
	t.Parallel()
	env, event := newSeated(t)
	insertSeatLock(env, event, holdfast.LockActive, "A-1-1", "A-1-2")
	code, out, errs := ctl(env, "", "seats", event.String(), "--map")
	if code != 3 || !strings.Contains(out, "oo.") || !strings.Contains(errs, "run seatctl recover") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
}

// What other software did to the seats is told, with what to do.
func TestSeats_TellsOfContradictions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(env *testenv.Env, event holdfast.ID)
		want   string
	}{
		"a map that is wrong": {func(env *testenv.Env, event holdfast.ID) {
			env.Set("events", event, bson.D{{Key: "internal.map.0", Value: bson.Binary{Data: []byte{0x40}}}})
		}, "run seatctl recover"},
		"a map that can't be read": {func(env *testenv.Env, event holdfast.ID) {
			env.Set("events", event, bson.D{{Key: "internal.map", Value: "none"}})
		}, "run seatctl recover"},
		"a lock without a place": {func(env *testenv.Env, event holdfast.ID) {
			insertLock(env, event, 1)
		}, " does not say where all its seats are, and counts in the event alone"},
		"a seat that is not there": {func(env *testenv.Env, event holdfast.ID) {
			insertSeatLock(env, event, holdfast.LockActive, "none")
		}, " does not say where all its seats are, and counts in the event alone"},
		"a double": {func(env *testenv.Env, event holdfast.ID) {
			env.Command(bson.D{{Key: "dropIndexes", Value: "seatlocks"}, {Key: "index", Value: mongodb.Keys("eventId", "seatIds")}})
			insertSeatLock(env, event, holdfast.LockActive, "A-1-1")
		}, "a lock takes a seat that is in a lock already; seatctl doctor names them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, event := newSeated(t)
			take(t, env, event, testenv.Soon(), 0, named("A-1-1"))
			if code, out, errs := ctl(env, "", "seats", event.String()); code != 0 || errs != "" {
				t.Fatalf("healthy: code %d: %s%s", code, out, errs)
			}
			c.damage(env, event)
			code, out, errs := ctl(env, "", "seats", event.String())
			if code != 3 || !strings.Contains(errs, c.want) || !strings.Contains(out, "pit") {
				t.Errorf("code %d, want 3 and %q: %s%s", code, c.want, out, errs)
			}
		})
	}
}

func TestSeats_RefusesWhatHasNoSeats(t *testing.T) {
	t.Parallel()
	env, event := newSeated(t)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"unseated":   {[]string{env.Event(10).String()}, 1, "the event has no seating plan; seatctl locks --event"},
		"no event":   {[]string{ids.New().String()}, 1, "EVENT_NOT_FOUND"},
		"no ID":      {[]string{"x"}, 2, "is not a valid ID"},
		"no section": {[]string{event.String(), "--section", "A", "--section", "B"}, 1, `the event has no section "B"`},
		"no map":     {[]string{event.String(), "--map", "--section", "B"}, 1, `the event has no section "B"`},
		"JSON":       {[]string{event.String(), "--map", "-o", "json"}, 2, "a map is text"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := ctl(env, "", append([]string{"seats"}, c.args...)...)
			if code != c.code || !strings.Contains(errs, c.want) || out != "" {
				t.Errorf("code %d, want %d and %q: %s%s", code, c.code, c.want, out, errs)
			}
		})
	}
}

// The command reads the locks in pages, however many seats are taken.
func TestSeats_NeedsNoReadForEachSeat(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	const rows, inRow, perLock = 60, 500, 10
	plan := holdfast.SeatingPlan{Name: "Arena", Categories: []holdfast.Category{{Key: "c", Name: "C"}}}
	plan.Sections = []holdfast.Section{{Key: "pit", Name: "Pit", Category: "c", Capacity: 10}}
	for _, key := range []string{"A", "B"} {
		section := holdfast.Section{Key: key, Name: key, Category: "c"}
		for n := range rows / 2 {
			section.Rows = append(section.Rows, holdfast.Row{Key: string(rune('a'+n/26)) + string(rune('a'+n%26)), Count: inRow})
		}
		plan.Sections = append(plan.Sections, section)
	}
	of, _, err := env.Plans.Create(env.Ctx(), plan, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := env.Plans.Get(env.Ctx(), of.ID)
	if err != nil {
		t.Fatal(err)
	}
	e, err := env.Seats.CreateEvent(env.Ctx(), holdfast.NewEvent{Name: "E", EventDate: time.Now(), Seating: holdfast.Seating{PlanID: of.ID}})
	if err != nil {
		t.Fatal(err)
	}
	var locks []any
	for _, section := range whole.Sections {
		for _, row := range section.Rows {
			for first := 0; first < inRow; first += perLock {
				var seatIDs []string
				for _, seat := range row.Seats[first : first+perLock] {
					seatIDs = append(seatIDs, seat.ID)
				}
				locks = append(locks, bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: e.ID}, {Key: "seats", Value: perLock},
					{Key: "seatIds", Value: seatIDs}, {Key: "status", Value: "CONSUMED"}})
			}
		}
	}
	if _, err := env.DB.Collection("seatlocks").InsertMany(env.Ctx(), locks); err != nil {
		t.Fatal(err)
	}
	env.Recover()
	var code int
	var out, errs string
	n := countCommands(env, func() { code, out, errs = ctl(env, "", "seats", e.ID.String()) })
	if code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "all 30010 10 0 0 30000 0") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	if n == 0 || n > len(locks)/100 {
		t.Errorf("%d commands for %d locks", n, len(locks))
	}
	// The map of a hall that large is one of the sections that are named.
	code, out, errs = ctl(env, "", "seats", e.ID.String(), "--map")
	if code != 0 || errs != "" || !strings.Contains(strings.Join(strings.Fields(out), " "), "all 30010 10 0 0 30000 0") ||
		!strings.HasSuffix(out, "The hall has 30000 seats in rows, too many for one map. Name sections to see theirs, such as --section A.\n") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	code, out, errs = ctl(env, "", "seats", e.ID.String(), "--map", "--section", "B")
	if code != 0 || errs != "" || strings.Count(out, strings.Repeat("#", inRow)+"\n") != rows/2 || !strings.Contains(out, "# 15000 sold") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
}

// countCommands counts the commands that the test's database gets from do, by MongoDB's profile of them.
func countCommands(env *testenv.Env, do func()) int {
	env.T.Helper()
	const everything, nothing = 2, 0
	env.Command(bson.D{{Key: "profile", Value: everything}})
	do()
	env.Command(bson.D{{Key: "profile", Value: nothing}})
	profiles := env.DB.Collection("system.profile")
	n, err := profiles.CountDocuments(env.Ctx(), bson.D{{Key: "ns", Value: bson.D{{Key: "$ne", Value: env.DB.Name() + ".system.profile"}}}})
	if err != nil {
		env.T.Fatal(err)
	}
	env.T.Logf("%d commands", n)
	return int(n)
}
