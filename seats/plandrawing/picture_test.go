package plandrawing

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// picture is what a test reads of an SVG document.
type picture struct {
	width, height float64
	seats         []drawnSeat
	texts         []string // of the picture, not of titles
	titles        []string // of areas and decorations
	text          string
}

type drawnSeat struct {
	x, y                float64
	shape, title, color string
	signs               []string
}

// has reports whether one of the texts is exactly this one.
func (p picture) has(text string) bool { return slices.Contains(p.texts, text) }

var translation = regexp.MustCompile(`^translate\((-?\d+) (-?\d+)\)$`)

// draw draws a plan, and reads the picture as a strict XML parser does.
func draw(t *testing.T, plan holdfast.SeatingPlan) (p picture) {
	t.Helper()
	if problems := seating.Check(plan); len(problems) > 0 {
		t.Fatal(problems)
	}
	return read(t, SVG(plan, nil))
}

// group is an element that is open.
type group struct {
	name, color string
	x, y        float64
}

func read(t *testing.T, svg []byte) (p picture) {
	t.Helper()
	p.text = string(svg)
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	var open []group
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return p
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			at := map[string]string{}
			for _, a := range token.Attr {
				at[a.Name.Local] = a.Value
			}
			g := group{name: token.Name.Local}
			if len(open) > 0 {
				parent := open[len(open)-1]
				g.color, g.x, g.y = parent.color, parent.x, parent.y
			}
			if moved := translation.FindStringSubmatch(at["transform"]); moved != nil {
				g.x, g.y = g.x+number(moved[1]), g.y+number(moved[2])
			}
			if at["fill"] != "" {
				g.color = at["fill"]
			}
			switch {
			case g.name == "svg":
				sides := strings.Fields(at["viewBox"])
				p.width, p.height = number(sides[2]), number(sides[3])
			case g.name == "circle" && at["cx"] != "" && g.color != "currentColor": // which is a part of a sign
				p.seats = append(p.seats, drawnSeat{shape: g.name, color: g.color, x: g.x + number(at["cx"]), y: g.y + number(at["cy"])})
			case g.name == "rect" && at["width"] == "20" && at["fill"] == "":
				p.seats = append(p.seats, drawnSeat{shape: g.name, color: g.color, x: g.x + number(at["x"]) + 10, y: g.y + number(at["y"]) + 10})
			case g.name == "use" && at["x"] != "":
				seat := &p.seats[len(p.seats)-1]
				seat.signs = append(seat.signs, at["href"])
			}
			open = append(open, g)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			last := len(open) - 1
			switch {
			case last >= 0 && open[last].name == "text":
				p.texts = append(p.texts, string(token))
			case last >= 1 && open[last].name == "title" && (open[last-1].name == "path" || open[last-1].name == "use"):
				p.titles = append(p.titles, string(token))
			case last >= 1 && open[last].name == "title" && open[last-1].name != "svg":
				p.seats[len(p.seats)-1].title = string(token)
			}
		}
	}
}
