package jpeg2000

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"varve/codec/internal/corrupt"
)

// A packet has what one layer adds to one precinct: a header, then bytes of code-blocks. The header
// is (B.10)
//
//	1 bit    whether there is anything
//	for each code-block of each subband:
//	  whether it has anything: a tag tree of first layers, later a bit
//	  the first time: how many of its highest bit-planes are 0, a tag tree
//	  how many passes                          1: 0   2: 10   3–5: 11xx   6–36: 1111xxxxx   37–164: 111111111 xxxxxxx
//	  by how many bits lengths get longer      as many ones, a zero
//	  the length of each segment of passes
//
// to a whole byte; after a byte of ff, a bit of 0 is stuffed.

// The orders of packets (B.12): layers, resolutions, precincts, components.
const (
	lrcp = iota
	rlcp
	rpcl
	pcrl
	cprl
)

const (
	sopBytes      = 6
	ephBytes      = 2
	maxZeroPlanes = 80
	// most passes of a segment that is not terminated, of one before the first raw one, and so on
	mostPasses        = 109
	firstBypassPasses = 10
)

// readPackets reads the packets of a tile in their order, up to the end of data.
func (t *tile) readPackets(data []byte) error {
	r := packetReader{tile: t, data: data}
	changes := t.coding.changes
	if len(changes) == 0 {
		changes = []change{{0, len(t.resolutions), t.coding.layers, t.coding.progression}}
	}
	for _, c := range changes {
		c.resolution1 = min(c.resolution1, len(t.resolutions))
		c.layer1 = min(c.layer1, t.coding.layers)
		if err := r.progress(c); err != nil {
			return err
		}
	}
	return nil
}

type packetReader struct {
	*tile
	data []byte
	at   int
}

// progress reads the packets of one progression.
func (r *packetReader) progress(c change) error {
	switch c.progression {
	case lrcp:
		for layer := range c.layer1 {
			for res := c.resolution0; res < c.resolution1; res++ {
				for p := range r.resolutions[res].precincts {
					if done, err := r.packet(res, p, layer); done {
						return err
					}
				}
			}
		}
	case rlcp:
		for res := c.resolution0; res < c.resolution1; res++ {
			for layer := range c.layer1 {
				for p := range r.resolutions[res].precincts {
					if done, err := r.packet(res, p, layer); done {
						return err
					}
				}
			}
		}
	case rpcl:
		for res := c.resolution0; res < c.resolution1; res++ {
			for p := range r.resolutions[res].precincts {
				for layer := range c.layer1 {
					if done, err := r.packet(res, p, layer); done {
						return err
					}
				}
			}
		}
	default: // by position; of one component PCRL and CPRL are the same
		for _, p := range r.positions(c) {
			for layer := range c.layer1 {
				if done, err := r.packet(p.resolution, p.index, layer); done {
					return err
				}
			}
		}
	}
	return nil
}

// position is the position of a precinct on the reference grid.
type position struct{ y, x, resolution, index int }

// positions returns the precincts of a progression, sorted by position.
func (r *packetReader) positions(c change) []position {
	var all []position
	for i := c.resolution0; i < c.resolution1; i++ {
		res := &r.resolutions[i]
		for index := range res.precincts {
			x := res.x0>>res.precinctW + index%res.wide
			y := res.y0>>res.precinctH + index/res.wide
			all = append(all, position{max(r.y0, y<<(res.precinctH+res.level)), max(r.x0, x<<(res.precinctW+res.level)), i, index})
		}
	}
	slices.SortFunc(all, func(a, b position) int {
		switch {
		case a.y != b.y:
			return a.y - b.y
		case a.x != b.x:
			return a.x - b.x
		case a.resolution != b.resolution:
			return a.resolution - b.resolution
		default:
			return a.index - b.index
		}
	})
	return all
}

// packet reads a packet, if it was not read in an earlier progression. It reports whether no
// packet can follow.
func (r *packetReader) packet(resolution, index, layer int) (done bool, err error) {
	if r.at >= len(r.data) {
		return true, nil // all that are left are empty
	}
	p := r.tile.precinct(resolution, index)
	if layer < p.layers {
		return false, nil
	}
	p.layers++
	if r.coding.sop && len(r.data)-r.at >= sopBytes && binary.BigEndian.Uint16(r.data[r.at:]) == markerSOP {
		r.at += sopBytes
	}
	bits := headerBits{src: r.data, at: r.at}
	present := bits.bit() == 1
	if present {
		res := &r.resolutions[resolution]
		for i := range p.bands {
			if err := r.header(&bits, &p.bands[i], &res.bands[i], layer); err != nil {
				return true, err
			}
		}
	}
	if r.at = bits.end(); r.at > len(r.data) {
		return true, corrupt.Errorf("truncated at byte %d of %d, in the header of a packet", r.at, len(r.data))
	}
	if r.coding.eph && len(r.data)-r.at >= ephBytes && binary.BigEndian.Uint16(r.data[r.at:]) == markerEPH {
		r.at += ephBytes
	}
	if !present {
		return false, nil
	}
	for i := range p.bands {
		for k := range p.bands[i].blocks {
			if err := r.body(&p.bands[i].blocks[k]); err != nil {
				return true, err
			}
		}
	}
	return false, nil
}

// header reads the part of a packet's header about the code-blocks of a subband.
func (r *packetReader) header(bits *headerBits, p *precinctBand, b *band, layer int) error {
	if r.visits -= len(p.blocks); r.visits < 0 {
		return corrupt.Errorf("more than %d layers", maxLayersSeen)
	}
	for i := range p.blocks {
		k := &p.blocks[i]
		first := len(k.segments) == 0
		if first {
			if !p.inclusion.below(bits, i, int32(layer+1)) {
				continue
			}
			zeros := int32(0)
			for !p.zeroPlanes.below(bits, i, zeros+1) {
				if zeros++; zeros > maxZeroPlanes {
					return corrupt.Errorf("more than %d bit-planes of zeros before byte %d", maxZeroPlanes, bits.at)
				}
			}
			k.planes = b.planes - int(zeros)
			k.lengthBits = 3
		} else if bits.bit() == 0 {
			continue
		}
		k.pending = bits.passes()
		for bits.bit() == 1 {
			k.lengthBits++
		}
		if err := r.lengths(bits, k); err != nil {
			return err
		}
		if bits.at > len(bits.src) {
			return corrupt.Errorf("truncated at byte %d, in the header of a packet", len(bits.src))
		}
	}
	return nil
}

// lengths reads the lengths of the segments that new passes are in.
func (r *packetReader) lengths(hb *headerBits, k *block) error {
	for left := k.pending; left > 0; {
		if n := len(k.segments); n == 0 || k.segments[n-1].passes+k.segments[n-1].newPasses == k.segments[n-1].most {
			k.segments = append(k.segments, segment{most: r.mostPasses(k)})
		}
		s := &k.segments[len(k.segments)-1]
		s.newPasses = min(left, s.most-s.passes)
		width := k.lengthBits + bits.Len(uint(s.newPasses)) - 1
		if width > 32 {
			return corrupt.Errorf("a length of %d bits before byte %d", width, hb.at)
		}
		s.newLength = hb.take(width)
		left -= s.newPasses
	}
	return nil
}

// mostPasses returns how many passes the next segment may have.
func (r *packetReader) mostPasses(k *block) int {
	n := len(k.segments)
	switch {
	case r.coding.style&styleTerminate != 0:
		return 1
	case r.coding.style&styleBypass == 0:
		return mostPasses
	case n == 0:
		return firstBypassPasses
	case k.segments[n-1].most == 1 || k.segments[n-1].most == firstBypassPasses:
		return 2
	default:
		return 1
	}
}

// body adds the bytes of a code-block's new passes to the code-block.
func (r *packetReader) body(k *block) error {
	if k.pending == 0 {
		return nil
	}
	k.pending = 0
	for i := range k.segments {
		s := &k.segments[i]
		if s.newPasses == 0 {
			continue
		}
		if s.newLength > len(r.data)-r.at {
			return corrupt.Errorf("a code-block has %d bytes at byte %d of %d", s.newLength, r.at, len(r.data))
		}
		k.add(r.data[r.at : r.at+s.newLength])
		r.at += s.newLength
		s.passes += s.newPasses
		s.length += s.newLength
		s.newPasses, s.newLength = 0, 0
	}
	return nil
}

// add appends bytes. The bytes of one packet are never moved.
func (k *block) add(b []byte) {
	if len(k.data) == 0 && !k.owned {
		k.data = b[:len(b):len(b)]
		return
	}
	k.data, k.owned = append(k.data, b...), true
}

// headerBits reads the bits of a packet's header, except the bits that are stuffed after ff. Past
// the end it reads zeros, and at continues to increase.
type headerBits struct {
	src  []byte
	at   int // the next byte
	last byte
	left uint // bits of last
}

func (r *headerBits) bit() int {
	if r.left == 0 {
		r.left = 8
		if r.last == 0xff {
			r.left = 7
		}
		r.last = 0
		if r.at < len(r.src) {
			r.last = r.src[r.at]
		}
		r.at++
	}
	r.left--
	return int(r.last >> r.left & 1)
}

func (r *headerBits) take(n int) (v int) {
	for range n {
		v = v<<1 | r.bit()
	}
	return v
}

// end returns the index of the first byte after the header.
func (r *headerBits) end() int {
	if r.last == 0xff {
		return r.at + 1 // the stuffed bit has a byte of its own
	}
	return r.at
}

// passes reads how many passes there are (table B.4).
func (r *headerBits) passes() int {
	if r.bit() == 0 {
		return 1
	}
	if r.bit() == 0 {
		return 2
	}
	if n := r.take(2); n != 3 {
		return 3 + n
	}
	if n := r.take(5); n != 31 {
		return 6 + n
	}
	return 37 + r.take(7)
}
