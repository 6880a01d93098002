package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var show = flag.String("show", "", "write the pictures of the tests to this folder")

func line(n int, f func(i int) float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = f(i)
	}
	return v
}

// samples returns plots of usual and of extreme data.
func samples() map[string]*Plot {
	nan := math.NaN()
	lat := line(40, func(i int) float64 { return 80 - 4*float64(i) })
	lon := line(60, func(i int) float64 { return 6 * float64(i) })
	field := line(2400, func(i int) float64 {
		y, x := i/60, i%60
		if (x-30)*(x-30)+(y-20)*(y-20) < 40 {
			return nan
		}
		return 10 * math.Sin(float64(x)/8) * math.Cos(float64(y)/9)
	})
	return map[string]*Plot{
		"field": {Title: "sst, time = 2010-01-16 12:00", X: Axis{Label: "longitude [°E]", Len: 60, At: lon}, Y: &Axis{Label: "latitude [°N]", Len: 40, At: lat}, Values: field, Unit: "anomaly [K m⁻² s⁻¹]"},
		"plain": {Title: "no coordinates", X: Axis{Label: "x", Len: 3}, Y: &Axis{Label: "y", Len: 2}, Values: []float64{1, 2, 3, 4, 5, 6}, Unit: "1"},
		"line": {Title: "a line & <gaps>", X: Axis{Label: "time", Len: 500, At: line(500, func(i int) float64 { return float64(i) }), Name: func(f float64) string { return "day " + number(f) }}, Values: line(500, func(i int) float64 {
			if i%100 < 7 {
				return nan
			}
			return math.Sin(float64(i) / 30)
		}), Unit: "m s⁻¹"},
		"long":    {Title: "a million", X: Axis{Label: "i", Len: 1000000}, Values: line(1000000, func(i int) float64 { return float64(i % 977) }), Unit: "1"},
		"one":     {Title: "one cell", X: Axis{Label: "i", Len: 1}, Values: []float64{5}, Unit: "1"},
		"equal":   {Title: "all equal", X: Axis{Label: "i", Len: 4}, Y: &Axis{Len: 1}, Values: []float64{7, 7, 7, 7}, Unit: "1"},
		"missing": {Title: "nothing", X: Axis{Label: "i", Len: 2}, Y: &Axis{Len: 2}, Values: []float64{nan, nan, nan, nan}, Unit: "1"},
		"extreme": {Title: strings.Repeat("long ü漢字 ", 40), X: Axis{Label: "i", Len: 4}, Values: []float64{math.MaxFloat64, -math.MaxFloat64, math.Inf(1), 0}, Unit: "1"},
		"large":   {Title: "more cells than pixels", X: Axis{Label: "i", Len: 5000}, Y: &Axis{Len: 100}, Values: line(500000, func(i int) float64 { return float64(i) }), Unit: "1"},
	}
}

// TestPictures checks that every sample gives a PNG of the right size, and a small well-formed SVG.
func TestPictures(t *testing.T) {
	for name, p := range samples() {
		t.Run(name, func(t *testing.T) {
			var pixels, vectors bytes.Buffer
			if err := p.PNG(&pixels); err != nil {
				t.Fatal(err)
			}
			if err := p.SVG(&vectors); err != nil {
				t.Fatal(err)
			}
			if *show != "" {
				if err := errors.Join(os.WriteFile(filepath.Join(*show, name+".png"), pixels.Bytes(), 0o666), os.WriteFile(filepath.Join(*show, name+".svg"), vectors.Bytes(), 0o666)); err != nil {
					t.Fatal(err)
				}
			}
			img, err := png.Decode(&pixels)
			if err != nil || img.Bounds() != image.Rect(0, 0, Width, Height) {
				t.Errorf("%v, %v", img.Bounds(), err)
			}
			checkXML(t, vectors.String())
			if vectors.Len() > 1<<20 {
				t.Errorf("the SVG has %d bytes", vectors.Len())
			}
		})
	}
}

func checkXML(t *testing.T, doc string) {
	t.Helper()
	if strings.Contains(doc, "NaN") || strings.Contains(doc, "Inf") {
		t.Error("a coordinate is not a number")
	}
	for d := xml.NewDecoder(strings.NewReader(doc)); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFieldOrientation checks that the largest coordinate of Y is at the top, in either order of the rows.
func TestFieldOrientation(t *testing.T) {
	for name, at := range map[string][]float64{"rising": {-10, 10}, "falling": {10, -10}, "none": nil} {
		values := []float64{1, 1, 2, 2} // rows of Y
		p := &Plot{X: Axis{Len: 2}, Y: &Axis{Len: 2, At: at}, Values: values}
		var b bytes.Buffer
		if err := p.PNG(&b); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		top := color.NRGBAModel.Convert(img.At(128, 56))
		s := newScale(values)
		want := s.colour(2)
		if name == "falling" {
			want = s.colour(1)
		}
		if top != want {
			t.Errorf("%s: the top is %v, want %v", name, top, want)
		}
	}
}

// TestErrors checks that a plot whose lengths do not match is not drawn.
func TestErrors(t *testing.T) {
	for name, p := range map[string]*Plot{
		"no cells":          {},
		"too few values":    {X: Axis{Len: 3}, Values: []float64{1}},
		"no rows":           {X: Axis{Len: 3}, Y: &Axis{}, Values: nil},
		"other coordinates": {X: Axis{Len: 1, At: []float64{1, 2}}, Values: []float64{1}},
		"overflow":          {X: Axis{Len: 1 << 40}, Y: &Axis{Len: 1 << 40}, Values: nil},
	} {
		if err := p.PNG(io.Discard); err == nil {
			t.Errorf("%s: drawing succeeds, want an error", name)
		}
	}
}

// TestRoundNumbers checks the numbers of ticks and their texts.
func TestRoundNumbers(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []string
	}{
		{0, 10, []string{"0", "2", "4", "6", "8", "10"}},
		{-0.35, 0.35, []string{"−0.2", "0", "0.2"}},
		{270.1, 305.9, []string{"280", "290", "300"}},
		{1e-7, 3e-7, []string{"1e−07", "1.5e−07", "2e−07", "2.5e−07", "3e−07"}},
		{5, 5, []string{"5"}},
	} {
		var got []string
		for _, v := range roundNumbers(c.low, c.high, 6) {
			got = append(got, number(v))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%g to %g: got %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

// TestCellOf checks positions of coordinates, and between coordinates.
func TestCellOf(t *testing.T) {
	for _, at := range [][]float64{{0, 1, 3, 7}, {7, 3, 1, 0}} {
		a := Axis{Len: 4, At: at}
		for i, v := range at {
			if got := a.cellOf(v); math.Abs(got-float64(i)) > 1e-12 {
				t.Errorf("%v: %g is at %g", at, v, got)
			}
		}
		if got := a.cellOf(2); math.Abs(got-1.5) > 1e-12 {
			t.Errorf("%v: 2 is at %g", at, got)
		}
	}
}
