// Package webp decodes WebP images to the samples that libwebp gives.
//
// golang.org/x/image decodes the two codings. It leaves colours of the lossy one at half the resolution; libwebp
// interpolates them, and has its own numbers for the conversion to red, green and blue.
package webp

import (
	"bytes"
	"image"

	"golang.org/x/image/webp"

	"varve/codec/internal/corrupt"
)

// Decode writes the samples of an image to dst: red, green, blue, and opacity if there are 4 samples.
func Decode(dst, src []byte, width, height, samples int) error {
	config, err := webp.DecodeConfig(bytes.NewReader(src))
	if err != nil {
		return corrupt.Errorf("WebP: %w", err)
	}
	if config.Width != width || config.Height != height {
		return corrupt.Errorf("WebP image of %d × %d pixels, want %d × %d", config.Width, config.Height, width, height)
	}
	m, err := webp.Decode(bytes.NewReader(src))
	if err != nil {
		return corrupt.Errorf("WebP: %w", err)
	}
	switch m := m.(type) {
	case *image.YCbCr:
		writeColours(dst, m, samples)
		writeOpacity(dst, nil, 0, width, samples)
	case *image.NYCbCrA:
		writeColours(dst, &m.YCbCr, samples)
		writeOpacity(dst, m.A, m.AStride, width, samples)
	case *image.NRGBA:
		for i, j := 0, 0; i+samples <= len(dst); i, j = i+samples, j+4 {
			copy(dst[i:i+samples], m.Pix[j/4/width*m.Stride+j%(4*width):])
		}
	default:
		return corrupt.Errorf("WebP image of the unknown kind %T", m)
	}
	return nil
}

// writeOpacity writes the opacity of each pixel; nil stands for full opacity.
func writeOpacity(dst, opacity []byte, stride, width, samples int) {
	if samples < 4 {
		return
	}
	for i, x, y := 3, 0, 0; i < len(dst); i += samples {
		dst[i] = 255
		if opacity != nil {
			dst[i] = opacity[y*stride+x]
		}
		if x++; x == width {
			x, y = 0, y+1
		}
	}
}

// writeColours converts an image whose colours have half the resolution, as libwebp's "fancy upsampling" does: each
// colour counts 9 parts where it is next, 3 parts twice, and 1 part.
func writeColours(dst []byte, m *image.YCbCr, samples int) {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	for y := range h {
		// Row y lies between two rows of colours, nearer to the first one.
		near, far := y/2, y/2-1+y%2*2
		if far < 0 || far > (h-1)/2 {
			far = near
		}
		row := dst[y*w*samples : (y+1)*w*samples]
		luma := m.Y[y*m.YStride:]
		a, b := m.Cb[near*m.CStride:], m.Cb[far*m.CStride:]
		c, d := m.Cr[near*m.CStride:], m.Cr[far*m.CStride:]
		for x := range w {
			// The same along the row.
			i, j := x/2, x/2-1+x%2*2
			var u, v int
			if j < 0 || j > (w-1)/2 || x == w-1 && w%2 == 0 {
				u, v = edge(a[i], b[i]), edge(c[i], d[i])
			} else {
				u, v = between(a[i], a[j], b[i], b[j]), between(c[i], c[j], d[i], d[j])
			}
			p := row[x*samples:]
			l := int(luma[x]) * 19077 >> 8
			p[0] = clip(l + v*26149>>8 - 14234)
			p[1] = clip(l - u*6419>>8 - v*13320>>8 + 8708)
			p[2] = clip(l + u*33050>>8 - 17685)
		}
	}
}

// edge interpolates at the first and the last column.
func edge(near, far byte) int { return (3*int(near) + int(far) + 2) >> 2 }

// between interpolates four colours: the nearest one, the next in the row, the next in the column, and the one across. It
// rounds in two steps, as libwebp does.
func between(near, beside, below, across byte) int {
	sum := int(near) + int(beside) + int(below) + int(across) + 8
	return ((sum+2*(int(beside)+int(below)))>>3 + int(near)) >> 1
}

// clip rounds a number with 6 binary places to a byte.
func clip(v int) byte { return byte(min(max(v>>6, 0), 255)) }
