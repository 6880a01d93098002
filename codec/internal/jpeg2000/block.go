package jpeg2000

import (
	"sync"
)

// A code-block has the bit-planes of the magnitudes of its coefficients, from the highest plane down,
// and their signs (annex D). Each plane after the first is coded in three passes over the coefficients:
//
//	significance  coefficients that are not significant yet and have a significant neighbour
//	refinement    coefficients that were significant before this plane
//	cleanup       all other coefficients: the only pass of the first plane
//
// A coefficient becomes significant at its highest bit that is 1. Passes go through stripes of four
// lines, column by column. A word has the flags of a column of a stripe, as in OpenJPEG:
//
//	0–17   whether a coefficient is significant: 3 bits a line, left, own and right column,
//	       from the line above the stripe to the line below it
//	18     the sign of the coefficient above the stripe
//	19     for the four lines, 3 bits each: sign, refined before, visited in this plane
//	       (signs are at 19, 22, 25, 28)
//	31     the sign of the coefficient below
//
// Shifted right by 3, the flags of a line are at the bits of the line before.
const (
	significant   = 1 << 4
	neighbours    = 0x1ef
	refined       = 1 << 20
	visited       = 1 << 21
	signBit       = 19
	signAbove     = 18
	signBelow     = 31
	stripe        = 4
	allVisited    = visited | visited<<3 | visited<<6 | visited<<9
	maxPlanes     = 30
	lowestRawFrom = 4 // raw passes begin in the fifth plane
)

// blockCoder decodes code-blocks. Coefficients have a bit of fraction: half of the last plane that
// was decoded.
type blockCoder struct {
	mq
	raw    rawBits
	width  int
	height int
	stride int // of flags
	flags  []uint32
	data   []int32
	zero   *[512]uint8
	signs  *[256]signContext
	causal bool
}

// decode decodes a code-block to data.
func (d *blockCoder) decode(k *block, orientation int, c *coding) error {
	d.width, d.height = k.width(), k.height()
	d.clear()
	planes := k.planes + c.roiShift
	if planes > maxPlanes {
		return unsupported("a code-block of %d bit-planes", planes)
	}
	t := tables()
	d.zero, d.signs = &t.zero[orientation], &t.sign
	d.causal = c.style&styleCausal != 0
	d.resetContexts()
	data := k.data
	pass := 2 // cleanup
	for i := range k.segments {
		s := &k.segments[i]
		own := data[:s.length]
		data = data[s.length:]
		raw := c.style&styleBypass != 0 && planes <= k.planes-lowestRawFrom && pass < 2
		if raw {
			d.raw = rawBits{src: own}
		} else {
			d.start(own)
		}
		for range s.passes {
			if planes < 1 {
				return nil
			}
			d.pass(pass, uint(planes), raw)
			if pass == 2 && c.style&styleSymbols != 0 {
				for range 4 {
					d.decide(evenContext)
				}
			}
			if !raw && c.style&styleReset != 0 {
				d.resetContexts()
			}
			if pass++; pass == 3 {
				pass = 0
				planes--
			}
		}
	}
	return nil
}

func (d *blockCoder) clear() {
	n := d.width * d.height
	if cap(d.data) < n {
		d.data = make([]int32, n)
	}
	d.data = d.data[:n]
	clear(d.data)
	d.stride = d.width + 2
	n = d.stride * ((d.height+stripe-1)/stripe + 2)
	if cap(d.flags) < n {
		d.flags = make([]uint32, n)
	}
	d.flags = d.flags[:n]
	clear(d.flags)
}

// pass runs one pass of a plane, whose bit has the value 1<<plane.
func (d *blockCoder) pass(which int, plane uint, raw bool) {
	for y := 0; y < d.height; y += stripe {
		at := (y/stripe + 1) * d.stride
		s := stripeFlags{d.flags[at-d.stride : at], d.flags[at : at+d.stride], d.flags[at+d.stride : at+2*d.stride]}
		data := d.data[y*d.width:]
		lines := min(stripe, d.height-y)
		switch {
		case which == 0 && raw:
			d.significanceRaw(s, data, lines, plane)
		case which == 0:
			d.significance(s, data, lines, plane)
		case which == 1 && raw:
			d.refinementRaw(s, data, lines, plane)
		case which == 1:
			d.refinement(s, data, lines, plane)
		default:
			d.cleanup(s, data, lines, plane)
		}
	}
}

// stripeFlags are the flags of a stripe and of those above and below, with a column on either side.
type stripeFlags struct{ above, own, below []uint32 }

// become makes a coefficient significant.
func (s *stripeFlags) become(i, line int, sign uint32, causal bool) {
	shift := 3 * uint(line)
	s.own[i-1] |= 1 << (5 + shift)
	s.own[i] |= (sign<<signBit | significant) << shift
	s.own[i+1] |= 1 << (3 + shift)
	if line == 0 && !causal {
		s.above[i-1] |= 1 << 17
		s.above[i] |= sign<<signBelow | 1<<16
		s.above[i+1] |= 1 << 15
	}
	if line == stripe-1 {
		s.below[i-1] |= 1 << 2
		s.below[i] |= sign<<signAbove | 1<<1
		s.below[i+1] |= 1
	}
}

// signIndex collects what the sign of a coefficient depends on: signs and significance of the
// neighbours above, below, left and right.
func (s *stripeFlags) signIndex(i, line int) uint32 {
	shift := 3 * uint(line)
	f := s.own[i]
	index := f >> shift & (1<<1 | 1<<3 | 1<<5 | 1<<7)
	index |= s.own[i-1] >> (signBit + shift) & 1
	index |= s.own[i+1] >> (signBit + shift) & 1 << 2
	if line == 0 {
		index |= f >> signAbove & 1 << 4
	} else {
		index |= f >> (signBit + shift - 3) & 1 << 4
	}
	if line == stripe-1 {
		return index | f>>signBelow&1<<6
	}
	return index | f>>(signBit+shift+3)&1<<6
}

// sign decodes the sign of a coefficient, and makes it significant.
func (d *blockCoder) sign(s *stripeFlags, i, line int) uint32 {
	t := d.signs[s.signIndex(i, line)&255]
	sign := d.decide(t.context) ^ uint32(t.flip)
	s.become(i, line, sign, d.causal)
	return sign
}

// signed returns a value with a sign.
func signed(v int32, sign uint32) int32 {
	return (v ^ -int32(sign)) + int32(sign)
}

func (d *blockCoder) significance(s stripeFlags, data []int32, lines int, plane uint) {
	value := int32(3) << plane >> 1
	own, width, contexts, zero, slack := s.own, d.width, &d.contexts, d.zero, d.slack
	for i := 1; i < len(own)-1; i++ {
		if own[i] == 0 {
			continue
		}
		for line := range lines {
			shift := 3 * uint(line) & 31
			f := own[i] >> shift
			if f&(significant|visited) != 0 || f&neighbours == 0 {
				continue
			}
			x := &contexts[zero[f&511]&31]
			symbol := x.likely
			if slack -= x.q; slack < 0 {
				symbol, slack = d.exhausted(x, slack)
			}
			if symbol != 0 {
				d.slack = slack
				data[line*width+i-1] = signed(value, d.sign(&s, i, line))
				slack = d.slack
			}
			own[i] |= visited << shift
		}
	}
	d.slack = slack
}

func (d *blockCoder) significanceRaw(s stripeFlags, data []int32, lines int, plane uint) {
	value := int32(3) << plane >> 1
	for i := 1; i < len(s.own)-1; i++ {
		for line := range lines {
			shift := 3 * uint(line)
			f := s.own[i] >> shift
			if f&(significant|visited) != 0 || f&neighbours == 0 {
				continue
			}
			if d.raw.bit() != 0 {
				sign := d.raw.bit()
				data[line*d.width+i-1] = signed(value, sign)
				s.become(i, line, sign, d.causal)
			}
			s.own[i] |= visited << shift
		}
	}
}

func (d *blockCoder) refinement(s stripeFlags, data []int32, lines int, plane uint) {
	half := int32(1) << plane >> 1
	own, width, contexts, slack := s.own, d.width, &d.contexts, d.slack
	for i := 1; i < len(own)-1; i++ {
		flags := own[i]
		if flags&(significant|significant<<3|significant<<6|significant<<9) == 0 {
			continue
		}
		for line := range lines {
			shift := 3 * uint(line) & 31
			f := flags >> shift
			if f&(significant|visited) != significant {
				continue
			}
			context := refineContexts
			switch {
			case f&refined != 0:
				context += 2
			case f&neighbours != 0:
				context++
			}
			x := &contexts[context&31]
			symbol := x.likely
			if slack -= x.q; slack < 0 {
				symbol, slack = d.exhausted(x, slack)
			}
			refine(&data[line*width+i-1], symbol, half)
			flags |= refined << shift
		}
		own[i] = flags
	}
	d.slack = slack
}

func (d *blockCoder) refinementRaw(s stripeFlags, data []int32, lines int, plane uint) {
	half := int32(1) << plane >> 1
	for i := 1; i < len(s.own)-1; i++ {
		for line := range lines {
			shift := 3 * uint(line)
			if s.own[i]>>shift&(significant|visited) != significant {
				continue
			}
			refine(&data[line*d.width+i-1], d.raw.bit(), half)
			s.own[i] |= refined << shift
		}
	}
}

// refine adds half to the magnitude if the bit is set, and otherwise subtracts half.
func refine(v *int32, bit uint32, half int32) {
	negative := uint32(*v) >> 31
	*v += signed(half, bit^negative^1)
}

func (d *blockCoder) cleanup(s stripeFlags, data []int32, lines int, plane uint) {
	value := int32(3) << plane >> 1
	own, width, contexts, zero, slack := s.own, d.width, &d.contexts, d.zero, d.slack
	for i := 1; i < len(own)-1; i++ {
		line := 0
		found := false
		if own[i] == 0 && lines == stripe {
			// Neither the column nor its neighbours are significant: one decision says whether all
			// coefficients of the column stay insignificant.
			x := &contexts[runContext]
			symbol := x.likely
			if slack -= x.q; slack < 0 {
				symbol, slack = d.exhausted(x, slack)
			}
			if symbol == 0 {
				continue
			}
			d.slack = slack
			line = int(d.decide(evenContext)<<1 | d.decide(evenContext))
			slack = d.slack
			found = true
		}
		for ; line < lines; line++ {
			shift := 3 * uint(line) & 31
			f := own[i] >> shift
			if !found {
				if f&(significant|visited) != 0 {
					continue
				}
				x := &contexts[zero[f&511]&31]
				symbol := x.likely
				if slack -= x.q; slack < 0 {
					symbol, slack = d.exhausted(x, slack)
				}
				if symbol == 0 {
					continue
				}
			}
			found = false
			d.slack = slack
			data[line*width+i-1] = signed(value, d.sign(&s, i, line))
			slack = d.slack
		}
		own[i] &^= allVisited
	}
	d.slack = slack
}

// contextTables are tables D.1 to D.3, by flags.
type contextTables struct {
	zero [4][512]uint8 // by orientation and significance of the nine
	sign [256]signContext
}

type signContext struct {
	context uint8
	flip    uint8
}

var tables = sync.OnceValue(func() *contextTables {
	t := new(contextTables)
	for orientation := range t.zero {
		for f := range t.zero[orientation] {
			t.zero[orientation][f] = zeroContext(orientation, f)
		}
	}
	for f := range t.sign {
		t.sign[f] = newSignContext(f)
	}
	return t
})

// zeroContext returns the context of whether a coefficient becomes significant (table D.1).
func zeroContext(orientation, f int) uint8 {
	bit := func(i int) int { return f >> i & 1 }
	h, v := bit(3)+bit(5), bit(1)+bit(7)
	d := bit(0) + bit(2) + bit(6) + bit(8)
	if orientation == bandHL {
		h, v = v, h
	}
	if orientation == bandHH {
		switch hv := h + v; {
		case d >= 3:
			return 8
		case d == 2:
			return uint8(6 + min(hv, 1))
		case d == 1:
			return uint8(3 + min(hv, 2))
		default:
			return uint8(min(hv, 2))
		}
	}
	switch {
	case h == 2:
		return 8
	case h == 1 && v >= 1:
		return 7
	case h == 1:
		return uint8(5 + min(d, 1))
	case v == 2:
		return 4
	case v == 1:
		return 3
	default:
		return uint8(min(d, 2))
	}
}

// newSignContext returns the context of a sign, and whether the decoded bit is the opposite of the
// sign (tables D.2 and D.3).
func newSignContext(f int) signContext {
	// one returns the contribution of a neighbour: 0 if it is not significant, else 1 or -1 by its sign.
	one := func(significant, sign int) int {
		if f>>significant&1 == 0 {
			return 0
		}
		return 1 - 2*(f>>sign&1)
	}
	h := min(max(one(3, 0)+one(5, 2), -1), 1)
	v := min(max(one(1, 4)+one(7, 6), -1), 1)
	flip := h < 0 || h == 0 && v < 0
	if flip {
		h, v = -h, -v
	}
	c := signContext{context: signContexts}
	switch {
	case h == 1:
		c.context += uint8(3 + v)
	case v == 1:
		c.context++
	}
	if flip {
		c.flip = 1
	}
	return c
}
