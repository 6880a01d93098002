package jpeg

// decode decodes all scans, and writes the image to dst.
func decode[T sample](d *decoder, dst []byte) error {
	planes := make([]plane[T], d.Components)
	rows := d.neededRows()
	for i := range planes {
		c := &d.components[i]
		planes[i] = plane[T]{make([]T, c.stride*8*c.v*8*rows), c.stride * 8}
	}
	rebuild := func(row int, of []*component) {
		for i := range planes {
			c := &d.components[i]
			for _, in := range of {
				if in == c && row < rows {
					rebuildRow(d, &planes[i], c, row)
				}
			}
		}
	}
	if !d.Progressive {
		if err := d.readScans(rebuild); err != nil {
			return err
		}
	} else {
		if err := d.readScans(nil); err != nil {
			return err
		}
		smooth := d.canSmooth()
		for i := range planes {
			for row := range rows {
				if c := &d.components[i]; smooth {
					smoothRow(d, &planes[i], c, row)
				} else {
					rebuildRow(d, &planes[i], c, row)
				}
			}
		}
	}
	writeImage(d, dst, planes)
	return nil
}

// rebuildRow transforms the blocks of an MCU row.
func rebuildRow[T sample](d *decoder, p *plane[T], c *component, row int) {
	first := 0 // the coefficients of a sequential image are those of this row only
	if d.Progressive {
		first = row * c.v
	}
	for y := range min(c.v, c.rows-row*c.v) {
		line := p.samples[(row*c.v+y)*8*p.stride:]
		at := (first + y) * c.stride
		for x := range c.columns {
			transform(line[x*8:], p.stride, &c.blocks[at+x], c.quant, c.last[at+x], d.Precision)
		}
	}
}

// writeImage upsamples the planes, converts the colours, and writes the rows of the image.
func writeImage[T sample](d *decoder, dst []byte, planes []plane[T]) {
	size := d.Columns * d.samples
	line := make([]T, size)
	room := make([][]T, len(planes)) // one row of each component that is upsampled
	rows := make([][]T, 4)
	for i := range planes {
		room[i] = make([]T, (d.components[i].width+1)*d.hMax)
	}
	for y := range d.rows {
		for i := range planes {
			rows[i] = planes[i].row(d, &d.components[i], y, room[i])[:d.Columns]
		}
		if bytes, ok := any(dst).([]T); ok {
			convert(bytes[y*size:(y+1)*size], rows, len(planes), d.convert, d.Precision)
			continue
		}
		convert(line, rows, len(planes), d.convert, d.Precision)
		out := dst[2*y*size:]
		for i, v := range line {
			out[2*i], out[2*i+1] = byte(v), byte(uint16(v)>>8)
		}
	}
}
