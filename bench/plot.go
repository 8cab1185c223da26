package main

import (
	"bytes"
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// palette has colors that color-blind readers can tell apart too (Okabe and Ito).
var palette = []color.Color{
	color.RGBA{R: 0x00, G: 0x72, B: 0xB2, A: 0xFF},
	color.RGBA{R: 0xE6, G: 0x9F, B: 0x00, A: 0xFF},
	color.RGBA{R: 0x00, G: 0x9E, B: 0x73, A: 0xFF},
	color.RGBA{R: 0xCC, G: 0x79, B: 0xA7, A: 0xFF},
	color.RGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xFF},
	color.RGBA{R: 0xD5, G: 0x5E, B: 0x00, A: 0xFF},
}

// writePlot draws the rates by number of clients, a line for each variant, of the
// two scenarios with one hot event. It writes nothing if neither was measured with
// several numbers of clients.
func writePlot(file string, results []*result) error {
	var panels []*plot.Plot
	for _, panel := range []struct{ scenario, title string }{
		{"hot-event-http", "One event through HTTP"}, {"hot-event", "One event, in one process"},
	} {
		c, err := newChart(slices.DeleteFunc(slices.Clone(results), func(r *result) bool { return r.Scenario != panel.scenario }))
		if err != nil {
			return err
		}
		if len(c.ticks) < 2 {
			continue
		}
		p, err := c.draw(panel.title)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	if len(panels) == 0 {
		return nil
	}
	return drawPanels(file, [][]*plot.Plot{panels})
}

// drawPanels draws rows of panels, which are as many in each row.
func drawPanels(file string, rows [][]*plot.Plot) error {
	const width, height, gap = 13 * vg.Centimeter, 9 * vg.Centimeter, vg.Millimeter * 8
	columns := len(rows[0])
	canvas := vgsvg.New(width*vg.Length(columns), height*vg.Length(len(rows)))
	tiles := draw.Tiles{
		Rows: len(rows), Cols: columns,
		PadX: gap, PadY: gap, PadTop: gap / 2, PadBottom: gap / 2, PadLeft: gap / 2, PadRight: gap / 2,
	}
	aligned := plot.Align(rows, tiles, draw.New(canvas))
	for i, row := range rows {
		for j, p := range row {
			p.Draw(aligned[i][j])
		}
	}
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	return os.WriteFile(file, svg.Bytes(), 0o600)
}

// chart has the points of a scenario.
type chart struct {
	variants []string // in order of appearance
	lines    map[string]plotter.XYs
	ticks    []plot.Tick // the numbers of clients
}

func newChart(results []*result) (c chart, err error) {
	c.lines = map[string]plotter.XYs{}
	for _, r := range results {
		count, _, _ := strings.Cut(r.Load, " ")
		clients, err := strconv.ParseFloat(count, 64)
		if err != nil {
			return c, err
		}
		if c.lines[r.Variant] == nil {
			c.variants = append(c.variants, r.Variant)
		}
		c.lines[r.Variant] = append(c.lines[r.Variant], plotter.XY{X: clients, Y: r.PerSecond})
		if !slices.ContainsFunc(c.ticks, func(t plot.Tick) bool { return t.Label == count }) {
			c.ticks = append(c.ticks, plot.Tick{Value: clients, Label: count})
		}
	}
	return c, nil
}

func (c chart) draw(title string) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "clients", "locks a second"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(c.ticks), plot.ConstantTicks(powersOfTen())
	p.Y.Min, p.Y.Max = 1, 100_000
	p.Legend.Top, p.Legend.Left = false, true
	p.Add(plotter.NewGrid())
	for i, name := range c.variants {
		line, points, err := plotter.NewLinePoints(c.lines[name])
		if err != nil {
			return nil, err
		}
		line.Color, points.Color = palette[i%len(palette)], palette[i%len(palette)]
		points.Shape = draw.CircleGlyph{}
		if name == engineName {
			line.Width = vg.Points(3)
		}
		p.Add(line, points)
		p.Legend.Add(strings.TrimPrefix(name, "… "), line, points)
	}
	return p, nil
}

func powersOfTen() (ticks []plot.Tick) {
	for exponent := 0.0; exponent <= 5; exponent++ {
		n := math.Pow(10, exponent)
		ticks = append(ticks, plot.Tick{Value: n, Label: formatRate(n)})
	}
	return ticks
}
