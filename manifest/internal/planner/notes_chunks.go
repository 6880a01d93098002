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
func (p *alignment) noteChunks(a *array, schema *zarrjson.Array, kept []bool) {
	g, err := schema.Grid()
	if err != nil {
		return
	}
	members := a.all()
	c := &cutting{p: p.survey, a: a, members: members, kept: kept, shape: schema.Shape}
	c.takeGrid(g)
	var odd []int32
	shapes := map[string]bool{}
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
	if len(odd) > 0 && int64(len(odd)) <= a.files {
		declared := make([]string, g.Rank())
		for k := range declared {
			first, _ := g.Dim(k).CodecSize(0)
			declared[k] = axisText(c.lists[k], first)
		}
		p.env.find(p.env.odd(report.Finding{Code: report.ChunksDiffer, Array: a.path, Effect: report.Reencoded,
			Args:     report.Args{"shapes": sorted(shapes), "declared": strings.Join(declared, "×")},
			Remedies: []report.Remedy{report.Fill(report.CodecFrom, "FILE", report.OthersDecide), report.Fill(report.ChunkEdges, a.path[1:]+":DIM=N", "")}},
			odd, a.files))
	}
	p.notePadding(a, schema)
}

// notePadding reports files whose short last chunk lies inside the array: it is stored at full
// length and has to be re-encoded.
func (p *alignment) notePadding(a *array, schema *zarrjson.Array) {
	if a.where == nil || !a.mayPad() {
		return
	}
	var files []int32
	for i := range a.where.tiles {
		t := &a.where.tiles[i]
		if m := a.memberOf(p.survey.classOfAny(t.File)); m != nil && a.pads(m, t, schema.Shape) {
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

// mayPad reports whether any file may end in a short chunk. It is a cheap test before pads.
func (a *array) mayPad() bool {
	if a.where.cut {
		return true
	}
	for i := range a.members {
		m := &a.members[i]
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

// pads reports whether a tile ends in a short chunk before the end of the array.
func (a *array) pads(m *member, t *manifest.Tile, shape []int64) bool {
	if m.v.Storage.Layout != manifest.Chunked || m.v.Storage.Chunks == nil {
		return false
	}
	for k, d := range a.where.dims {
		own := slices.Index(a.dims, d.path)
		if own < 0 {
			continue
		}
		if chunk := m.v.Storage.Chunks[m.axes[own]]; (t.Start[k]+t.Shape[k])%chunk != 0 && t.Origin[k]+t.Shape[k] < shape[own+len(a.made)] {
			return true
		}
	}
	return false
}
