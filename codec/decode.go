package codec

import (
	"fmt"

	"varve/codec/internal/corrupt"
)

// maxUnsized bounds what a compressor may produce where the size of the elements
// does not say how much it should be: text, and compressors of compressed bytes.
const maxUnsized = 512 << 20

// Decode fills dst with the elements of the stored chunk src. Elements of varying
// length may alias src; nothing keeps it otherwise.
func (p *Pipeline) Decode(dst Elems, src []byte) error {
	if err := dst.holds(p.Form()); err != nil {
		return err
	}
	a := getArena()
	defer a.release()
	inner := dst
	if len(p.arrays) > 0 {
		inner = a.elems(p.innermost())
	}
	if err := p.decodeBytes(a, inner, src); err != nil {
		return err
	}
	for i := len(p.arrays) - 1; i >= 0; i-- {
		out := dst
		if i > 0 {
			out = a.elems(p.forms[i])
		}
		if err := p.arrays[i].Decode(out, inner, p.forms[i]); err != nil {
			return p.at(i, err)
		}
		inner = out
	}
	return nil
}

// decodeBytes undoes the codecs from bytes to bytes and the one that made bytes.
func (p *Pipeline) decodeBytes(a *arena, dst Elems, src []byte) error {
	form := p.innermost()
	mender, inPlace := p.toBytes.(inPlacer)
	inPlace = inPlace && !form.Type.Varies()
	for i := len(p.bytes) - 1; i >= 0; i-- {
		var into []byte
		if i == 0 && inPlace {
			into = dst.Fixed
		}
		out, err := p.decodeStage(a, i, into, src)
		if err != nil {
			return p.at(len(p.arrays)+1+i, err)
		}
		src = out
	}
	if inPlace {
		if len(src) != len(dst.Fixed) {
			return p.at(len(p.arrays), corrupt.Errorf("chunk has %d bytes after decompression, its %v elements of %v need %d", len(src), form.Shape, form.Type, len(dst.Fixed)))
		}
		if len(src) > 0 && &src[0] != &dst.Fixed[0] {
			copy(dst.Fixed, src)
		}
		return p.at(len(p.arrays), mender.decodeInPlace(dst.Fixed, form))
	}
	return p.at(len(p.arrays), p.toBytes.Decode(dst, src, form))
}

// decodeStage undoes one codec from bytes to bytes, in into where that is given.
func (p *Pipeline) decodeStage(a *arena, i int, into, src []byte) ([]byte, error) {
	c := p.bytes[i]
	if t, ok := c.(trimmer); ok {
		return t.trim(src)
	}
	if into != nil || p.sizes[i] >= 0 {
		if into == nil {
			into = p.room(a, p.sizes[i])
		}
		n, err := c.Decode(into, src)
		if err != nil {
			return nil, err
		}
		return into[:n], nil
	}
	return p.decodeUnsized(a, i, src)
}

// decodeUnsized undoes a codec whose output's size is unknown, in a buffer that grows
// as far as the stored bytes have justified it.
func (p *Pipeline) decodeUnsized(a *arena, i int, src []byte) ([]byte, error) {
	c, limit := p.bytes[i], p.unsizedLimit(len(src))
	if s, ok := c.(sizer); ok {
		n, err := s.decodedSize(src)
		if err != nil {
			return nil, err
		}
		if n > limit {
			return nil, corrupt.Errorf("decodes to %d bytes, over the limit of %d", n, limit)
		}
		limit = n
	}
	for room := min(limit, 64<<10+16*len(src)); ; room = min(limit, 4*room) {
		into := p.room(a, room)
		n, err := c.Decode(into, src)
		if err == nil {
			return into[:n], nil
		}
		if room == limit {
			return nil, err
		}
	}
}

// unsizedLimit is the most that so many stored bytes may decode to: what the elements
// may well take, and of bytes that were compressed further what zstd, at 32768 for one,
// makes of them at best.
func (p *Pipeline) unsizedLimit(stored int) int {
	const ratio = 1 << 16
	form := p.innermost()
	declared := 2*min(form.Bytes(), maxUnsized) + 64*min(form.Count(), maxUnsized)
	return min(maxUnsized, 64<<10+declared+ratio*min(stored, maxUnsized))
}

// room returns a buffer for the output of a codec. Elements of varying length alias
// the innermost one, or that from which checksums were taken off, so that it must be
// theirs to keep.
func (p *Pipeline) room(a *arena, n int) []byte {
	if p.innermost().Type.Varies() {
		return make([]byte, n)
	}
	return a.bytes(n)
}

// at says which codec an error is from.
func (p *Pipeline) at(i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("codec %q: %w", p.specs[i].Name, err)
}
