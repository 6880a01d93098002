package jpeg

// kernel estimates a coefficient from the DC coefficients of a block and the 24 blocks around it.
type kernel [25]int64

// estimates has the estimates of decompress_smooth_data, by the number of the coefficient: all with those for images
// without any AC coefficient, and some with those for other images.
var estimates = [10]struct{ all, some kernel }{
	{all: kernel{-2, -6, -8, -6, -2, -6, 6, 42, 6, -6, -8, 42, 152, 42, -8, -6, 6, 42, 6, -6, -2, -6, -8, -6, -2}},
	{
		all:  kernel{-1, -1, 0, 1, 1, -3, 13, 0, -13, 3, -3, 38, 0, -38, 3, -3, 13, 0, -13, 3, -1, -1, 0, 1, 1},
		some: kernel{10: -7, 11: 50, 13: -50, 14: 7},
	},
	{
		all:  kernel{-1, -3, -3, -3, -1, -1, 13, 38, 13, -1, 0, 0, 0, 0, 0, 1, -13, -38, -13, 1, 1, 3, 3, 3, 1},
		some: kernel{2: -7, 7: 50, 17: -50, 22: 7},
	},
	{
		all:  kernel{2: 1, 6: 2, 7: 7, 8: 2, 11: -5, 12: -14, 13: -5, 16: 2, 17: 7, 18: 2, 22: 1},
		some: kernel{2: -1, 7: 13, 12: -24, 17: 13, 22: -1},
	},
	{
		all:  kernel{0: -1, 4: 1, 6: 9, 8: -9, 16: -9, 18: 9, 20: 1, 24: -1},
		some: kernel{1: -1, 3: 1, 5: -1, 6: 10, 8: -10, 9: 1, 15: 1, 16: -10, 18: 10, 19: -1, 21: 1, 23: -1},
	},
	{
		all:  kernel{6: 2, 7: -5, 8: 2, 10: 1, 11: 7, 12: -14, 13: 7, 14: 1, 16: 2, 17: -5, 18: 2},
		some: kernel{10: -1, 11: 13, 12: -24, 13: 13, 14: -1},
	},
	{all: kernel{6: 1, 8: -1, 11: 2, 13: -2, 16: 1, 18: -1}},
	{all: kernel{6: 1, 7: -3, 8: 1, 16: -1, 17: 3, 18: -1}},
	{all: kernel{6: 1, 8: -1, 11: -3, 13: 3, 16: 1, 18: -1}},
	{all: kernel{6: 1, 7: 2, 8: 1, 16: -1, 17: -2, 18: -1}},
}

// canSmooth is smoothing_ok of jdcoefct.c: it reports whether the first coefficients of some component are not known
// exactly, and can be estimated in all.
func (d *decoder) canSmooth() bool {
	useful := false
	for i := range d.components {
		c := &d.components[i]
		for k, low := range c.low[:len(estimates)] {
			if c.quant[zigzag[k]] == 0 || k == 0 && low < 0 {
				return false
			}
			useful = useful || k > 0 && low != 0
		}
	}
	return useful
}

// smoothRow is rebuildRow with estimates for the coefficients that are 0 and not known exactly.
func smoothRow[T sample](d *decoder, p *plane[T], c *component, row int) {
	noAC := true
	for _, low := range c.low[1:len(estimates)] {
		noAC = noAC && low == -1
	}
	rows := min(c.v, c.rows-row*c.v)
	for y := range rows {
		at := row*c.v + y
		lines := c.linesAround(at, row*rows+y, d.mcuRows*rows)
		for x := range c.columns {
			block := c.blocks[at*c.stride+x]
			var around [25]int64
			for i, line := range lines {
				for k := range 5 {
					around[5*i+k] = int64(c.blocks[line*c.stride+min(max(x+k-2, 0), c.columns-1)][0])
				}
			}
			c.estimate(&block, &around, noAC)
			transform(p.samples[at*8*p.stride+x*8:], p.stride, &block, c.quant, 63, d.Precision)
		}
	}
}

// linesAround returns the rows of blocks around and at a row. N is libjpeg's number of it, and all that of all rows. They are too
// low in the last MCU row if that has less rows than others.
func (c *component) linesAround(at, n, all int) [5]int {
	lines := [5]int{at, at, at, at, at}
	if n > 0 {
		lines[0], lines[1] = at-1, at-1
	}
	if n > 1 {
		lines[0] = at - 2
	}
	if n < all-1 {
		lines[3], lines[4] = at+1, at+1
	}
	if n < all-2 {
		lines[4] = at + 2
	}
	return lines
}

func (c *component) estimate(block *[64]int16, around *[25]int64, noAC bool) {
	for k := len(estimates) - 1; k >= 0; k-- {
		at, low := zigzag[k], c.low[k]
		if k > 0 && (low == 0 || block[at] != 0) || !noAC && (k == 0 || k > 5) {
			continue
		}
		weights := &estimates[k].some
		if noAC {
			weights = &estimates[k].all
		}
		sum, q := int64(0), int64(c.quant[at])
		for i, w := range weights {
			sum += w * around[i]
		}
		sum *= int64(c.quant[0])
		v := (q<<7 + max(sum, -sum)) / (q << 8)
		if k > 0 && low > 0 && v >= 1<<low {
			v = 1<<low - 1
		}
		if sum < 0 {
			v = -v
		}
		block[at] = int16(v)
	}
}
