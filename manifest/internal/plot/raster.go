package plot

import (
	"bytes"
	_ "embed" // the font
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
)

// raster is a canvas of pixels.
type raster struct {
	img *image.NRGBA
}

func newRaster(w, h int) *raster {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(img, img.Bounds(), image.White, image.Point{}, draw.Src)
	return &raster{img}
}

func (r *raster) encode(w io.Writer) error { return png.Encode(w, r.img) }

func pixels(b box) image.Rectangle {
	return image.Rect(round(b.x), round(b.y), round(b.x+b.w), round(b.y+b.h))
}

func round(f float64) int { return int(math.Round(f)) }

func (r *raster) rect(b box, fill color.Color) {
	draw.Draw(r.img, pixels(b), image.NewUniform(fill), image.Point{}, draw.Over)
}

// picture repeats or skips pixels of the image, and does not interpolate, so that each cell of a field has one colour.
func (r *raster) picture(b box, img image.Image) {
	to, from := pixels(b), img.Bounds()
	for y := to.Min.Y; y < to.Max.Y; y++ {
		fromY := from.Min.Y + (y-to.Min.Y)*from.Dy()/to.Dy()
		for x := to.Min.X; x < to.Max.X; x++ {
			fromX := from.Min.X + (x-to.Min.X)*from.Dx()/to.Dx()
			r.img.Set(x, y, img.At(fromX, fromY))
		}
	}
}

// line draws an anti-aliased polyline: the distance of a pixel from the line determines its opacity.
func (r *raster) line(points []point, width float64, c color.Color) {
	mask := image.NewAlpha(r.img.Bounds())
	for i := 1; i < len(points); i++ {
		stripe(mask, points[i-1], points[i], width/2)
	}
	bounds := r.img.Bounds()
	draw.DrawMask(r.img, bounds, image.NewUniform(c), image.Point{}, mask, bounds.Min, draw.Over)
}

// stripe adds the pixels near a line segment to the mask.
func stripe(mask *image.Alpha, a, b point, radius float64) {
	reach := radius + 1
	area := image.Rect(int(math.Floor(min(a.x, b.x)-reach)), int(math.Floor(min(a.y, b.y)-reach)),
		int(math.Ceil(max(a.x, b.x)+reach))+1, int(math.Ceil(max(a.y, b.y)+reach))+1).Intersect(mask.Bounds())
	dx, dy := b.x-a.x, b.y-a.y
	length := dx*dx + dy*dy
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			px, py := float64(x)+0.5-a.x, float64(y)+0.5-a.y
			t := 0.0
			if length > 0 {
				t = min(max((px*dx+py*dy)/length, 0), 1)
			}
			distance := math.Hypot(px-t*dx, py-t*dy)
			cover := uint8(255 * min(max(radius+0.5-distance, 0), 1))
			// The maximum, and not the sum. Otherwise the point between two segments would be darker.
			if cover > mask.AlphaAt(x, y).A {
				mask.SetAlpha(x, y, color.Alpha{A: cover})
			}
		}
	}
}

var (
	//go:embed font/sans.png
	fontImage []byte
	//go:embed font/sans.txt
	fontText string
)

// glyph is a character's part of the font image.
type glyph struct {
	advance float64
	left    int // offset of the image from the pen
	x, w    int // columns in the font image
}

const (
	fontHeight   = 16
	fontBaseline = 12
)

// font is a font whose characters are side by side in one image.
type font struct {
	atlas  image.Image
	glyphs map[rune]glyph
}

// sans is the font DejaVu Sans at 12 pixels.
var sans = sync.OnceValue(func() font {
	atlas, err := png.Decode(bytes.NewReader(fontImage))
	if err != nil {
		panic("font/sans.png: " + err.Error()) // an embedded file, checked by the tests
	}
	f := font{atlas, map[rune]glyph{}}
	x := 0
	for line := range strings.Lines(fontText) {
		var n [4]float64
		for i, field := range strings.Fields(line) {
			if n[i], err = strconv.ParseFloat(field, 64); err != nil {
				panic("font/sans.txt: " + err.Error())
			}
		}
		f.glyphs[rune(n[0])] = glyph{n[1], int(n[2]), x, int(n[3])}
		x += int(n[3])
	}
	return f
})

func (f font) glyph(r rune) glyph {
	if g, ok := f.glyphs[r]; ok {
		return g
	}
	return f.glyphs['�']
}

func (f font) width(s string) (w float64) {
	for _, r := range s {
		w += f.glyph(r).advance
	}
	return w
}

func (r *raster) text(at point, s string, how align) {
	f := sans()
	width := f.width(s)
	label := image.NewAlpha(image.Rect(0, 0, int(width)+4, fontHeight))
	pen := 1.0
	for _, c := range s {
		g := f.glyph(c)
		for y := range fontHeight {
			for x := range g.w {
				shade, _, _, _ := f.atlas.At(g.x+x, y).RGBA()
				to := image.Pt(round(pen)+g.left+x, y)
				if to.In(label.Rect) && uint8(shade>>8) > label.AlphaAt(to.X, to.Y).A {
					label.SetAlpha(to.X, to.Y, color.Alpha{A: uint8(shade >> 8)})
				}
			}
		}
		pen += g.advance
	}
	r.stamp(label, at, width, how)
}

// stamp draws the image of a text at its position.
func (r *raster) stamp(label *image.Alpha, at point, width float64, how align) {
	x, y := round(at.x), round(at.y)-fontBaseline
	switch how {
	case middle:
		x -= round(width / 2)
	case end:
		x -= round(width)
	case upright:
		label = rotateLeft(label)
		x, y = x-fontBaseline, y+fontBaseline-round(width/2)
	}
	to := label.Rect.Add(image.Pt(x, y))
	draw.DrawMask(r.img, to, image.NewUniform(ink), image.Point{}, label, image.Point{}, draw.Over)
}

// rotateLeft returns an image rotated to the left by 90 degrees, so that its text reads upwards.
func rotateLeft(img *image.Alpha) *image.Alpha {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := image.NewAlpha(image.Rect(0, 0, h, w))
	for y := range h {
		for x := range w {
			out.SetAlpha(y, w-1-x, img.AlphaAt(x, y))
		}
	}
	return out
}
