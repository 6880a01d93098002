package present

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest/store"
)

// WriteCSV writes a selection as a table with one row per element. Each dimension has a column with the label
// of its coordinate, or the index if it has none.
func WriteCSV(ctx context.Context, w io.Writer, st *store.Store, s *Selection, d *Decoder) error {
	return writeTable(ctx, w, st, []*Selection{s}, []*Decoder{d})
}

// writeTable writes selections with equal axes as a table, with a column for each.
func writeTable(ctx context.Context, w io.Writer, st *store.Store, selections []*Selection, decoders []*Decoder) error {
	first := selections[0]
	t := &csvTable{out: bufio.NewWriterSize(w, 1<<18), decoders: decoders, axes: first.Axes}
	for _, x := range first.Axes {
		column, err := columnOf(ctx, st, first.Array, x)
		if err != nil {
			return err
		}
		t.columns = append(t.columns, column)
		t.row = append(append(t.row, quoted([]byte(x.Dim))...), ',')
	}
	for i, s := range selections {
		if i > 0 {
			t.row = append(t.row, ',')
		}
		t.row = append(t.row, quoted([]byte(columnName(selections, s)))...)
	}
	t.row = append(t.row, '\n')
	if _, err := t.out.Write(t.row); err != nil {
		return err
	}
	t.at = make([]int64, len(first.Axes))
	if err := eachTogether(ctx, selections, t.write); err != nil {
		return err
	}
	return t.out.Flush()
}

// eachTogether passes selections with equal axes to look in blocks, in C order: the same block of all at once.
func eachTogether(ctx context.Context, selections []*Selection, look func([]codec.Elems) error) error {
	first := selections[0]
	if len(selections) == 1 {
		return first.Each(ctx, func(e codec.Elems) error { return look([]codec.Elems{e}) })
	}
	most := first.blockElements()
	for _, s := range selections {
		most = min(most, s.blockElements())
	}
	blocks := make([]codec.Elems, len(selections))
	for block := range first.Blocks(max(most/int64(len(selections)), 1)) {
		for i, s := range selections {
			var err error
			if blocks[i], err = (&Selection{Array: s.Array, Axes: block.Axes}).read(ctx, blocks[i]); err != nil {
				return err
			}
		}
		if err := look(blocks); err != nil {
			return err
		}
	}
	return nil
}

func baseName(a *store.Array) string { return a.Path()[strings.LastIndexByte(a.Path(), '/')+1:] }

type csvTable struct {
	out      *bufio.Writer
	decoders []*Decoder // of the columns with values
	axes     []Axis
	columns  []*column // of the labels
	at       []int64   // the position of the next row along each axis
	row      []byte
	cell     []byte
}

// column provides the labels of one dimension, or its indices if there is no coordinate.
type column struct {
	decoder *Decoder // nil without a coordinate
	labels  codec.Elems
	axis    Axis

	position int64 // the position of the cached text
	text     []byte
}

// columnOf returns the column of an axis.
func columnOf(ctx context.Context, st *store.Store, a *store.Array, x Axis) (*column, error) {
	c := &column{axis: x, position: -1}
	coordinate, ok := arraysOf(st).Coordinate(a, x.Dim)
	if !ok {
		return c, nil
	}
	var err error
	if c.decoder, err = NewDecoder(coordinate, nil); err != nil {
		return nil, err
	}
	c.labels, err = along(coordinate, x).read(ctx, codec.Elems{})
	return c, err
}

// along selects the part of a coordinate that belongs to an axis.
func along(coordinate *store.Array, x Axis) *Selection {
	x.Single = false
	return &Selection{Array: coordinate, Axes: []Axis{x}}
}

// label returns the text of a position: its coordinate or, without one, its index.
func (c *column) label(position int64) ([]byte, error) {
	if position == c.position {
		return c.text, nil
	}
	c.position, c.text = position, c.text[:0]
	if c.decoder == nil {
		c.text = strconv.AppendInt(c.text, c.axis.At(position), 10)
		return c.text, nil
	}
	var err error
	c.text, err = c.decoder.appendText(c.text, c.decoder.element(c.labels, position))
	if err != nil {
		return nil, fmt.Errorf("%s, index %d: %w", c.decoder.array.Path(), c.axis.At(position), err)
	}
	c.text = quoted(c.text)
	return c.text, nil
}

func (t *csvTable) write(blocks []codec.Elems) error {
	n := len(blocks[0].Var)
	if typ := t.decoders[0].typ; !typ.Varies() {
		n = len(blocks[0].Fixed) / typ.Size
	}
	for i := range n {
		t.row = t.row[:0]
		for k, c := range t.columns {
			label, err := c.label(t.at[k])
			if err != nil {
				return err
			}
			t.row = append(append(t.row, label...), ',')
		}
		for k, d := range t.decoders {
			var err error
			if t.cell, err = d.appendText(t.cell[:0], d.element(blocks[k], int64(i))); err != nil {
				return fmt.Errorf("%s, index %v: %w", d.array.Path(), t.index(), err)
			}
			t.row = append(append(t.row, quoted(t.cell)...), ',')
		}
		t.row[len(t.row)-1] = '\n'
		if _, err := t.out.Write(t.row); err != nil {
			return err
		}
		step(t.at, t.axes)
	}
	return nil
}

// quoted returns a cell in the form of RFC 4180.
func quoted(cell []byte) []byte {
	if !bytes.ContainsAny(cell, ",\"\r\n") && (len(cell) == 0 || cell[0] != ' ') {
		return cell
	}
	return append(append([]byte{'"'}, bytes.ReplaceAll(cell, []byte{'"'}, []byte(`""`))...), '"')
}

// index returns the indices of the next row in the array.
func (t *csvTable) index() []int64 {
	index := make([]int64, len(t.at))
	for k, at := range t.at {
		index[k] = t.axes[k].At(at)
	}
	return index
}

// step moves to the next position in C order.
func step(at []int64, axes []Axis) {
	for k := len(at) - 1; k >= 0; k-- {
		if at[k]++; at[k] < axes[k].Len() {
			return
		}
		at[k] = 0
	}
}
