package holdfast_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
)

const text = "65e5563f0102030405060708"

func TestParseID_ReadsWhatStringWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var id holdfast.ID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), len(id), len(id)).Draw(t, "bytes"))
		got, err := holdfast.ParseID(id.String())
		if err != nil || got != id || len(id.String()) != 24 {
			t.Errorf("got %v, %v, want %v", got, err, id)
		}
	})
}

func TestParseID(t *testing.T) {
	for _, row := range []struct {
		name, in string
		want     string // "" means refused
	}{
		{"24 digits", text, text},
		{"capitals", "65E5563F0102030405060708", text},
		{"none", "", ""},
		{"too short", text[1:], ""},
		{"too long", text + "00", ""},
		{"no digits", "zz" + text[2:], ""},
		{"no digit at the end", text[:23] + "g", ""},
		{"24 bytes of fewer characters", "65e5563f01020304050607é", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			id, err := holdfast.ParseID(row.in)
			if row.want == "" {
				if err == nil || !id.IsZero() {
					t.Errorf("got %v, %v, want the zero ID and an error", id, err)
				}
				return
			}
			if err != nil || id.String() != row.want {
				t.Errorf("got %v, %v, want %s", id, err, row.want)
			}
		})
	}
}

func TestID_CreatedAtIsTheSecondItWasMade(t *testing.T) {
	id, err := holdfast.ParseID(text)
	if want := time.Unix(0x65e5563f, 0).UTC(); err != nil || id.CreatedAt() != want {
		t.Errorf("got %v, want %v", id.CreatedAt(), want)
	}
	if (holdfast.ID{}).CreatedAt() != time.Unix(0, 0).UTC() || !(holdfast.ID{}).IsZero() || id.IsZero() {
		t.Error("the zero ID is wrong")
	}
}

func TestID_InJSONIsItsText(t *testing.T) {
	id, err := holdfast.ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(map[string]holdfast.ID{"id": id}); err != nil || string(got) != `{"id":"`+text+`"}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestID_InBSONIsAnObjectID(t *testing.T) {
	const objectID, str = 0x07, 0x02
	id, err := holdfast.ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	kind, data, err := id.MarshalBSONValue()
	if err != nil || kind != objectID || string(data) != string(id[:]) {
		t.Fatalf("got type %#x, %x, %v", kind, data, err)
	}
	var back holdfast.ID
	if err := back.UnmarshalBSONValue(kind, data); err != nil || back != id {
		t.Errorf("got %v, %v", back, err)
	}
	if err := back.UnmarshalBSONValue(str, data); err == nil {
		t.Errorf("a value of another type became %v, %v", back, err)
	}
}
