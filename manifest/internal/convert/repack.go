package convert

import (
	"fmt"
	"math"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/zarrjson"
)

// repacked returns a converter to the packing of the schema. Elements of this packing are kept.
func repacked(v *manifest.Variable, schema *zarrjson.Array) (converter, error) {
	if same, err := asStored(v, schema); err == nil {
		return same, nil
	}
	tile, declared, err := packings(v, schema)
	if err != nil {
		return nil, err
	}
	if !cf.IsNumber(v.Type) || declared.Type.Kind == codec.Float {
		return nil, fmt.Errorf("%s is packed as %s, which is no integer: %w", v.Type, declared.Type, errPacked)
	}
	if len(declared.Masks) == 0 && (len(tile.Masks) > 0 || tile.Type.Kind == codec.Float) {
		return nil, fmt.Errorf("%w: its type is %s", errNoMask, declared.Type)
	}
	r := &repack{unpack: newFloats(tile, float64Type, changing(tile, float64Type, nil), cf.NaN(float64Type)), to: declared.Type}
	r.scale, r.offset = declared.Affine()
	r.low, r.high = limits(declared.Type)
	for _, m := range declared.Masks {
		r.masks = append(r.masks, cf.Float(declared.Type, m))
	}
	if len(declared.Masks) > 0 {
		r.target = cf.Extend(declared.Type, declared.Masks[0])
	}
	return r, nil
}

// limits returns the least and greatest integers of a type that are also float64.
func limits(t codec.Type) (low, high float64) {
	bits := 8 * t.Size
	if t.Kind == codec.Uint {
		return 0, math.Nextafter(math.Ldexp(1, bits), 0) // of 64 bits, the next float64 below
	}
	return -math.Ldexp(1, bits-1), math.Nextafter(math.Ldexp(1, bits-1), 0)
}

// repack unpacks numbers and packs them with another scale and offset. Each becomes the nearest number of
// the new packing that marks nothing as missing.
type repack struct {
	unpack        *floats
	to            codec.Type
	scale, offset float64
	low, high     float64 // of the stored integers
	masks         []float64
	target        uint64 // for missing values
}

func (r *repack) convert(dst, src codec.Elems) error {
	var values [blockLen]float64
	var packed [blockLen]uint64
	in, out := src.Fixed, dst.Fixed
	for len(in) > 0 {
		n := min(blockLen, len(in)/r.unpack.from.Size)
		r.load(values[:n], in)
		for i, v := range values[:n] {
			packed[i] = r.target
			if v == v {
				packed[i] = word(r.pack(v))
			}
		}
		storeWords(out, packed[:n], r.to.Size)
		in, out = in[n*r.unpack.from.Size:], out[n*r.to.Size:]
	}
	return nil
}

// load sets b to unpacked numbers; missing ones are NaN.
func (r *repack) load(b []float64, in []byte) {
	r.unpack.load(b, in)
	if r.unpack.isScaled {
		for i, v := range b {
			b[i] = cf.Unpacked(v, r.unpack.scale, r.unpack.offset)
		}
	}
}

// pack returns the stored integer for a value.
func (r *repack) pack(v float64) float64 {
	exact := (v - r.offset) / r.scale
	n := min(max(math.RoundToEven(exact), math.Ceil(r.low)), math.Floor(r.high))
	for k := 1.0; slices.Contains(r.masks, n); k++ {
		// The next integers on both sides, the nearer one first.
		side := k
		if exact < n {
			side = -k
		}
		if next := n + side; next >= r.low && next <= r.high {
			n = next
		} else {
			n -= side
		}
	}
	return n
}

// word returns the bits of an integer.
func word(n float64) uint64 {
	if n < 0 {
		return uint64(int64(n))
	}
	return uint64(n)
}

// change returns the largest difference between the values of src before and after the conversion.
func (r *repack) change(src codec.Elems) (largest float64) {
	var values [blockLen]float64
	for in := src.Fixed; len(in) > 0; {
		n := min(blockLen, len(in)/r.unpack.from.Size)
		r.load(values[:n], in)
		for _, v := range values[:n] {
			if v == v {
				largest = max(largest, math.Abs(v-cf.Unpacked(r.pack(v), r.scale, r.offset)))
			}
		}
		in = in[n*r.unpack.from.Size:]
	}
	return largest
}

// Repacks reports whether the conversion packs values with another scale or offset, so that it may round
// them.
func (c *Conversion) Repacks() bool {
	_, ok := c.steps.(*repack)
	return ok
}

// Change returns the largest difference between the values that src stands for and the values of the
// converted elements. It is 0 for conversions that do not repack.
func (c *Conversion) Change(src codec.Elems) float64 {
	if r, ok := c.steps.(*repack); ok {
		return r.change(src)
	}
	return 0
}

// Half returns half of the scale to which the conversion packs: the largest difference by rounding.
func (c *Conversion) Half() float64 {
	if r, ok := c.steps.(*repack); ok {
		return math.Abs(r.scale) / 2
	}
	return 0
}
