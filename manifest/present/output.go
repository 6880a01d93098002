package present

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"path"
	"slices"
	"strings"

	"varve/manifest/store"
)

// Format is a form of files with selections.
type Format struct {
	Name  string // also the suffix of files
	Media string // the media type
	// IsPacked means that the format keeps numbers packed. IsDecoded means that numbers are always decoded.
	IsPacked, IsDecoded bool
	single              bool // has one variable
	output              func(ctx context.Context, o *Output) error
}

var formats = []Format{
	{Name: "csv", Media: "text/csv; charset=utf-8", output: outputCSV},
	{Name: "json", Media: "application/json", output: outputJSON},
	{Name: "nc", Media: "application/x-netcdf", IsPacked: true, output: outputNetCDF},
	{Name: "npy", Media: "application/octet-stream", single: true, output: outputNPY},
	{Name: "png", Media: "image/png", single: true, IsDecoded: true, output: outputPNG},
}

// FormatOf returns a format by its name; ok is false if there is none.
func FormatOf(name string) (f Format, ok bool) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return formats[i], true
}

// FormatNames returns the names of all formats.
func FormatNames() (names []string) {
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Output is a file with selections of arrays of a store.
type Output struct {
	// Size is the number of bytes, or -1 if it is not known before.
	Size int64
	// About is about the number of bytes.
	About int64

	store      *store.Store
	selections []*Selection
	decoders   []*Decoder
	write      func(ctx context.Context, w io.Writer) error
}

// Write writes the file. It reads the values in blocks while it writes.
func (o *Output) Write(ctx context.Context, w io.Writer) error { return o.write(ctx, w) }

// Output prepares a file with selections. With decode, it applies scale_factor, add_offset, fill values and units of times. It
// reads no values of arrays, except texts for which the format needs a length.
func (f Format) Output(ctx context.Context, st *store.Store, decode bool, selections ...*Selection) (*Output, error) {
	o := &Output{Size: -1, store: st, selections: selections}
	if f.single && len(selections) != 1 {
		return nil, fmt.Errorf("a .%s file has one variable, not %d: %w; request one, or .nc", f.Name, len(selections), errors.ErrUnsupported)
	}
	for _, s := range selections {
		d, err := NewDecoder(s.Array, &DecoderOptions{Packed: !decode && !f.IsDecoded})
		if err != nil {
			return nil, err
		}
		o.decoders = append(o.decoders, d)
	}
	return o, f.output(ctx, o)
}

// values returns the number of elements of all selections, or the largest int64 if there are more.
func (o *Output) values() (n int64) {
	for _, s := range o.selections {
		n = sum(n, s.elements())
	}
	return n
}

// elements returns the number of elements, or the largest int64 if there are more, as lists can repeat indices.
func (s *Selection) elements() int64 {
	n := int64(1)
	for _, x := range s.Axes {
		n = product(n, x.Len())
	}
	return n
}

// product returns a × b, and sum a + b, of numbers that are not negative, or the largest int64 if it is larger.
func product(a, b int64) int64 {
	if high, low := bits.Mul64(uint64(a), uint64(b)); high == 0 && low <= math.MaxInt64 {
		return int64(low)
	}
	return math.MaxInt64
}

func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// textBytes is about the number of bytes of a number or label as text.
const textBytes = 10

func outputNPY(_ context.Context, o *Output) error {
	s, d := o.selections[0], o.decoders[0]
	o.About = product(s.elements(), int64(max(d.decodedType().Size, textBytes)))
	o.write = func(ctx context.Context, w io.Writer) error { return WriteNPY(ctx, w, s, d) }
	return nil
}

func outputCSV(_ context.Context, o *Output) error {
	if err := sameAxes(o.selections); err != nil {
		return err
	}
	first := o.selections[0]
	o.About = product(first.elements(), int64(textBytes*(len(first.Axes)+len(o.selections))))
	o.write = func(ctx context.Context, w io.Writer) error {
		return writeTable(ctx, w, o.store, o.selections, o.decoders)
	}
	return nil
}

// sameAxes returns an error if selections cannot be columns of one table.
func sameAxes(selections []*Selection) error {
	first := selections[0]
	for _, s := range selections[1:] {
		same := slices.EqualFunc(first.Axes, s.Axes, func(a, b Axis) bool {
			return a.Dim == b.Dim && a.From == b.From && a.To == b.To && a.Step == b.Step && slices.Equal(a.List, b.List)
		})
		if !same || !slices.Equal(first.Array.Grid().Shape(), s.Array.Grid().Shape()) {
			return fmt.Errorf("%s has the dimensions (%s), and %s (%s): a table has columns of equal dimensions: %w; request them apart, or as .nc",
				first.Array.Path(), strings.Join(first.Array.Schema().Dims(), ", "), s.Array.Path(), strings.Join(s.Array.Schema().Dims(), ", "), errors.ErrUnsupported)
		}
	}
	return nil
}

func outputJSON(_ context.Context, o *Output) error {
	if err := sameLengths(o.selections); err != nil {
		return err
	}
	o.About = product(o.values(), textBytes)
	o.write = func(ctx context.Context, w io.Writer) error {
		return writeJSON(ctx, w, o.store, o.selections, o.decoders)
	}
	return nil
}

func outputPNG(_ context.Context, o *Output) error {
	o.write = func(ctx context.Context, w io.Writer) error {
		return WritePNG(ctx, w, o.store, o.selections[0], o.decoders[0])
	}
	return nil
}

func outputNetCDF(ctx context.Context, o *Output) error {
	if o.decoders[0].decode {
		return errors.New("a .nc file keeps numbers packed, with scale_factor and add_offset, and is not decoded")
	}
	n, err := newNetCDF(ctx, o.store, o.selections)
	if err != nil {
		return err
	}
	if o.Size, err = n.file.Size(); err != nil {
		return err
	}
	o.About, o.write = o.Size, n.write
	return nil
}

// columnName returns the name of a selection among others: that of its array, or its path if another one has the name, too.
func columnName(selections []*Selection, s *Selection) string {
	name := path.Base(s.Array.Path())
	for _, other := range selections {
		if other.Array != s.Array && path.Base(other.Array.Path()) == name {
			return s.Array.Path()
		}
	}
	return name
}
