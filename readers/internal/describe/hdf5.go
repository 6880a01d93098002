package describe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve/readers"
	"varve/readers/internal/hdf5"
	"varve/readers/source"
)

// HDF5 describes a file in the words of libhdf5, and of netcdf-c.
func HDF5(ctx context.Context, src *source.Source, opts *readers.DescribeOptions, doc document) error {
	f, err := hdf5.OpenFile(ctx, src, opts.Allow...)
	if err != nil {
		doc["netcdf"] = document{"error": err.Error()}
		return err
	}
	s := f.Superblock()
	doc["superblock"], doc["userblock"], doc["eof"] = s.Version, s.UserBlock, s.End
	doc["sizes"] = []int{s.Addresses, s.Lengths}
	tree, err := f.Tree(ctx)
	if err != nil {
		return err
	}
	in := &inspection{ctx: ctx, opts: opts, file: f, tree: tree, sums: map[*hdf5.Object]string{}, partly: map[string]bool{}}
	list, salvaged := make([]document, 0, len(tree.Objects)), []document{}
	for _, o := range tree.Objects {
		if in.isSalvaged(o) {
			salvaged = append(salvaged, in.object(o))
		} else {
			list = append(list, in.object(o))
		}
	}
	doc["objects"] = list
	if len(salvaged) > 0 {
		doc["salvaged"] = salvaged
	}
	doc["netcdf"] = in.netcdf()
	return errors.Join(ctx.Err(), in.first)
}

// inspection describes the objects of one HDF5 file.
type inspection struct {
	ctx  context.Context
	opts *readers.DescribeOptions
	file *hdf5.File
	tree *hdf5.Tree
	sums map[*hdf5.Object]string // of the values hashed so far

	partly map[string]bool // groups with a damaged list of members, by path; "" is the root

	damage
}

// isSalvaged reports whether an object is in a group that has a damaged list of members, or below
// one. Groups come before their members.
func (in *inspection) isSalvaged(o *hdf5.Object) bool {
	if o.MembersErr() != nil {
		in.partly[strings.TrimSuffix(o.Path, "/")] = true
	}
	for i := strings.LastIndexByte(o.Path, '/'); i >= 0; i = strings.LastIndexByte(o.Path[:i], '/') {
		if in.partly[o.Path[:i]] && o.Path != "/" {
			return true
		}
	}
	return false
}

func (in *inspection) object(o *hdf5.Object) document {
	doc := document{"path": o.Path}
	if err := cmp.Or(o.Err, o.MembersErr()); err != nil {
		in.note(err)
		doc["error"] = err.Error()
	}
	switch o.Kind {
	case hdf5.SecondLink:
		doc["same"] = o.Target
	case hdf5.SoftLink:
		doc["link"], doc["target"] = "soft", o.Target
	case hdf5.ExternalLink:
		doc["link"], doc["file"], doc["target"] = "external", o.File, o.Target
	case hdf5.UserLink:
		doc["link"] = fmt.Sprintf("ud:%d", o.LinkType)
	case hdf5.GroupObject:
		doc["type"] = "group"
	case hdf5.TypeObject:
		doc["type"], doc["dtype"] = "datatype", o.Type.String()
	case hdf5.DatasetObject:
		doc["type"] = "dataset"
		if err := in.dataset(o.Dataset, doc); err != nil && o.Err == nil {
			in.note(err)
			doc["error"] = err.Error()
		}
		if sum, ok := doc["values"].(string); ok {
			in.sums[o] = sum
		}
	}
	switch o.Kind {
	case hdf5.GroupObject, hdf5.TypeObject, hdf5.DatasetObject:
		doc["addr"] = o.Addr
		in.attributes(o, doc)
	}
	return doc
}

func (in *inspection) attributes(o *hdf5.Object, doc document) {
	list := make([]document, 0, len(o.Attributes))
	unreadable := slices.ContainsFunc(o.Attributes, func(a hdf5.Attribute) bool { return a.Type == nil })
	for i := range o.Attributes {
		a := &o.Attributes[i]
		d := document{"name": a.Name}
		if unreadable {
			in.note(a.Err)
			// libhdf5 opens none of them, so there are no names to compare.
			list = append(list, document{"name": fmt.Sprint(i), "error": fmt.Sprint(a.Err)})
			continue
		}
		if err := in.attribute(a, d); err != nil {
			in.note(err)
			d["error"] = err.Error()
		} else if a.Name == "DIMENSION_LIST" {
			in.dims(a, doc)
		}
		list = append(list, d)
	}
	doc["attributes"] = list
}

func (in *inspection) attribute(a *hdf5.Attribute, doc document) error {
	if a.Type == nil {
		return a.Err
	}
	doc["dtype"] = a.Type.String()
	if a.Space != hdf5.Simple {
		doc["space"] = a.Space.String()
	}
	if a.Space == hdf5.Null {
		return nil
	}
	doc["shape"] = listed(a.Shape)
	sum, err := in.digest(a.Type, a.Stored())
	if err == nil {
		doc["sha256"] = sum
	}
	return err
}

func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// dims lists the dimension scales that DIMENSION_LIST names.
func (in *inspection) dims(a *hdf5.Attribute, doc document) {
	if a.Type.Class != readers.VarLen || a.Type.IsText || a.Type.Base.Class != readers.Reference {
		return
	}
	scales, err := in.file.References(in.ctx, a)
	if err != nil {
		return
	}
	dims := make([][]string, len(scales))
	for i, list := range scales {
		dims[i] = []string{}
		for _, addr := range list {
			path := fmt.Sprintf("addr:%d", addr)
			if o := in.tree.At(addr); o != nil {
				path = o.Path
			}
			dims[i] = append(dims[i], path)
		}
	}
	doc["dims"] = dims
}

// dataset describes a dataset. What was described before an error stays.
func (in *inspection) dataset(d *hdf5.Dataset, doc document) error {
	doc["dtype"], doc["space"] = d.Type.String(), d.Space.String()
	if d.Committed {
		doc["committed"] = true
	}
	if d.Space != hdf5.Null {
		doc["shape"], doc["maxshape"] = listed(d.Shape), limits(d.MaxShape)
	}
	doc["layout"] = layoutName(d.Layout)
	doc["filters"] = filterList(d.Filters)
	if err := in.fill(d, doc); err != nil {
		return err
	}
	if err := in.storage(d, doc); err != nil {
		return err
	}
	return in.values(d, doc)
}

func layoutName(l readers.Layout) string {
	if l == readers.Inline {
		return "compact"
	}
	return l.String()
}

// limits writes lengths, with null for an unlimited one.
func limits(list []uint64) []any {
	out := make([]any, len(list))
	for i, n := range list {
		if n != readers.Unlimited {
			out[i] = n
		}
	}
	return out
}

func filterList(filters []readers.Filter) []document {
	out := make([]document, len(filters))
	for i, f := range filters {
		out[i] = document{"id": f.ID, "name": f.Name, "flags": f.Flags, "values": listed(f.Values)}
	}
	return out
}

func (in *inspection) fill(d *hdf5.Dataset, doc document) error {
	fill := document{
		"defined": [...]string{"default", "user", "undefined"}[d.FillState],
		"time":    d.FillTime.String(),
		"alloc":   d.AllocTime.String(),
	}
	doc["fill"] = fill
	v, user, err := d.FillValue(in.ctx)
	if user && err == nil {
		fill["value"] = hex.EncodeToString(v)
	}
	return err
}

func (in *inspection) storage(d *hdf5.Dataset, doc document) error {
	switch d.Layout {
	case readers.Inline:
		doc["storage"] = d.StoredBytes()
	case readers.Contiguous:
		doc["storage"], doc["offset"] = d.StoredBytes(), nil
		switch base := in.file.Superblock().UserBlock; {
		case d.Allocated:
			doc["offset"] = d.Offset
		case base > 0:
			doc["offset"] = base - 1 // libhdf5 adds the base to its "undefined", which is -1
		}
	case readers.External:
		var files [][]any
		for _, e := range d.External {
			files = append(files, []any{e.Name, int64(e.Offset), e.Size})
		}
		doc["storage"], doc["external"] = d.StoredBytes(), files
	case readers.Virtual:
		doc["storage"], doc["virtual"] = 0, mappingList(d.Mappings)
	case readers.Chunked:
		return in.chunks(d, doc)
	}
	return nil
}

func mappingList(mappings []readers.Mapping) []document {
	out := make([]document, len(mappings))
	for i, m := range mappings {
		out[i] = document{"file": m.File, "dataset": m.Dataset, "src": selection(m.From), "dst": selection(m.To)}
	}
	return out
}

func selection(s readers.Selection) any {
	switch s.Kind {
	case readers.SelectAll:
		return "all"
	case readers.SelectNone:
		return "none"
	case readers.SelectRegular:
		return document{"start": limits(s.Start), "stride": limits(s.Stride), "count": limits(s.Count), "block": limits(s.Block)}
	}
	n, text := cellsText(s)
	return document{"n": n, "sha256": hashOf([]byte(text))}
}

// cellsText writes points as [[0, 1], …] and blocks as [[[0, 1], [2, 3]], …].
func cellsText(s readers.Selection) (int, string) {
	per := 1
	if s.Kind == readers.SelectBlocks {
		per = 2
	}
	var parts []string
	for c := s.Cells; len(c) >= per*s.Rank && s.Rank > 0; c = c[per*s.Rank:] {
		part := numbers(c[:s.Rank])
		if per == 2 {
			part = "[" + part + ", " + numbers(c[s.Rank:2*s.Rank]) + "]"
		}
		parts = append(parts, part)
	}
	return len(parts), "[" + strings.Join(parts, ", ") + "]"
}

func numbers(list []uint64) string {
	return strings.ReplaceAll(fmt.Sprint(list), " ", ", ")
}

func (in *inspection) chunks(d *hdf5.Dataset, doc document) error {
	limit := 0
	if in.opts.Checksum {
		limit = maxListedChunks
	}
	list, err := d.ReadChunkList(in.ctx, limit)
	if err != nil {
		return err
	}
	doc["storage"] = list.Bytes + list.Outside.Bytes
	doc["chunk"], doc["index"] = d.Chunk, d.Index
	if list.Unfound != nil {
		in.note(list.Unfound)
		doc["error"] = list.Unfound.Error()
	}
	if d.RawEdges {
		doc["raw_edges"] = true
	}
	chunks := document{"n": list.Count}
	doc["chunks"] = chunks
	if list.Count > maxListedChunks {
		return nil
	}
	chunks["masked"] = list.Masked
	if list.Outside.Chunks > 0 {
		chunks["outside"] = list.Outside.Chunks
	}
	if in.opts.Checksum {
		hashChunks(list.Refs, d.Chunk, chunks)
	}
	return nil
}

// hashChunks hashes a line a chunk: place in elements, offset, size and mask.
func hashChunks(refs []readers.Ref, chunk []uint64, doc document) {
	sum := sha256.New()
	var first []string
	var line []byte
	for i, r := range refs {
		line = line[:0]
		for d, n := range r.Index {
			if d > 0 {
				line = append(line, ',')
			}
			line = fmt.Append(line, n*chunk[d])
		}
		line = fmt.Appendf(line, ":%d:%d:%d\n", r.Offset, r.Size, r.Mask)
		sum.Write(line)
		if i < 3 {
			first = append(first, string(line[:len(line)-1]))
		}
	}
	doc["sha256"] = hex.EncodeToString(sum.Sum(nil))
	if len(refs) > 0 {
		doc["first"], doc["last"] = first, string(line[:len(line)-1])
	}
}
