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
	t := &csvTable{out: bufio.NewWriterSize(w, 1<<18), decoder: d, axes: s.Axes}
	for _, x := range s.Axes {
		column, err := columnOf(ctx, st, s.Array, x)
		if err != nil {
			return err
		}
		t.columns = append(t.columns, column)
		t.row = append(append(t.row, quoted([]byte(x.Dim))...), ',')
	}
	t.row = append(append(t.row, quoted([]byte(baseName(s.Array)))...), '\n')
	if _, err := t.out.Write(t.row); err != nil {
		return err
	}
	t.at = make([]int64, len(s.Axes))
	if err := s.Each(ctx, t.write); err != nil {
		return err
	}
	return t.out.Flush()
}

func baseName(a *store.Array) string { return a.Path()[strings.LastIndexByte(a.Path(), '/')+1:] }

type csvTable struct {
	out     *bufio.Writer
	decoder *Decoder
	axes    []Axis
	columns []*column
	at      []int64 // the position of the next row along each axis
	row     []byte
	cell    []byte
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

func (t *csvTable) write(elems codec.Elems) error {
	n := len(elems.Var)
	if !t.decoder.typ.Varies() {
		n = len(elems.Fixed) / t.decoder.typ.Size
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
		var err error
		if t.cell, err = t.decoder.appendText(t.cell[:0], t.decoder.element(elems, int64(i))); err != nil {
			return fmt.Errorf("%s, index %v: %w", t.decoder.array.Path(), t.index(), err)
		}
		t.row = append(append(t.row, quoted(t.cell)...), '\n')
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
