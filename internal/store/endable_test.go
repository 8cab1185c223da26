package store_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A due lock can be ended, or there is a reason why not, whatever its fields hold. The filter and
// the reason are two forms of one rule.
func TestDueLocks_AreEndableOrHaveAReason(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	allowFormer(t, w)
	event := ids.New()
	w.Insert("events", bson.D{{Key: "_id", Value: event}, {Key: "totalSeats", Value: 10}, {Key: "availableSeats", Value: 0}})
	what := map[string]string{} // by _id, in extended JSON
	insert := func(id any, field string, value any) {
		doc := bson.D{
			{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "status", Value: "ACTIVE"},
			{Key: "expiresAt", Value: time.Now().Add(-time.Minute)},
		}
		if field != "seats" {
			doc = append(doc, bson.E{Key: "seats", Value: 1})
		}
		if field != "_id" {
			doc = append(doc, nested(field, value))
		}
		w.Insert("seatlocks", doc)
		what[idText(t, id)] = fmt.Sprintf("%s: %T %v", field, value, value)
	}
	for _, v := range anyValues(t) {
		insert(ids.New(), "seats", v)
		insert(ids.New(), "internal", v)
		insert(ids.New(), "internal.rev", v)
		insert(ids.New(), "rev", v) // other software's
		if canBeID(t, v) {
			insert(v, "_id", v)
		}
	}
	insert(ids.New(), "other", 1)

	found := map[string]int{}
	due, err := w.Store.DueLocks(w.Ctx(), store.After{}, len(what))
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range due {
		found[idText(t, lock.ID)]++
	}
	refused, err := w.Store.UnendableLocks(w.Ctx(), &store.Turns{}, len(what))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range refused {
		found[p.ID]++
	}
	for id, what := range what {
		if found[id] != 1 {
			t.Errorf("%s was found %d times, as a lock that can be ended or one that can't", what, found[id])
		}
	}
	if len(due) < 20 || len(refused) < 100 {
		t.Errorf("%d locks can be ended and %d can't: the values don't try the rule", len(due), len(refused))
	}
	ofEvent, err := w.Store.Load(w.Ctx(), event, inventory.Needs{Due: len(what)})
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range *ofEvent.Due {
		found[idText(t, lock.ID)]--
	}
	for _, lock := range due {
		if id := idText(t, lock.ID); found[id] != 0 {
			t.Errorf("%s is due, but a reclaim does not find it", what[id])
		}
	}
	if len(*ofEvent.Due) != len(due) {
		t.Errorf("a reclaim finds %d locks, a sweep %d", len(*ofEvent.Due), len(due))
	}
	if n, err := w.Store.CountDueLocks(w.Ctx(), 0); err != nil || n != int64(len(due)) {
		t.Errorf("counted %d due locks (%v), found %d", n, err, len(due))
	}
}

// nested is a field, perhaps of a sub-document.
func nested(path string, value any) bson.E {
	if parent, child, isNested := strings.Cut(path, "."); isNested {
		return bson.E{Key: parent, Value: bson.D{{Key: child, Value: value}}}
	}
	return bson.E{Key: path, Value: value}
}

// canBeID leaves out what is no _id, and numbers but int32, which equal each other.
func canBeID(t *testing.T, v any) bool {
	t.Helper()
	kind, _, err := bson.MarshalValue(v)
	if err != nil {
		t.Fatal(err)
	}
	switch kind {
	case bson.TypeArray, bson.TypeRegex, bson.TypeUndefined, bson.TypeDouble, bson.TypeInt64, bson.TypeDecimal128:
		return false
	default:
		return true
	}
}

// idText is an _id as in a report.
func idText(t *testing.T, id any) string {
	t.Helper()
	kind, data, err := bson.MarshalValue(id)
	if err != nil {
		t.Fatal(err)
	}
	v := bson.RawValue{Type: kind, Value: data}
	if id, ok := v.ObjectIDOK(); ok {
		return id.Hex()
	}
	return v.String()
}

// anyValues has each BSON type, and numbers at every edge.
func anyValues(t *testing.T) []any {
	t.Helper()
	values := []any{
		"1", "", true, false, bson.Null{}, bson.D{}, bson.D{{Key: "a", Value: 1}}, bson.A{}, bson.A{1}, bson.A{1, 2}, bson.A{bson.A{1}},
		bson.A{"1", 3},
		holdfast.ID{}, bson.NewObjectID(), bson.NewDateTimeFromTime(time.Now()), bson.DateTime(0), bson.Timestamp{T: 1}, bson.Regex{Pattern: "1"},
		bson.Binary{Data: []byte{1}}, bson.Binary{Data: []byte{0}}, bson.JavaScript("1"), bson.Symbol("symbol"), bson.MinKey{}, bson.MaxKey{},
		bson.Undefined{},
		math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1e300, -1e300, math.SmallestNonzeroFloat64,
	}
	for _, n := range []int64{
		0, 1, 2, -1, math.MaxInt32, math.MinInt32, mongodb.MaxWhole - 1, mongodb.MaxWhole, mongodb.MaxWhole + 1,
		-mongodb.MaxWhole, -mongodb.MaxWhole - 1,
		math.MaxInt64, math.MinInt64,
	} {
		values = append(values, n, float64(n), float64(n)+0.5)
		decimal, err := bson.ParseDecimal128(fmt.Sprint(n))
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, decimal)
	}
	for _, text := range []string{
		"1.5", "1.0", "100E-2", "NaN", "Infinity", "-Infinity", "9E6000", "1E-6000", "0.5", "2E3", "1.000000000000000000000000000000001",
	} {
		decimal, err := bson.ParseDecimal128(text)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, decimal)
	}
	return append(values, int32(1), int32(3))
}
