package inflate

import (
	"encoding/binary"

	"varve/codec/internal/access"
	"varve/codec/internal/corrupt"
)

// WindowSize is the greatest distance of a match: the number of bytes before a point that a window describes.
const WindowSize = 1 << 15

// ZlibPoints decodes as Zlib does, and returns points between blocks. Spans have as many blocks as fit in every bytes.
// The first point is at the start of the stream. The window of a point has the decoded bytes before it to which matches refer; see
// access.Used.AppendWindow. It is nil if there are none, as after a full flush.
func ZlibPoints(dst, src []byte, every int) (n int, points []access.Point, err error) {
	m := marker{splitter: access.Splitter{Every: every}, used: access.NewUsed(WindowSize)}
	n, err = zlibWith(dst, src, m.decode)
	return n, m.points, err
}

// GzipPoints is ZlibPoints for Gzip. Spans between points may contain the end of one member and the start of the next.
func GzipPoints(dst, src []byte, every int) (n int, points []access.Point, err error) {
	m := marker{splitter: access.Splitter{Every: every}, used: access.NewUsed(WindowSize)}
	n, err = gzipWith(dst, src, m.decode)
	return n, m.points, err
}

// marker decodes streams and collects points.
type marker struct {
	splitter access.Splitter
	before   int // number of bytes of the members before this one
	points   []access.Point
	used     *access.Used
}

// decode is a blockDecoder.
func (m *marker) decode(dst, src []byte, at int) (n, end int, err error) {
	d := decoders.Get().(*decoder)
	d.dst, d.src, d.cursor = dst, src, cursor{ip: at}
	first := len(m.points)
	for final := false; err == nil && !final; {
		begun := access.Point{Out: m.before + d.op, Bit: 8*d.ip - int(d.n)}
		final, err = d.block()
		if m.splitter.Splits(begun.Out, m.before+d.op-begun.Out) {
			m.points = append(m.points, begun)
		}
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
func (m *marker) addWindow(d *decoder, p *access.Point, before []byte) error {
	if len(before) == 0 {
		return nil
	}
	m.used.Reset()
	d.seek(p.Bit)
	if err := d.trace(m.used); err != nil {
		return err
	}
	p.Window = m.used.AppendWindow(nil, before)
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
func (d *decoder) trace(used *access.Used) error {
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
func (d *decoder) traceBlock(t *tables, out int, used *access.Used) (int, status) {
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
			used.Mark(back, length)
		}
		out += length
	}
	return out, blockDone
}
