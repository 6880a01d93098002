package present

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest/store"
)

// WriteNPY writes a selection as NumPy's .npy, streaming: elements as they are stored or,
// with a decoder that decodes, as float64.
func WriteNPY(ctx context.Context, w io.Writer, s *Selection, d *Decoder) error {
	descr, err := d.npyType()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<20)
	if _, err := out.Write(npyHeader(descr, s.Shape())); err != nil {
		return err
	}
	var failed error
	err = d.each(ctx, s, func(elems []byte) {
		if failed == nil {
			failed = d.writeElements(out, elems)
		}
	})
	return errors.Join(err, failed, out.Flush())
}

// decodes reports whether what is shown differs from what is stored.
func (d *Decoder) decodes() bool {
	return d.decode && d.units == nil && (len(d.masks) > 0 || d.scale != 1 || d.offset != 0 || !d.unsigned.Equal(d.typ))
}

func (d *Decoder) writeElements(out io.Writer, elems []byte) error {
	if !d.decodes() {
		_, err := out.Write(elems)
		return err
	}
	var numbers [1024]float64
	var buffer [8 * len(numbers)]byte
	for len(elems) > 0 {
		n := min(len(numbers), len(elems)/d.typ.Size)
		d.Float64s(numbers[:n], elems)
		for i, f := range numbers[:n] {
			binary.LittleEndian.PutUint64(buffer[8*i:], math.Float64bits(f))
		}
		if _, err := out.Write(buffer[:8*n]); err != nil {
			return err
		}
		elems = elems[n*d.typ.Size:]
	}
	return nil
}

// npyType is the type of what is written, as NumPy spells it.
func (d *Decoder) npyType() (string, error) {
	if d.decodes() {
		return "<f8", nil
	}
	letters := map[codec.Kind]string{codec.Bool: "|b", codec.Int: "<i", codec.Uint: "<u", codec.Float: "<f", codec.Complex: "<c", codec.FixedBytes: "|S"}
	letter, ok := letters[d.typ.Kind]
	switch {
	case d.typ.Kind == codec.FixedUTF32:
		return fmt.Sprintf("<U%d", d.typ.Size/4), nil
	case d.typ.Kind == codec.DateTime && d.typ.Ticks <= 1:
		return "<M8[" + d.typ.Unit + "]", nil
	case !ok:
		return "", fmt.Errorf("%s holds %s, which .npy cannot: try .csv: %w", d.array.Path(), d.typ, errors.ErrUnsupported)
	}
	return letter + strconv.Itoa(d.typ.Size), nil
}

// npyHeader is the magic, the version and a dictionary, padded to a multiple of 64 bytes.
func npyHeader(descr string, shape []int64) []byte {
	var dims strings.Builder
	for _, n := range shape {
		fmt.Fprintf(&dims, "%d,", n)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, dims.String())
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	return fmt.Appendf(nil, "\x93NUMPY\x01\x00%c%c%s", byte(len(text)), byte(len(text)>>8), text)
}

// WriteCSV writes a selection as a table: a row an element, with a column for each dimension
// that holds the label of its coordinate, or the index where there is none.
func WriteCSV(ctx context.Context, w io.Writer, st *store.Store, s *Selection, d *Decoder) error {
	table := &csvTable{out: csv.NewWriter(w), decoder: d}
	if err := table.head(ctx, st, s); err != nil {
		return err
	}
	for _, block := range s.Blocks(1 << 20) {
		if err := table.write(ctx, block); err != nil {
			return err
		}
	}
	table.out.Flush()
	return table.out.Error()
}

type csvTable struct {
	out     *csv.Writer
	decoder *Decoder
	columns []func(index int64) string
	row     []string
}

func (t *csvTable) head(ctx context.Context, st *store.Store, s *Selection) error {
	for _, x := range s.Axes {
		column, err := columnOf(ctx, st, s.Array, x.Dim)
		if err != nil {
			return err
		}
		t.columns, t.row = append(t.columns, column), append(t.row, x.Dim)
	}
	t.row = append(t.row, s.Array.Path()[strings.LastIndexByte(s.Array.Path(), '/')+1:])
	return t.out.Write(t.row)
}

// columnOf returns how the indices of a dimension are written.
func columnOf(ctx context.Context, st *store.Store, a *store.Array, dim string) (func(int64) string, error) {
	coordinate, ok := coordinateOf(st, a, dim)
	if !ok {
		return func(i int64) string { return strconv.FormatInt(i, 10) }, nil
	}
	d, err := NewDecoder(coordinate, true)
	if err != nil {
		return nil, err
	}
	elems, err := readAll(ctx, coordinate)
	if err != nil {
		return nil, err
	}
	return func(i int64) string { return d.element(elems, i) }, nil
}

// element writes the i-th of some elements.
func (d *Decoder) element(elems codec.Elems, i int64) string {
	if d.typ.Varies() {
		return string(elems.Var[i])
	}
	size := int64(d.typ.Size)
	return d.Text(elems.Fixed[i*size : (i+1)*size])
}

func (t *csvTable) write(ctx context.Context, block *Selection) error {
	ix, err := block.Indexer()
	if err != nil {
		return err
	}
	elems := codec.NewElems(codec.Form{Type: t.decoder.typ, Shape: ix.Shape()})
	if err := block.Array.Read(ctx, ix, elems); err != nil {
		return err
	}
	at := make([]int64, len(block.Axes))
	for i, x := range block.Axes {
		at[i] = x.From
	}
	for i := range block.Count() {
		for k, column := range t.columns {
			t.row[k] = column(at[k])
		}
		t.row[len(at)] = t.decoder.element(elems, i)
		if err := t.out.Write(t.row); err != nil {
			return err
		}
		step(at, block.Axes)
	}
	return nil
}

// step moves to the next index in C order.
func step(at []int64, axes []Axis) {
	for k := len(at) - 1; k >= 0; k-- {
		if at[k] += axes[k].Step; at[k] < axes[k].To {
			return
		}
		at[k] = axes[k].From
	}
}
