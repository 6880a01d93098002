package codec

import (
	"fmt"

	"varve/codec/internal/corrupt"
)

// LengthError says that a chunk decompresses to a size other than that of its elements.
// It wraps ErrCorrupt.
type LengthError struct {
	Have, Need int
	form       Form
}

// Error returns the message with both sizes.
func (e *LengthError) Error() string {
	return fmt.Sprintf("chunk has %d bytes after decompression, its %v elements of %v need %d", e.Have, e.form.Shape, e.form.Type, e.Need)
}

// Unwrap returns ErrCorrupt.
func (e *LengthError) Unwrap() error { return ErrCorrupt }

// Decode fills dst with the elements of the stored chunk src. Elements of varying length
// may alias src; otherwise src is not retained.
func (p *Pipeline) Decode(dst Elems, src []byte) error {
	if err := dst.checkSize(p.Form()); err != nil {
		return err
	}
	a := getArena()
	defer a.release()
	inner := dst
	if len(p.arrayCodecs) > 0 {
		inner = a.newElems(p.innermost())
	}
	if err := p.decodeBytes(a, inner, src); err != nil {
		return err
	}
	for i := len(p.arrayCodecs) - 1; i >= 0; i-- {
		out := dst
		if i > 0 {
			out = a.newElems(p.forms[i])
		}
		if err := p.arrayCodecs[i].Decode(out, inner, p.forms[i]); err != nil {
			return p.stageError(i, err)
		}
		inner = out
	}
	return nil
}

// decodeBytes decodes the bytes-to-bytes codecs and the array-to-bytes codec.
func (p *Pipeline) decodeBytes(a *arena, dst Elems, src []byte) error {
	form := p.innermost()
	mender, inPlace := p.toBytes.(inPlaceDecoder)
	inPlace = inPlace && !form.Type.Varies()
	for i := len(p.bytesCodecs) - 1; i >= 0; i-- {
		var into []byte
		// The last decompression writes straight to the elements, so that no copy is
		// needed.
		if i == 0 && inPlace {
			into = dst.Fixed
		}
		out, err := p.decodeStage(a, i, into, src)
		if err != nil {
			return p.stageError(len(p.arrayCodecs)+1+i, err)
		}
		src = out
	}
	if inPlace {
		if len(src) != len(dst.Fixed) {
			return p.stageError(len(p.arrayCodecs), &LengthError{Have: len(src), Need: len(dst.Fixed), form: form})
		}
		// A trimmer returns a part of its input instead of writing to dst.
		if len(src) > 0 && &src[0] != &dst.Fixed[0] {
			copy(dst.Fixed, src)
		}
		return p.stageError(len(p.arrayCodecs), mender.decodeInPlace(dst.Fixed, form))
	}
	return p.stageError(len(p.arrayCodecs), p.toBytes.Decode(dst, src, form))
}

// decodeStage decodes one bytes-to-bytes codec, to into if it is not nil.
func (p *Pipeline) decodeStage(a *arena, i int, into, src []byte) ([]byte, error) {
	c := p.bytesCodecs[i]
	if t, ok := c.(trimmer); ok {
		return t.trim(src)
	}
	if into != nil || p.sizes[i] >= 0 {
		if into == nil {
			into = p.buffer(a, p.sizes[i])
		}
		n, err := c.Decode(into, src)
		if err != nil {
			return nil, err
		}
		return into[:n], nil
	}
	return p.decodeUnsized(a, i, src)
}

// decodeUnsized decodes a codec whose output size is unknown. It retries with a larger
// buffer until the buffer suffices or exceeds the limit for so many stored bytes.
func (p *Pipeline) decodeUnsized(a *arena, i int, src []byte) ([]byte, error) {
	c, limit := p.bytesCodecs[i], min(p.unsizedLimit(len(src)), maxUnsized-a.unsizedBytes)
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
	// Start at 16 times the stored size, which suffices for most data. Growing by a
	// factor of 4 bounds the total work.
	for room := min(limit, 64<<10+16*len(src)); ; room = min(limit, 4*room) {
		into := p.buffer(a, room)
		n, err := c.Decode(into, src)
		if err == nil {
			a.unsizedBytes += room
			return into[:n], nil
		}
		if room == limit {
			return nil, err
		}
		if !p.innermost().Type.Varies() {
			a.dropLast()
		}
	}
}

// unsizedLimit returns the largest accepted decoded size: a generous size of the
// elements, or maxRatio times the stored bytes for bytes that were compressed further.
func (p *Pipeline) unsizedLimit(stored int) int {
	form := p.innermost()
	declared := 2*min(form.Bytes(), maxUnsized) + 64*min(form.Count(), maxUnsized)
	return min(maxUnsized, 64<<10+declared+maxRatio*min(stored, maxUnsized))
}

// wholeBuffer returns a buffer for all elements of a chunk of which only some are wanted.
// Only the document declares its size, so it returns an error if there are far too few
// stored bytes for that.
func (p *Pipeline) wholeBuffer(a *arena, stored int) (Elems, error) {
	form := p.Form()
	if err := form.CheckGrowth(int64(stored)); err != nil {
		return Elems{}, err
	}
	return a.newElems(form), nil
}

// buffer returns a buffer for the output of a codec. Elements of varying length alias
// their buffer, or one that a trimmer shortened, so they get a buffer that is not reused.
func (p *Pipeline) buffer(a *arena, n int) []byte {
	if p.innermost().Type.Varies() {
		return make([]byte, n)
	}
	return a.bytes(n)
}

// stageError adds the name of codec i to an error.
func (p *Pipeline) stageError(i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("codec %q: %w", p.specs[i].Name, err)
}
