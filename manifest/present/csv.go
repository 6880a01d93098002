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
	for i, x := range s.Axes {
		t.at[i] = x.From
	}
	if err := s.each(ctx, t.write); err != nil {
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
	at      []int64 // of the next row
	row     []byte
	cell    []byte
}

// column writes the indices of one dimension.
type column struct {
	decoder *Decoder // nil without a coordinate
	labels  codec.Elems
	from    int64
	step    int64

	index int64 // index of the cached text
	text  []byte
}

// columnOf returns the column of an axis.
func columnOf(ctx context.Context, st *store.Store, a *store.Array, x Axis) (*column, error) {
	c := &column{from: x.From, step: x.Step, index: -1}
	coordinate, ok := arraysOf(st).Coordinate(a, x.Dim)
	if !ok {
		return c, nil
	}
	var err error
	if c.decoder, err = NewDecoder(coordinate, true); err != nil {
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

func (c *column) label(index int64) ([]byte, error) {
	if index == c.index {
		return c.text, nil
	}
	c.index, c.text = index, c.text[:0]
	if c.decoder == nil {
		c.text = strconv.AppendInt(c.text, index, 10)
		return c.text, nil
	}
	var err error
	c.text, err = c.decoder.appendText(c.text, c.decoder.element(c.labels, (index-c.from)/c.step))
	if err != nil {
		return nil, fmt.Errorf("%s, index %d: %w", c.decoder.array.Path(), index, err)
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
			return fmt.Errorf("%s, index %v: %w", t.decoder.array.Path(), t.at, err)
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

// step moves to the next index in C order.
func step(at []int64, axes []Axis) {
	for k := len(at) - 1; k >= 0; k-- {
		if axes[k].To-at[k] > axes[k].Step {
			at[k] += axes[k].Step
			return
		}
		at[k] = axes[k].From
	}
}
