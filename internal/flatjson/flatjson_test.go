package flatjson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/flatjson"
	"github.com/holdfast-dev/holdfast/internal/strictjson"
)

type terms struct {
	EventID string `json:"eventId"`
	Shared
	*Behind
	Named `json:"named"`
	Ratio float64   `json:"ratio"`
	At    time.Time `json:"at"`
	Own   upper     `json:"own"`
	Text  int       `json:"text,string"`
	NoTag string
	Inner struct{ A int } `json:"inner"`
}

type Shared struct {
	UserID     string `json:"userId,omitempty"`
	Seats      *int64 `json:"seats"`
	Small      int8   `json:"small"`
	Name       *name  `json:"name"`
	Adjacent   bool   `json:"adjacent"`
	IsOptional *bool  `json:"isOptional"`
}

type Behind struct {
	Hidden string `json:"hidden"`
}

type Named struct {
	Below string `json:"below"`
}

type name string

type upper string

func (u *upper) UnmarshalText(text []byte) error {
	*u = upper(strings.ToUpper(string(text)))
	return nil
}

var texts = []string{
	`{"eventId":"6b0166d19f73b711049e40f3","userId":"6b0166d19f73b711049e40f3","seats":2,"idempotencyKey":"0-1"}`,
	" {\n\"eventId\" :\t\"a\" , \"seats\" : 0,\r \"adjacent\":true,\"isOptional\":false } ", `{"seats":null,"name":"A","small":127}`,
	`{"seats":999999999999999}`, `{"seats":1000000000000000}`, `{"seats":01}`, `{"seats":-1}`, `{"seats":1.0}`, `{"seats":1e2}`,
	`{"seats":1x}`,
	`{"small":128}`, `{"ratio":1}`, `{"at":"2026-01-01T00:00:00Z"}`, `{"own":"a"}`, `{"text":"1"}`, `{"NoTag":"a"}`,
	`{"hidden":"a"}`, `{"below":"a"}`, `{"named":"a"}`,
	`{"inner":{"A":1}}`, `{"inner":null}`, `{"eventid":"a"}`, `{"eventId":"a","eventId":"b"}`, `{"x":1,"x":1}`, `{"eventId":1}`,
	`{"eventId":"\u0041"}`, `{"eventId":"é"}`, "{\"eventId\":\"\xff\"}", "{\"eventId\":\"\x7f\"}", "{\"eventId\":\"\n\"}",
	`{}`, `{,}`, `{"a":1,}`,
	`{"a":1}}`, `{"a":1} {`, `{"a" 1}`, `{"a":}`, `{"a":tru}`, `{"a":truex}`, `{"a":nul`, `{"a":"`,
	`{"a`, `{`, ``, `[]`, `null`, `"a"`, `{"a":[]}`,
}

// check compares the package with encoding/json.
func check(t *testing.T, text []byte) {
	t.Helper()
	var tree any
	valid := strictjson.Check(text) == nil && json.Unmarshal(text, &tree) == nil
	if object, ok := flatjson.Object(text); ok && (!valid || !reflect.DeepEqual(tree, object)) {
		t.Errorf("%q is read as %v; encoding/json reads %v", text, object, tree)
	}
	var got, want terms
	switch ok := flatjson.Into(text, &got); {
	case ok && (!valid || json.Unmarshal(text, &want) != nil || !reflect.DeepEqual(got, want)):
		t.Errorf("%q is read as %+v; encoding/json reads %+v", text, got, want)
	case !ok && !reflect.DeepEqual(got, terms{}):
		t.Errorf("%q is not taken, and leaves %+v", text, got)
	}
}

func TestFlat_ReadsAsGoDoes(t *testing.T) {
	for _, text := range texts {
		check(t, []byte(text))
	}
	for i, text := range texts[:4] {
		if _, ok := flatjson.Object([]byte(text)); !ok {
			t.Errorf("text %d is not taken as an object", i)
		}
	}
	for i, text := range texts[1:4] {
		if !flatjson.Into([]byte(text), new(terms)) {
			t.Errorf("text %d is not taken into a struct", i+1)
		}
	}
}

// One byte is changed at each place.
func TestFlat_ReadsChangedTextsAsGoDoes(t *testing.T) {
	for _, text := range texts {
		for at := range text {
			for _, c := range []byte("\x00\t \"\\'{}[]:,0159aefnlrstu+-.\x7f\x80\xff") {
				changed := []byte(text)
				changed[at] = c
				check(t, changed)
			}
		}
	}
}

// encoding/json reads neither of two fields with the same key.
func TestFlat_LeavesAFieldWhoseKeyIsNotItsOwn(t *testing.T) {
	text := reflect.TypeFor[string]()
	both := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "One", Type: text, Tag: `json:"twice"`}, {Name: "Other", Type: text, Tag: `json:"twice"`},
	}))
	if flatjson.Into([]byte(`{"twice":"a"}`), both.Interface()) {
		t.Errorf("read %+v", both.Elem())
	}
}

// The method of an embedded type reads the whole struct.
func TestFlat_LeavesAStructThatReadsItself(t *testing.T) {
	both := struct {
		time.Time
		Name string `json:"name"`
	}{}
	if flatjson.Into([]byte(`{"name":"a"}`), &both) {
		t.Errorf("read %+v", both)
	}
}

func BenchmarkObject(b *testing.B) {
	for b.Loop() {
		flatjson.Object([]byte(texts[0]))
	}
}

func BenchmarkInto(b *testing.B) {
	for b.Loop() {
		flatjson.Into([]byte(texts[1]), new(terms))
	}
}
