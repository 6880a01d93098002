package planner

import (
	"fmt"
	"path"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/convert"
	"varve/manifest/internal/planner/internal/tiling"
	"varve/manifest/report"
)

// parted reports whether the values of some members are in other files, as in HDF5 virtual
// datasets.
func (a *array) parted() bool {
	return slices.ContainsFunc(a.members, func(m member) bool { return m.v.Storage.Layout == manifest.Parted })
}

// servesParts reports whether readers get values from other files. The values of a small coordinate
// are in the manifest instead.
func (p *alignment) servesParts(a *array) bool {
	return a.parted() && (!p.isAxis(a) || p.dims[a.dims[0]].large)
}

// placeParted places the files of an array with parts along all of its dimensions, because parts
// may start anywhere. It makes the variables of hidden files members.
func (p *arrangement) placeParted(a *array) {
	if !p.alignment.servesParts(a) {
		return
	}
	for _, at := range a.dims {
		if d := p.alignment.dims[at]; !slices.Contains(a.placed, d) {
			a.placed = append(a.placed, d)
		}
	}
	for _, m := range a.members {
		for _, f := range p.survey.classes[m.class].files {
			for _, part := range p.env.files[f].Parts[m.at] {
				p.survey.addPart(a, &m, part.File)
			}
		}
	}
}

// addPart makes the variable of a hidden file a member.
func (p *survey) addPart(a *array, of *member, file int) {
	if file < 0 || file >= len(p.env.files) || p.env.files[file].Header.Len() != 1 {
		return
	}
	if _, ok := p.hidden[file]; ok {
		return
	}
	h := p.env.files[file].Header
	for _, m := range a.parts {
		if p.classes[m.class].file == h {
			p.hidden[file] = m.class
			c := p.classes[m.class]
			c.files = append(c.files, int32(file))
			return
		}
	}
	p.hidden[file] = int32(len(p.classes))
	a.parts = append(a.parts, member{class: p.hidden[file], axes: of.axes,
		planVar: &planVar{at: 0, v: h.Variable(0), path: of.path, dims: of.dims}})
	p.classes = append(p.classes, &class{file: h, header: h.Expand(), unnamed: unnamedIn(h.Base()), files: []int32{int32(file)}})
}

// classOfAny returns the class of a file, hidden or not.
func (p *survey) classOfAny(file int) int32 {
	if c, ok := p.hidden[file]; ok {
		return c
	}
	return p.classOf[file]
}

// memberOrPart returns the member of a class, hidden or not, or nil.
func (a *array) memberOrPart(class int32) *member {
	if m := a.memberOf(class); m != nil {
		return m
	}
	if i := slices.IndexFunc(a.parts, func(m member) bool { return m.class == class }); i >= 0 {
		return &a.parts[i]
	}
	return nil
}

// filesAndParts returns the number of files that have an array, hidden ones included.
func (p *survey) filesAndParts(a *array) int64 {
	n := a.files
	for _, m := range a.parts {
		n += int64(len(p.classes[m.class].files))
	}
	return n
}

// partTiles replaces the tiles of files by tiles of their parts.
func (p *survey) partTiles(a *array, whole []manifest.Tile) (tiles []manifest.Tile) {
	for _, t := range whole {
		m := a.memberOf(p.classOf[t.File])
		if m.v.Storage.Layout != manifest.Parted {
			tiles = append(tiles, t)
			continue
		}
		for _, part := range p.env.files[t.File].Parts[m.at] {
			if s, ok := p.env.partTile(a, m, t, part); ok {
				tiles = append(tiles, s)
			}
		}
	}
	p.env.sortTiles(tiles)
	return tiles
}

func (p *env) partTile(a *array, m *member, t manifest.Tile, part manifest.Part) (manifest.Tile, bool) {
	k := len(a.placed)
	s := manifest.Tile{File: part.File, Origin: slices.Clone(t.Origin), Start: make([]int64, k), Shape: slices.Clone(t.Shape)}
	for i, d := range a.placed {
		own := slices.Index(a.dims, d.path)
		if own < 0 {
			continue
		}
		axis := m.axes[own]
		if axis >= len(part.Origin) {
			return s, false
		}
		s.Origin[i] += part.Origin[axis]
		s.Start[i] = part.Start[axis]
		s.Shape[i] = min(part.Shape[axis], t.Shape[i]-part.Origin[axis])
		if s.Shape[i] <= 0 {
			return s, false
		}
	}
	return s, true
}

// refuseOverlappingParts refuses files whose parts overlap, because it is not known which part
// provides the values.
func (p *survey) refuseOverlappingParts(a *array, w *placing) {
	pairs := tiling.Overlapping(w.tiles)
	if len(pairs) == 0 {
		return
	}
	var files []int32
	for _, m := range a.members {
		if m.v.Storage.Layout == manifest.Parted {
			files = append(files, p.classes[m.class].files...)
		}
	}
	p.env.find(p.env.odd(report.Finding{Code: report.PartsOverlap, Array: a.path, Effect: report.Refused,
		Remedies: []report.Remedy{report.DropPath(path.Base(a.path))}}, files, a.files))
}

// fillOfParts sets the fill value for positions that no part covers. The files must agree on it.
func (p *survey) fillOfParts(a *array, f *declared, out *manifest.Array) error {
	var fill []byte
	var odd []int32
	for i, m := range a.members {
		if m.v.Storage.Layout != manifest.Parted {
			continue
		}
		c, err := convert.New(f.members[f.firstMemberOf(i)].Variable, out.Schema, out.Reading)
		if err != nil {
			return fmt.Errorf("%s: %w", a.path, err)
		}
		switch {
		case fill == nil:
			fill = c.Fill()
		case string(fill) != string(c.Fill()):
			odd = append(odd, p.classes[m.class].files...)
		}
	}
	if len(odd) > 0 {
		p.env.find(p.env.odd(report.Finding{Code: report.PartsFillDiffers, Array: a.path, Effect: report.Refused,
			Remedies: []report.Remedy{report.DropPath(path.Base(a.path))}}, odd, a.files))
	}
	out.Schema.Fill = fill
	return nil
}
