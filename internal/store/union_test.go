package store_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A union reads locks from their bytes. It reads what everything else reads, also where a field is repeated, and leaves out the same
// locks as corrupt.
func TestUnion_ReadsLocksAsEverythingElse(t *testing.T) {
	t.Parallel()
	random, corrupt := testenv.Random(t), 0
	const locks = 20_000
	for range locks {
		doc, err := bson.Marshal(anyLock(random))
		if err != nil {
			t.Fatal(err)
		}
		got, isRead := store.ReadForUnion(doc)
		want, isRight := store.ReadLock(t, doc)
		if isRead != isRight || isRight && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\nis read as %t, %+v\nwant       %t, %+v", bson.Raw(doc), isRead, got, isRight, want)
		}
		if !isRight {
			corrupt++
		}
	}
	if corrupt == 0 || corrupt == locks {
		t.Errorf("%d of %d locks are corrupt", corrupt, locks)
	}
}

// A lock that is corrupt in a field that a union does not read counts nowhere: neither in its event, nor in its section, nor
// as blocked.
func TestUnion_LeavesOutKnownCorruptLocks(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.SeatedEvent(holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{
			{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 3}}}, {Key: "pit", Name: "Pit", Category: "c", Capacity: 5},
		}})
	for _, l := range []bson.D{
		{field("status", "ACTIVE"), field("seats", 3), field("userId", mongodb.NewID())},
		{field("status", "ACTIVE"), field("seats", 1), field("userId", "x")},
		{field("status", "BLOCKED"), field("seats", 1), field("createdAt", "x")},
	} {
		w.Insert("seatlocks", append(l, field("_id", mongodb.NewID()), field("eventId", event), field("section", "pit"),
			field("expiresAt", time.Now().Add(time.Hour))))
	}
	if err := w.Corrupt.Refresh(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	state, err := w.Store.MeasureSeats(w.Ctx(), event, inventory.Needs{})
	if err != nil {
		t.Fatal(err)
	}
	if u := state.Union; u.Taken != 3 || u.Blocked != 0 || u.Seats.TakenGeneral(1) != 3 {
		t.Errorf("%d seats are taken, %d of them blocked, and %d in the section", u.Taken, u.Blocked, u.Seats.TakenGeneral(1))
	}
	w.Recover()
	if available, _ := w.Available(event); available != 5 {
		t.Errorf("%d seats are available, want 5", available)
	}
}

// anyLock has each field of a union, some several times, and mostly of the right type.
func anyLock(random *rand.Rand) bson.D {
	doc := bson.D{}
	for name, value := range map[string]func() any{
		"_id":     func() any { return mongodb.NewID() },
		"status":  func() any { return []string{"ACTIVE", "CONSUMED", "BLOCKED"}[random.IntN(3)] },
		"seats":   func() any { return []any{int32(1), int64(2), 3.0, 4.5, math.NaN(), -1, 1 << 60}[random.IntN(7)] },
		"section": func() any { return []string{"pit", "", "Größe"}[random.IntN(3)] },
		"seatIds": func() any { return bson.A{"a", "b-1-2", "", "c"}[:random.IntN(4)] },
		"other":   func() any { return anyValue(random) },
	} {
		for range 1 + random.IntN(2) {
			v := value()
			if random.IntN(20) == 0 && name != "status" { // the query has looked for the status
				v = anyValue(random)
			}
			doc = append(doc, bson.E{Key: name, Value: v})
		}
	}
	doc = append(doc, bson.E{Key: "eventId", Value: mongodb.NewID()}, bson.E{Key: "expiresAt", Value: bson.DateTime(0)})
	if random.IntN(2) == 0 {
		doc = slices.DeleteFunc(doc, func(e bson.E) bool { return e.Key == "seatIds" })
	}
	random.Shuffle(len(doc), func(i, j int) { doc[i], doc[j] = doc[j], doc[i] })
	return doc
}

func anyValue(random *rand.Rand) any {
	decimal, _ := bson.ParseDecimal128([]string{"7", "7.5", "1e3", "NaN"}[random.IntN(4)])
	all := []any{nil, true, "text", int64(5), 5.0, decimal, bson.A{"x", bson.A{"y"}}, bson.D{{Key: "0", Value: "x"}}, mongodb.NewID(),
		bson.NewDateTimeFromTime(time.Now()), bson.MinKey{}, bson.MaxKey{},
		bson.Binary{Data: []byte{1}}, bson.Symbol("s"), bson.Regex{Pattern: "a"}}
	return all[random.IntN(len(all))]
}
