package planner

import (
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/report"
)

// noteContiguous reports files that store an array without chunks, if a declared chunk is not one range of their bytes.
// Files whose chunks cannot be verbatim for another reason have another finding.
func (p *declaration) noteContiguous(c *cutting, g *grid.Grid, declared string) {
	apart := c.apart()
	if apart == nil {
		return
	}
	files := c.notOneRange(g, apart)
	if len(files) == 0 {
		return
	}
	records := ""
	if slices.Contains(apart, isApart) {
		records = report.Base(c.a.dimAt(len(c.a.made)))
	}
	p.env.find(p.env.odd(report.Finding{Code: report.NotOneRange, Array: c.a.path, Dim: records, Effect: report.Reencoded,
		Args: report.Args{"declared": declared}}, files, p.survey.filesAndParts(c.a)))
}

// How a member stores the elements of an array, as a byte of a key.
const (
	isInChunks = iota // in chunks, or in codecs, or in another form than the array declares
	isTogether        // one element after the other
	isApart           // one record after the other, with bytes of other variables between them
)

// apart returns for each member how its elements are stored, or nil if none is without chunks.
func (c *cutting) apart() (list []byte) {
	list = make([]byte, len(c.members))
	for i := range c.members {
		v := c.members[i].v
		if l := v.Storage.Layout; !c.kept[i] || l != manifest.Strided && l != manifest.Inline || !codec.IsRaw(v.Storage.Codecs) || !slices.IsSorted(c.members[i].axes) {
			continue
		}
		list[i] = isTogether
		row := int64(v.Type.Size)
		for _, n := range v.Shape[min(1, len(v.Shape)):] {
			row *= n
		}
		if v.Storage.Stride != 0 && v.Storage.Stride != row {
			list[i] = isApart
		}
	}
	if !slices.ContainsFunc(list, func(b byte) bool { return b != isInChunks }) {
		return nil
	}
	return list
}

// notOneRange returns the files without chunks in which a declared chunk is not one range of bytes. Arrays of a placing
// share the result if their files have equal chunks.
func (c *cutting) notOneRange(g *grid.Grid, apart []byte) (files []int32) {
	w := c.a.where
	if w == nil {
		for i := range c.members {
			if apart[i] != isInChunks && !c.isOneRange(&c.members[i], g, apart[i], nil) {
				files = append(files, c.p.classes[c.members[i].class].files...)
			}
		}
		return files
	}
	key := string(apart)
	for k := range c.shape {
		size, _ := g.Dim(k).CodecSize(0)
		key += c.bandKey(k) + string(appendShape(nil, []int64{size, g.Dim(k).Chunks()}))
	}
	if known, ok := w.misplaced[key]; ok {
		return slices.Clone(known)
	}
	for i := range w.tiles {
		t := &w.tiles[i]
		class := c.p.classOfAny(int(t.File))
		k := slices.IndexFunc(c.members, func(m member) bool { return m.class == class })
		if k >= 0 && apart[k] != isInChunks && !c.isOneRange(&c.members[k], g, apart[k], t) {
			files = append(files, int32(t.File))
		}
	}
	if w.misplaced == nil {
		w.misplaced = map[string][]int32{}
	}
	w.misplaced[key] = files
	return slices.Clone(files)
}

// isOneRange reports whether each declared chunk with elements of a tile is one range of bytes of its file. Without a tile, the
// file has the whole array.
func (c *cutting) isOneRange(m *member, g *grid.Grid, apart byte, t *manifest.Tile) bool {
	isLong := false // a declared chunk is longer than 1 along an axis before this one
	for k := range c.shape {
		origin, start, length, own := int64(0), int64(0), c.shape[k], int64(1)
		if axis := k - len(c.a.made); axis >= 0 {
			own = m.v.Shape[m.axes[axis]]
		}
		if at := c.placedAt(k); at >= 0 {
			if c.a.where.dims[at].views[int32(t.File)] != nil {
				return true // Flipped and LongitudesMoved report files of another order
			}
			origin, start, length = t.Origin[at], t.Start[at], t.Shape[at]
		}
		rest := own - start
		if k < len(c.a.made) { // the value repeats along a dimension that the file lacks
			rest = length
		}
		longest, shortest, isInside := extremes(g.Dim(k), origin, length, rest)
		if k < len(c.a.made) && longest > 1 {
			return false
		}
		isRecords := k == len(c.a.made) && apart == isApart && longest > 1
		if !isInside || isRecords || isLong && (longest != own || shortest != own) {
			return false
		}
		isLong = isLong || longest > 1
	}
	return true
}

// extremes returns the lengths of the longest and the shortest chunk with indices from origin to origin+length. isInside says that
// all their indices are among these, and that none is longer than the rest of a file's elements, which begin at origin.
func extremes(d grid.Dimension, origin, length, rest int64) (longest, shortest int64, isInside bool) {
	isInside = true
	for at := origin; at < origin+length; {
		n, err := d.Find(at)
		if err != nil {
			return longest, shortest, false
		}
		offset, _ := d.Offset(n)
		size, _ := d.CodecSize(n)
		data, _ := d.DataSize(n)
		if shortest == 0 || size < shortest {
			shortest = size
		}
		longest = max(longest, size)
		isInside = isInside && offset >= origin && offset+data <= origin+length && offset-origin+size <= rest
		next := offset + data
		if whole, ok := d.IsRegular(); ok && size == whole { // all chunks but the last are alike
			next = max(next, offset+(origin+length-1-offset)/whole*whole)
		}
		at = max(next, at+1)
	}
	return longest, shortest, isInside
}
