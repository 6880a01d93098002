package planner

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/edge"
	"varve/manifest/report"
	"varve/zarrjson"
)

// addChunkLengths adds the chunk length along a dimension to the finding that files have different
// lengths, if all arrays along it have one chunk length. The text of the finding then says that the
// lengths have no consequence.
func (p *declaration) addChunkLengths() {
	for i := range p.env.report.Findings {
		f := &p.env.report.Findings[i]
		if f.Code != report.LengthsDiffer {
			continue
		}
		length := int64(0)
		for k := range p.out.Arrays {
			a := &p.out.Arrays[k]
			at := slices.IndexFunc(a.Dims, func(dim string) bool { return path.Base(dim) == f.Dim })
			if at < 0 || len(a.Dims) == 1 && path.Base(a.Path) == f.Dim {
				continue // coordinates are stored in the manifest, with their own chunks
			}
			n, isRegular := a.Schema.ChunkGrid.Sizes[at].RegularSize()
			if !isRegular || length != 0 && n != length {
				length = 0
				break
			}
			length = n
		}
		if length > 0 {
			f.Args["chunk"] = length
		}
	}
}

// noteUnwritten reports files in which a variable was never written.
func (p *alignment) noteUnwritten(a *array) {
	var files []int32
	for _, m := range a.members {
		if m.v.Storage.Layout == manifest.Nothing && coord.ElementsOf(m.v) > 0 {
			files = append(files, p.survey.classes[m.class].files...)
		}
	}
	if len(files) > 0 {
		p.env.find(p.env.odd(report.Finding{Code: report.NeverWritten, Array: a.path, Effect: report.Noted}, files, a.files))
	}
}

// noteChunks reports files whose chunks have another shape than the schema's.
func (p *declaration) noteChunks(a *array, schema *zarrjson.Array, kept []bool) {
	g, err := schema.Grid()
	if err != nil {
		return
	}
	members := a.all()
	c := &cutting{p: p.survey, a: a, members: members, kept: kept, shape: schema.Shape}
	c.takeGrid(g)
	odd := c.misplaced(g)
	shapes := map[string]bool{}
	for _, f := range odd {
		shapes[c.chunkText(a.memberOrPart(p.survey.classOfAny(int(f))))] = true
	}
	for i := range members {
		m := &members[i]
		if m.v.Storage.Layout != manifest.Chunked {
			continue
		}
		for k := range c.shape {
			if c.placedAt(k) < 0 && !c.chunksLike(i, k) && schema.Shape[k] > 0 {
				odd = append(odd, p.survey.classes[m.class].files...)
				shapes[c.chunkText(m)] = true
				break
			}
		}
	}
	words := make([]string, g.Rank())
	for k := range words {
		first, _ := g.Dim(k).CodecSize(0)
		words[k] = axisText(c.lists[k], first)
	}
	declared := strings.Join(words, "×")
	slices.Sort(odd)
	if odd = slices.Compact(odd); len(odd) > 0 {
		p.env.find(p.env.odd(report.Finding{Code: report.ChunksDiffer, Array: a.path, Effect: report.Reencoded,
			Args:     report.Args{"shapes": sorted(shapes), "declared": declared},
			Remedies: []report.Remedy{report.Fill(report.CodecFrom, "FILE", report.OthersDecide), report.Fill(report.ChunkEdges, a.path[1:]+":DIM=N", "")}},
			odd, p.survey.filesAndParts(a)))
	}
	p.noteContiguous(c, g, declared)
	p.alignment.noteSplit(a, g)
	p.notePadding(a, g)
	p.noteRawEdges(a)
}

// misplaced returns the files whose chunks do not begin or end where declared chunks do, along dimensions in which files
// are placed: in a mosaic, files beside one another may have other chunk lengths. Arrays of a placing share the result
// if their files have equal chunks.
func (c *cutting) misplaced(g *grid.Grid) (files []int32) {
	w := c.a.where
	if w == nil || len(w.dims) == 0 {
		return nil
	}
	c.usual = make([]int64, len(c.shape))
	key, axes := "", make([]int, len(w.dims))
	for k, d := range w.dims {
		axes[k] = slices.Index(c.a.allDims(), d.path)
		key += c.bandKey(axes[k])
	}
	if known, ok := w.misplaced[key]; ok {
		return slices.Clone(known)
	}
	for i := range w.tiles {
		t := &w.tiles[i]
		m := c.a.memberOrPart(c.p.classOfAny(t.File))
		if m == nil || m.v.Storage.Layout != manifest.Chunked {
			continue
		}
		stored := c.stored(m)
		for k, axis := range axes {
			if w.dims[k].views[int32(t.File)] != nil {
				continue // noteSplit reports files of another order
			}
			isCut := m.class != c.p.classOf[t.File] && stored[axis] > 0 && t.Start[k]%stored[axis] != 0 // no other finding says so of parts
			if isCut || !isAlong(g.Dim(axis), t.Origin[k], t.Start[k], t.Shape[k], stored[axis], c.storedEdges(m, axis)) {
				files = append(files, int32(t.File))
				break
			}
		}
	}
	if w.misplaced == nil {
		w.misplaced = map[string][]int32{}
	}
	w.misplaced[key] = files
	return slices.Clone(files)
}

// isAlong reports whether chunks of a file begin and end where declared chunks do. The file's indices from start on are
// the array's indices from origin on. Its chunks have one length, or the lengths of edges. The last chunk may be padded.
func isAlong(d grid.Dimension, origin, start, length, size int64, edges []grid.Run) bool {
	if n, ok := d.IsRegular(); ok && edges == nil && n == size && start%size == 0 && origin%size == 0 {
		return true
	}
	isEnd := func(from, stored int64) bool { // a declared chunk is there, and has the stored length or ends with the tile
		n, err := d.Find(origin + from - start)
		if err != nil {
			return false
		}
		offset, _ := d.Offset(n)
		codec, _ := d.CodecSize(n)
		data, _ := d.DataSize(n)
		return offset == origin+from-start && (codec == stored || from+stored > start+length && data == start+length-from)
	}
	at := int64(0)
	for _, r := range edges {
		for range r.Count {
			if at >= start && at < start+length && !isEnd(at, r.Codec) {
				return false
			}
			at += r.Data
		}
	}
	if edges != nil {
		return true
	}
	for at = (start + size - 1) / size * size; at < start+length; at += size {
		if !isEnd(at, size) {
			return false
		}
	}
	return true
}

// notePadding reports files whose short last chunk lies inside the array: it is stored at full
// length and has to be re-encoded.
func (p *declaration) notePadding(a *array, g *grid.Grid) {
	if a.where == nil || !a.mayPad() {
		return
	}
	var files []int32
	for i := range a.where.tiles {
		t := &a.where.tiles[i]
		if m := a.memberOrPart(p.survey.classOfAny(t.File)); m != nil && a.pads(m, t, g) {
			files = append(files, int32(t.File))
		}
	}
	if len(files) > 0 {
		f := report.Finding{Code: report.ShortChunkPadded, Array: a.path, Effect: report.Reencoded,
			Remedies: []report.Remedy{report.Do(report.Padded, "", report.PaddedClients)}}
		if p.env.opts.Padded {
			f.Effect, f.By, f.Remedies = report.Noted, report.Setting{Option: report.Padded}, nil
		}
		p.env.find(p.env.odd(f, files, int64(len(a.where.tiles))))
	}
}

// takeGrid sets the chunk lengths along dimensions in which files are not placed to the lengths of a grid.
func (c *cutting) takeGrid(g *grid.Grid) {
	c.around, c.lists = make([]int64, len(c.shape)), make([][]grid.Run, len(c.shape))
	for k := range c.shape {
		if c.placedAt(k) >= 0 {
			continue
		}
		runs := slices.Collect(g.Dim(k).Runs())
		size, even := edge.Even(runs, c.shape[k])
		if c.around[k] = size; !even {
			c.lists[k] = runs
		}
	}
}

// chunkText formats the chunk shape of a member in the axis order of its files: 1×90×180, or
// [10 20 30]×180 if the edges along an axis differ.
func (c *cutting) chunkText(m *member) string {
	words := make([]string, len(m.v.Shape))
	stored := c.stored(m)
	for own, axis := range m.axes {
		k := own + len(c.a.made)
		words[axis] = axisText(c.storedEdges(m, k), stored[k])
	}
	return strings.Join(words, "×")
}

// axisText formats the chunk length along an axis, or the first of its edges.
func axisText(edges []grid.Run, length int64) string {
	if edges == nil {
		return strconv.FormatInt(length, 10)
	}
	var words []string
	for _, r := range edges {
		for range r.Count {
			if len(words) == mostExamples {
				return "[" + strings.Join(words, " ") + " …]"
			}
			words = append(words, strconv.FormatInt(r.Codec, 10))
		}
	}
	return "[" + strings.Join(words, " ") + "]"
}

// noteRawEdges reports files whose chunks at the end of a dimension are padded and have no filters, while all others have.
func (p *declaration) noteRawEdges(a *array) {
	var files []int32
	for _, m := range a.members {
		s := &m.v.Storage
		isCut := func(n, chunk int64) bool { return n%chunk != 0 }
		if s.RawEdges && len(s.Chunks) == len(m.v.Shape) && slices.ContainsFunc(m.axes, func(k int) bool { return isCut(m.v.Shape[k], s.Chunks[k]) }) {
			files = append(files, p.survey.classes[m.class].files...)
		}
	}
	if len(files) > 0 {
		p.env.find(p.env.odd(report.Finding{Code: report.EdgesUnfiltered, Array: a.path, Effect: report.Reencoded}, files, a.files))
	}
}

// mayPad reports whether any file may end in a short chunk. It is a cheap test before pads.
func (a *array) mayPad() bool {
	if a.where.cut {
		return true
	}
	all := a.all()
	for i := range all {
		m := &all[i]
		if m.v.Storage.Layout != manifest.Chunked || m.v.Storage.Chunks == nil {
			continue
		}
		for _, d := range a.where.dims {
			if own := slices.Index(a.dims, d.path); own >= 0 && m.v.Shape[m.axes[own]]%m.v.Storage.Chunks[m.axes[own]] != 0 {
				return true
			}
		}
	}
	return false
}

// pads reports whether a tile ends in a short chunk that is not declared with its stored length, as the last chunk of the
// array may be.
func (a *array) pads(m *member, t *manifest.Tile, g *grid.Grid) bool {
	if m.v.Storage.Layout != manifest.Chunked || m.v.Storage.Chunks == nil {
		return false
	}
	for k, d := range a.where.dims {
		own := slices.Index(a.dims, d.path)
		if own < 0 || d.views[int32(t.File)] != nil {
			continue
		}
		chunk, axis := m.v.Storage.Chunks[m.axes[own]], g.Dim(own+len(a.made))
		if end := t.Origin[k] + t.Shape[k]; (t.Start[k]+t.Shape[k])%chunk != 0 {
			if declared, _ := axis.CodecSize(axis.Chunks() - 1); end < axis.Extent() || declared != chunk {
				return true
			}
		}
	}
	return false
}
