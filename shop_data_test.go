package holdfast_test

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// manyKeys is metadata with n keys.
func manyKeys(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprint("key-", i)] = ""
	}
	return all
}

func TestShopData_Limits(t *testing.T) {
	t.Parallel()
	const where = "body.metadata"
	for name, c := range map[string]struct {
		reference string
		metadata  map[string]string
		where     string // of the refusal; "": it is accepted
	}{
		"none":                         {},
		"an empty map":                 {metadata: map[string]string{}},
		"an order":                     {reference: "A-17 / é"},
		"the longest reference":        {reference: strings.Repeat("é", 128)},
		"a longer reference":           {reference: strings.Repeat("a", 129), where: "body.reference"},
		"blanks at its ends":           {reference: " A\u00a0"},
		"blanks alone":                 {reference: " "},
		"a control character":          {reference: "A\x00B", where: "body.reference"},
		"a control character of C1":    {reference: "A\u0085", where: "body.reference"},
		"another direction":            {reference: "A\u202eB"},
		"no UTF-8":                     {reference: "A\xff", where: "body.reference"},
		"20 keys":                      {metadata: manyKeys(20)},
		"21 keys":                      {metadata: manyKeys(21), where: where},
		"every kind of key":            {metadata: map[string]string{"aZ_09.-": "x", "$": ""}, where: where + ".$"},
		"the longest key":              {metadata: map[string]string{strings.Repeat("k", 40): ""}},
		"a longer key":                 {metadata: map[string]string{strings.Repeat("k", 41): ""}, where: where + "." + strings.Repeat("k", 40)},
		"an empty key":                 {metadata: map[string]string{"": ""}, where: where + "."},
		"a letter of another alphabet": {metadata: map[string]string{"\u00e9": ""}, where: where + ".\u00e9"},
		"a blank in a key":             {metadata: map[string]string{"a b": ""}, where: where + ".a b"},
		"the longest value":            {metadata: map[string]string{"k": strings.Repeat("\U0001f3ab", 500)}},
		"a longer value":               {metadata: map[string]string{"k": strings.Repeat("v", 501)}, where: where + ".k"},
		"a value of lines":             {metadata: map[string]string{"k": " one\n\ttwo\x00 "}},
		"a value that is not UTF-8":    {metadata: map[string]string{"k": "\xff"}, where: where + ".k"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := holdfast.ShopData{Reference: c.reference, Metadata: c.metadata}
			if got := whereOf(data.CheckShopData("body")); got != c.where {
				t.Errorf("refused at %q, want %q", got, c.where)
			}
			change := holdfast.ShopDataChange{Reference: &c.reference, Metadata: map[string]*string{}}
			for key, value := range c.metadata {
				change.Metadata[key] = &value
			}
			got := whereOf(change.Check("body"))
			if got == "" {
				_, _, err := change.Of(holdfast.ShopData{}, "body")
				got = whereOf(err)
			}
			if got != c.where {
				t.Errorf("a change is refused at %q, want %q", got, c.where)
			}
		})
	}
}

// whereOf is the place that a refusal names.
func whereOf(err error) string {
	details, _ := holdfast.DetailsOf[holdfast.Invalid](err)
	if err != nil && len(details) != 1 {
		return err.Error()
	}
	for _, d := range details {
		return d.Where
	}
	return ""
}

// changeOf makes a change: "a=1" sets a key, "a" removes it, "*" removes all, "ref=A" and "ref" are the reference.
func changeOf(what ...string) (c holdfast.ShopDataChange) {
	for _, text := range what {
		key, value, sets := strings.Cut(text, "=")
		switch key {
		case "ref":
			c.Reference = &value
		case "*":
			c.WithoutMetadata = true
		default:
			if c.Metadata == nil {
				c.Metadata = map[string]*string{}
			}
			if c.Metadata[key] = nil; sets {
				c.Metadata[key] = &value
			}
		}
	}
	return c
}

func TestShopDataChange_Merges(t *testing.T) {
	t.Parallel()
	data := func(reference string, metadata map[string]string) holdfast.ShopData {
		return holdfast.ShopData{Reference: reference, Metadata: metadata}
	}
	type keys = map[string]string
	before := data("A", keys{"a": "1", "b": ""})
	full, foreign := data("", manyKeys(20)), data("", manyKeys(25)) // other software wrote the latter
	for name, c := range map[string]struct {
		of      holdfast.ShopData
		change  holdfast.ShopDataChange
		want    holdfast.ShopData
		refused bool
	}{
		"nothing":              {of: before, want: before},
		"the same":             {of: before, change: changeOf("ref=A", "b=", "c"), want: before},
		"a reference":          {of: before, change: changeOf("ref=x"), want: data("x", before.Metadata)},
		"no reference":         {of: before, change: changeOf("ref"), want: data("", before.Metadata)},
		"another value":        {of: before, change: changeOf("a=x"), want: data("A", keys{"a": "x", "b": ""})},
		"a key less":           {of: before, change: changeOf("b"), want: data("A", keys{"a": "1"})},
		"the last keys":        {of: before, change: changeOf("a", "b"), want: data("A", nil)},
		"no metadata":          {of: before, change: changeOf("*"), want: data("A", nil)},
		"other metadata":       {of: before, change: changeOf("*", "c=x"), want: data("A", keys{"c": "x"})},
		"the first":            {change: changeOf("a=x"), want: data("", keys{"a": "x"})},
		"none of none":         {change: changeOf("*", "ref")},
		"a 21st key":           {of: full, change: changeOf("added=x"), refused: true},
		"another 20th key":     {of: full, change: changeOf("key-0", "added=x"), want: data("", withKey(manyKeys(20), "key-0", "added", "x"))},
		"of 25 keys, one less": {of: foreign, change: changeOf("key-24"), want: data("", manyKeys(24))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := data(c.of.Reference, maps.Clone(c.of.Metadata))
			got, changes, err := c.change.Clone().Of(c.of, "body")
			if c.refused {
				if whereOf(err) != "body.metadata" {
					t.Errorf("error %v", err)
				}
			} else if err != nil || !reflect.DeepEqual(got, c.want) || changes == reflect.DeepEqual(c.of, c.want) {
				t.Errorf("%+v, changes: %v, %v; want %+v", got, changes, err, c.want)
			}
			if !reflect.DeepEqual(c.of, kept) {
				t.Errorf("the data before became %+v", c.of)
			}
		})
	}
}

func withKey(all map[string]string, without, key, value string) map[string]string {
	delete(all, without)
	all[key] = value
	return all
}

// The hash of a request differs with its reference and metadata, and does not depend on the order of the keys.
func TestHash_OfShopData(t *testing.T) {
	t.Parallel()
	seen := map[string]holdfast.ShopData{}
	for _, d := range []holdfast.ShopData{
		{}, {Reference: "a"}, {Reference: "b"}, {Metadata: map[string]string{"a": ""}}, {Metadata: map[string]string{"a": "b"}},
		{Metadata: map[string]string{"a": "", "b": ""}}, {Metadata: map[string]string{"a": "=\"\"|\"b"}},
		{Reference: "a", Metadata: map[string]string{"a": ""}}, {Reference: "\"|\"a\"=\""},
	} {
		for _, hash := range []string{holdfast.LockRequest{Seats: 1, ShopData: d}.Hash(), holdfast.NewEvent{Name: "E", ShopData: d}.Hash()} {
			if same, found := seen[hash]; found {
				t.Errorf("%+v has the hash of %+v", d, same)
			}
			seen[hash] = d
		}
	}
	none := holdfast.LockRequest{Seats: 1, ShopData: holdfast.ShopData{Metadata: map[string]string{}}}
	if none.Hash() != (holdfast.LockRequest{Seats: 1}).Hash() {
		t.Error("empty metadata has another hash than none")
	}
	many := holdfast.LockRequest{ShopData: holdfast.ShopData{Metadata: manyKeys(20)}}
	for range 20 {
		if again := (holdfast.LockRequest{ShopData: holdfast.ShopData{Metadata: manyKeys(20)}}); again.Hash() != many.Hash() {
			t.Fatal("the same metadata has different hashes")
		}
	}
}
