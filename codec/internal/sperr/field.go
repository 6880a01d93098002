package sperr

import (
	"encoding/binary"
	"math"

	"varve/codec/internal/corrupt"
)

// How a field begins.
const (
	flagConstant  = 0x01
	conditionSize = 1 + 8 + 8
)

// minCorrected is how many elements a field must have to be cut into sets.
const minCorrected = 4

// work is the memory of a decoder.
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

// decode decodes the field of a part of an array.
func (w *work) decode(t *target, p part, s section) error {
	if len(s.data) < conditionSize {
		return corrupt.Errorf("sperr: a field of %d bytes at byte %d, want at least %d", len(s.data), s.at, conditionSize)
	}
	n := volume(p.length)
	w.values = cleared(w.values, n)
	var err error
	if s.data[0]&flagConstant != 0 {
		err = w.constant(s)
	} else {
		err = w.varied(w.partition(t, p.length), p.length, s)
	}
	if err != nil {
		return err
	}
	t.put(p, w.values)
	return nil
}

// constant fills a field of equal values.
func (w *work) constant(s section) error {
	if len(s.data) != conditionSize {
		return corrupt.Errorf("sperr: a constant field of %d bytes at byte %d, want %d", len(s.data), s.at, conditionSize)
	}
	if n := binary.LittleEndian.Uint64(s.data[1:]); n != uint64(len(w.values)) {
		return corrupt.Errorf("sperr: a constant field of %d elements at byte %d, want %d", n, s.at, len(w.values))
	}
	v := float64At(s.data[9:])
	for i := range w.values {
		w.values[i] = v
	}
	return nil
}

func float64At(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

// varied decodes a field that was transformed.
func (w *work) varied(sets partition, dims [3]int, s section) error {
	mean, q := float64At(s.data[1:]), float64At(s.data[9:])
	if !(q > 0) {
		return corrupt.Errorf("sperr: quantization step %v at byte %d, want more than 0", q, s.at+9)
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
	if err := w.correct(rest, q/1.5); err != nil {
		return err
	}
	for i := range w.values {
		w.values[i] += mean
	}
	return nil
}

// partition returns the sets that the coefficients of an array begin with.
func (w *work) partition(t *target, dims [3]int) partition {
	if t.planar {
		w.rects.begin(dims)
		return &w.rects
	}
	w.boxes.begin(dims)
	return &w.boxes
}

// correct adds the corrections, which stand in units of the tolerance.
func (w *work) correct(s section, tolerance float64) error {
	if len(s.data) < streamHeader {
		return nil
	}
	st, rest, err := readStream(s)
	if err != nil {
		return err
	}
	if !st.whole || len(rest.data) > 0 {
		return nil
	}
	if len(w.values) < minCorrected || !(tolerance > 0) {
		return corrupt.Errorf("sperr: corrections at byte %d of %d elements to %v", s.at, len(w.values), tolerance)
	}
	w.spans.begin(len(w.values))
	if err := w.speck.decode(st, len(w.values), &w.spans); err != nil {
		return err
	}
	for i, v := range w.speck.values {
		if v == 0 {
			continue
		}
		by := float64(v) - 0.25
		if v == 1 {
			by = 1.1
		}
		w.values[i] += w.speck.signed(i, by*tolerance)
	}
	return nil
}
