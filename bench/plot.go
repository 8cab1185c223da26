package main

import (
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

// colours tell sides apart, for the colour-blind too (Okabe and Ito).
var colours = []color.Color{
	color.RGBA{0x00, 0x72, 0xB2, 0xFF}, color.RGBA{0xE6, 0x9F, 0x00, 0xFF}, color.RGBA{0x00, 0x9E, 0x73, 0xFF},
	color.RGBA{0xCC, 0x79, 0xA7, 0xFF}, color.RGBA{0x99, 0x99, 0x99, 0xFF}, color.RGBA{0xD5, 0x5E, 0x00, 0xFF},
}

// writePlot draws locks per second by the number of clients, each side a line,
// of the two scenarios on one hot event; nothing if neither was measured.
func writePlot(file string, results []*result) error {
	var panels []*plot.Plot
	for _, panel := range []struct{ scenario, title string }{
		{"hot-event-http", "One event through HTTP"}, {"hot-event", "One event, in one process"},
	} {
		p, err := drawPanel(panel.title, slices.DeleteFunc(slices.Clone(results), func(r *result) bool { return r.Scenario != panel.scenario }))
		if err != nil {
			return err
		}
		if p != nil {
			panels = append(panels, p)
		}
	}
	if len(panels) == 0 {
		return nil
	}
	const wide, high, gap = 13 * vg.Centimeter, 9 * vg.Centimeter, vg.Millimeter * 8
	canvas := vgsvg.New(wide*vg.Length(len(panels)), high)
	tiles := draw.Tiles{Rows: 1, Cols: len(panels), PadX: gap, PadTop: gap / 2, PadBottom: gap / 2, PadLeft: gap / 2, PadRight: gap / 2}
	for i, c := range plot.Align([][]*plot.Plot{panels}, tiles, draw.New(canvas))[0] {
		panels[i].Draw(c)
	}
	out, err := os.Create(file) //nolint:gosec // the caller's folder
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(out); err != nil {
		return err
	}
	return out.Close()
}

// drawPanel is nil where fewer than two numbers of clients were measured.
func drawPanel(title string, results []*result) (*plot.Plot, error) {
	sides, lines := []string{}, map[string]plotter.XYs{}
	var ticks []plot.Tick
	for _, r := range results {
		count, _, _ := strings.Cut(r.Load, " ")
		clients, err := strconv.ParseFloat(count, 64)
		if err != nil {
			return nil, err
		}
		if lines[r.Side] == nil {
			sides = append(sides, r.Side)
		}
		lines[r.Side] = append(lines[r.Side], plotter.XY{X: clients, Y: r.PerSecond})
		if !slices.ContainsFunc(ticks, func(t plot.Tick) bool { return t.Value == clients }) { //nolint:revive // the same number, not a computed one
			ticks = append(ticks, plot.Tick{Value: clients, Label: count})
		}
	}
	if len(ticks) < 2 {
		return nil, nil //nolint:nilnil // said above
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "clients", "locks a second"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(ticks), plot.ConstantTicks(decades())
	p.Y.Min, p.Y.Max = 1, 100_000
	p.Legend.Top, p.Legend.Left = false, true
	p.Add(plotter.NewGrid())
	for i, side := range sides {
		line, points, err := plotter.NewLinePoints(lines[side])
		if err != nil {
			return nil, err
		}
		line.Color, points.Color = colours[i%len(colours)], colours[i%len(colours)]
		points.Shape = draw.CircleGlyph{}
		if side == engineName {
			line.Width = vg.Points(3)
		}
		p.Add(line, points)
		p.Legend.Add(strings.TrimPrefix(side, "… "), line, points)
	}
	return p, nil
}

func decades() (ticks []plot.Tick) {
	for exponent := 0.0; exponent <= 5; exponent++ {
		n := math.Pow(10, exponent)
		ticks = append(ticks, plot.Tick{Value: n, Label: whole(n)})
	}
	return ticks
}
