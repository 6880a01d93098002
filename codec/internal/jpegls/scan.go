package jpegls

import (
	"fmt"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// runBits is the table J of T.87, A.7.1.1: a one bit in a run means 1<<runBits[index] samples.
var runBits = [32]uint8{
	0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
	4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15,
}

const (
	maxGolomb = 15                       // largest k of a regular sample, because an error has at most 16 bits
	noEscape  = 17                       // number of zeros that begin the shortest escape code, that of 2-bit samples
	fewBits   = noEscape + 1 + maxGolomb // bits of the longest code that is not an escape
)

// decoder decodes scans. It is reused, for its buffers.
type decoder struct {
	bitReader
	coding
	quantizer
	contexts [contexts]context
	ends     [2]runContext
	isBad    bool // a code was read that no encoder writes
	width    int
	lines    []int32 // memory of cur and prev: lines with one more sample at each end
	cur      [maxInterleaved][]int32
	prev     [maxInterleaved][]int32
	index    [maxInterleaved]int // per component: index into runBits
}

// release drops the reference to the input, so that a pooled decoder does not keep it in memory.
func (d *decoder) release() { d.src = nil }

// scan decodes a scan, whose header has been read, to dst.
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

// readRestartMarker reads the marker that ends restart interval i.
func (s *stream) readRestartMarker(i int) error {
	mark, err := s.readMarker()
	if err != nil {
		return err
	}
	if want := byte(markRST + i%8); mark != want {
		return corrupt.Errorf("jpegls: byte %d: marker FF %02X between restart intervals, must be FF %02X", s.at-2, mark, want)
	}
	return nil
}

// interval decodes the lines of a restart interval, which do not depend on earlier lines.
func (d *decoder) interval(s *stream, sc scan, dst []byte, stride int) error {
	from := s.at
	coded, err := s.coded()
	if err != nil {
		return err
	}
	d.bitReader = bitReader{src: coded}
	d.restart(sc.components)
	for at := 0; at < len(dst); at += stride {
		d.prev, d.cur = d.cur, d.prev
		if sc.interleave == ilvPixel {
			d.linePixels(sc.components)
		} else {
			for c := range sc.components {
				d.line(d.cur[c], d.prev[c], &d.index[c])
			}
		}
		// Once per line is often enough: until then wrong bits only decode to wrong samples.
		if d.isBad {
			return corrupt.Errorf("jpegls: before byte %d: invalid code of a sample", from+d.next)
		}
		if d.overrun() {
			return corrupt.Errorf("jpegls: truncated at byte %d, in line %d", from+len(coded), at/stride)
		}
		d.put(dst[at:at+stride], sc.components, s.frame.bits)
	}
	if !d.isAtEnd() {
		return corrupt.Errorf("jpegls: before byte %d: bits after the last sample", from+d.next)
	}
	return nil
}

// restart sets the statistics and the previous line to their values at the start of an interval.
func (d *decoder) restart(components int) {
	a := max(2, (d.span/d.step+32)/64)
	for i := range d.contexts {
		d.contexts[i] = context{a: a, n: 1}
	}
	for i := range d.ends {
		d.ends[i] = runContext{a: int(a), kind: i, reset: uint8(d.reset), n: 1}
	}
	d.isBad, d.index = false, [maxInterleaved]int{}
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

// put writes the current line of all components to dst. depth is the bits of a sample.
func (d *decoder) put(dst []byte, components, depth int) {
	for c, line := range d.cur[:components] {
		if line = line[1 : 1+d.width]; depth > 8 {
			put16(dst[2*c:], line, 2*components)
		} else {
			put8(dst[c:], line, components)
		}
	}
}

// edge sets the samples to the left and right of the image that T.87, A.2.1 defines for a line.
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
	right := d.of(rd - rb) // the region of d-b is the region of b-c of the next sample
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

// linePixels decodes a line of components that are interleaved by pixel. Runs are common to all
// components.
func (d *decoder) linePixels(components int) {
	for c := range components {
		edge(d.cur[c], d.prev[c])
	}
	for x := 1; x <= d.width; {
		var q [maxInterleaved]int32
		isFlat := true
		for c := range components {
			q[c] = d.contextOf(c, x)
			isFlat = isFlat && q[c] == 0
		}
		if isFlat {
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

// contextOf returns the signed number of the context of sample x of component c.
func (d *decoder) contextOf(c, x int) int32 {
	ra, rb, rc, rd := d.cur[c][x-1], d.prev[c][x], d.prev[c][x-1], d.prev[c][x+1]
	return 81*d.of(rd-rb) + 9*d.of(rb-rc) + d.of(rc-ra)
}

// runPixels decodes a run of pixels from x on, and the pixel that ends it. It returns the index of
// the next pixel.
func (d *decoder) runPixels(x, components int) int {
	end := x + d.run(d.width+1-x, &d.index[0])
	for c := range components {
		cur := d.cur[c]
		for i := x; i < end; i++ {
			cur[i] = cur[x-1]
		}
	}
	if end > d.width { // the run ends with the line, and no pixel ends it
		return end
	}
	for c := range components {
		ra, rb := d.cur[c][end-1], d.prev[c][end]
		d.cur[c][end] = d.rebuild(rb, d.endError(0, d.index[0])*sign(rb-ra))
	}
	d.index[0] = max(d.index[0]-1, 0)
	return end + 1
}

// predict returns the prediction of a sample by the median edge detector of T.87, A.4.1.
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

// sign returns -1 for a negative number, else 1.
func sign(v int32) int32 { return v>>31 | 1 }

// regular decodes a sample outside runs. q is the signed number of its context. Contexts with opposite
// signs share statistics: for a negative q the error and the correction change sign.
func (d *decoder) regular(q, predicted int32) int32 {
	mirror := q >> 31
	c := &d.contexts[(q^mirror)-mirror]
	px := d.bound(predicted + (c.c ^ mirror) - mirror)
	k := c.golomb()
	if k > maxGolomb {
		d.isBad = true
		return 0
	}
	if d.n < fewBits {
		d.refill()
	}
	// Nearly all codes are short, and decoding them here saves a call.
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
		d.isBad = true
		return 0
	}
	c.learn(int32(e), &d.coding)
	return d.rebuild(px, (int32(e)^mirror)-mirror)
}

// code decodes a Golomb code with parameter k, or an escape: limit-qbpp-1 zeros followed by an
// uncompressed number.
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

// rebuild returns the sample whose prediction is px and whose error is e steps (T.87, code segment
// A.10).
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

// bound limits a sample to 0…maxval. It masks bits as CharLS does. This is a limit only if maxval is
// all ones, and CharLS gives wrong samples for other values of MAXVAL.
func (d *decoder) bound(v int32) int32 {
	if v&d.maxval == v {
		return v
	}
	return ^(v >> 31) & d.maxval
}

// run decodes the length of a run, at most left, the number of samples left in the line.
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
		d.isBad = true
		return left
	}
	return n
}

// runEnd decodes the sample that ends a run. ra and rb are the samples before and above it.
func (d *decoder) runEnd(ra, rb int32, index int) int32 {
	if diff := ra - rb; diff <= d.near && diff >= -d.near {
		return d.rebuild(ra, d.endError(1, index))
	}
	return d.rebuild(rb, d.endError(0, index)*sign(rb-ra))
}

// endError decodes the error of a sample that ends a run.
func (d *decoder) endError(kind, index int) int32 {
	c := &d.ends[kind]
	k := c.golomb()
	if k > 24 {
		d.isBad = true
		return 0
	}
	code := d.code(uint(k), d.limit-int(runBits[index])-1)
	e := c.unmap(code, k)
	if e > 2*maxError || e < -2*maxError {
		d.isBad = true
		return 0
	}
	c.learn(e, code)
	return int32(e)
}
