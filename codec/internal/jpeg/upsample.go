package jpeg

// row returns row y of the image of a component. It interpolates as jinit_upsampler of jdsample.c chooses. The row is one
// of the plane, or in room.
func (p *plane[T]) row(d *decoder, c *component, y int, room []T) []T {
	h, v := d.hMax/c.h, d.vMax/c.v
	line := func(y int) []T {
		y = min(max(y, 0), c.height-1)
		return p.samples[y*p.stride : (y+1)*p.stride]
	}
	at := y / v
	near := line(at)
	far := at - 1 + y%2*2 // for v = 2, the row on the other side
	switch {
	case h == 1 && v == 1:
		return near
	case h == 2 && v == 1 && c.width > 2:
		interpolateColumns(room, near[:c.width])
	case h == 1 && v == 2:
		interpolateRows(room, near[:c.width], line(far), T(1+y%2))
	case h == 2 && v == 2 && c.width > 2:
		interpolate(room, near[:c.width], line(far))
	default:
		repeat(room, near[:c.width], h)
	}
	return room
}

// repeat repeats each sample h times.
func repeat[T sample](out, in []T, h int) {
	for i, v := range in {
		o := out[i*h : i*h+h]
		for k := range o {
			o[k] = v
		}
	}
}

// interpolateColumns is h2v1_fancy_upsample. Sample 0 and the last one have one neighbour only.
func interpolateColumns[T sample](out, in []T) {
	n := len(in)
	out = out[:2*n]
	out[0], out[1] = in[0], T((uint32(in[0])*3+uint32(in[1])+2)>>2)
	left, here := uint32(in[0]), uint32(in[1])
	for i := 2; i < n; i++ {
		right := uint32(in[i])
		o := out[2*i-2 : 2*i]
		o[0], o[1] = T((here*3+left+1)>>2), T((here*3+right+2)>>2)
		left, here = here, right
	}
	out[2*n-2], out[2*n-1] = T((here*3+left+1)>>2), in[n-1]
}

// interpolateRows is h1v2_fancy_upsample.
func interpolateRows[T sample](out, near, far []T, bias T) {
	far, out = far[:len(near)], out[:len(near)]
	for i, v := range near {
		out[i] = T((uint32(v)*3 + uint32(far[i]) + uint32(bias)) >> 2)
	}
}

// interpolate is h2v2_fancy_upsample.
func interpolate[T sample](out, near, far []T) {
	n := len(near)
	far, out = far[:n], out[:2*n]
	left := uint32(near[0])*3 + uint32(far[0])
	here := uint32(near[1])*3 + uint32(far[1])
	out[0], out[1] = T((left*4+8)>>4), T((left*3+here+7)>>4)
	for i := 2; i < n; i++ {
		right := uint32(near[i])*3 + uint32(far[i])
		o := out[2*i-2 : 2*i]
		o[0], o[1] = T((here*3+left+8)>>4), T((here*3+right+7)>>4)
		left, here = here, right
	}
	out[2*n-2], out[2*n-1] = T((here*3+left+8)>>4), T((here*4+7)>>4)
}
