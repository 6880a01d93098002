package convert

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"varve/codec"
	"varve/manifest/internal/cf"
)

var float64Type = codec.Type{Kind: codec.Float, Size: 8}

// numbers returns the converter of packed numbers to numbers of a schema. It is nil if no bit changes.
func numbers(p cf.Packing, to codec.Type, declared [][]byte) (converter, error) {
	if !p.Scaled() && !Safe(p.Type, to) {
		return nil, fmt.Errorf("a cast from %s to %s could lose information: %w", p.Type, to, errors.ErrUnsupported)
	}
	masks := changing(p, to, declared)
	target, err := targetOf(to, declared, len(masks) > 0)
	switch {
	case err != nil:
		return nil, err
	case p.Scaled() || p.Type.Kind != to.Kind && to.Kind == codec.Float || p.Type.Kind == codec.Float && p.Type.Size != to.Size:
		return newFloats(p, to, masks, target), nil
	case len(masks) == 0 && p.Type.Size == to.Size:
		return nil, nil
	}
	return newWords(p, to, masks, target), nil
}

// changing returns the masks that the schema does not have, or has as another element.
func changing(p cf.Packing, to codec.Type, declared [][]byte) (masks [][]byte) {
	for _, m := range p.Masks {
		// NaN stays NaN in the schema.
		if cf.IsNaN(p.Type, m) && (len(declared) == 0 || cf.IsNaN(to, declared[0])) {
			continue
		}
		cast, ok := cf.Cast(to, p.Type, m)
		known := func(d []byte) bool { return cf.SameNumber(to, d, cast) }
		if p.Scaled() || !ok || !slices.ContainsFunc(declared, known) {
			masks = append(masks, m)
		}
	}
	return masks
}

// targetOf returns the schema's element for missing values: its mask, or else NaN.
func targetOf(to codec.Type, declared [][]byte, needed bool) ([]byte, error) {
	switch {
	case len(declared) > 0:
		return declared[0], nil
	case to.Kind == codec.Float:
		return cf.NaN(to), nil
	case !needed:
		return nil, nil
	}
	return nil, fmt.Errorf("%w: its type is %s", errNoMask, to)
}

// blockLen is the number of elements of a block. A block is on the stack, and stays in the first-level
// cache while several passes read it.
const blockLen = 512

// words converts numbers without changing their value: integers to integers, or to the same type.
type words struct {
	from, to codec.Type
	masks    []uint64 // in the form of cf.Extend
	infinity uint64   // if NaN is masked: the bits of infinity, above which all floats are NaN; else 0
	target   uint64
}

func newWords(p cf.Packing, to codec.Type, masks [][]byte, target []byte) *words {
	w := &words{from: p.Type, to: to, target: cf.Word(target)}
	for _, m := range masks {
		switch {
		case cf.IsNaN(p.Type, m):
			inf, _ := cf.Cast(p.Type, float64Type, cf.AppendWord(nil, math.Float64bits(math.Inf(1)), 8))
			w.infinity = cf.Word(inf)
		case p.Type.Kind == codec.Float && cf.Float(p.Type, m) == 0:
			w.masks = append(w.masks, 0, 1<<(8*p.Type.Size-1)) // and -0, which equals 0
		default:
			w.masks = append(w.masks, cf.Extend(p.Type, m))
		}
	}
	return w
}

func (w *words) convert(dst, src codec.Elems) error {
	var block [blockLen]uint64
	in, out := src.Fixed, dst.Fixed
	for len(in) > 0 {
		b := block[:min(blockLen, len(in)/w.from.Size)]
		loadWords(b, in, w.from)
		for _, m := range w.masks {
			replaceWord(b, m, w.target)
		}
		if w.infinity != 0 {
			w.replaceNaN(b)
		}
		storeWords(out, b, w.to.Size)
		in, out = in[len(b)*w.from.Size:], out[len(b)*w.to.Size:]
	}
	return nil
}

func replaceWord(b []uint64, mask, target uint64) {
	for i, v := range b {
		if v == mask {
			b[i] = target
		}
	}
}

func (w *words) replaceNaN(b []uint64) {
	sign := uint64(1) << (8*w.from.Size - 1)
	for i, v := range b {
		if v&^sign > w.infinity {
			b[i] = w.target
		}
	}
}

// floats converts numbers by arithmetic in float64.
type floats struct {
	from, to      codec.Type
	words         []uint64  // masks of integers, in the form of cf.Extend
	masks         []float64 // masks of floats
	masksNaN      bool      // NaN is a mask and has to be replaced
	target        float64
	isScaled      bool
	scale, offset float64
	units         *cf.Linear // nil if the units stay
	missing       float64    // with units: what NaN becomes in the end
	avoided       []float64  // with units: the numbers that the schema reads as missing
}

func newFloats(p cf.Packing, to codec.Type, masks [][]byte, target []byte) *floats {
	f := &floats{from: p.Type, to: to, target: cf.Float(to, target), isScaled: p.Scaled()}
	f.scale, f.offset = p.Affine()
	for _, m := range masks {
		switch {
		case cf.IsNaN(p.Type, m):
			f.masksNaN = true
		case p.Type.Kind == codec.Float:
			f.masks = append(f.masks, cf.Float(p.Type, m))
		default:
			f.words = append(f.words, cf.Extend(p.Type, m))
		}
	}
	return f
}

func (f *floats) convert(dst, src codec.Elems) error {
	var block [blockLen]float64
	in, out := src.Fixed, dst.Fixed
	for len(in) > 0 {
		b := block[:min(blockLen, len(in)/f.from.Size)]
		f.load(b, in)
		if f.isScaled {
			for i, v := range b {
				b[i] = cf.Unpacked(v, f.scale, f.offset)
			}
		}
		if f.units != nil {
			f.convertUnits(b)
		}
		storeFloats(out, b, f.to.Size)
		in, out = in[len(b)*f.from.Size:], out[len(b)*f.to.Size:]
	}
	return nil
}

func (f *floats) convertUnits(b []float64) {
	for i, v := range b {
		if b[i] = f.missing; v == v {
			b[i] = f.unmasked(f.units.Apply(v))
		}
	}
}

// unmasked returns a number, or the next one of the type if the number would mark a missing value. It does the same as
// repack.pack.
func (f *floats) unmasked(v float64) float64 {
	for k := 0; k <= len(f.avoided); k++ {
		if f.to.Size == 4 {
			v = float64(float32(v))
		}
		if !slices.Contains(f.avoided, v) {
			break
		}
		if f.to.Size == 4 {
			v = float64(math.Nextafter32(float32(v), float32(math.Inf(1))))
		} else {
			v = math.Nextafter(v, math.Inf(1))
		}
	}
	return v
}

// load loads numbers and replaces masks by the target.
func (f *floats) load(b []float64, in []byte) {
	switch {
	case f.from.Kind == codec.Float:
		loadFloats(b, in, f.from.Size)
	case len(f.words) == 0:
		loadIntegers(b, in, f.from)
	default:
		f.loadMasked(b, in)
	}
	for _, m := range f.masks {
		for i, v := range b {
			if v == m {
				b[i] = f.target
			}
		}
	}
	if f.masksNaN {
		for i, v := range b {
			if v != v {
				b[i] = f.target
			}
		}
	}
}

// loadMasked replaces masks before it converts integers: float64 cannot distinguish all 64-bit
// integers.
func (f *floats) loadMasked(b []float64, in []byte) {
	// Up to 32 bits, floats are exact, so masks can be compared after the conversion.
	if f.from.Size <= 4 {
		loadIntegers(b, in, f.from)
		for _, m := range f.words {
			replaceFloat(b, float64(int64(m)), f.target)
		}
		return
	}
	var block [blockLen]uint64
	w := block[:len(b)]
	loadWords(w, in, f.from)
	loadIntegers(b, in, f.from)
	for _, m := range f.words {
		for i, v := range w {
			if v == m {
				b[i] = f.target
			}
		}
	}
}

func replaceFloat(b []float64, mask, target float64) {
	for i, v := range b {
		if v == mask {
			b[i] = target
		}
	}
}
