package seatctl_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/seatctl"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// hasSeatIndex reports whether MongoDB has the index.
func hasSeatIndex(env *testenv.Env) (has bool) {
	env.T.Helper()
	specs, err := env.DB.Collection("seatlocks").Indexes().ListSpecifications(env.Ctx())
	if err != nil {
		env.T.Fatal(err)
	}
	for _, s := range specs {
		has = has || strings.Contains(s.Name, "seatIds")
	}
	return has
}

// The index can't be made over doubles: they are listed, nothing changes, and after they are mended it is made.
// From then on MongoDB itself refuses a second lock of a seat.
func TestSeatIndex_OverDoubles(t *testing.T) {
	t.Parallel()
	env, event := newSeated(t)
	step := func(what string, wantCode int, wants []string, args ...string) {
		t.Helper()
		code, out, errs := ctl(env, "", append([]string{"seat-index"}, args...)...)
		for _, want := range wants {
			if all := strings.Join(strings.Fields(out+errs), " "); code != wantCode || !strings.Contains(all, want) {
				t.Errorf("%s: code %d, want %d and %q:\n%s%s", what, code, wantCode, want, out, errs)
			}
		}
	}
	step("new", 0, []string{"The unique index of seats is on"})
	step("on, again", 0, []string{"Looking for seats that several locks take.", "The unique index of seats is on"}, "on")
	step("off", 0, []string{"The unique index of seats is off"}, "off")
	if step("now", 0, []string{"is off"}); hasSeatIndex(env) {
		t.Fatal("the index is still there")
	}
	step("on for a while", 0, []string{"is on"}, "on")
	env.Command(bson.D{{Key: "dropIndexes", Value: "seatlocks"}, {Key: "index", Value: mongodb.Keys("eventId", "seatIds")}})
	step("dropped by other software", 3, []string{"The unique index of seats is missing", "run seatctl seat-index on"})
	step("made again", 0, []string{"is on"}, "on")
	if err := env.DB.ChangeSeatIndex(env.Ctx(), false); err != nil {
		t.Fatal(err)
	}
	step("killed before the drop", 3, []string{"The unique index of seats is left over", "run seatctl seat-index off"})
	step("off again", 0, []string{"is off"}, "off")
	first := take(t, env, event, testenv.Soon(), 0, named("A-1-1", "A-1-2"))
	other := insertSeatLock(env, event, holdfast.LockActive, "A-1-2", "A-1-3")
	ended := insertSeatLock(env, event, holdfast.LockReleased, "A-1-1")
	_, before, _ := ctl(env, "", "-o", "json", "seats", event.String(), "--section", "A")
	code, out, errs := ctl(env, "", "seat-index", "on")
	lines := strings.Join(strings.Fields(out), " ")
	for _, id := range []holdfast.ID{first.ID, other} {
		if !strings.Contains(lines, event.String()+" A-1-2 "+id.String()+" held") {
			t.Errorf("the lock %s is not listed", id)
		}
	}
	if code != 1 || strings.Contains(out, ended.String()) || strings.Contains(out, "A-1-1") || !strings.Contains(out, first.UserID.String()) ||
		!strings.Contains(errs, "nothing was changed: 1 seat is taken") || !strings.Contains(errs, "seatctl recover") || hasSeatIndex(env) {
		t.Errorf("code %d:\n%s%s", code, out, errs)
	}
	step("as it was", 0, []string{"is off"})
	if _, after, _ := ctl(env, "", "-o", "json", "seats", event.String(), "--section", "A"); after != before {
		t.Errorf("the locks were\n%s\nand are\n%s", before, after)
	}
	if _, err := env.Seats.ReleaseLock(env.Ctx(), other); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := ctl(env, "", "recover"); code != 0 {
		t.Fatalf("recover: code %d: %s%s", code, out, errs)
	}
	step("mended", 0, []string{"The unique index of seats is on"}, "on")
	_, err := env.DB.Collection("seatlocks").InsertOne(env.Ctx(), bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: event},
		{Key: "seats", Value: 1}, {Key: "seatIds", Value: bson.A{"A-1-2"}}, {Key: "status", Value: "ACTIVE"}})
	if !hasSeatIndex(env) || !mongo.IsDuplicateKeyError(err) {
		t.Errorf("a second lock was not refused: %v", err)
	}
	testenv.CheckInvariants(t, env.DB.Database)
}

// The number of doubles is told as it is, until there are too many to list.
func TestSeatIndex_CountsDoubles(t *testing.T) {
	t.Parallel()
	env, event := newSeated(t)
	if code, _, errs := ctl(env, "", "seat-index", "off"); code != 0 {
		t.Fatal(errs)
	}
	doubles := 0
	for _, c := range []struct {
		n    int
		want string
	}{
		{2, "nothing was changed: 2 seats are taken"},
		{99, "nothing was changed: 99 seats are taken"},
		{100, "nothing was changed: 100 or more seats are taken"},
		{101, "nothing was changed: 100 or more seats are taken"},
	} {
		var seatIDs []string
		for ; doubles < c.n; doubles++ {
			seatIDs = append(seatIDs, "seat-"+strconv.Itoa(doubles))
		}
		insertSeatLock(env, event, holdfast.LockConsumed, seatIDs...)
		insertSeatLock(env, event, holdfast.LockConsumed, seatIDs...)
		if code, _, errs := ctl(env, "", "seat-index", "on"); code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%d doubles: code %d: %s", c.n, code, errs)
		}
	}
}

// Another schema than this program's is left as it is, and so is the index while an upgrade is not finished.
func TestSeatIndex_NeedsItsOwnSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open func(t testing.TB) *testenv.Env
		set  bson.D
		want map[string]string // by argument
	}{
		"an upgrade": {open: testenv.NewShared, want: map[string]string{"on": "run seatctl upgrade finish, and then this again"}},
		"a former schema": {open: testenv.New, set: bson.D{{Key: "version", Value: 1}}, want: map[string]string{
			"on": "start the API or a worker of this version first", "off": "start the API or a worker of this version first",
		}},
		"a later schema": {open: testenv.New, set: bson.D{{Key: "version", Value: 1000}}, want: map[string]string{
			"on": "use the seatctl of that version", "off": "use the seatctl of that version",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := c.open(t)
			if c.set != nil {
				_, err := env.DB.Collection("meta").UpdateOne(env.Ctx(), mongodb.Is("_id", "schema"), bson.D{{Key: "$set", Value: c.set}})
				if err != nil {
					t.Fatal(err)
				}
			}
			had := hasSeatIndex(env)
			for to, want := range c.want {
				if code, out, errs := ctl(env, "", "seat-index", to); code != 1 || !strings.Contains(errs, want) || hasSeatIndex(env) != had {
					t.Errorf("%s: code %d: %s%s", to, code, out, errs)
				}
			}
		})
	}
	if code, _, errs := ctl(testenv.New(t), "", "seat-index", "maybe"); code != 2 || !strings.Contains(errs, "must be one of") {
		t.Errorf("code %d: %s", code, errs)
	}
}

// lockedBuffer is written by a command while the test reads it.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A build that takes long says so.
func TestSeatIndex_ShowsItsProgress(t *testing.T) {
	t.Parallel()
	env, event := newSeated(t)
	if code, _, errs := ctl(env, "", "seat-index", "off"); code != 0 {
		t.Fatal(errs)
	}
	lock := take(t, env, event, testenv.Soon(), 0, named("A-1-1"))
	const point = "hangIndexBuildDuringCollectionScanPhaseBeforeInsertion"
	configure := func(mode string) error {
		return env.DB.Client().Database("admin").RunCommand(env.Ctx(), bson.D{
			{Key: "configureFailPoint", Value: point}, {Key: "mode", Value: mode},
			{Key: "data", Value: bson.D{{Key: "fieldsToMatch", Value: bson.D{{Key: "_id", Value: lock.ID}}}}},
		}).Err()
	}
	if err := configure("alwaysOn"); err != nil {
		t.Fatal(err)
	}
	var notes lockedBuffer
	done := make(chan int)
	go func() {
		done <- seatctl.Main([]string{"--mongodb-uri", env.URI, "--mongodb-database", env.DB.Name(), "--job-leases", "none", "seat-index", "on"},
			strings.NewReader(""), &notes, &notes)
	}()
	told := testenv.Poll(20*time.Second, func() bool {
		return strings.Contains(notes.String(), "Building the index; sales go on: 5s so far.")
	})
	err := configure("off")
	if code := <-done; !told || code != 0 || err != nil || !strings.Contains(notes.String(), "is on") {
		t.Errorf("code %d, %v: %s", code, err, notes.String())
	}
}
