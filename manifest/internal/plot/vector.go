package plot

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
)

// vector is a canvas that writes SVG.
type vector struct {
	out bytes.Buffer
	err error
}

func newVector(w, h int, title string) *vector {
	v := &vector{}
	fmt.Fprintf(&v.out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n<title>", w, h, w, h)
	v.escape(title)
	v.out.WriteString("</title>\n<style>text{font:12px \"DejaVu Sans\",Verdana,sans-serif;fill:#222}.i{stroke:#222}" +
		"@media(prefers-color-scheme:dark){text{fill:#ddd}.i{stroke:#aaa}}</style>\n")
	return v
}

func (v *vector) escape(s string) {
	if err := xml.EscapeText(&v.out, []byte(s)); err != nil && v.err == nil {
		v.err = err
	}
}

func hex(c color.Color) string {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	if n.A == 0xff {
		return fmt.Sprintf("#%02x%02x%02x", n.R, n.G, n.B)
	}
	return fmt.Sprintf("#%02x%02x%02x%02x", n.R, n.G, n.B, n.A)
}

func (v *vector) rect(b box, fill color.Color) {
	fmt.Fprintf(&v.out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", b.x, b.y, b.w, b.h, hex(fill))
}

func (v *vector) line(points []point, width float64, stroke color.Color) {
	// The class lets the style sheet change the colour in dark mode.
	style := `stroke="` + hex(stroke) + `"`
	if stroke == color.Color(ink) {
		style = `class="i"`
	}
	fmt.Fprintf(&v.out, `<polyline fill="none" stroke-width="%g" %s points="`, width, style)
	for i, p := range points {
		if i > 0 {
			v.out.WriteByte(' ')
		}
		fmt.Fprintf(&v.out, "%.1f,%.1f", p.x, p.y)
	}
	v.out.WriteString("\"/>\n")
}

func (v *vector) picture(b box, img image.Image) {
	var data bytes.Buffer
	if err := png.Encode(&data, img); err != nil && v.err == nil {
		v.err = err
	}
	fmt.Fprintf(&v.out, `<image x="%.1f" y="%.1f" width="%.1f" height="%.1f" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,%s"/>`+"\n",
		b.x, b.y, b.w, b.h, base64.StdEncoding.EncodeToString(data.Bytes()))
}

func (v *vector) text(at point, s string, how align) {
	anchor := map[align]string{begin: "start", middle: "middle", end: "end", upright: "middle"}[how]
	turn := ""
	if how == upright {
		turn = fmt.Sprintf(` transform="rotate(-90 %.1f %.1f)"`, at.x, at.y)
	}
	fmt.Fprintf(&v.out, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>`, at.x, at.y, anchor, turn)
	v.escape(s)
	v.out.WriteString("</text>\n")
}

func (v *vector) encode(w io.Writer) error {
	if v.err != nil {
		return v.err
	}
	v.out.WriteString("</svg>\n")
	_, err := w.Write(v.out.Bytes())
	return err
}
