package netcdf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Write writes the file. It asks for the values of each variable in turn: they are to be
// written to w, little-endian, whole elements at a time, as many as the variable has.
func (f *File) Write(w io.Writer, values func(variable int, w io.Writer) error) error {
	header, err := f.Header()
	if err == nil && f.Records > 0 {
		err = fmt.Errorf("writing records: %w", errors.ErrUnsupported)
	}
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<20)
	if _, err := out.Write(header); err != nil {
		return err
	}
	for i := range f.Variables {
		v := &f.Variables[i]
		if f.isRecord(v) {
			continue
		}
		body := &valueWriter{out: out, size: v.Type.Size(), left: f.size(v)}
		if err := values(i, body); err != nil {
			return fmt.Errorf("variable %s: %w", v.Name, err)
		}
		if body.left != 0 {
			return fmt.Errorf("variable %s: %d bytes of %d are missing", v.Name, body.left, f.size(v))
		}
		if err := pad(out, f.size(v)); err != nil {
			return err
		}
	}
	return out.Flush()
}

func pad(out io.Writer, n int64) error {
	_, err := out.Write(make([]byte, -n&3))
	return err
}

// valueWriter turns elements round on their way.
type valueWriter struct {
	out  io.Writer
	size int
	left int64

	turned [32 << 10]byte
}

func (v *valueWriter) Write(b []byte) (n int, err error) {
	if int64(len(b)) > v.left || len(b)%v.size != 0 {
		return 0, fmt.Errorf("cannot write %d bytes of elements of %d bytes: the variable has room for %d", len(b), v.size, v.left)
	}
	for n < len(b) {
		part := v.turned[:copy(v.turned[:], b[n:])]
		turn(part, v.size)
		if _, err := v.out.Write(part); err != nil {
			return n, err
		}
		n += len(part)
		v.left -= int64(len(part))
	}
	return n, nil
}

// turn makes little-endian elements big-endian.
func turn(b []byte, size int) {
	switch size {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			binary.BigEndian.PutUint16(b, binary.LittleEndian.Uint16(b))
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			binary.BigEndian.PutUint32(b, binary.LittleEndian.Uint32(b))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			binary.BigEndian.PutUint64(b, binary.LittleEndian.Uint64(b))
		}
	}
}

// The tags of lists.
const (
	tagDimensions = 10
	tagVariables  = 11
	tagAttributes = 12
)

// Header returns all that comes before the values.
func (f *File) Header() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	h := headerWriter{wide: f.Version() == 5}
	h.file(f, 0)
	begin := int64(len(h.out)) // which the length does not depend on
	h.out = h.out[:0]
	h.file(f, begin)
	return h.out, nil
}

type headerWriter struct {
	out  []byte
	wide bool
}

// number is a length or a count.
func (h *headerWriter) number(n int64) {
	if h.wide {
		h.out = binary.BigEndian.AppendUint64(h.out, uint64(n))
		return
	}
	h.out = binary.BigEndian.AppendUint32(h.out, uint32(n))
}

func (h *headerWriter) tag(n uint32) { h.out = binary.BigEndian.AppendUint32(h.out, n) }

// list begins a list.
func (h *headerWriter) list(tag uint32, n int) {
	if n == 0 {
		tag = 0
	}
	h.tag(tag)
	h.number(int64(n))
}

func (h *headerWriter) pad() {
	for len(h.out)%4 != 0 {
		h.out = append(h.out, 0)
	}
}

func (h *headerWriter) name(name string) {
	h.number(int64(len(name)))
	h.out = append(h.out, name...)
	h.pad()
}

func (h *headerWriter) file(f *File, begin int64) {
	version := byte(2)
	if h.wide {
		version = 5
	}
	h.out = append(h.out, 'C', 'D', 'F', version)
	h.number(f.Records)
	h.list(tagDimensions, len(f.Dimensions))
	for _, d := range f.Dimensions {
		h.name(d.Name)
		h.number(d.Length)
	}
	h.attributes(f.Attributes)
	h.list(tagVariables, len(f.Variables))
	begins := f.begins(begin)
	for i := range f.Variables {
		v := &f.Variables[i]
		h.variable(v, padded(f.size(v)), begins[i])
	}
}

// begins returns where the values of each variable begin, those with records behind all others.
func (f *File) begins(begin int64) []int64 {
	records := begin
	for i := range f.Variables {
		if v := &f.Variables[i]; !f.isRecord(v) {
			records += padded(f.size(v))
		}
	}
	begins := make([]int64, len(f.Variables))
	for i := range f.Variables {
		v := &f.Variables[i]
		at := &begin
		if f.isRecord(v) {
			at = &records
		}
		begins[i] = *at
		*at += padded(f.size(v))
	}
	return begins
}

// Layout is where the values of a file are.
type Layout struct {
	Header []byte
	Begins []int64 // where the values of each variable begin, or its part of the first record
	Sizes  []int64 // the bytes of each variable, or of its part of a record, without padding
	Record int64   // the bytes of a record
}

// IsRecord reports whether a variable has the record dimension.
func (f *File) IsRecord(variable int) bool { return f.isRecord(&f.Variables[variable]) }

// Layout returns where the values are.
func (f *File) Layout() (*Layout, error) {
	header, err := f.Header()
	if err != nil {
		return nil, err
	}
	l := &Layout{Header: header, Begins: f.begins(int64(len(header)))}
	records := 0
	for i := range f.Variables {
		l.Sizes = append(l.Sizes, f.size(&f.Variables[i]))
		if f.IsRecord(i) {
			l.Record += padded(l.Sizes[i])
			records++
		}
	}
	if records == 1 {
		// The parts of the only variable with records follow one another without padding.
		for i := range f.Variables {
			if f.IsRecord(i) {
				l.Record = l.Sizes[i]
			}
		}
	}
	return l, nil
}

// Turn changes the byte order of elements in memory to that of the format, or back.
func Turn(t Type, b []byte) { turn(b, t.Size()) }

func padded(n int64) int64 { return (n + 3) &^ 3 }

func (h *headerWriter) attributes(attributes []Attribute) {
	h.list(tagAttributes, len(attributes))
	for _, a := range attributes {
		h.name(a.Name)
		h.tag(uint32(a.Type))
		h.number(int64(len(a.Data) / a.Type.Size()))
		at := len(h.out)
		h.out = append(h.out, a.Data...)
		turn(h.out[at:], a.Type.Size())
		h.pad()
	}
}

func (h *headerWriter) variable(v *Variable, size, begin int64) {
	h.name(v.Name)
	h.number(int64(len(v.Dimensions)))
	for _, d := range v.Dimensions {
		h.number(int64(d))
	}
	h.attributes(v.Attributes)
	h.tag(uint32(v.Type))
	h.number(size)
	h.out = binary.BigEndian.AppendUint64(h.out, uint64(begin))
}
