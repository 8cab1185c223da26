package seatctl_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/seatctl"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
	"github.com/holdfast-dev/holdfast/seats"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// ctl calls seatctl on a database.
func ctl(w *testenv.World, in string, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = seatctl.Main(append([]string{"--mongodb-uri", w.URI, "--mongodb-database", w.DB.Name(), "--job-leases", "none"}, args...),
		strings.NewReader(in), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func insert(w *testenv.World, collection string, fields ...bson.E) ids.ID {
	id := ids.New()
	w.Insert(collection, append(bson.D{{Key: "_id", Value: id}}, fields...))
	return id
}

// sold is a CONFIRMED booking.
func sold(t *testing.T, w *testenv.World, event ids.ID) booking.Booking {
	t.Helper()
	b := w.Book(w.Take(event, 2, testenv.Soon()), testenv.Soon())
	if _, err := w.Bookings.Confirm(w.Ctx(), b.ID, "ref"); err != nil {
		t.Fatal(err)
	}
	return b
}

func healthy(t *testing.T) (w *testenv.World, event ids.ID) {
	t.Helper()
	w = testenv.New(t)
	event = w.Event(100)
	sold(t, w, event)
	w.Book(w.Take(event, 1, testenv.Soon()), seats.Until{})
	return w, event
}

// A database that is well is told to be; one that was damaged is told how, and
// what to do, in each of a dozen ways.
func TestDoctor_FindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	w, _ := healthy(t)
	if code, out, errs := ctl(w, "", "doctor"); code != 0 || strings.Contains(out, "FINDING") || !strings.Contains(out, "1 counters agree") {
		t.Errorf("healthy: %d %s %s", code, out, errs)
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, w *testenv.World, event ids.ID)
		says   string
		do     string
		args   []string
	}{
		"drift": {func(_ *testing.T, w *testenv.World, event ids.ID) {
			w.Set("events", event, bson.D{{Key: "availableSeats", Value: 42}})
		}, "42 should be 97", "seatctl recover", nil},
		"unmarked sale": {func(t *testing.T, w *testenv.World, event ids.ID) {
			w.Set("seatlocks", sold(t, w, event).LockID, bson.D{{Key: "status", Value: "ACTIVE"}})
		}, "ACTIVE locks of CONFIRMED bookings", "seatctl recover", nil},
		"sale whose lock ended": {func(t *testing.T, w *testenv.World, event ids.ID) {
			w.Set("seatlocks", sold(t, w, event).LockID, bson.D{{Key: "status", Value: "EXPIRED"}})
		}, "CONFIRMED bookings whose lock has ended", "look at them", nil},
		"lock sold to nobody": {func(t *testing.T, w *testenv.World, event ids.ID) {
			w.Set("bookings", sold(t, w, event).ID, bson.D{{Key: "status", Value: "CANCELLED"}})
		}, "CONSUMED locks without a CONFIRMED booking", "look at them", nil},
		"poison lock": {func(_ *testing.T, w *testenv.World, event ids.ID) {
			insert(w, "seatlocks", bson.E{Key: "eventId", Value: event}, bson.E{Key: "seats", Value: "two"}, bson.E{Key: "status", Value: "ACTIVE"}, bson.E{Key: "expiresAt", Value: time.Now().Add(time.Hour)})
		}, "locks whose seats are no whole number", "look at them", nil},
		"poison event": {func(_ *testing.T, w *testenv.World, _ ids.ID) {
			insert(w, "events", bson.E{Key: "totalSeats", Value: "ten"}, bson.E{Key: "availableSeats", Value: 10})
		}, "events whose totalSeats is no whole number", "look at them", nil},
		"oversold": {func(_ *testing.T, w *testenv.World, event ids.ID) {
			insert(w, "seatlocks", bson.E{Key: "eventId", Value: event}, bson.E{Key: "seats", Value: 200}, bson.E{Key: "status", Value: "ACTIVE"}, bson.E{Key: "expiresAt", Value: time.Now().Add(time.Hour)})
			w.Recover()
		}, "oversold events", "people have to find other seats", nil},
		"index": {func(t *testing.T, w *testenv.World, _ ids.ID) {
			if err := w.DB.Collection("seatlocks").Indexes().DropOne(w.Ctx(), "hf_eventId_userId_idempotencyKey_unique_if_idempotencyKey"); err != nil {
				t.Fatal(err)
			}
		}, "the index hf_eventId_userId_idempotencyKey_unique_if_idempotencyKey", "createIndexes", nil},
		"validator": {func(t *testing.T, w *testenv.World, _ ids.ID) {
			if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}}).Err(); err != nil {
				t.Fatal(err)
			}
		}, "the validator of events", "collMod", nil},
		"overdue": {func(_ *testing.T, w *testenv.World, event ids.ID) {
			w.Take(event, 1, testenv.Past())
		}, "1 locks are due", "seatctl sweep", nil},
		"failed run": {func(_ *testing.T, w *testenv.World, _ ids.ID) {
			w.Insert("jobruns", bson.D{{Key: "_id", Value: "lock-expiry-x"}, {Key: "job", Value: "lock-expiry"}, {Key: "startedAt", Value: time.Now()}, {Key: "outcome", Value: "failed"}, {Key: "reason", Value: "it rained"}})
		}, "it rained", "correlationId=lock-expiry-x", nil},
		"endless run": {func(_ *testing.T, w *testenv.World, _ ids.ID) {
			w.Insert("jobruns", bson.D{{Key: "_id", Value: "reconcile-x"}, {Key: "job", Value: "reconcile"}, {Key: "startedAt", Value: time.Now().Add(-2 * time.Hour)}, {Key: "outcome", Value: "running"}})
		}, "longer than it may", "seatctl leases free reconcile", nil},
		"stuck lease": {func(t *testing.T, w *testenv.World, _ ids.ID) {
			if _, err := lease.NewMongo(w.DB, lease.Terms{TTL: time.Minute}).Acquire(w.Ctx(), lease.Of("lock-expiry"), "dead/1/x"); err != nil {
				t.Fatal(err)
			}
		}, "held by dead/1/x, which runs nothing", "seatctl leases free lock-expiry", []string{"--job-leases", "mongo"}},
		"no leader": {func(*testing.T, *testenv.World, ids.ID) {}, "no process schedules the jobs", "start a worker", []string{"--job-leases", "mongo"}},
		"no Redis":  {func(*testing.T, *testenv.World, ids.ID) {}, "does not answer", "start it", []string{"--job-leases", "redis", "--redis-url", "redis://127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, event := healthy(t)
			c.damage(t, w, event)
			code, out, errs := ctl(w, "", append(c.args, "-o", "json", "doctor")...)
			var found []struct{ State, Says, What, Do string }
			if err := json.Unmarshal([]byte(out), &found); err != nil {
				t.Fatal(err, out, errs)
			}
			hit := false
			for _, f := range found {
				hit = hit || (f.State == "FINDING" && strings.Contains(f.What+": "+f.Says, c.says) && strings.Contains(f.Do, c.do))
			}
			if code != 3 || !hit {
				t.Errorf("code %d, %s %s", code, out, errs)
			}
		})
	}
}

// What recover would do is told and not done; then it is done.
func TestRecover_TellsAndDoes(t *testing.T) {
	t.Parallel()
	w, event := healthy(t)
	stale := w.Take(event, 3, testenv.Past())
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 1}})
	code, out, errs := ctl(w, "", "recover", "--dry-run")
	if available, _ := w.Available(event); code != 3 || available != 1 || w.Lock(stale.ID).Status != seats.Active || !strings.Contains(out, "correct them") {
		t.Errorf("dry: %d %s %s", code, out, errs)
	}
	if code, out, errs = ctl(w, "", "recover"); code != 0 || !strings.Contains(out, "completed") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if available, _ := w.Available(event); available != 97 || w.Lock(stale.ID).Status != seats.Expired {
		t.Errorf("%d available, %s", available, w.Lock(stale.ID).Status)
	}
	if code, out, errs = ctl(w, "", "recover", "--dry-run"); code != 0 {
		t.Errorf("afterwards: %d %s %s", code, out, errs)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A sweep goes through the lease: one that is held elsewhere needs no second.
func TestSweep_GoesThroughTheLease(t *testing.T) {
	t.Parallel()
	w, event := healthy(t)
	lock := w.Take(event, 3, testenv.Past())
	held, err := lease.NewMongo(w.DB, lease.Terms{TTL: time.Minute}).Acquire(w.Ctx(), lease.Of("lock-expiry"), "other/1/x")
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := ctl(w, "", "--job-leases", "mongo", "sweep", "locks")
	if code != 0 || !strings.Contains(out, "being run by other/1/x") || w.Lock(lock.ID).Status != seats.Active {
		t.Errorf("held: %d %s %s", code, out, errs)
	}
	if code, out, errs = ctl(w, "", "--job-leases", "mongo", "leases", "free", "lock-expiry"); code != 0 || !strings.Contains(out, "other/1/x") {
		t.Errorf("free: %d %s %s", code, out, errs)
	}
	if err := held.Release(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	if code, out, errs = ctl(w, "", "--job-leases", "mongo", "sweep"); code != 0 || w.Lock(lock.ID).Status != seats.Expired {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if code, out, errs = ctl(w, "", "--job-leases", "mongo", "jobs"); code != 0 || !strings.Contains(out, "completed") || !strings.Contains(out, "leader") {
		t.Errorf("jobs: %d %s %s", code, out, errs)
	}
	if code, _, errs = ctl(w, "", "leases", "free", "nonsense"); code != 1 || !strings.Contains(errs, "no such job") {
		t.Errorf("nonsense: %d %s", code, errs)
	}
}

// Lists are filtered, and told to people and programs.
func TestLists(t *testing.T) {
	t.Parallel()
	w, event := healthy(t)
	lock := w.Take(event, 7, testenv.Soon())
	for _, c := range []struct {
		args  []string
		code  int
		holds string
		not   string
	}{
		{[]string{"events"}, 0, event.String(), ""},
		{[]string{"events", "--status", "CLOSED"}, 0, "", event.String()},
		{[]string{"locks", "--status", "ACTIVE"}, 0, lock.ID.String(), "CONSUMED"},
		{[]string{"locks", "--user", lock.UserID.String(), "-o", "json"}, 0, `"seats": 7`, `"seats": 2`},
		{[]string{"locks", "--event", "x"}, 2, "", ""},
		{[]string{"bookings", "--status", "CONFIRMED"}, 0, "CONFIRMED", "INITIATED"},
		{[]string{"bookings", "--limit", "1", "-o", "json"}, 0, `"lockId"`, "INITIATED\n"},
		{[]string{"bookings", "--event", ids.New().String(), "-o", "json"}, 0, "[]", ""},
		{[]string{"dance"}, 2, "", ""},
		{[]string{"locks", "--limit", "many"}, 2, "", ""},
	} {
		code, out, errs := ctl(w, "", c.args...)
		if code != c.code || !strings.Contains(out, c.holds) || (c.not != "" && strings.Contains(out, c.not)) {
			t.Errorf("%v: %d %s %s", c.args, code, out, errs)
		}
	}
}

// Events go from one database to another, once.
func TestExport_AndImport(t *testing.T) {
	t.Parallel()
	from, event := healthy(t)
	closed := seats.Closed
	if _, err := from.Seats.UpdateEvent(from.Ctx(), event, seats.EventChange{Status: &closed}); err != nil {
		t.Fatal(err)
	}
	code, lines, errs := ctl(from, "", "export")
	if code != 0 || strings.Count(lines, "\n") != 1 {
		t.Fatal(code, lines, errs)
	}
	to := testenv.New(t)
	for _, want := range []string{`"made": 1`, `"wereThere": 1`} {
		if code, out, errs := ctl(to, lines+"\n", "-o", "json", "import"); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d %s %s", code, out, errs)
		}
	}
	e, err := to.Seats.Event(to.Ctx(), event)
	if err != nil || e.TotalSeats != 100 || e.AvailableSeats != 100 || e.Status != seats.Closed {
		t.Errorf("%+v %v", e, err)
	}
	for _, wrong := range []string{`{"name":"x"}`, `{"name":"x","totalSeats":1,"colour":"red"}`, `nonsense`, `{"name":"x","totalSeats":1,"status":"GONE"}`, `{"id":"x","name":"x","totalSeats":1}`} {
		if code, _, errs := ctl(to, "\n"+wrong, "import"); code != 1 || !strings.Contains(errs, "line 2") {
			t.Errorf("%s: %d %s", wrong, code, errs)
		}
	}
	testenv.CheckInvariants(t, to.DB.Database)
}
