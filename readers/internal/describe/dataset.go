package describe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"

	"varve/readers"
)

// Dataset describes a dataset of any format in the words of its model, with the keys
// that objects of HDF5 have.
func Dataset(ctx context.Context, opts *readers.DescribeOptions, data *readers.Dataset, doc document) error {
	d := &describer{ctx: ctx, opts: opts}
	dims := []document{}
	data.Root.Walk(func(g *readers.Group) bool {
		d.group(g)
		dims = append(dims, classicDimensions(g.Dimensions)...)
		return ctx.Err() == nil
	})
	d.problems(data.Problems)
	slices.SortStableFunc(d.objects, func(a, b document) int { return cmp.Compare(a["path"].(string), b["path"].(string)) })
	doc["format"], doc["dimensions"], doc["objects"] = data.Format, dims, d.objects
	return errors.Join(ctx.Err(), d.first)
}

// describer collects the objects of a dataset.
type describer struct {
	ctx     context.Context
	opts    *readers.DescribeOptions
	objects []document

	damage
}

// problems says of objects why they cannot be read, whether they are listed or not.
func (d *describer) problems(list []readers.Problem) {
	known := make(map[string]document, len(d.objects))
	for _, o := range slices.Backward(d.objects) { // of several of a path the first
		known[o["path"].(string)] = o
	}
	for _, p := range list {
		o := known[p.Path]
		if o == nil {
			o = document{"path": p.Path}
			known[p.Path], d.objects = o, append(d.objects, o)
		}
		d.note(p.Err)
		o["error"] = p.Err.Error()
	}
}

func (d *describer) group(g *readers.Group) {
	d.objects = append(d.objects, document{"path": g.Path, "type": "group", "attributes": d.attributes(g.Attributes)})
	for _, v := range g.Variables {
		d.objects = append(d.objects, d.variable(v))
	}
}

func (d *describer) attributes(list []readers.Attribute) []document {
	out := make([]document, len(list))
	for i, a := range list {
		out[i] = document{"name": a.Name}
		if a.Type != nil {
			out[i]["dtype"] = a.Type.String()
		}
		switch {
		case a.Err != nil:
			d.note(a.Err)
			out[i]["error"] = a.Err.Error()
		case a.Null:
			out[i]["space"] = "null"
		default:
			out[i]["shape"], out[i]["sha256"] = listed(a.Shape), hashValue(&a.Value)
		}
	}
	slices.SortStableFunc(out, func(a, b document) int { return cmp.Compare(a["name"].(string), b["name"].(string)) })
	return out
}

func hashValue(v *readers.Value) string {
	if v.Texts != nil {
		return hashTexts(v.Texts)
	}
	return hashOf(v.Data)
}

func (d *describer) variable(v *readers.Variable) document {
	s := &v.Storage
	doc := document{
		"path": v.Path, "type": "dataset", "dtype": v.Type.String(), "shape": listed(v.Shape), "maxshape": limits(v.MaxShape),
		"layout": s.Layout.String(), "filters": filterList(s.Pipeline.Filters), "attributes": d.attributes(v.Attributes),
		"fill": fillDocument(v.Fill),
	}
	dims := make([]string, len(v.Dims))
	for i, dim := range v.Dims {
		dims[i] = dim.Path
	}
	doc["dims"] = dims
	if s.Source != "" {
		doc["stored_in"] = s.Source
	}
	if s.Undecodable != nil {
		doc["undecodable"] = s.Undecodable.Error()
	}
	if err := d.storage(v, doc); err != nil {
		d.note(err)
		doc["error"] = err.Error()
	}
	if d.opts.Values && v.ReadAll != nil {
		doc["values"] = d.values(v)
	}
	return doc
}

func fillDocument(f readers.Fill) document {
	doc := document{"defined": [...]string{"default", "user", "undefined"}[f.State]}
	if f.State == readers.FillUser {
		doc["value"] = hex.EncodeToString(f.Value)
	}
	return doc
}

func (d *describer) values(v *readers.Variable) string {
	value, err := v.ReadAll(d.ctx, maxHashedValues)
	if err != nil {
		d.note(err)
		return "undecodable: " + err.Error()
	}
	return hashValue(&value)
}

func (d *describer) storage(v *readers.Variable, doc document) error {
	s := &v.Storage
	doc["storage"] = s.Bytes
	switch s.Layout {
	case readers.Contiguous:
		doc["offset"] = s.Offset
	case readers.Records:
		doc["offset"], doc["stride"] = s.Offset, s.Stride
	case readers.Chunked:
		doc["index"] = s.Index
		if s.Grid != nil {
			doc["edges"] = s.Edges()
		} else {
			doc["chunk"] = listed(s.ChunkShape)
		}
		return d.chunks(v, doc)
	}
	return nil
}

// chunks lists the chunks in the order of their positions in the array. If a chunk is in another file, its line ends with that
// file's name. A chunk that is a whole file has no size.
func (d *describer) chunks(v *readers.Variable, doc document) error {
	list := &chunkLines{v: v}
	masked, bytes := 0, uint64(0)
	for r, err := range v.Storage.Refs(d.ctx) {
		if err != nil {
			return err
		}
		if r.Mask != 0 {
			masked++
		}
		if r.Size != readers.WholeSource {
			bytes += r.Size
		}
		list.add(r, d.opts.Checksum)
	}
	doc["storage"] = bytes
	chunks := document{"n": list.n, "masked": masked}
	doc["chunks"] = chunks
	if d.opts.Checksum && list.n <= maxListedChunks {
		list.hash(chunks)
	}
	return nil
}

// chunkLines are the lines of the chunks of a variable.
type chunkLines struct {
	v     *readers.Variable
	n     int
	lines []chunkLine
}

type chunkLine struct {
	origin []uint64
	text   string
}

func (l *chunkLines) add(r *readers.Ref, keep bool) {
	if l.n++; !keep || l.n > maxListedChunks {
		return
	}
	origin := l.origin(r.Index)
	var line []byte
	for i, n := range origin {
		if i > 0 {
			line = append(line, ',')
		}
		line = strconv.AppendUint(line, n, 10)
	}
	line = strconv.AppendInt(append(line, ':'), r.Offset, 10)
	line = append(line, ':')
	if r.Size != readers.WholeSource {
		line = strconv.AppendUint(line, r.Size, 10)
	}
	line = strconv.AppendUint(append(line, ':'), uint64(r.Mask), 10)
	if r.Other != nil {
		line = append(append(line, ':'), r.Other.String()...)
	}
	l.lines = append(l.lines, chunkLine{origin, string(append(line, '\n'))})
}

// origin is the first element of a chunk.
func (l *chunkLines) origin(index []uint64) []uint64 {
	out := slices.Clone(index)
	if g := l.v.Storage.Grid; g != nil {
		coords := make([]int64, len(index))
		for i, n := range index {
			coords[i] = int64(n)
		}
		if c, ok := g.Chunk(coords); ok {
			for i, n := range c.Origin {
				out[i] = uint64(n)
			}
		}
		return out
	}
	for i := range out {
		out[i] *= l.v.Storage.ChunkShape[i]
	}
	return out
}

func (l *chunkLines) hash(doc document) {
	slices.SortStableFunc(l.lines, func(a, b chunkLine) int { return slices.Compare(a.origin, b.origin) })
	sum := sha256.New()
	var first []string
	for i, line := range l.lines {
		sum.Write([]byte(line.text))
		if i < 3 {
			first = append(first, line.text[:len(line.text)-1])
		}
	}
	doc["sha256"] = hex.EncodeToString(sum.Sum(nil))
	if n := len(l.lines); n > 0 {
		doc["first"], doc["last"] = first, l.lines[n-1].text[:len(l.lines[n-1].text)-1]
	}
}
