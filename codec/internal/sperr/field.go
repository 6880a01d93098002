package sperr

import (
	"encoding/binary"
	"math"

	"varve/codec/internal/corrupt"
)

// A field begins with flags:8, then two 64-bit numbers: the mean and the quantization step of a
// transformed field, or the number of elements and the value of a constant one.
const (
	flagConstant  = 0x01
	conditionSize = 1 + 8 + 8
)

// minCorrected is the minimum number of elements of a field that has corrections.
const minCorrected = 4

// work is the reusable memory of a decoder.
type work struct {
	speck  speck
	spans  spans
	rects  rects
	boxes  boxes
	values []float64
	lines  inverse
}

func newWork() *work {
	w := new(work)
	w.spans.speck, w.rects.speck, w.boxes.speck = &w.speck, &w.speck, &w.speck
	return w
}

// decode decodes the field in section s, which is part p of the array, to t.
func (w *work) decode(t *target, p part, s section) error {
	if len(s.data) < conditionSize {
		return corrupt.Errorf("sperr: field of %d bytes at byte %d, must be at least %d", len(s.data), s.at, conditionSize)
	}
	n := volume(p.length)
	w.values = zeros(w.values, n)
	var err error
	if s.data[0]&flagConstant != 0 {
		err = w.constant(s)
	} else {
		err = w.transformed(w.partition(t, p.length), p.length, s)
	}
	if err != nil {
		return err
	}
	t.put(p, w.values)
	return nil
}

// constant decodes a field whose values are all equal.
func (w *work) constant(s section) error {
	if len(s.data) != conditionSize {
		return corrupt.Errorf("sperr: constant field of %d bytes at byte %d, must be %d", len(s.data), s.at, conditionSize)
	}
	if n := binary.LittleEndian.Uint64(s.data[1:]); n != uint64(len(w.values)) {
		return corrupt.Errorf("sperr: constant field of %d elements at byte %d, %d are expected", n, s.at, len(w.values))
	}
	v := float64At(s.data[9:])
	for i := range w.values {
		w.values[i] = v
	}
	return nil
}

// float64At returns the little-endian float64 at the beginning of b.
func float64At(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

// transformed decodes a field of wavelet coefficients, and inverts the transform.
func (w *work) transformed(sets partition, dims [3]int, s section) error {
	mean, q := float64At(s.data[1:]), float64At(s.data[9:])
	if !(q > 0) { // also true for NaN
		return corrupt.Errorf("sperr: quantization step %v at byte %d, must be positive", q, s.at+9)
	}
	st, rest, err := readStream(section{s.data[conditionSize:], s.at + conditionSize})
	if err != nil {
		return err
	}
	if err := w.speck.decode(st, len(w.values), sets); err != nil {
		return err
	}
	for i, v := range w.speck.values {
		w.values[i] = w.speck.signed(i, q*float64(v))
	}
	w.lines.run(w.values, dims)
	if err := w.correct(rest, q/1.5); err != nil { // the encoder's step is 1.5 times the tolerance
		return err
	}
	for i := range w.values {
		w.values[i] += mean
	}
	return nil
}

// partition returns the initial partition of an array's coefficients into sets.
func (w *work) partition(t *target, dims [3]int) partition {
	if t.isPlanar {
		w.rects.begin(dims)
		return &w.rects
	}
	w.boxes.begin(dims)
	return &w.boxes
}

// correct adds the corrections of outliers in section s to the values. Corrections are stored in units
// of the tolerance.
func (w *work) correct(s section, tolerance float64) error {
	if len(s.data) < streamHeader { // a field without outliers has no corrections
		return nil
	}
	st, rest, err := readStream(s)
	if err != nil {
		return err
	}
	if !st.isWhole || len(rest.data) > 0 { // SPERR ignores corrections of another length
		return nil
	}
	if len(w.values) < minCorrected || !(tolerance > 0) {
		return corrupt.Errorf("sperr: corrections at byte %d for %d elements with tolerance %v, must be at least %d elements and a positive tolerance",
			s.at, len(w.values), tolerance, minCorrected)
	}
	w.spans.begin(len(w.values))
	if err := w.speck.decode(st, len(w.values), &w.spans); err != nil {
		return err
	}
	for i, v := range w.speck.values {
		if v == 0 {
			continue
		}
		// The middle of the interval of the quantized correction, as in SPERR.
		by := float64(v) - 0.25
		if v == 1 {
			by = 1.1
		}
		w.values[i] += w.speck.signed(i, by*tolerance)
	}
	return nil
}
