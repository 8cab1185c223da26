package store_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A union reads locks from their bytes. Whatever other software has written, it reads what everything else reads,
// also where a field is repeated and where the bytes are damaged.
func TestUnion_ReadsLocksAsEverythingElse(t *testing.T) {
	t.Parallel()
	random := testenv.Random(t)
	compare := func(doc bson.Raw) {
		t.Helper()
		if got, want := store.ReadForUnion(doc), store.ReadLock(doc); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\nis read as %+v\nwant       %+v", hex.EncodeToString(doc), got, want)
		}
	}
	for range 20_000 {
		doc, err := bson.Marshal(anyLock(random))
		if err != nil {
			t.Fatal(err)
		}
		compare(doc)
		compare(doc[:random.IntN(len(doc)+1)])
		damaged := bytes.Clone(doc)
		damaged[len(damaged)-1] = 1
		compare(damaged)
	}
}

// anyLock has each field not at all, once or several times, of the right type more often than not.
func anyLock(random *rand.Rand) bson.D {
	doc := bson.D{}
	right := map[string]func() any{
		"_id":    func() any { return ids.New() },
		"status": func() any { return []string{"ACTIVE", "CONSUMED", "BLOCKED", "?", ""}[random.IntN(5)] },
		"seats": func() any {
			return []any{int32(2), int64(3), 4.0, 4.5, math.NaN(), math.Inf(1), -1, 1 << 60}[random.IntN(8)]
		},
		"section": func() any { return []string{"pit", "", "Größe"}[random.IntN(3)] },
		"seatIds": func() any { return bson.A{"a", "b-1-2", anyValue(random), "", "c"}[:random.IntN(6)] },
		"other":   func() any { return anyValue(random) },
	}
	for name, value := range right {
		for range random.IntN(3) {
			v := value()
			if random.IntN(5) == 0 {
				v = anyValue(random)
			}
			doc = append(doc, bson.E{Key: name, Value: v})
		}
	}
	random.Shuffle(len(doc), func(i, j int) { doc[i], doc[j] = doc[j], doc[i] })
	return doc
}

func anyValue(random *rand.Rand) any {
	decimal, _ := bson.ParseDecimal128([]string{"7", "7.5", "1e3", "NaN"}[random.IntN(4)])
	all := []any{nil, true, "text", int64(5), 5.0, decimal, bson.A{"x", bson.A{"y"}}, bson.D{{Key: "0", Value: "x"}}, ids.New(),
		bson.NewDateTimeFromTime(time.Now()), bson.MinKey{}, bson.MaxKey{},
		bson.Binary{Data: []byte{1}}, bson.Symbol("s"), bson.Regex{Pattern: "a"}}
	return all[random.IntN(len(all))]
}
