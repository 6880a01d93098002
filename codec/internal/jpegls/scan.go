package jpegls

import (
	"fmt"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// runBits is J of T.87, A.7.1.1: a one in a run stands for 1<<runBits samples.
var runBits = [32]uint8{
	0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
	4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15,
}

const (
	maxGolomb = 15 // of a regular sample: an error has at most 16 bits
	noEscape  = 17 // as many zeros begin the shortest escape of a regular sample, one of 2 bits
	fewBits   = noEscape + 1 + maxGolomb
)

// decoder decodes scans.
type decoder struct {
	bitReader
	coding
	quantizer
	contexts [contexts]context
	ends     [2]runContext
	bad      bool // a code that no encoder writes
	width    int
	lines    []int32 // of each component, with one sample more at each end, twice
	cur      [maxMixed][]int32
	prev     [maxMixed][]int32
	index    [maxMixed]int // into runBits, of each component
}

// release lets go of the input, before the decoder goes back to its pool.
func (d *decoder) release() { d.src = nil }

// scan decodes a scan to dst.
func (d *decoder) scan(s *stream, sc scan, dst []byte) error {
	c, err := newCoding(s.frame, s.preset, sc.near)
	if err != nil {
		return err
	}
	d.coding = c
	d.quantizer.set(c.thresholds(s.preset), c.near)
	d.width = s.frame.width
	every := s.restart
	if every == 0 {
		every = s.frame.height
	}
	stride := len(dst) / s.frame.height
	for y := 0; y < s.frame.height; y += every {
		if y > 0 {
			if err := s.readRestartMarker(y/every - 1); err != nil {
				return err
			}
		}
		end := min(y+every, s.frame.height)
		if err := d.interval(s, sc, dst[y*stride:end*stride], stride); err != nil {
			return fmt.Errorf("lines %d to %d: %w", y, end-1, err)
		}
	}
	return nil
}

// readRestartMarker reads the marker that ends the i-th interval.
func (s *stream) readRestartMarker(i int) error {
	mark, err := s.readMarker()
	if err != nil {
		return err
	}
	if want := byte(markRST + i%8); mark != want {
		return corrupt.Errorf("jpegls: byte %d: marker FF %02X between restart intervals, want FF %02X", s.at-2, mark, want)
	}
	return nil
}

// interval decodes lines that depend on none before them.
func (d *decoder) interval(s *stream, sc scan, dst []byte, stride int) error {
	from := s.at
	coded, err := s.coded()
	if err != nil {
		return err
	}
	d.bitReader = bitReader{src: coded}
	d.forget(sc.components)
	for at := 0; at < len(dst); at += stride {
		d.prev, d.cur = d.cur, d.prev
		if sc.interleave == byPixel {
			d.linePixels(sc.components)
		} else {
			for c := range sc.components {
				d.line(d.cur[c], d.prev[c], &d.index[c])
			}
		}
		if d.bad {
			return corrupt.Errorf("jpegls: before byte %d: code that no sample has", from+d.next)
		}
		if d.overrun() {
			return corrupt.Errorf("jpegls: truncated at byte %d, in line %d", from+len(coded), at/stride)
		}
		d.put(dst[at:at+stride], sc.components, s.frame.bits)
	}
	if !d.rest() {
		return corrupt.Errorf("jpegls: before byte %d: bits after the last sample", from+d.next)
	}
	return nil
}

// forget makes the decoder know nothing of the samples before.
func (d *decoder) forget(components int) {
	a := max(2, (d.span/d.step+32)/64)
	for i := range d.contexts {
		d.contexts[i] = context{a: a, n: 1}
	}
	for i := range d.ends {
		d.ends[i] = runContext{a: int(a), kind: i, reset: uint8(d.reset), n: 1}
	}
	d.bad, d.index = false, [maxMixed]int{}
	each := d.width + 2
	if n := 2 * components * each; cap(d.lines) < n {
		d.lines = make([]int32, n)
	} else {
		d.lines = d.lines[:n]
		clear(d.lines)
	}
	for c := range components {
		d.cur[c] = d.lines[2*c*each:][:each]
		d.prev[c] = d.lines[(2*c+1)*each:][:each]
	}
}

// put writes the current line.
func (d *decoder) put(dst []byte, components, depth int) {
	for c, line := range d.cur[:components] {
		if line = line[1 : 1+d.width]; depth > 8 {
			put16(dst[2*c:], line, 2*components)
		} else {
			put8(dst[c:], line, components)
		}
	}
}

// edge gives a line the samples around it that T.87, A.2.1 makes up.
func edge(cur, prev []int32) {
	last := len(cur) - 1
	prev[last] = prev[last-1]
	cur[0] = prev[1]
}

// line decodes a line of one component.
func (d *decoder) line(cur, prev []int32, index *int) {
	edge(cur, prev)
	prev = prev[:len(cur)]
	ra, rb, rd := cur[0], prev[0], prev[1]
	right := d.of(rd - rb) // region of d-b, which for the next sample is that of b-c
	for x := 1; x < len(cur)-1; {
		rc, left := rb, right
		rb, rd = rd, prev[x+1]
		right = d.of(rd - rb)
		if q := 81*right + 9*left + d.of(rc-ra); q != 0 {
			ra = d.regular(q, predict(ra, rb, rc))
			cur[x] = ra
			x++
			continue
		}
		end := x + d.run(len(cur)-1-x, index)
		for ; x < end; x++ {
			cur[x] = ra
		}
		if x < len(cur)-1 {
			cur[x] = d.runEnd(ra, prev[x], *index)
			*index = max(*index-1, 0)
			x++
		}
		ra, rb, rd = cur[x-1], prev[x-1], prev[x]
		right = d.of(rd - rb)
	}
}

// linePixels decodes a line of components that are interleaved by pixel: they are in a run
// together.
func (d *decoder) linePixels(components int) {
	for c := range components {
		edge(d.cur[c], d.prev[c])
	}
	for x := 1; x <= d.width; {
		var q [maxMixed]int32
		flat := true
		for c := range components {
			q[c] = d.surroundings(c, x)
			flat = flat && q[c] == 0
		}
		if flat {
			x = d.runPixels(x, components)
			continue
		}
		for c := range components {
			cur, prev := d.cur[c], d.prev[c]
			cur[x] = d.regular(q[c], predict(cur[x-1], prev[x], prev[x-1]))
		}
		x++
	}
}

// surroundings returns the signed number of a sample's context.
func (d *decoder) surroundings(c, x int) int32 {
	ra, rb, rc, rd := d.cur[c][x-1], d.prev[c][x], d.prev[c][x-1], d.prev[c][x+1]
	return 81*d.of(rd-rb) + 9*d.of(rb-rc) + d.of(rc-ra)
}

// runPixels decodes a run of pixels from x, and returns where the next one is.
func (d *decoder) runPixels(x, components int) int {
	end := x + d.run(d.width+1-x, &d.index[0])
	for c := range components {
		cur := d.cur[c]
		for i := x; i < end; i++ {
			cur[i] = cur[x-1]
		}
	}
	if end > d.width {
		return end
	}
	for c := range components {
		ra, rb := d.cur[c][end-1], d.prev[c][end]
		d.cur[c][end] = d.rebuild(rb, d.endError(0, d.index[0])*sign(rb-ra))
	}
	d.index[0] = max(d.index[0]-1, 0)
	return end + 1
}

// predict is the median edge detector of T.87, A.4.1.
func predict(ra, rb, rc int32) int32 {
	least, most := min(ra, rb), max(ra, rb)
	if rc >= most {
		return least
	}
	if rc <= least {
		return most
	}
	return ra + rb - rc
}

func sign(v int32) int32 { return v>>31 | 1 }

// regular decodes a sample that is in no run. The sign of q tells that all is mirrored.
func (d *decoder) regular(q, predicted int32) int32 {
	mirror := q >> 31
	c := &d.contexts[(q^mirror)-mirror]
	px := d.bound(predicted + (c.c ^ mirror) - mirror)
	k := c.golomb()
	if k > maxGolomb {
		d.bad = true
		return 0
	}
	if d.n < fewBits {
		d.refill()
	}
	var code int
	if high := uint(bits.LeadingZeros64(d.acc)); high < noEscape {
		rest := d.acc << (high + 1)
		code = int(high<<k) + int(rest>>(64-k))
		d.acc, d.n = rest<<k, d.n-high-1-k
	} else {
		code = d.code(k, d.limit)
	}
	e := code>>1 ^ -(code & 1)
	if k == 0 && d.near == 0 {
		e ^= int(2*c.b+c.n-1) >> 31
	}
	if e > maxError || e < -maxError {
		d.bad = true
		return 0
	}
	c.learn(int32(e), &d.coding)
	return d.rebuild(px, (int32(e)^mirror)-mirror)
}

// code decodes a Golomb code, or the number behind one that is too long.
func (d *decoder) code(k uint, limit int) int {
	if d.n < fewBits {
		d.refill()
	}
	high := d.zeros()
	if high >= limit-d.qbpp-1 {
		return d.take(uint(d.qbpp)) + 1
	}
	return high<<k + d.take(k)
}

// rebuild returns the sample that is e steps from its prediction (T.87, code segment A.10).
func (d *decoder) rebuild(px, e int32) int32 {
	v := px + e*d.step
	if v&d.maxval == v {
		return v
	}
	if v < -d.near {
		v += d.span
	} else if v > d.maxval+d.near {
		v -= d.span
	}
	return d.bound(v)
}

// bound brings a sample to 0…maxval. CharLS takes its bits for that, which are all ones but
// for a MAXVAL it does not really support.
func (d *decoder) bound(v int32) int32 {
	if v&d.maxval == v {
		return v
	}
	return ^(v >> 31) & d.maxval
}

// run decodes how many of the left samples are equal to the one before.
func (d *decoder) run(left int, index *int) int {
	n := 0
	for d.take(1) == 1 {
		full := 1 << runBits[*index]
		if n += full; n >= left {
			if n == left {
				*index = min(*index+1, len(runBits)-1)
			}
			return left
		}
		*index = min(*index+1, len(runBits)-1)
	}
	n += d.take(uint(runBits[*index]))
	if n > left {
		d.bad = true
		return left
	}
	return n
}

// runEnd decodes the sample after a run.
func (d *decoder) runEnd(ra, rb int32, index int) int32 {
	if diff := ra - rb; diff <= d.near && diff >= -d.near {
		return d.rebuild(ra, d.endError(1, index))
	}
	return d.rebuild(rb, d.endError(0, index)*sign(rb-ra))
}

// endError decodes the error of a sample after a run.
func (d *decoder) endError(kind, index int) int32 {
	c := &d.ends[kind]
	k := c.golomb()
	if k > 24 {
		d.bad = true
		return 0
	}
	code := d.code(uint(k), d.limit-int(runBits[index])-1)
	e := c.unmap(code, k)
	if e > 2*maxError || e < -2*maxError {
		d.bad = true
		return 0
	}
	c.learn(e, code)
	return int32(e)
}
