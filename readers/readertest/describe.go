package readertest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"varve/readers"
	"varve/readers/source"
)

// Description is a text with everything that a reader returns for a source.
type Description struct {
	Text string
	Err  error // error of opening it
	// Marked reports whether there is a problem, or something could not be read.
	Marked bool
}

func (d Description) marked() bool { return d.Err != nil || d.Marked }

// Limits of a description. Damaged samples can claim any size.
const (
	maxValues = 1 << 20
	maxRefs   = 1 << 16
)

// Describe opens a source and describes it.
func Describe(ctx context.Context, reader readers.Reader, src *source.Source) Description {
	data, err := reader.Open(ctx, src)
	if err != nil {
		return Description{Err: err}
	}
	return DescribeDataset(ctx, data)
}

// DescribeDataset describes the whole content of a dataset, with values and refs.
func DescribeDataset(ctx context.Context, data *readers.Dataset) Description {
	d := describer{ctx: ctx}
	d.line("format %s", data.Format)
	for _, p := range data.Problems {
		d.line("problem of %s: %v", p.Path, p.Err)
		d.marked = true
	}
	data.Root.Walk(func(g *readers.Group) bool {
		d.group(g)
		return true
	})
	return Description{Text: d.text.String(), Marked: d.marked}
}

type describer struct {
	ctx    context.Context
	text   strings.Builder
	marked bool
}

func (d *describer) line(format string, args ...any) {
	fmt.Fprintf(&d.text, format+"\n", args...)
}

func (d *describer) group(g *readers.Group) {
	d.line("group %q %q", g.Name, g.Path)
	d.attributes(g.Attributes)
	for _, dim := range g.Dimensions {
		d.line("dimension %+v", *dim)
	}
	for _, v := range g.Variables {
		d.variable(v)
	}
}

func (d *describer) attributes(list []readers.Attribute) {
	for _, a := range list {
		d.line("attribute %q %s", a.Name, d.value(a.Value, a.Err))
	}
}

func (d *describer) value(v readers.Value, err error) string {
	if err != nil {
		d.marked = true
		return "error: " + err.Error()
	}
	// Long values are hashed, to keep failure messages readable.
	if len(v.Data)+len(v.Texts) < 64 {
		return fmt.Sprintf("%v %v %v %x %q", v.Type, v.Shape, v.Null, v.Data, v.Texts)
	}
	return fmt.Sprintf("%v %v %v %x", v.Type, v.Shape, v.Null, sha256.Sum256(fmt.Appendf(v.Data, "%q", v.Texts)))
}

func (d *describer) variable(v *readers.Variable) {
	d.line("variable %q %q %v %v fill %v %x", v.Name, v.Path, v.Type, v.Shape, v.Fill.State, v.Fill.Value)
	for _, dim := range v.Dims {
		d.line("  on %s", dim.Path)
	}
	d.attributes(v.Attributes)
	s := &v.Storage
	d.line("stored in %q", path.Base(s.Source)) // without the folder, which depends on the test
	d.line("stored %v %d at %d stride %d chunk %v %x", s.Layout, s.Bytes, s.Offset, s.Stride, s.ChunkShape, sha256.Sum256(s.Data))
	d.line("through %v %s %s %v", s.Pipeline.Arrays, s.Pipeline.Bytes.Name, s.Pipeline.Bytes.Config, s.Pipeline.Filters)
	if s.Grid != nil {
		for axis := range s.Grid.Rank() {
			d.line("cut %v", slices.Collect(s.Grid.Dim(axis).Runs()))
		}
	}
	if s.Undecodable != nil {
		d.marked = true
		d.line("undecodable: %v", s.Undecodable)
	}
	if v.ReadAll != nil && s.Source == "" { // values in other sources are not available
		d.line("values %s", d.value(v.ReadAll(d.ctx, maxValues)))
	}
	d.refs(s)
}

func (d *describer) refs(s *readers.Storage) {
	n := 0
	for r, err := range s.Refs(d.ctx) {
		if err != nil {
			d.marked = true
			d.line("refs: %v", err)
			return
		}
		d.line("ref %v of %d bytes at %d, mask %x, %v", r.Index, r.Size, r.Offset, r.Mask, r.Other)
		if n++; n == maxRefs {
			return
		}
	}
}
