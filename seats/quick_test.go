package seats_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// commands are the names of what MongoDB was asked for in a database meanwhile.
func commands(t *testing.T, w *testenv.Env, do func()) (names []string) {
	t.Helper()
	level := func(n int) {
		if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "profile", Value: n}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	level(2)
	do()
	level(0)
	cursor, err := w.DB.Collection("system.profile").Find(w.Ctx(), bson.D{{Key: "ns", Value: bson.D{{Key: "$ne", Value: w.DB.Name() + ".system.profile"}}}})
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Command bson.D `bson:"command"`
		Op      string `bson:"op"`
	}
	if err := cursor.All(w.Ctx(), &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if len(c.Command) > 0 && c.Command[0].Key != "profile" {
			names = append(names, c.Command[0].Key)
		}
	}
	return names
}

// A new request that fits is written without anything being read first.
func TestQuick_ReadsNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	request := holdfast.LockRequest{EventID: w.Event(10), UserID: ids.New(), Seats: 2, Key: "key"}
	asked := commands(t, w, func() {
		if _, _, err := w.Seats.Acquire(w.Ctx(), request); err != nil {
			t.Fatal(err)
		}
	})
	if len(asked) != 2 || asked[0] != "findAndModify" || asked[1] != "insert" {
		t.Errorf("MongoDB was asked for %v", asked)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A counter that outside hands raised beyond the total sells nothing that is
// not there: it is proved first, as big as it may seem.
func TestQuick_ACounterThatCannotBeIsProvedFirst(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]bson.D{
		"beyond the total": {{Key: "availableSeats", Value: 105}},
		"a fraction":       {{Key: "availableSeats", Value: 99.5}},
		"oversold beside":  {{Key: "oversold", Value: 5}},
		"no total":         {{Key: "totalSeats", Value: "many"}},
	} {
		w := testenv.New(t)
		event := w.Event(100)
		w.Take(event, 20, testenv.Soon())
		if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}}).Err(); err != nil {
			t.Fatal(err)
		}
		w.Set("events", event, wrong)
		_, _, err := w.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 10})
		if name == "no total" {
			if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if available, oversold := w.Available(event); err != nil || available != 70 || oversold != 0 {
			t.Errorf("%s: %d available, %d oversold, %v; want 70 and 0", name, available, oversold, err)
		}
	}
}

// An event whose batches have to be read is not asked to be quick each time,
// and becomes so again.
func TestQuick_ReturnsWithSeats(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1)
	lock := w.Take(event, 1, testenv.Soon())
	_, _, err := w.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 1})
	if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
		t.Errorf("sold out: %v", err)
	}
	if _, err := w.Seats.Release(w.Ctx(), lock.ID); err != nil {
		t.Fatal(err)
	}
	w.Take(event, 1, testenv.Soon())
	testenv.CheckInvariants(t, w.DB.Database)
}
