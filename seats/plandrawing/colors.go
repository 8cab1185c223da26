package plandrawing

import (
	"math"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// palette has the colors of categories without one. Each has a contrast of at least 3 to the background, and
// neighbours differ in lightness too.
var palette = []string{
	"#0b5d66", "#c2571a", "#4a3f8c", "#2e8b57", "#8a1c4a", "#2f7fc1", "#6b4f1d", "#c13fa0", "#1f3d7a", "#7a7f1f", "#b3261e", "#5b6770",
}

// colorsOf returns the colors of the categories by key. Colors of the plan are not given to other categories while
// the palette has more.
func colorsOf(categories []holdfast.Category) map[string]string {
	used := map[string]bool{}
	for _, c := range categories {
		used[strings.ToLower(c.Color)] = true
	}
	var left []string
	for _, color := range palette {
		if !used[color] {
			left = append(left, color)
		}
	}
	if len(left) == 0 {
		left = palette
	}
	colors := map[string]string{}
	n := 0
	for _, c := range categories {
		if isColor(c.Color) {
			colors[c.Key] = strings.ToLower(c.Color)
			continue
		}
		colors[c.Key] = left[n%len(left)]
		n++
	}
	return colors
}

func isColor(text string) bool {
	const length = len("#rrggbb")
	_, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 32)
	return err == nil && len(text) == length && text[0] == '#'
}

// contrast is the color of signs on a color.
func contrast(color string) string {
	const whiteIsBetterBelow = 0.179 // where white and black have the same contrast
	if luminance(color) < whiteIsBetterBelow {
		return "#fff"
	}
	return "#000"
}

// luminance is the relative luminance of WCAG 2, from 0 to 1.
func luminance(color string) (sum float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8) // it is a color
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
