package plandrawing

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// A color without contrast to the background, or to its own signs, is of no use.
func TestPalette_HasContrast(t *testing.T) {
	t.Parallel()
	ratio := func(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }
	for _, color := range palette {
		signs := 1.0
		if contrast(color) == "#000" {
			signs = 0
		}
		if got := ratio(luminance(color), luminance(background)); got < 3 || !isColor(color) {
			t.Errorf("%s has a contrast of %.1f to the background", color, got)
		}
		if got := ratio(luminance(color), signs); got < 4.5 {
			t.Errorf("%s has a contrast of %.1f to its signs", color, got)
		}
	}
	if contrast("#ffff00") != "#000" || contrast("#000080") != "#fff" {
		t.Error("the signs on light colors are black, and on dark ones white")
	}
}

// A category without a color gets one that no other category has.
func TestColors_OfThePlanAreNotGivenTwice(t *testing.T) {
	t.Parallel()
	categories := []holdfast.Category{{Key: "a"}, {Key: "b", Color: "#0B5D66"}, {Key: "c"}, {Key: "d", Color: "red\"/>"}}
	colors := colorsOf(categories)
	if colors["b"] != "#0b5d66" || colors["a"] != palette[1] || colors["c"] != palette[2] || colors["d"] != palette[3] {
		t.Errorf("%v", colors)
	}
}
