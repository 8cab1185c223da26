package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// runAsSeatctl is a variable with which the program of the tests is seatctl itself, so that a test can kill it.
const runAsSeatctl = "RUN_AS_SEATCTL"

func TestMain(m *testing.M) {
	if os.Getenv(runAsSeatctl) != "" {
		main()
	}
	testenv.Main(m)
}

// ctl runs seatctl on env's database.
func ctl(env *testenv.Env, in string, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = runCommandLine(append([]string{"--mongodb-uri", env.URI, "--mongodb-database", env.DB.Name(), "--job-leases", "none"}, args...),
		strings.NewReader(in), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// insertLock writes an ACTIVE lock, as another tool would.
func insertLock(env *testenv.Env, event holdfast.ID, seats any) {
	env.Insert("seatlocks", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "seats", Value: seats},
		{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
}

// insertRun writes the record of a run, as another process would.
func insertRun(env *testenv.Env, job string, startedAt time.Time, more ...bson.E) {
	run := bson.D{{Key: "_id", Value: job + "-x"}, {Key: "job", Value: job}, {Key: "startedAt", Value: startedAt}}
	env.Insert("jobruns", append(run, more...))
}

const idempotencyIndex = "hf_eventId_userId_idempotencyKey_unique_if_idempotencyKey"

// confirm creates a CONFIRMED booking of two seats.
func confirm(t *testing.T, env *testenv.Env, event holdfast.ID) holdfast.Booking {
	t.Helper()
	b := env.Book(env.Acquire(event, 2, testenv.Soon()), testenv.Soon())
	if _, err := env.Bookings.ConfirmBooking(env.Ctx(), b.ID, holdfast.Charge{Reference: "ref-" + b.ID.String()}); err != nil {
		t.Fatal(err)
	}
	return b
}

// newHealthy returns a database without findings: an event with a confirmed booking
// and an open one.
func newHealthy(t *testing.T) (env *testenv.Env, event holdfast.ID) {
	t.Helper()
	env = testenv.New(t)
	event = env.Event(100)
	confirm(t, env, event)
	env.Book(env.Acquire(event, 1, testenv.Soon()), holdfast.Until{})
	return env, event
}

// damages are what doctor must find: how the database is damaged, and the detail and the
// action that doctor prints.
var damages = map[string]struct {
	damage func(t *testing.T, env *testenv.Env, event holdfast.ID)
	detail string
	action string
	args   []string
}{
	"drift": {damage: func(_ *testing.T, env *testenv.Env, event holdfast.ID) {
		env.Set("events", event, bson.D{{Key: "availableSeats", Value: 42}})
	}, detail: "42 should be 97", action: "seatctl recover"},
	"sale with an ACTIVE lock": {damage: func(t *testing.T, env *testenv.Env, event holdfast.ID) {
		env.Set("seatlocks", confirm(t, env, event).LockID, bson.D{{Key: "status", Value: "ACTIVE"}})
	}, detail: "ACTIVE locks of CONFIRMED bookings", action: "seatctl recover"},
	"sale with an ended lock": {damage: func(t *testing.T, env *testenv.Env, event holdfast.ID) {
		env.Set("seatlocks", confirm(t, env, event).LockID, bson.D{{Key: "status", Value: "EXPIRED"}})
	}, detail: "CONFIRMED bookings whose lock has ended", action: "look at them"},
	"CONSUMED lock without a sale": {damage: func(t *testing.T, env *testenv.Env, event holdfast.ID) {
		env.Set("bookings", confirm(t, env, event).ID, bson.D{{Key: "status", Value: "CANCELLED"}})
	}, detail: "CONSUMED locks without a CONFIRMED booking", action: "look at them"},
	"a seat in two locks": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		event := newSeatedIn(t, env)
		env.Command(bson.D{{Key: "dropIndexes", Value: "seatlocks"}, {Key: "index", Value: mongodb.Keys("eventId", "seatIds")}})
		insertSeatLock(env, event, holdfast.LockActive, "A-1-2")
		insertSeatLock(env, event, holdfast.LockActive, "A-1-2")
	}, detail: `seat "A-1-2" of event `, action: "db.seatlocks.find("},
	"a seating plan that does not exist": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		env.Set("events", newSeatedIn(t, env), bson.D{{Key: "seatingPlanId", Value: mongodb.NewID()}})
	}, detail: "events whose seating plan is missing", action: "set seatingPlanId"},
	"a wrong map": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		event := newSeatedIn(t, env)
		take(t, env, event, testenv.Soon(), 0, named("A-1-2"))
		env.Set("events", event, bson.D{{Key: "internal.map.0", Value: bson.Binary{Data: []byte{0x80}}}})
	}, detail: "maps of seats that don't agree with their locks: 1", action: "seatctl recover"},
	"a map without a section": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		env.Set("events", newSeatedIn(t, env), bson.D{{Key: "internal.map", Value: bson.D{{Key: "1", Value: 0}}}})
	}, detail: "maps of seats that don't agree with their locks: 1", action: "seatctl recover"},
	"a map that is a text": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		env.Set("events", newSeatedIn(t, env), bson.D{{Key: "internal.map", Value: "none"}})
	}, detail: "maps of seats that don't agree with their locks: 1", action: "seatctl recover"},
	"a lock without a place": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		event := newSeatedIn(t, env)
		insertLock(env, event, 1)
		env.Set("events", event, bson.D{{Key: "availableSeats", Value: 15}})
	}, detail: "locks whose seats are in no place of the seating plan: 1", action: "look at them"},
	"a wrong number of blocked seats": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		env.Set("events", newSeatedIn(t, env), bson.D{{Key: "blockedSeats", Value: 3}})
	}, detail: "maps of seats that don't agree with their locks: 1", action: "seatctl recover"},
	"no index of seats": {damage: func(_ *testing.T, env *testenv.Env, _ holdfast.ID) {
		env.Command(bson.D{{Key: "dropIndexes", Value: "seatlocks"}, {Key: "index", Value: mongodb.Keys("eventId", "seatIds")}})
	}, detail: "seatIds", action: "createIndexes"},
	"a seating plan without a section": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		newSeatedIn(t, env)
		if _, err := env.DB.Collection("seatingsections").DeleteOne(env.Ctx(), mongodb.Is("key", "A")); err != nil {
			t.Fatal(err)
		}
	}, detail: "events whose seating plan is missing or can't be read: 1", action: "restore the plan"},
	"a seating plan with a section that was changed": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		newSeatedIn(t, env)
		_, err := env.DB.Collection("seatingsections").UpdateOne(env.Ctx(), mongodb.Is("key", "A"),
			bson.D{{Key: "$set", Value: bson.D{{Key: "rows.0.seats.0.id", Value: "A-1-2"}}}})
		if err != nil {
			t.Fatal(err)
		}
	}, detail: "events whose seating plan is missing or can't be read: 1", action: "restore the plan"},
	"a total that is not that of the plan": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		env.Set("events", newSeatedIn(t, env), bson.D{{Key: "totalSeats", Value: 90}, {Key: "availableSeats", Value: 90}})
	}, detail: "events whose totalSeats is not what their seating plan", action: "set totalSeats"},
	"more in a section than its capacity": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		env.Insert("seatlocks", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: newSeatedIn(t, env)},
			{Key: "seats", Value: 11},
			{Key: "section", Value: "pit"}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
		env.Recover()
	}, detail: "section \"pit\" of event", action: "raise the capacity"},
	"oversold": {damage: func(_ *testing.T, env *testenv.Env, event holdfast.ID) {
		insertLock(env, event, 200)
		env.Recover()
	}, detail: "oversold events", action: "find other seats"},
	"index": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		if err := env.DB.Collection("seatlocks").Indexes().DropOne(env.Ctx(), idempotencyIndex); err != nil {
			t.Fatal(err)
		}
	}, detail: "the index " + idempotencyIndex, action: "createIndexes"},
	"validator": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		dropValidator := bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}}
		if err := env.DB.RunCommand(env.Ctx(), dropValidator).Err(); err != nil {
			t.Fatal(err)
		}
	}, detail: "the validator of events", action: "collMod"},
	"overdue": {damage: func(_ *testing.T, env *testenv.Env, event holdfast.ID) {
		env.Acquire(event, 1, testenv.Past())
	}, detail: "1 locks are due", action: "seatctl sweep"},
	"overdue, without its event": {damage: func(_ *testing.T, env *testenv.Env, _ holdfast.ID) {
		env.Insert("seatlocks", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: holdfast.ID{1}}, {Key: "seats", Value: 1},
			{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(-time.Hour)}})
	}, detail: "locks of a missing event: 1 due locks name the event " + holdfast.ID{1}.String(), action: "restore the event"},
	"corrupt locks": {damage: func(_ *testing.T, env *testenv.Env, event holdfast.ID) {
		for range 7 {
			env.Set("seatlocks", env.Acquire(event, 1, testenv.Past()).ID, bson.D{{Key: "expiresAt", Value: "soon"}})
		}
	}, detail: "corrupt documents: 7 of 7 in seatlocks: expiresAt is of type string: ", action: "correct that in seatlocks"},
	"a corrupt booking": {damage: func(_ *testing.T, env *testenv.Env, event holdfast.ID) {
		b := env.Book(env.Acquire(event, 1, testenv.Soon()), testenv.Soon())
		env.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().AddDate(9000, 0, 0)}})
	}, detail: "1 of 1 in bookings: paymentExpiresAt has a value that is not allowed: ", action: "correct that in bookings"},
	"a booking without a window": {damage: func(_ *testing.T, env *testenv.Env, event holdfast.ID) {
		b := env.Book(env.Acquire(event, 1, testenv.Soon()), testenv.Soon())
		env.ChangeUnchecked("bookings", b.ID, bson.D{{Key: "$unset", Value: bson.D{{Key: "paymentExpiresAt", Value: ""}}}})
	}, detail: "1 of 1 in bookings: paymentExpiresAt is missing: ", action: "correct that in bookings"},
	"a corrupt event": {damage: func(_ *testing.T, env *testenv.Env, event holdfast.ID) {
		env.Set("events", event, bson.D{{Key: "internal", Value: "3-abc"}})
	}, detail: "1 of 1 in events: internal is of type string: ", action: "correct that in events"},
	"an event without an ID": {damage: func(_ *testing.T, env *testenv.Env, _ holdfast.ID) {
		env.Insert("events", bson.D{{Key: "_id", Value: "x"}, {Key: "totalSeats", Value: 1}, {Key: "availableSeats", Value: 1}})
	}, detail: `1 of 1 in events: _id is of type string: "x"`, action: "remove the document"},
	"a lock with fewer seats than it counts": {damage: func(_ *testing.T, env *testenv.Env, event holdfast.ID) {
		env.Set("seatlocks", env.Acquire(event, 2, testenv.Soon()).ID, bson.D{{Key: "seatIds", Value: bson.A{"A-1-1"}}})
	}, detail: "1 of 1 in seatlocks: seatIds has a value that is not allowed: ", action: "correct that in seatlocks"},
	"a corrupt seating plan": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		newSeatedIn(t, env)
		plans, _, err := env.Plans.List(env.Ctx(), holdfast.Page{})
		if err != nil {
			t.Fatal(err)
		}
		env.Set("seatingplans", plans[0].ID, bson.D{{Key: "name", Value: 5}})
	}, detail: "1 of 1 in seatingplans: name is of type int: ", action: "correct that in seatingplans"},
	"failed run": {damage: func(_ *testing.T, env *testenv.Env, _ holdfast.ID) {
		insertRun(env, "lock-expiry", time.Now(), bson.E{Key: "outcome", Value: "failed"}, bson.E{Key: "reason", Value: "it rained"})
	}, detail: "it rained", action: "correlationId=lock-expiry-x"},
	"endless run": {damage: func(_ *testing.T, env *testenv.Env, _ holdfast.ID) {
		insertRun(env, "reconcile", time.Now().Add(-2*time.Hour), bson.E{Key: "outcome", Value: "running"})
	}, detail: "exceeds its time limit", action: "seatctl leases free reconcile"},
	"stuck lease": {damage: func(t *testing.T, env *testenv.Env, _ holdfast.ID) {
		leases := jobs.NewMongoLeases(env.DB, jobs.LeaseTerms{TTL: time.Minute})
		if _, err := leases.Acquire(env.Ctx(), jobs.LeaseOf("lock-expiry"), "dead/1/x"); err != nil {
			t.Fatal(err)
		}
	}, detail: "held by dead/1/x, but no run is in progress", action: "seatctl leases free lock-expiry",
		args: []string{"--job-leases", "mongo"}},
	"no leader": {damage: func(*testing.T, *testenv.Env, holdfast.ID) {},
		detail: "no process schedules the jobs", action: "start a worker", args: []string{"--job-leases", "mongo"}},
	"no Redis": {damage: func(*testing.T, *testenv.Env, holdfast.ID) {},
		detail: "does not answer", action: "start it,", args: []string{"--job-leases", "redis", "--redis-url", "redis://127.0.0.1:1"}},
}

// Doctor reports a healthy database as such, and reports each kind of damage with an
// action.
func TestDoctor_FindsEachKindOfDamage(t *testing.T) {
	t.Parallel()
	env, _ := newHealthy(t)
	if code, out, errs := ctl(env, "", "doctor"); code != 0 || strings.Contains(out, "FINDING") || !strings.Contains(out, "1 counters agree") {
		t.Errorf("healthy: %d %s %s", code, out, errs)
	}
	for name, c := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, event := newHealthy(t)
			c.damage(t, env, event)
			code, out, errs := ctl(env, "", append(c.args, "-o", "json", "doctor")...)
			var found []struct{ State, What, Says, Do string }
			if err := json.Unmarshal([]byte(out), &found); err != nil {
				t.Fatal(err, out, errs)
			}
			reported := false
			for _, f := range found {
				reported = reported || (f.State == "FINDING" && strings.Contains(f.What+": "+f.Says, c.detail) && strings.Contains(f.Do, c.action))
			}
			if code != 3 || !reported {
				t.Errorf("code %d, %s %s", code, out, errs)
			}
		})
	}
}

// Doctor says whether the database has the unique index of seats, and that a setting does not change it.
func TestDoctor_ReportsTheSeatIndex(t *testing.T) {
	t.Parallel()
	env, _ := newHealthy(t)
	for flag, want := range map[string]string{
		"--seat-index": "seat index on since the database was made", "--no-seat-index": "SEAT_INDEX=false has no effect",
	} {
		code, out, errs := ctl(env, "", flag, "doctor")
		if code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("%s: %d %s %s", flag, code, out, errs)
		}
	}
}

// A table fits a terminal of 100 columns; only what an operator copies stays in one piece.
func TestDoctor_FitsTheTerminal(t *testing.T) {
	t.Parallel()
	env, event := newHealthy(t)
	for _, name := range []string{
		"index", "validator", "overdue, without its event", "corrupt locks", "a total that is not that of the plan", "oversold",
	} {
		damages[name].damage(t, env, event)
	}
	insertRun(env, "reconcile", time.Now(), bson.E{Key: "outcome", Value: "failed"}, bson.E{Key: "reason", Value: strings.Repeat("why ", 50)})
	for _, command := range [][]string{{"doctor"}, {"recover", "--dry-run"}} {
		code, out, errs := ctl(env, "", command...)
		if code != exitFindings {
			t.Errorf("%v: %d %s", command, code, errs)
		}
		for line := range strings.Lines(out) {
			if utf8.RuneCountInString(line) > 101 && !strings.Contains(line, "db.") { // with the end of the line
				t.Errorf("%v: the line is too long: %s", command, line)
			}
		}
	}
}

// The last line says whether there is something to do. Programs read the exit code, and JSON
// stays a list of findings.
func TestDoctor_EndsWithAVerdict(t *testing.T) {
	t.Parallel()
	env, event := newHealthy(t)
	check := func(want string, args ...string) {
		t.Helper()
		_, out, errs := ctl(env, "", append(args, "doctor")...)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if last := lines[len(lines)-1]; last != want {
			t.Errorf("got %q, want %q: %s", last, want, errs)
		}
	}
	checkList := func() {
		t.Helper()
		_, out, _ := ctl(env, "", "-o", "json", "doctor")
		var found []any
		if err := json.Unmarshal([]byte(out), &found); err != nil || len(found) == 0 {
			t.Errorf("%v in %s", err, out)
		}
	}
	insertRun(env, "changes", time.Now().Add(-2*time.Hour), bson.E{Key: "outcome", Value: "running"}) // it has no time limit
	check("Verdict: no problem found.")
	checkList()
	env.Set("events", event, bson.D{{Key: "availableSeats", Value: 42}})
	check("Verdict: 1 problem needs an operator; see FINDING above.")
	env.Acquire(event, 1, testenv.Past())
	check("Verdict: 2 problems need an operator; see FINDING above.")
	checkList()
	check("Verdict: a check failed, so there may be more problems; see FAILED above.",
		"--mongodb-uri", "mongodb://127.0.0.1:1/?replicaSet=none&serverSelectionTimeoutMS=100")
}

func TestRecover_DryRunChangesNothing(t *testing.T) {
	t.Parallel()
	env, event := newHealthy(t)
	stale := env.Acquire(event, 3, testenv.Past())
	env.Set("events", event, bson.D{{Key: "availableSeats", Value: 1}})
	code, out, errs := ctl(env, "", "recover", "--dry-run")
	if code != 3 || !strings.Contains(out, "correct them") {
		t.Errorf("dry run: %d %s %s", code, out, errs)
	}
	if available, _ := env.Available(event); available != 1 || env.Lock(stale.ID).Status != holdfast.LockActive {
		t.Errorf("after the dry run: %d available, %s", available, env.Lock(stale.ID).Status)
	}
	if code, out, errs = ctl(env, "", "recover"); code != 0 || !strings.Contains(out, "completed") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if available, _ := env.Available(event); available != 97 || env.Lock(stale.ID).Status != holdfast.LockExpired {
		t.Errorf("%d available, %s", available, env.Lock(stale.ID).Status)
	}
	if code, out, errs = ctl(env, "", "recover", "--dry-run"); code != 0 {
		t.Errorf("afterwards: %d %s %s", code, out, errs)
	}
	testenv.CheckInvariants(t, env.DB.Database)
}

// A sweep acquires the job's lease. It does not run a job that another process runs.
func TestSweep_AcquiresTheLease(t *testing.T) {
	t.Parallel()
	env, event := newHealthy(t)
	lock := env.Acquire(event, 3, testenv.Past())
	held, err := jobs.NewMongoLeases(env.DB, jobs.LeaseTerms{TTL: time.Minute}).Acquire(env.Ctx(), jobs.LeaseOf("lock-expiry"), "other/1/x")
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := ctl(env, "", "--job-leases", "mongo", "sweep", "locks")
	if code != 0 || !strings.Contains(out, "already running on other/1/x") || env.Lock(lock.ID).Status != holdfast.LockActive {
		t.Errorf("held: %d %s %s", code, out, errs)
	}
	code, out, errs = ctl(env, "", "--job-leases", "mongo", "leases", "free", "lock-expiry")
	if code != 0 || !strings.Contains(out, "other/1/x") {
		t.Errorf("free: %d %s %s", code, out, errs)
	}
	if err := held.Release(env.Ctx()); err != nil {
		t.Fatal(err)
	}
	if code, out, errs = ctl(env, "", "--job-leases", "mongo", "sweep"); code != 0 || env.Lock(lock.ID).Status != holdfast.LockExpired {
		t.Errorf("%d %s %s", code, out, errs)
	}
	code, out, errs = ctl(env, "", "--job-leases", "mongo", "jobs")
	if code != 0 || !strings.Contains(out, "completed") || !strings.Contains(out, "leader") {
		t.Errorf("jobs: %d %s %s", code, out, errs)
	}
	if code, _, errs = ctl(env, "", "leases", "free", "nonsense"); code != 1 || !strings.Contains(errs, "no such job") {
		t.Errorf("unknown job: %d %s", code, errs)
	}
}

// Freeing the leader's lease may let a second process schedule, so that it needs an answer.
func TestFreeLease_AsksBeforeItFreesTheLeader(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	leader, err := jobs.NewMongoLeases(env.DB, jobs.LeaseTerms{TTL: time.Minute}).Acquire(env.Ctx(), jobs.LeaderLease, "leader/1/x")
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []string{"", "no\n", "\nyes\n"} {
		code, out, errs := ctl(env, answer, "--job-leases", "mongo", "leases", "free", "leader")
		if code != 1 || out != "" || !strings.Contains(errs, "leader/1/x") || !strings.Contains(errs, "was not freed") {
			t.Errorf("%q: %d %s %s", answer, code, out, errs)
		}
	}
	code, out, errs := ctl(env, "Yes\n", "--job-leases", "mongo", "leases", "free", "leader")
	if code != 0 || !strings.Contains(out, "leader/1/x") {
		t.Errorf("yes: %d %s %s", code, out, errs)
	}
	if err := leader.Release(env.Ctx()); err != nil {
		t.Fatal(err)
	}
	code, out, errs = ctl(env, "", "--job-leases", "mongo", "leases", "free", "leader", "--yes")
	if code != 0 || strings.Contains(errs, "[yes/no]") || !strings.Contains(out, "WAS HELD BY") {
		t.Errorf("--yes: %d %s %s", code, out, errs)
	}
}

// invalidEvents are lines that can't be imported, with the error of some. plan is the ID of a seating plan.
func invalidEvents(plan string) map[string]string {
	return map[string]string{
		`{"totalSeats":1}`:                                 "name must not be blank",
		`{"name":"x"}`:                                     "totalSeats must be 1 to 10000000, unless",
		`{"name":"x","totalSeats":10000001}`:               "totalSeats must be 1 to 10000000, unless",
		`{"name":"x","totalSeats":1,"maxSeatsPerUser":-1}`: "maxSeatsPerUser must not be negative",
		`{"name":"x","totalSeats":1,"colour":"red"}`:       "",
		`nonsense`: "",
		`{"name":"x","totalSeats":1,"status":"GONE"}`:                                                "",
		`{"id":"x","name":"x","totalSeats":1}`:                                                       "",
		`{"name":"x","seatingPlanId":"x"}`:                                                           "",
		`{"name":"x","seatingPlanId":"` + plan + `","sections":[{"key":"A","capacity":9}]}`:          "",
		`{"name":"x","seatingPlanId":"` + plan + `","sections":[{"key":"pit","capacity":0}]}`:        "",
		`{"name":"x","seatingPlanId":"` + plan + `","sections":[{"key":"pit","capacity":10000000}]}`: "",
		`{"name":"x","totalSeats":9,"sections":[{"key":"pit","capacity":9}]}`:                        "",
		`{"name":"x","totalSeats":9,"orphanRule":"NEVER"}`:                                           "",
		`{"name":"x","totalSeats":9,"latePayments":"PERHAPS"}`:                                       "",
		`{"name":"x","totalSeats":9,"latePaymentSeconds":-1}`:                                        "",
		`{"name":"x","totalSeats":9,"waitlist":"PERHAPS"}`:                                           "",
		`{"name":"x","totalSeats":9,"waitlistOfferSeconds":59}`:                                      "",
		`{"name":"x","totalSeats":9,"waitlistFit":"FIFO"}`:                                           "",
		`{"name":"x","totalSeats":9,"reference":"A\n"}`:                                              "",
		`{"name":"x","totalSeats":9,"metadata":{"a b":""}}`:                                          "",
	}
}

// Exported events can be imported into another database, with their seating plan, capacities and rules. A second import
// changes nothing. A plan that is not there is no reason to make an unseated event.
func TestExportImport_CopiesEventsOnce(t *testing.T) {
	t.Parallel()
	from, event := newHealthy(t)
	if _, err := from.Seats.UpdateEvent(from.Ctx(), event, holdfast.EventChange{Status: new(holdfast.Closed)}); err != nil {
		t.Fatal(err)
	}
	seated := newSeatedIn(t, from)
	if _, err := from.Seats.UpdateEvent(from.Ctx(), seated, holdfast.EventChange{
		Sections:   []holdfast.SectionCapacity{{Key: "pit", Capacity: 25}},
		OrphanRule: new(holdfast.OrphansRefused), AccessiblePolicy: new(holdfast.AccessibleOpen),
		LatePayments: new(holdfast.LatePaymentsAccepted), LateSeconds: new(int64(0)),
		Waitlist: new(holdfast.WaitlistPaused), OfferSeconds: new(int64(61)), WaitlistFit: new(holdfast.WaitlistStrict),
		SaleStartsAt: new(time.Date(2020, 1, 2, 3, 4, 5, 6_000_000, time.UTC)), SaleEndsAt: new(time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)),
		ShopData: holdfast.ShopDataChange{Reference: new("A-17"), Metadata: map[string]*string{"a.b": new("x\n")}},
	}); err != nil {
		t.Fatal(err)
	}
	code, lines, errs := ctl(from, "", "export")
	if code != 0 || strings.Count(lines, "\n") != 2 {
		t.Fatal(code, lines, errs)
	}
	original, err := from.Seats.GetEvent(from.Ctx(), seated)
	if err != nil {
		t.Fatal(err)
	}
	to, planID := testenv.New(t), original.Seating.PlanID.String()
	code, out, errs := ctl(to, lines, "import")
	if code != 1 || out != "" || !strings.Contains(errs, "line 2: this database does not have the seating plan "+planID) ||
		!strings.Contains(errs, "seatctl plans import") || !strings.Contains(errs, "1 events were created before it") {
		t.Errorf("without the plan: %d %s %s", code, out, errs)
	}
	_, plan, _ := ctl(from, "", "plans", "export", planID)
	copied := importPlan(t, to, plan, "-")
	lines = strings.ReplaceAll(lines, planID, copied)
	for _, want := range []string{`"made": 1,`, `"made": 0,`} {
		if code, out, errs := ctl(to, lines+"\n", "-o", "json", "import"); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d %s %s", code, out, errs)
		}
	}
	e, err := to.Seats.GetEvent(to.Ctx(), event)
	if err != nil || e.TotalSeats != 100 || e.AvailableSeats != 100 || e.Status != holdfast.Closed {
		t.Errorf("%+v %v", e, err)
	}
	e, err = to.Seats.GetEvent(to.Ctx(), seated)
	if err != nil || e.TotalSeats != 31 || e.AvailableSeats != 31 || e.Seating.PlanID.String() != copied ||
		!e.SameShopData(original.ShopData) {
		t.Errorf("%+v %v", e, err)
	}
	if code, again, _ := ctl(to, "", "export"); code != 0 ||
		!strings.Contains(again, lines[strings.Index(lines, "\n")+1:]) {
		t.Errorf("exported again:\n%s\nwant\n%s", again, lines)
	}
	take(t, to, seated, testenv.Soon(), 25, holdfast.Wish{Section: "pit"})
	for invalid, want := range invalidEvents(copied) {
		t.Run(invalid, func(t *testing.T) {
			if code, _, errs := ctl(to, "\n"+invalid, "import"); code != 1 || !strings.Contains(errs, "line 2: "+want) {
				t.Errorf("%d %s", code, errs)
			}
		})
	}
	testenv.CheckInvariants(t, to.DB.Database)
}

// An event that never sells is left out, and the lines behind it are imported.
func TestImport_LeavesOutWhatNeverSells(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	line := func(name, start, end string) string {
		return `{"name":"` + name + `","totalSeats":1,"saleStartsAt":"` + start + `","saleEndsAt":"` + end + `"}` + "\n"
	}
	lines := line("same", "2030-01-01T00:00:00Z", "2030-01-01T00:00:00.0001Z") +
		line("earlier", "2030-01-01T00:00:00Z", "2029-01-01T00:00:00Z") +
		line("later", "2030-01-01T00:00:00Z", "2030-01-01T00:00:00.001Z")
	code, out, errs := ctl(env, lines, "--json", "import")
	if code != exitFindings || !strings.Contains(out, `"made": 1,`) || !strings.Contains(out, `"leftOut": 2`) ||
		!strings.Contains(errs, "line 1: saleEndsAt is not later") || !strings.Contains(errs, "line 2: saleEndsAt is not later") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	events, _, err := env.Seats.ListEvents(env.Ctx(), holdfast.EventFilter{}, holdfast.Page{})
	if err != nil || len(events) != 1 || events[0].Name != "later" {
		t.Errorf("%+v %v", events, err)
	}
}
