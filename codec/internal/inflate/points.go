package inflate

import (
	"encoding/binary"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// WindowSize is the greatest distance of a match: the number of bytes before a point that a window describes.
const WindowSize = 1 << 15

// Point is an access point: a place between two blocks of a stream at which decoding can start.
type Point struct {
	Out int // number of decoded bytes before it
	Bit int // number of bits of the stream before it, with the header
	// Window has the decoded bytes before the point to which matches after it refer. It is nil if there are none, as
	// after a full flush. See appendWindow for its form.
	Window []byte
}

// ZlibPoints decodes as Zlib does, and returns points that are at least every bytes apart. The first point is at the
// start of the stream.
func ZlibPoints(dst, src []byte, every int) (n int, points []Point, err error) {
	m := marker{every: every}
	n, err = zlibWith(dst, src, m.decode)
	return n, m.points, err
}

// GzipPoints is ZlibPoints for Gzip. Spans between points may contain the end of one member and the start of the next.
func GzipPoints(dst, src []byte, every int) (n int, points []Point, err error) {
	m := marker{every: every}
	n, err = gzipWith(dst, src, m.decode)
	return n, m.points, err
}

// marker decodes streams and collects points.
type marker struct {
	every  int
	before int // number of bytes of the members before this one
	points []Point
	used   usedBytes
}

// usedBytes has one bit for each byte of a window.
type usedBytes [WindowSize / 64]uint64

// decode is a blockDecoder.
func (m *marker) decode(dst, src []byte, at int) (n, end int, err error) {
	d := decoders.Get().(*decoder)
	d.dst, d.src, d.cursor = dst, src, cursor{ip: at}
	first := len(m.points)
	for final := false; err == nil && !final; {
		if out := m.before + d.op; len(m.points) == 0 || out-m.points[len(m.points)-1].Out >= m.every {
			m.points = append(m.points, Point{Out: out, Bit: 8*d.ip - int(d.n)})
		}
		final, err = d.block()
	}
	n, end = d.op, d.aligned()
	for i := first; i < len(m.points) && err == nil; i++ {
		err = m.addWindow(d, &m.points[i], dst[:m.points[i].Out-m.before])
	}
	m.before += n
	d.dst, d.src = nil, nil
	decoders.Put(d)
	return n, end, err
}

// addWindow sets the window of a point. before are the bytes of its member before it.
func (m *marker) addWindow(d *decoder, p *Point, before []byte) error {
	before = before[max(len(before)-WindowSize, 0):]
	if len(before) == 0 {
		return nil
	}
	m.used = usedBytes{}
	d.seek(p.Bit)
	if err := d.trace(&m.used); err != nil {
		return err
	}
	p.Window = appendWindow(nil, &m.used, before)
	return nil
}

// seek continues at a bit of src.
func (d *decoder) seek(bit int) {
	d.cursor = cursor{ip: bit / 8}
	d.fill()
	d.drop(uint(bit % 8))
}

// trace decodes the symbols of the next WindowSize bytes without writing them, and marks the bytes before them to which
// their matches refer. The stream must be valid: it was decoded before.
func (d *decoder) trace(used *usedBytes) error {
	for out, final := 0, false; out < WindowSize && !final; {
		d.fill()
		if d.n < 3 {
			return d.truncated()
		}
		final = d.bits&1 != 0
		kind := d.bits >> 1 & 3
		d.drop(3)
		t := &d.own
		switch kind {
		case 0:
			d.ip, d.bits, d.n = d.aligned(), 0, 0
			if len(d.src)-d.ip < 4 {
				return d.truncated()
			}
			size := int(binary.LittleEndian.Uint16(d.src[d.ip:]))
			d.ip, out = d.ip+4+size, out+size
			continue
		case 1:
			t = fixedTables()
		default:
			if err := d.readCodes(); err != nil {
				return err
			}
		}
		var s status
		if out, s = d.traceBlock(t, out, used); s != blockDone {
			return corrupt.Errorf("deflate: invalid code at offset %d", d.offset())
		}
	}
	return nil
}

// traceBlock is trace for the symbols of a block. out is the number of bytes since the point, before and after it.
func (d *decoder) traceBlock(t *tables, out int, used *usedBytes) (int, status) {
	for out < WindowSize {
		d.fill()
		e := t.litlen[d.bits&litlenMask]
		if e&subtable == subtable {
			d.drop(litlenBits)
			e = t.litlen[subindex(e, d.bits)]
		}
		switch {
		case e&literal != 0:
			d.drop(uint(e & 63))
			out++
			continue
		case e&blockEnd == blockEnd:
			d.drop(uint(e & 63))
			return out, blockDone
		case e&exceptional != 0:
			return out, badSymbol
		}
		length := extend(e, d.bits)
		d.drop(uint(e & 63))
		d.fill()
		if e = t.dist[d.bits&distMask]; e&subtable == subtable {
			d.drop(distBits)
			e = t.dist[subindex(e, d.bits)]
		}
		if e&exceptional != 0 {
			return out, badDistance
		}
		dist := extend(e, d.bits)
		d.drop(uint(e & 63))
		if back := dist - out; back > 0 {
			used.mark(WindowSize-back, WindowSize-back+min(length, back))
		}
		out += length
	}
	return out, blockDone
}

// mark marks the bytes from one position of the window to another.
func (u *usedBytes) mark(from, to int) {
	for from = max(from, 0); from < to; {
		n := min(64-from%64, to-from)
		u[from/64] |= (1<<n - 1) << (from % 64)
		from += n
	}
}

// next returns the first position from at on that is marked, or not marked.
func (u *usedBytes) next(at int, isMarked bool) int {
	for at < WindowSize {
		word := u[at/64]
		if !isMarked {
			word = ^word
		}
		if word >>= at % 64; word != 0 {
			return at + bits.TrailingZeros64(word)
		}
		at += 64 - at%64
	}
	return WindowSize
}

// appendWindow appends the bytes of a window that are marked. before is the window, or its end if the stream is shorter.
// The form, with numbers as varints:
//
//	runs │ bytes before each run that are not in it … │ length of each run … │ the bytes of all runs
//
// Equal kinds of numbers are together, so that they can be compressed well. A window of 32 KiB of which 3 bytes at
// position 10 and the last 2 bytes are needed is 02 │ 0a f1ff01 │ 03 02 │ 5 bytes.
func appendWindow(b []byte, used *usedBytes, before []byte) []byte {
	var runs [][2]int
	start := WindowSize - len(before) // positions of before begin here
	for at := used.next(start, true); at < WindowSize; {
		end := used.next(at, false)
		runs = append(runs, [2]int{at, end})
		at = used.next(end, true)
	}
	if len(runs) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(runs)))
	last := 0
	for _, r := range runs {
		b = binary.AppendUvarint(b, uint64(r[0]-last))
		last = r[1]
	}
	for _, r := range runs {
		b = binary.AppendUvarint(b, uint64(r[1]-r[0]))
	}
	for _, r := range runs {
		b = append(b, before[r[0]-start:r[1]-start]...)
	}
	return b
}

// fillWindow sets dst, of WindowSize bytes, from the form of appendWindow. Bytes that are not in it become zero.
func fillWindow(dst, window []byte) error {
	clear(dst)
	if len(window) == 0 {
		return nil
	}
	runs, rest, ok := uvarint(window)
	// Each run has at least a byte, and two lengths.
	if !ok || runs > uint64(len(rest)/3) {
		return corrupt.Errorf("window: %d runs in %d bytes", runs, len(window))
	}
	gaps := rest
	for range runs {
		if _, rest, ok = uvarint(rest); !ok {
			return corrupt.Errorf("window: it ends within the positions of %d runs", runs)
		}
	}
	body := rest
	for range runs {
		if _, body, ok = uvarint(body); !ok {
			return corrupt.Errorf("window: it ends within the lengths of %d runs", runs)
		}
	}
	at := uint64(0)
	for range runs {
		var gap, n uint64
		gap, gaps, _ = uvarint(gaps)
		n, rest, _ = uvarint(rest)
		if gap > WindowSize-at || n > WindowSize-at-gap || n > uint64(len(body)) {
			return corrupt.Errorf("window: a run of %d bytes at position %d, but the window has %d bytes and %d are stored", n, at+gap, WindowSize, len(body))
		}
		at += gap
		copy(dst[at:], body[:n])
		at, body = at+n, body[n:]
	}
	if len(body) > 0 {
		return corrupt.Errorf("window: %d bytes after its last run", len(body))
	}
	return nil
}

// uvarint reads a varint and returns the bytes after it.
func uvarint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, b, false
	}
	return v, b[n:], true
}
