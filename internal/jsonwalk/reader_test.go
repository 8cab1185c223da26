package jsonwalk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/jsonwalk"
)

// item is a value of a type that a walk expects.
type item struct {
	name  string
	count int64
	size  float64
	open  bool
	of    []item
}

func read(r *jsonwalk.Reader) (v item) {
	r.Object(func(key string) bool {
		switch key {
		case "name":
			v.name = r.Text()
		case "label":
			v.name += r.OptionalString()
		case "count":
			v.count, _ = r.Integer()
		case "size":
			v.size, _ = r.Number()
		case "open":
			v.open = r.OptionalBool()
		case "of":
			if !r.Null() {
				r.List(func(int) { v.of = append(v.of, read(r)) })
			}
		case "other":
			r.Skip()
		default:
			return false
		}
		return true
	}, "name")
	return v
}

func TestReader_ReadsValuesOfEveryType(t *testing.T) {
	t.Parallel()
	r := jsonwalk.NewReader([]byte(` { "name" : "a\n\u00e9" , "count":2e0,"size":-0.5, "open":true,"other":[{"x":"]}"},[[]],null],
		"of":[ {"name":"b","of":null} , {"name":"c","label":null,"open":null,"of":[]}] } `), 10)
	v := read(r)
	if got := fmt.Sprintf("%+v", v); got != "{name:a\né count:2 size:-0.5 open:true of:[{name:b count:0 size:0 open:false of:[]} "+
		"{name:c count:0 size:0 open:false of:[]}]}" || len(r.Problems()) > 0 {
		t.Errorf("%s, %v", got, r.Problems())
	}
}

func TestReader_NamesThePathOfEachProblem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 100)
	for text, want := range map[string][]string{
		`{"of":[{"name":"b"},{"name":7}]}`:     {"of[1].name: expected string", "name: expected required property name to be present"},
		`{"name":"a","count":1.5,"size":"x"}`:  {"count: expected integer", "size: expected number"},
		`{"name":"a","open":0,"label":""}`:     {"open: expected boolean", "label: expected length >= 1"},
		`{"name":"a","of":{"a":[1,{}]}}`:       {"of: expected array"},
		`[{"name":"a"}]`:                       {": expected object"},
		`{"name":"a","` + long + `":["}"]}`:    {long[:64] + "...: unexpected property"},
		`{"name":"a","NAME":"b","of":[[],[]]}`: {"NAME: unexpected property", "of[0]: expected object", "of[1]: expected object"},
	} {
		r := jsonwalk.NewReader([]byte(text), 10)
		read(r)
		var got []string
		for _, p := range r.Problems() {
			got = append(got, p.Where+": "+p.What)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestReader_KeepsTheFirstProblems(t *testing.T) {
	t.Parallel()
	r := jsonwalk.NewReader([]byte(`{"name":"a","of":[`+strings.Repeat("1,", 50)+`1]}`), 3)
	if read(r); len(r.Problems()) != 3 || r.Problems()[2].Where != "of[2]" {
		t.Error(r.Problems())
	}
}
