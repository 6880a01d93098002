package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"varve/manifest/report"
)

// line is the cost of one command over numbers of files.
type line struct {
	name   string
	points []point
}

type point struct {
	files int
	cost
}

// The sizes of a plot, in pixels.
const (
	panelWidth, panelHeight = 360, 260
	marginLeft, marginTop   = 70, 40
	legendHeight            = 20
)

var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// style returns the colour of a line, and its dashes if the colour is that of an earlier line.
func style(i int) string {
	return fmt.Sprintf(`stroke="%s" stroke-width="2" stroke-dasharray="%s"`, colours[i%len(colours)], []string{"none", "6 3", "2 2"}[i/len(colours)%3])
}

// panel is one chart with logarithmic axes, on which costs in proportion to the number of files are parallel lines.
type panel struct {
	title      string
	left       float64
	value      func(cost) float64
	text       func(float64) string
	minX, maxX float64 // logarithms to the base 10
	minY, maxY float64
}

// writePlot writes an SVG with the processor time and the most memory of commands.
func writePlot(name string, lines []line) error {
	panels := []*panel{
		{title: "processor time", left: marginLeft, value: func(c cost) float64 { return c.processor.Seconds() },
			text: func(v float64) string { return time.Duration(v * 1e9).String() }},
		{title: "most memory", left: 2*marginLeft + panelWidth, value: func(c cost) float64 { return float64(c.memory) / 1e6 },
			text: func(v float64) string { return fmt.Sprintf("%g MB", v) }},
	}
	width, height := 2*(marginLeft+panelWidth)+20, marginTop+panelHeight+50+legendHeight*len(lines)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	for _, p := range panels {
		p.fit(lines)
		p.draw(&out, lines)
	}
	for i, l := range lines {
		y := marginTop + panelHeight + 60 + legendHeight*i
		fmt.Fprintf(&out, `<path d="M%d %d h24" %s/><text x="%d" y="%d">%s</text>`+"\n",
			marginLeft, y-4, style(i), marginLeft+32, y, strings.ReplaceAll(l.name, "`", ""))
	}
	out.WriteString("</svg>\n")
	return os.WriteFile(name, []byte(out.String()), 0o666)
}

// fit sets the ends of the axes to powers of ten around all points.
func (p *panel) fit(lines []line) {
	p.minX, p.minY, p.maxX, p.maxY = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, l := range lines {
		for _, at := range l.points {
			x, y := math.Log10(float64(at.files)), math.Log10(p.value(at.cost))
			p.minX, p.maxX = min(p.minX, math.Floor(x)), max(p.maxX, math.Ceil(x))
			p.minY, p.maxY = min(p.minY, math.Floor(y)), max(p.maxY, math.Ceil(y))
		}
	}
}

func (p *panel) x(v float64) float64 {
	return p.left + (math.Log10(v)-p.minX)/max(p.maxX-p.minX, 1)*panelWidth
}

func (p *panel) y(v float64) float64 {
	return marginTop + panelHeight - (math.Log10(v)-p.minY)/max(p.maxY-p.minY, 1)*panelHeight
}

func (p *panel) draw(out *strings.Builder, lines []line) {
	fmt.Fprintf(out, `<text x="%.0f" y="%d" font-weight="bold">%s</text>`+"\n", p.left, marginTop-16, p.title)
	for k := p.minX; k <= p.maxX; k++ {
		v := math.Pow(10, k)
		fmt.Fprintf(out, `<path d="M%.1f %d v%d" stroke="#dddddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			p.x(v), marginTop, panelHeight, p.x(v), marginTop+panelHeight+18, report.Thousands(int64(v)))
	}
	fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">files</text>`+"\n", p.left+panelWidth/2, marginTop+panelHeight+36)
	for k := p.minY; k <= p.maxY; k++ {
		v := math.Pow(10, k)
		fmt.Fprintf(out, `<path d="M%.1f %.1f h%d" stroke="#dddddd"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			p.left, p.y(v), panelWidth, p.left-6, p.y(v)+4, p.text(v))
	}
	for i, l := range lines {
		var path []string
		for _, at := range l.points {
			path = append(path, fmt.Sprintf("%.1f %.1f", p.x(float64(at.files)), p.y(p.value(at.cost))))
		}
		fmt.Fprintf(out, `<path d="M%s" fill="none" %s/>`+"\n", strings.Join(path, " L"), style(i))
		for _, at := range l.points {
			fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", p.x(float64(at.files)), p.y(p.value(at.cost)), colours[i%len(colours)])
		}
	}
}
