package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"varve/codec"
	"varve/manifest"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// reading is one source on its way into what a manifest knows of it.
type reading struct {
	*scanner
	ctx  context.Context
	src  *source.Source
	data *readers.Dataset
	out  *found

	indexes bool    // all are read, and not only those of wanted values
	stream  *stream // nil: all rows are handed on with what was found
	handed  int64   // bytes that rows point at that were handed on

	header   *manifest.Header
	known    map[*readers.Dimension]bool
	problems map[string]error // of what is not understood, by path
	others   others
	near     neighbours
	through  *reading // of the file that the variable at hand is in, if a link led there
	steps    int      // taken to follow links

	groups    map[string]*readers.Group // what is in data, by path, once somebody asked
	variables map[string]*readers.Variable
	here      *reading  // the same source, for what it says of itself
	ahead     *prepared // of the variable that is being added; nil for one of another source
	tabled    rowsRead  // read to know its type, until the values are wanted
}

// rowsRead are the rows of a variable.
type rowsRead struct {
	of     *readers.Variable
	values *manifest.Values
}

// scan reads a source.
func (s *scanner) scan(ctx context.Context, name string, to *stream) *found {
	url := absolute(name)
	src, err := s.Opener.Open(ctx, name)
	if err != nil {
		return &found{url: url, err: err}
	}
	out, err := s.scanOpen(ctx, src, url, to)
	if err != nil {
		return &found{url: url, err: err}
	}
	return out
}

// scanOpen reads a source and closes it.
func (s *scanner) scanOpen(ctx context.Context, src *source.Source, url string, to *stream) (out *found, err error) {
	defer func() { err = errors.Join(err, src.Close()) }()
	near, memory, err := readWhole(ctx, src)
	if err != nil {
		return nil, err
	}
	if memory != nil {
		defer wholes.Put(memory)
	}
	r := &reading{scanner: s, ctx: ctx, src: near, out: &found{url: url, refs: newRefs()}, indexes: s.Sink != nil, stream: to}
	defer func() { err = errors.Join(err, r.closeNeighbours()) }()
	if err := r.read(); err != nil {
		r.out.refs.free()
		return nil, err
	}
	return r.out, nil
}

// absolute is the name by which a source is kept: other processes run in other folders, and
// others read what is written.
func absolute(name string) string {
	path, err := source.LocalPath(name)
	if err != nil {
		return source.Shown(name)
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// read reads the dataset and all that a manifest keeps of it.
func (r *reading) read() error {
	var err error
	if r.data, err = formats.Open(r.ctx, r.src, r.Allow...); err != nil {
		return err
	}
	if err := r.sortProblems(); err != nil {
		return err
	}
	r.others = newOthers(r)
	r.out.file = &manifest.File{Source: identity(r.out.url, r.src, r.data.Format)}
	groups, list, err := r.start()
	if err != nil {
		return err
	}
	r.out.file.Values = make([]*manifest.Values, 0, len(list))
	if err := r.addAll(list); err != nil {
		return err
	}
	if err := r.addLinked(groups); err != nil {
		return err
	}
	r.out.file.Groups = r.shared.groups(groups)
	r.listProblems()
	r.out.file.Header = r.shared.header(r.header)
	r.out.file.Bytes = r.handed + r.out.refs.stored
	return r.ctx.Err()
}

func identity(url string, src *source.Source, format string) manifest.Source {
	id := src.Identity()
	return manifest.Source{URL: url, Size: id.Size, Modified: id.Modified, ETag: id.ETag, Format: format}
}

// sortProblems returns what is damaged, and keeps what is only not understood.
func (r *reading) sortProblems() error {
	var damage []error
	for _, p := range r.data.Problems {
		if isReason(p.Err) {
			if r.problems == nil {
				r.problems = map[string]error{}
			}
			r.problems[p.Path] = p.Err
			continue
		}
		damage = append(damage, p.Err)
	}
	return errors.Join(damage...)
}

// listProblems adds what is in the file and not understood, so that it is not just missing.
func (r *reading) listProblems() {
	paths := make([]string, 0, len(r.problems))
	for path := range r.problems {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	known := map[string]bool{}
	if len(paths) > 0 {
		for i := range r.header.Variables {
			known[r.header.Variables[i].Path] = true
		}
	}
	for _, path := range paths {
		if known[path] {
			continue
		}
		r.header.Variables = append(r.header.Variables, manifest.Variable{Path: path, Unreadable: reasonOf(r.problems[path])})
		r.out.file.Values = append(r.out.file.Values, nil)
	}
}

// start makes the header without variables, and lists these, and the groups.
func (r *reading) start() (*manifest.GroupAttributes, []*readers.Variable, error) {
	r.header = &manifest.Header{}
	r.known = map[*readers.Dimension]bool{}
	groups := &manifest.GroupAttributes{}
	list, err := r.addGroups(groups, r.data.Root)
	if len(list) > 0 {
		r.header.Variables = make([]manifest.Variable, 0, len(list))
	}
	return groups, list, err
}

// addGroups adds a group and those below it, and lists their variables.
func (r *reading) addGroups(groups *manifest.GroupAttributes, root *readers.Group) (list []*readers.Variable, failed error) {
	root.Walk(func(g *readers.Group) bool {
		if err := damagedAttribute(g.Attributes); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", g.Path, err))
		}
		groups.Groups = append(groups.Groups, manifest.Group{Path: g.Path, Attributes: r.attributes(g.Attributes)})
		for _, d := range g.Dimensions {
			r.addDimension(d)
		}
		list = append(list, g.Variables...)
		return true
	})
	return list, failed
}

func (r *reading) addDimension(d *readers.Dimension) {
	if r.known[d] {
		return
	}
	r.known[d] = true
	r.header.Dimensions = append(r.header.Dimensions, manifest.Dimension{
		Path: d.Path, Length: int64(min(d.Length, math.MaxInt64)), Unlimited: d.Unlimited, Anonymous: d.Anonymous,
	})
}

// add adds a variable with its refs and values.
func (r *reading) add(v *readers.Variable) error {
	out := r.variable(v)
	var values *manifest.Values
	rows, inline, hidden := r.out.refs.len(), len(r.out.inline), len(r.out.hidden)
	err := r.problems[v.Path]
	if err == nil {
		err = r.store(&out, v)
	}
	if err == nil {
		values, err = r.values(&out, v, rows)
	}
	if err == nil && out.Type.Kind == codec.String && !isUTF8(values) {
		out.Type.Kind = codec.Bytes
	}
	if err != nil && isReason(err) {
		r.out.refs.cut(rows)
		r.out.inline, r.out.hidden = r.out.inline[:inline], r.out.hidden[:hidden]
		delete(r.out.file.Parts, len(r.header.Variables))
		out.Unreadable, out.Storage, err = reasonOf(err), manifest.Storage{}, nil
	}
	r.header.Variables = append(r.header.Variables, out)
	r.out.file.Values = append(r.out.file.Values, values)
	return err
}

// isUTF8 reports whether texts are what Zarr takes for texts. What is known of none is.
func isUTF8(values *manifest.Values) bool {
	return values == nil || !slices.ContainsFunc(values.Texts, func(t []byte) bool { return !utf8.Valid(t) })
}

// isReason reports whether an error is why one variable is not read. Any other is why the
// file is not.
func isReason(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, source.ErrForbidden)
}

// reason is the text of an error without the name of the file, so that what is wrong in all
// files of an archive is the same in all.
func reasonOf(err error) string {
	if located, ok := err.(*readers.Error); ok {
		err = located.Err
	}
	text := err.Error()
	for _, mark := range []error{errors.ErrUnsupported, source.ErrForbidden} {
		text = strings.TrimSuffix(text, ": "+mark.Error())
	}
	return text
}

// variable describes a variable but for its storage.
func (r *reading) variable(v *readers.Variable) manifest.Variable {
	out := manifest.Variable{
		Path:       v.Path,
		Dims:       make([]string, len(v.Dims)),
		Shape:      make([]int64, len(v.Shape)),
		Attributes: r.attributesOf(v),
		Enum:       choices(v.Type),
	}
	for i, d := range v.Dims {
		r.addDimension(d)
		out.Dims[i] = d.Path
	}
	for i, n := range v.Shape {
		out.Shape[i] = int64(min(n, math.MaxInt64))
	}
	return out
}

// store finds out where the values are.
func (r *reading) store(out *manifest.Variable, v *readers.Variable) error {
	if err := damagedAttribute(v.Attributes); err != nil {
		return err
	}
	v, err := r.unfold(out, v)
	if err != nil {
		return err
	}
	if row, ok := v.Type.Row(); ok {
		out.Storage.Layout = manifest.Valued
		r.tabled.of = v
		if out.Type, r.tabled.values, err = r.rows(r.ctx, v, row); err == nil && v.Storage.Layout == readers.Unallocated {
			err = r.checkNull(out, v)
		}
		return err
	}
	t, way, err := elementOf(v.Type)
	if err != nil {
		return err
	}
	if v.Storage.Texts != nil || r.hasTails(v) {
		way = throughReader
	}
	out.Type = t
	out.Fill = fillOf(v, t)
	if way == byCodecs {
		if err := r.extend(out, v); err != nil {
			return err
		}
	}
	if v.Storage.Undecodable != nil && v.Storage.Layout != readers.External {
		return v.Storage.Undecodable
	}
	if way == throughReader {
		out.Storage.Layout = manifest.Valued
		if v.Storage.Layout != readers.Unallocated {
			return nil
		}
		return r.checkNull(out, v)
	}
	return r.place(out, v)
}

// damagedAttribute returns the error of an attribute that cannot be read. Any may be the one
// that says what the values mean.
func damagedAttribute(list []readers.Attribute) error {
	for i := range list {
		if err := list[i].Err; err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("attribute %q: %w", list[i].Name, err)
		}
	}
	return nil
}

// extend gives a variable the length of its unlimited dimensions, as netcdf-c does: what lies
// beyond the variable's own chunks was never written.
func (r *reading) extend(out *manifest.Variable, v *readers.Variable) error {
	for i, d := range v.Dims {
		if !d.Unlimited || d.Length <= v.Shape[i] || d.Anonymous {
			continue
		}
		if v.Storage.RawEdges {
			return fmt.Errorf("is shorter than its dimension %s, and its chunks at the border are stored without filters: %w", d.Path, errors.ErrUnsupported)
		}
		if v.Storage.Layout != readers.Chunked {
			continue
		}
		out.Shape[i] = int64(d.Length)
	}
	if _, err := elements(out.Shape); err != nil {
		return err
	}
	return nil
}

// elements is the product of a shape.
func elements(shape []int64) (int64, error) {
	n := int64(1)
	for _, k := range shape {
		if k < 0 || k > 0 && n > math.MaxInt64/16/k {
			return 0, fmt.Errorf("shape %v is of more elements than can be counted: %w", shape, errors.ErrUnsupported)
		}
		n *= k
	}
	return n, nil
}

// place fills in the storage of a variable whose values codecs can decode, and its refs.
func (r *reading) place(out *manifest.Variable, v *readers.Variable) error {
	s := &v.Storage
	specs := append(slices.Clone(s.Pipeline.Arrays), s.Pipeline.Bytes)
	for _, f := range s.Pipeline.Filters {
		specs = append(specs, f.Codec)
	}
	out.Storage = manifest.Storage{Codecs: specs, Filters: len(s.Pipeline.Filters), RawEdges: s.RawEdges}
	n, err := elements(out.Shape)
	if err != nil {
		return err
	}
	switch {
	case s.Layout == readers.Virtual:
		err := r.placeVirtual(out, v)
		var none *noBoxes
		if !errors.As(err, &none) {
			return err
		}
		if n > r.ValueBytes/int64(max(out.Type.Size, v.Type.Size, 1)) {
			return noBoxesf("%w; values of shape %v take more than the %d bytes of the manifest that --value-bytes allows", none.err, out.Shape, r.ValueBytes)
		}
		out.Storage = manifest.Storage{Layout: manifest.Valued}
		return nil
	case s.Layout == readers.External:
		return r.placeExternal(out, v)
	case s.Layout == readers.Chunked:
		return r.placeChunks(out, v)
	case s.Layout == readers.Unallocated || n == 0:
		if err := r.checkNull(out, v); err != nil {
			return err
		}
		out.Storage.Layout, out.Storage.Chunks = manifest.Nothing, out.Shape
		return nil
	case s.Layout == readers.Inline:
		out.Storage.Layout, out.Storage.Chunks = manifest.Inline, out.Shape
		row := r.out.refs.add(1)
		r.out.refs.set(row, manifest.Ref{Offset: r.addInline(bytes.Clone(s.Data)), Size: int64(len(s.Data))})
		return nil
	}
	return r.placeRuns(out, v, n)
}

// checkNull gives a variable that has no shape and no element, which is less than one without a
// shape has, an axis of no length: Zarr knows no other way to have none.
func (r *reading) checkNull(out *manifest.Variable, v *readers.Variable) error {
	if len(v.Shape) > 0 {
		return nil
	}
	value, err := v.ReadAll(r.ctx, uint64(r.ValueBytes))
	if err == nil && value.Null {
		d := &readers.Dimension{Path: fmt.Sprintf("%s#%s_null", v.Path, v.Name), Anonymous: true}
		r.addDimension(d)
		out.Dims, out.Shape = append(out.Dims, d.Path), append(out.Shape, 0)
	}
	return err
}

// addInline keeps bytes, which must be nobody else's, and returns the offset of a ref to them.
func (r *reading) addInline(b []byte) int64 {
	r.out.inline = append(r.out.inline, b)
	return manifest.InlineRow(int64(len(r.out.inline) - 1))
}

// placeRuns places values that lie in one run of bytes, or in one for each record.
func (r *reading) placeRuns(out *manifest.Variable, v *readers.Variable, n int64) error {
	s := &v.Storage
	ref := manifest.Ref{Offset: s.Offset, Size: n * int64(out.Type.Size)}
	out.Storage.Layout, out.Storage.Chunks = manifest.Strided, out.Shape
	if s.Layout == readers.Records && out.Shape[0] > 1 && s.Stride*out.Shape[0] != ref.Size {
		out.Storage.Stride = s.Stride
	}
	if s.Source != "" {
		var err error
		if ref.Other, err = r.others.named(&readers.Other{Source: s.Source}); err != nil {
			return err
		}
	}
	r.out.refs.set(r.out.refs.add(1), ref)
	return nil
}

// fillOf is what cells of a variable hold that nobody wrote.
func fillOf(v *readers.Variable, t codec.Type) manifest.Fill {
	if v.Fill.State != readers.FillUser || v.Fill.Never {
		return manifest.Fill{}
	}
	value := v.Fill.Value
	if !t.Varies() {
		value = widen(v.Type, t, value)
	}
	return manifest.Fill{Value: value, User: true}
}
