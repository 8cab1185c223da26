package seating

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// decorations checks what is drawn around the seats.
func (c *checker) decorations() {
	all, points := c.plan.Decorations, 0
	c.number(location{}, "decorations", int64(len(all)), 0, holdfast.MaxDecorations)
	for i := range all[:min(len(all), holdfast.MaxDecorations)] {
		if c.full() {
			return
		}
		points += len(all[i].Points)
		c.decoration(location{list: "decorations", index: i, level: 1}, &all[i])
	}
	if points > holdfast.MaxPlanDecorationPoints {
		c.add(location{}, "decorations", "The decorations have %d points; a plan must have at most %d.", points, holdfast.MaxPlanDecorationPoints)
	}
}

// decoration checks the parts that its kind has, and that it has no others.
func (c *checker) decoration(at location, d *holdfast.Decoration) {
	const ofPolygon, ofLine = 3, 2
	switch d.Kind {
	case holdfast.DecorationStage, holdfast.DecorationArea:
		c.points(at, d, ofPolygon)
	case holdfast.DecorationWall:
		c.points(at, d, ofLine)
	case holdfast.DecorationText, holdfast.DecorationIcon:
		c.position(at, d)
	default:
		c.add(at, "kind", "kind must be stage, area, wall, text or icon.")
		return
	}
	if d.Kind == holdfast.DecorationWall && d.Text != "" {
		c.add(at, "text", "A wall must have no text.")
	} else {
		c.text(at, "text", d.Text, holdfast.MaxDecorationTextLength, d.Kind != holdfast.DecorationText)
	}
	switch isIcon := d.Kind == holdfast.DecorationIcon; {
	case isIcon && !slices.Contains(holdfast.DecorationIcons(), d.Icon):
		c.add(at, "icon", "icon must be one of %s.", strings.Join(holdfast.DecorationIcons(), ", "))
	case !isIcon && d.Icon != "":
		c.add(at, "icon", "Only a decoration of the kind icon may have an icon.")
	}
	c.text(at, "floor", d.Floor, holdfast.MaxNameLength, optional)
}

func (c *checker) points(at location, d *holdfast.Decoration, least int64) {
	if d.At != nil {
		c.add(at, "at", "A decoration of the kind %s has points, and must have no at.", d.Kind)
	}
	c.number(at, "points", int64(len(d.Points)), least, holdfast.MaxDecorationPoints)
	for i, p := range d.Points[:min(len(d.Points), holdfast.MaxDecorationPoints)] {
		if !inRange(p.X) || !inRange(p.Y) {
			c.add(at, fmt.Sprintf("points[%d]", i), "%s", coordinateProblem)
		}
	}
}

func (c *checker) position(at location, d *holdfast.Decoration) {
	if len(d.Points) > 0 {
		c.add(at, "points", "A decoration of the kind %s has a position at, and must have no points.", d.Kind)
	}
	switch {
	case d.At == nil:
		c.add(at, "at", "A decoration of the kind %s must have a position.", d.Kind)
	case !inRange(d.At.X) || !inRange(d.At.Y):
		c.add(at, "at", "%s", coordinateProblem)
	}
}

func (c *checker) viewURL(at location, url string) {
	if url != "" && !isViewURL(url) {
		c.add(at, "viewUrl", "viewUrl must begin with https:// and a host, without a user name, and have at most %d characters, "+
			"all of ASCII; write others with %%.", holdfast.MaxViewURLLength)
	}
}

// isViewURL reports whether a text is an https URL of a host, in ASCII, without quotation marks and angle brackets.
func isViewURL(text string) bool {
	rest, isHTTPS := strings.CutPrefix(text, "https://")
	if !isHTTPS || len(text) > holdfast.MaxViewURLLength {
		return false
	}
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	host, port, hasPort := strings.Cut(rest[:end], ":")
	if hasPort && !isPort(port) || !IsKey(host, len(host)) || strings.ContainsRune(host, '_') {
		return false
	}
	for i := end; i < len(rest); i++ {
		if rest[i] <= ' ' || rest[i] >= 0x7f || strings.IndexByte("\"<>\\^`{|}", rest[i]) >= 0 {
			return false
		}
	}
	return true
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil && len(text) <= len("65535")
}
