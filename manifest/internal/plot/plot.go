// Package plot draws slices of arrays as PNG or SVG: a line for one axis, a field of colours for two,
// with ticks, units and a colour bar. Missing values are grey.
//
//	┌ Title ──────────────────────────┐
//	│ y ┌───────────────────┐  ┌─┐ max │
//	│   │                   │  │ │     │
//	│   │    field, lines   │  │ │ unit│
//	│   │                   │  │ │     │
//	│   └───────────────────┘  └─┘ min │
//	│            x                     │
//	└─────────────────────────────────┘
//
// Drawing is the same for both formats: it uses a canvas, and there is one for pixels and one for
// vectors.
package plot

import (
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
)

// Axis is one side of a plot.
type Axis struct {
	Label string    // name and units
	Len   int       // number of cells
	At    []float64 // coordinates of the cells; nil to show their indices
	// Name returns the text of a coordinate, such as a date; nil shows numbers.
	Name func(float64) string
}

// Plot is a slice of an array. Without Y it is a line.
type Plot struct {
	Title string
	X     Axis
	Y     *Axis
	// Values are the values of the cells, row by row of Y. NaN is missing.
	Values []float64
	Unit   string // name and units of the values
}

// The size of a picture in pixels.
const (
	Width  = 760
	Height = 440
)

// frame returns the area of the field or line. A field leaves room for the colour bar.
func (p *Plot) frame() box {
	if p.Y == nil {
		return box{78, 36, 656, 336}
	}
	return box{78, 36, 546, 336}
}

// maxCells limits the cells of a field, so that a product of lengths cannot overflow.
const maxCells = 1 << 26

// check returns an error for a plot that cannot be drawn.
func (p *Plot) check() error {
	cells := p.X.Len
	if p.Y != nil {
		if p.Y.Len < 1 || cells > maxCells/p.Y.Len {
			return fmt.Errorf("plot: %d × %d cells are too few or too many", p.X.Len, p.Y.Len)
		}
		cells *= p.Y.Len
	}
	if p.X.Len < 1 || cells != len(p.Values) {
		return fmt.Errorf("plot: there are %d cells, but %d values", cells, len(p.Values))
	}
	for _, a := range []*Axis{&p.X, p.Y} {
		if a != nil && a.At != nil && len(a.At) != a.Len {
			return fmt.Errorf("plot: an axis has %d cells, but %d coordinates", a.Len, len(a.At))
		}
	}
	return nil
}

// PNG writes the plot as a PNG image.
func (p *Plot) PNG(w io.Writer) error {
	if err := p.check(); err != nil {
		return err
	}
	c := newRaster(Width, Height)
	p.draw(c)
	return c.encode(w)
}

// SVG writes the plot as SVG. Its text follows the reader's choice of light or dark mode.
func (p *Plot) SVG(w io.Writer) error {
	if err := p.check(); err != nil {
		return err
	}
	c := newVector(Width, Height, p.Title)
	p.draw(c)
	return c.encode(w)
}

// box is a rectangle, by its top left corner and size.
type box struct{ x, y, w, h float64 }

// canvas is the target of drawing.
type canvas interface {
	rect(b box, fill color.Color)
	line(points []point, width float64, stroke color.Color)
	// picture stretches an image over a box.
	picture(b box, img image.Image)
	// text writes s at a point, aligned to it.
	text(at point, s string, how align)
}

type point struct{ x, y float64 }

type align uint8

const (
	begin   align = iota // the text starts at the point
	middle               // the text is centred on the point
	end                  // the text ends at the point
	upright              // centred, rotated to read upwards
)

var (
	ink     = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	faint   = color.NRGBA{0x88, 0x88, 0x88, 0x50}
	missing = color.NRGBA{0xb4, 0xb4, 0xb4, 0xff}
	stroke  = color.NRGBA{0x1f, 0x77, 0xb4, 0xff}
)

func (p *Plot) draw(c canvas) {
	frame := p.frame()
	c.text(point{frame.x, 20}, abbreviate(p.Title, 100), begin)
	scale := newScale(p.Values)
	if p.Y == nil {
		p.drawLine(c, frame, scale)
	} else {
		p.drawField(c, frame, scale)
	}
	drawFrame(c, frame)
	p.X.draw(c, frame, false)
}

// drawField draws a row of colours for each row of values. Coordinates increase upwards.
func (p *Plot) drawField(c canvas, frame box, s scale) {
	img := p.field(s)
	c.rect(frame, missing)
	c.picture(frame, img)
	p.Y.draw(c, frame, true)
	bar := box{frame.x + frame.w + 22, frame.y, 16, frame.h}
	c.picture(bar, s.ramp())
	drawFrame(c, bar)
	for _, t := range roundNumbers(s.low, s.high, 6) {
		y := bar.y + bar.h*(1-s.at(t))
		c.line([]point{{bar.x + bar.w, y}, {bar.x + bar.w + 4, y}}, 1, ink)
		c.text(point{bar.x + bar.w + 8, y + 4}, number(t), begin)
	}
	c.text(point{Width - 10, bar.y + bar.h/2}, abbreviate(p.Unit, 46), upright)
}

// maxSide limits the pixels along a side of a field. If there are more cells, only some are drawn: more
// would not be visible.
const maxSide = 1200

// field returns the values as an image.
func (p *Plot) field(s scale) image.Image {
	w, h := min(p.X.Len, maxSide), min(p.Y.Len, maxSide)
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		row := y * p.Y.Len / h
		if p.Y.isRising() {
			row = p.Y.Len - 1 - row
		}
		for x := range w {
			v := p.Values[row*p.X.Len+x*p.X.Len/w]
			img.SetNRGBA(x, y, s.colour(v))
		}
	}
	return img
}

// drawLine draws the values as a line, and leaves gaps where values are missing.
func (p *Plot) drawLine(c canvas, frame box, s scale) {
	for _, t := range roundNumbers(s.low, s.high, 6) {
		y := frame.y + frame.h*(1-s.at(t))
		c.line([]point{{frame.x, y}, {frame.x + frame.w, y}}, 1, faint)
		c.text(point{frame.x - 8, y + 4}, number(t), end)
	}
	c.text(point{16, frame.y + frame.h/2}, abbreviate(p.Unit, 46), upright)
	run := thinner{}
	for i, v := range p.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			drawRun(c, run.end())
			continue
		}
		x := frame.x + frame.w*(float64(i)+0.5)/float64(p.X.Len)
		run.add(point{x, frame.y + frame.h*(1-s.at(v))})
	}
	drawRun(c, run.end())
}

// drawRun draws neighbouring points as a line. A single point would be invisible as a line, so it is a
// dot.
func drawRun(c canvas, run []point) {
	switch len(run) {
	case 0:
	case 1:
		c.rect(box{run[0].x - 1.5, run[0].y - 1.5, 3, 3}, stroke)
	default:
		c.line(run, 1.5, stroke)
	}
}

// thinner reduces the points in each column of pixels to the first, lowest, highest and last. The line through these
// four covers the same pixels, and a line of a million points would need much memory, and a large SVG.
type thinner struct {
	out                      []point
	first, least, most, last point
	n                        int // points of the present column
}

func (t *thinner) add(p point) {
	if t.n > 0 && math.Floor(p.x) != math.Floor(t.first.x) {
		t.endColumn()
	}
	if t.n == 0 {
		t.first, t.least, t.most = p, p, p
	}
	if p.y < t.least.y {
		t.least = p
	}
	if p.y > t.most.y {
		t.most = p
	}
	t.last = p
	t.n++
}

func (t *thinner) endColumn() {
	switch {
	case t.n == 0:
	case t.n == 1:
		t.out = append(t.out, t.first)
	case t.n == 2:
		t.out = append(t.out, t.first, t.last)
	default:
		t.out = append(t.out, t.first, t.least, t.most, t.last)
	}
	t.n = 0
}

// end returns the points since the last call. They are valid until the next call of add.
func (t *thinner) end() []point {
	t.endColumn()
	out := t.out
	t.out = t.out[:0]
	return out
}

func drawFrame(c canvas, b box) {
	c.line([]point{{b.x, b.y}, {b.x + b.w, b.y}, {b.x + b.w, b.y + b.h}, {b.x, b.y + b.h}, {b.x, b.y}}, 1, ink)
}

// abbreviate shortens a text to most characters.
func abbreviate(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}
