package codec

import (
	"fmt"

	"varve/codec/internal/corrupt"
)

// LengthError says that a chunk decompresses to other than the bytes of its elements. It is
// ErrCorrupt.
type LengthError struct {
	Have, Need int
	form       Form
}

// Error says how many bytes there are, and how many the chunk takes.
func (e *LengthError) Error() string {
	return fmt.Sprintf("chunk has %d bytes after decompression, its %v elements of %v need %d", e.Have, e.form.Shape, e.form.Type, e.Need)
}

// Unwrap makes the error ErrCorrupt.
func (e *LengthError) Unwrap() error { return ErrCorrupt }

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
			return p.at(len(p.arrays), &LengthError{Have: len(src), Need: len(dst.Fixed), form: form})
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
// until it is enough, or more than so many stored bytes can justify.
func (p *Pipeline) decodeUnsized(a *arena, i int, src []byte) ([]byte, error) {
	c, limit := p.bytes[i], min(p.unsizedLimit(len(src)), maxUnsized-a.unsized)
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
			a.unsized += room
			return into[:n], nil
		}
		if room == limit {
			return nil, err
		}
		if !p.innermost().Type.Varies() {
			a.takeBack()
		}
	}
}

// unsizedLimit is the most that so many stored bytes may decode to: what the elements
// may well take, and of bytes that were compressed further maxRatio.
func (p *Pipeline) unsizedLimit(stored int) int {
	form := p.innermost()
	declared := 2*min(form.Bytes(), maxUnsized) + 64*min(form.Count(), maxUnsized)
	return min(maxUnsized, 64<<10+declared+maxRatio*min(stored, maxUnsized))
}

// wholeRoom returns room for all elements of a chunk of which only some are asked for,
// so that its size is the document's word alone. It is an error if the stored bytes are
// much too few for it.
func (p *Pipeline) wholeRoom(a *arena, stored int) (Elems, error) {
	form := p.Form()
	if err := form.CheckGrowth(int64(stored)); err != nil {
		return Elems{}, err
	}
	return a.elems(form), nil
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
