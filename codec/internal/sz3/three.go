package sz3

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
)

// Predictors of blocks in a body of three axes. Any other number means Lorenzo of order 1.
const (
	selectPlane  = 1
	selectOrder2 = 2
)

// threeAxes decodes a body of the algorithm "neighbours" with three axes and without planes of order 2:
//
//	[i32 block][i32 predicted axes][u8 predictors: Lorenzo, of order 2, plane][u8 0][i32 border: 2]
//	[i32 0][f32 bound of constants][f32 bound of slopes][f32 ×3, u8, u8 ×3: only for the encoder]
//	[f64 bound][u8 1: uses a mean][T mean][u64 planes]
//	codes of the blocks: 0 Lorenzo, 1 plane, 2 Lorenzo of order 2
//	if there are planes: [u64 n][f32 ×n] codes of slopes and constants
//	quantizer codes
//
// A Lorenzo predictor of one axis uses the last axis, one of two axes the first and the last.
func threeAxes[T number, W wide](w *workspace, conf config, r *cursor) ([]T, error) {
	b := &blocks[T, W]{}
	block, axes := r.u32(), r.u32()
	r.bytes(3+1, "predictors")
	border := r.u32()
	r.u32()
	p := &slab[T, W]{}
	p.bounds = [2]float64{float64(r.f32()), float64(r.f32())}
	r.bytes(3*4+1+3+8, "parameters")
	mean := r.u8()
	r.bytes(binary.Size(T(0)), "mean")
	planes := r.size()
	switch {
	case r.err != nil:
		return nil, r.err
	case border != 2:
		return nil, fmt.Errorf("border of %d elements, only 2 is supported: %w", border, errors.ErrUnsupported)
	case mean != 0:
		return nil, fmt.Errorf("prediction by the mean: %w", errors.ErrUnsupported)
	}
	if err := b.shape(conf.dims, block); err != nil {
		return nil, err
	}
	if err := p.choose(w, r, b, axes); err != nil {
		return nil, err
	}
	if planes > len(b.selected) {
		return nil, corrupt.Errorf("%d planes, but only %d blocks", planes, len(b.selected))
	}
	if err := p.coefficients(w, r, planes); err != nil {
		return nil, err
	}
	if err := b.quantizer.read(r); err != nil {
		return nil, err
	}
	var err error
	if w.codes, err = w.symbols(r, w.codes, count(b.dims)); err != nil {
		return nil, err
	}
	b.codes = w.codes
	return b.decode()
}

// slab is the plane predictor of a body of three axes. It computes in float32, whatever the type of the
// elements.
type slab[T number, W wide] struct {
	bounds [2]float64 // of the constant, of slopes
	codes  []int32    // codes of the coefficients that are not yet decoded
	stored []byte     // stored coefficients that are not yet used
	last   [4]float32 // coefficients of the last block: slopes, constant
}

// choose creates the predictors and reads the predictor of each block.
func (p *slab[T, W]) choose(w *workspace, r *cursor, b *blocks[T, W], axes uint32) error {
	of := []int{3}
	switch axes {
	case 3:
		of = []int{1, 2, 3}
	case 2:
		of = []int{1, 3}
	}
	second := newLorenzo(b, of, 2)
	if axes == 2 { // the library adds along the last axis first, and rounding depends on the order
		second = newLorenzo(b, []int{3, 1}, 2)
	}
	first := newLorenzo(b, of, 1)
	b.predictors = []predictor[T, W]{0: first, selectPlane: p, selectOrder2: second}
	var err error
	if b.selected, err = w.symbols(r, nil, count(b.grid)); err != nil {
		return fmt.Errorf("predictors of blocks: %w", err)
	}
	for i, s := range b.selected {
		if s < 0 || s > selectOrder2 {
			b.selected[i] = 0
		}
	}
	return nil
}

// coefficients reads the coefficients of all planes.
func (p *slab[T, W]) coefficients(w *workspace, r *cursor, planes int) error {
	if planes == 0 {
		return nil
	}
	p.stored = r.bytes(4*r.size(), "stored coefficients")
	if r.err != nil {
		return r.err
	}
	var err error
	if p.codes, err = w.symbols(r, nil, planes*len(p.last)); err != nil {
		return fmt.Errorf("coefficients: %w", err)
	}
	return nil
}

// read does nothing, because threeAxes reads the body.
func (p *slab[T, W]) read(*cursor, *blocks[T, W]) error { return nil }

func (p *slab[T, W]) begin([maxAxes]int) (bool, error) {
	if len(p.codes) < len(p.last) {
		return false, corrupt.Errorf("fewer planes than blocks that need one")
	}
	for i, code := range p.codes[:len(p.last)] {
		bound := p.bounds[1]
		if i == len(p.last)-1 {
			bound = p.bounds[0]
		}
		switch {
		case code != 0:
			const radius = 1 << 15
			p.last[i] = float32(float64(p.last[i]) + float64(float64(2*(code-radius))*bound))
		case len(p.stored) < 4:
			return false, corrupt.Errorf("fewer coefficients are stored than the codes need")
		default:
			p.last[i] = math.Float32frombits(binary.LittleEndian.Uint32(p.stored))
			p.stored = p.stored[4:]
		}
	}
	p.codes = p.codes[len(p.last):]
	return true, nil
}

func (p *slab[T, W]) row(b *blocks[T, W], r row) {
	start := float32(p.last[0]*float32(r.local[1])) + float32(p.last[1]*float32(r.local[2]))
	for i, code := range r.codes {
		predicted := start + float32(p.last[2]*float32(i))
		b.elements[r.at+i] = b.recover(convert[T, W](float64(predicted+p.last[3])), code)
	}
}
