package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/tiling"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// placing is the placement of files along some dimensions. Arrays with equal dimensions and equal
// files share one, which keeps the manifest small.
type placing struct {
	id        string
	dims      []*dim
	tiles     []manifest.Tile
	cut       bool                  // some tiles are parts of files
	holes     bool                  // the tiles do not cover the whole array
	runs      map[string][]grid.Run // cache of computed chunk lengths
	misplaced map[string][]int32    // cache of the files whose chunks are elsewhere than the declared ones
	used      bool                  // an array reads its chunks from these files
	absent    []int32               // files whose position no tile covers
	twins     [][]int32             // groups of files with equal positions, which must hold equal values
	whole     []manifest.Tile       // all tiles, including the tiles of twins, if files have several tiles
	shared    *shared               // positions of several files, which are refused if the values differ
}

// placingOf returns the placing of an array, and makes it if necessary.
func (p *arrangement) placingOf(a *array) *placing {
	key := p.placingKey(a)
	if w := p.placings[key]; w != nil {
		return w
	}
	w := &placing{dims: a.placed, cut: slices.ContainsFunc(a.placed, (*dim).isReordered)}
	p.placings[key] = w
	p.placeOrder = append(p.placeOrder, w)
	w.tiles = p.survey.wholeTiles(a)
	if p.alignment.isAxis(a) { // its values decide the placement, so they cannot conflict with it
		if p.alignment.dims[a.dims[0]].large {
			w.tiles, _ = p.keepOneTwin(a, w.tiles) // equal positions mean equal values
		}
	} else {
		p.overlaps(a, w)
		p.absences(a, w)
	}
	switch {
	case p.alignment.servesParts(a) && w.cut:
		p.refuseReordered(a)
	case p.alignment.servesParts(a):
		w.tiles = p.survey.partTiles(a, w.tiles)
		p.survey.refuseOverlappingParts(a, w)
	}
	return w
}

func (p *arrangement) placingKey(a *array) string {
	var b strings.Builder
	b.WriteString(dimPaths(a.placed))
	// Other members mean other files, and so other tiles.
	for _, m := range a.members {
		fmt.Fprintf(&b, "%d,", m.class)
	}
	if a.parted() {
		b.WriteString(a.path)
	}
	switch {
	case p.alignment.isAxis(a):
		b.WriteString("axis")
	case p.repeated(a):
		b.WriteString("aux")
		p.env.writeWidths(&b, a)
	}
	return b.String()
}

// writeWidths writes the order of the members' sizes, because the widest of the files at one position
// is used. Most arrays have members of one size; then it writes nothing.
func (p *env) writeWidths(b *strings.Builder, a *array) {
	widths := map[int64]int{}
	for _, m := range a.members {
		widths[coord.ElementsOf(m.v)] = 0
	}
	if len(widths) == 1 {
		return
	}
	for i, n := range sorted(widths) {
		widths[n] = i
	}
	for _, m := range a.members {
		fmt.Fprintf(b, "%d,", widths[coord.ElementsOf(m.v)])
	}
}

// wholeTiles returns a tile for each file that has elements.
func (p *survey) wholeTiles(a *array) []manifest.Tile {
	k := len(a.placed)
	tiles := make([]manifest.Tile, 0, a.files)
	// One allocation for all tiles: archives have millions of files.
	slab := make([]int64, 3*k*int(a.files))
	joins := slices.ContainsFunc(a.placed, (*dim).hasParts)
	for _, m := range a.members {
	files:
		for _, f := range p.classes[m.class].files {
			if joins {
				tiles = p.appendParts(tiles, a, f)
				continue
			}
			t := manifest.Tile{File: int(f), Origin: slab[:k:k], Start: slab[k : 2*k : 2*k], Shape: slab[2*k : 3*k : 3*k]}
			for i, d := range a.placed {
				var ok bool
				if t.Origin[i], t.Shape[i], ok = p.extent(d, f); !ok || t.Shape[i] == 0 {
					continue files
				}
			}
			tiles = append(tiles, t)
			slab = slab[3*k:]
		}
	}
	p.env.sortTiles(tiles)
	return tiles
}

// appendParts appends the tiles of a file: one for each combination of its parts along the dimensions.
func (p *survey) appendParts(tiles []manifest.Tile, a *array, f int32) []manifest.Tile {
	made := []manifest.Tile{{File: int(f)}}
	for _, d := range a.placed {
		parts, ok := p.parts(d, f)
		if !ok {
			return tiles
		}
		var next []manifest.Tile
		for _, t := range made {
			for _, s := range parts {
				cut := []coord.Part{s}
				// Cutting makes tiles of files at one position equal or disjoint, so that they can be compared.
				if a.isJoinedOnly() {
					cut = s.CutAt(d.cuts)
				}
				for _, s := range cut {
					if s.Length > 0 {
						next = append(next, manifest.Tile{File: t.File, Origin: append(slices.Clip(t.Origin), s.Origin),
							Start: append(slices.Clip(t.Start), s.Start), Shape: append(slices.Clip(t.Shape), s.Length)})
					}
				}
			}
		}
		made = next
	}
	return append(tiles, made...)
}

func (p *env) sortTiles(tiles []manifest.Tile) {
	slices.SortFunc(tiles, func(a, b manifest.Tile) int {
		return cmp.Or(slices.Compare(a.Origin, b.Origin), slices.Compare(a.Shape, b.Shape), p.byName(int32(a.File), int32(b.File)))
	})
}

// overlaps finds tiles that share positions. It cuts them as the overlap option says, or refuses
// them.
func (p *arrangement) overlaps(a *array, w *placing) {
	// Small and auxiliary variables are often repeated in every file. That is not a conflict as
	// long as the values are equal, which compareEqual checks later.
	if p.env.opts.Overlap == plan.OverlapRefuse && p.repeated(a) {
		if tiles, twins := p.keepOneTwin(a, w.tiles); len(tiling.Overlapping(tiles)) == 0 {
			if w.twins = twins; a.isJoinedOnly() && len(twins) > 0 {
				w.whole = w.tiles
			}
			w.tiles = tiles
			return
		}
	}
	pairs := tiling.Overlapping(w.tiles)
	if len(pairs) == 0 {
		return
	}
	if p.env.opts.Overlap == plan.OverlapRefuse {
		if !p.takeOnce(a, w, pairs) {
			p.refuseOverlap(a, w, pairs, "")
		}
		return
	}
	last := p.env.opts.Overlap == plan.OverlapLast
	tiles, ok := tiling.Cut(w.tiles, last)
	if !ok {
		tiles, ok = tiling.CutPlaces(w.tiles, last)
	}
	if !ok {
		p.refuseOverlap(a, w, pairs, "")
		return
	}
	files := tiling.Files(w.tiles, pairs)
	w.tiles, w.cut = tiles, true
	p.env.sortTiles(w.tiles)
	p.env.find(p.env.odd(report.Finding{Code: report.Overlapping, Effect: report.Noted, By: report.Setting{Option: report.Overlap, Value: string(p.env.opts.Overlap)},
		Args: report.Args{"dims": dimList(w.dims), "counts": string(p.env.opts.Overlap)}}, files, int64(len(w.tiles))))
}

// repeated reports whether several files may hold the same positions of an array, provided that
// their values are equal. This holds for auxiliary and one-dimensional arrays, and for arrays
// without one of the concatenated dimensions, such as a land mask in tiles of many days.
func (p *arrangement) repeated(a *array) bool {
	if a.aux || a.broadcast || len(a.dims) == 1 {
		return true
	}
	return slices.ContainsFunc(p.flows, func(d *dim) bool { return d.role == flowing && len(d.coords) > 1 && !slices.Contains(a.placed, d) })
}

// keepOneTwin keeps one tile of each group of tiles with equal positions: the tile of the widest file.
// It returns the groups as twins. The tiles must be sorted.
func (p *arrangement) keepOneTwin(a *array, tiles []manifest.Tile) (kept []manifest.Tile, twins [][]int32) {
	for from := 0; from < len(tiles); {
		to := from + 1
		for to < len(tiles) && p.env.samePlace(&tiles[from], &tiles[to]) {
			to++
		}
		if to == from+1 {
			kept = append(kept, tiles[from])
			from = to
			continue
		}
		files := make([]int32, to-from)
		for i := range files {
			files[i] = int32(tiles[from+i].File)
		}
		counts := int(p.widest(a, files))
		kept = append(kept, tiles[from+slices.IndexFunc(tiles[from:to], func(t manifest.Tile) bool { return t.File == counts })])
		twins = append(twins, files)
		from = to
	}
	return kept, twins
}

// samePlace reports whether two tiles start at the same position and have the same shape. With
// padding, shapes may differ.
func (p *env) samePlace(a, b *manifest.Tile) bool {
	return slices.Equal(a.Origin, b.Origin) && (p.opts.Pad == plan.PadFill || slices.Equal(a.Shape, b.Shape))
}

// refuseOverlap refuses files that hold the same positions, and suggests how to resolve that. why is
// "differ" if the values were compared, or "large" if they are too large for that.
func (p *arrangement) refuseOverlap(a *array, w *placing, pairs [][2]int32, why string) {
	files := tiling.Files(w.tiles, pairs)
	// The message shows one pair; the finding lists all files.
	x, y := &w.tiles[pairs[0][0]], &w.tiles[pairs[0][1]]
	remedies := []report.Remedy{report.Do(report.Overlap, string(plan.OverlapFirst), report.FirstCounts), report.Do(report.Overlap, string(plan.OverlapLast), report.LastCounts)}
	sameBegin, sameLength := true, true
	for _, pair := range pairs {
		x, y := &w.tiles[pair[0]], &w.tiles[pair[1]]
		sameBegin = sameBegin && slices.Equal(x.Origin, y.Origin)
		sameLength = sameLength && slices.Equal(x.Shape, y.Shape)
	}
	member, isEnsemble := p.memberRemedy(w.tiles, pairs)
	// The way in which the files overlap hints at its cause: equal extents suggest an ensemble,
	// equal starts suggest files that were cut short, and the rest suggests forecasts of several
	// runs.
	switch {
	case isEnsemble:
		remedies = slices.Insert(remedies, 0, member)
	case sameBegin && sameLength:
		remedies = append(remedies, report.Fill(report.NewDim, "NAME=PATTERN", report.IfEnsemble))
	case sameBegin && p.repeated(a) && p.env.opts.Pad != plan.PadFill:
		remedies = slices.Insert(remedies, 0, report.Do(report.Pad, string(plan.PadFill), report.LongestCounts))
	case p.env.opts.Overlap == plan.OverlapRefuse && p.alignment.momentOf() != "":
		remedies = append(remedies, stackBy(p.alignment.momentOf(), report.StackByValue))
	}
	if i := slices.IndexFunc(w.dims, (*dim).onlyCounts); i >= 0 {
		remedies = slices.Insert(remedies, 0, withoutValues(w.dims[i]))
	}
	if broadcast, ok := p.comparing(a).broadcastRemedy([][]int32{{int32(x.File)}, {int32(y.File)}}); ok && a.aux {
		remedies = slices.Insert(remedies, 0, broadcast)
	}
	if p.env.opts.Overlap != plan.OverlapRefuse {
		remedies = nil // the user's option is already set and did not resolve the overlap
	}
	f := report.Finding{Code: report.Overlapping, Array: a.path, Effect: report.Refused, Remedies: remedies,
		Args: report.Args{"first": p.env.file(int32(x.File)), "second": p.env.file(int32(y.File)), "shared": w.stretches(x, y)}}
	if why != "" {
		f.Args["why"] = why
	}
	p.env.find(p.env.odd(f, files, int64(len(w.tiles))))
}

// stretches returns the range along each dimension that two tiles share.
func (w *placing) stretches(a, b *manifest.Tile) (stretches []report.Stretch) {
	for k, d := range w.dims {
		from, to := max(a.Origin[k], b.Origin[k]), min(tiling.End(a, k), tiling.End(b, k))
		s := report.Stretch{Dim: d.name(), Count: to - from}
		if c := d.coordOf(int32(a.File)); c != nil && c.Variable != nil {
			s.From = c.Say(from - c.Start)
			if to-from > 1 {
				s.To = c.Say(to - 1 - c.Start)
			}
		}
		stretches = append(stretches, s)
	}
	return stretches
}

// cover returns the number of positions that files cover, and the number of all positions, along the
// dimensions of a placing. The numbers are floats because products of lengths may overflow.
func (p *arrangement) cover(w *placing) (covered, all float64) {
	all = 1
	old, grows := p.env.earlier, false
	for _, d := range w.dims {
		all *= float64(d.length)
		grows = grows || old != nil && d.path == old.Dim
	}
	if grows {
		covered = float64(old.Length) // the old files cover all positions, or there would be no state
		for _, d := range w.dims {
			if d.path != old.Dim {
				covered *= float64(d.length)
			}
		}
	}
	for i := range w.tiles {
		if grows && old.has(int32(w.tiles[i].File)) {
			continue
		}
		n := 1.0
		for _, s := range w.tiles[i].Shape {
			n *= float64(s)
		}
		covered += n
	}
	return covered, all
}

// holders returns the files that provide the array's values.
func (p *arrangement) holders(a *array) []int32 {
	if a.where == nil {
		return []int32{p.fileUsed(a)}
	}
	files := make([]int32, 0, len(a.where.tiles))
	for i := range a.where.tiles {
		files = append(files, int32(a.where.tiles[i].File))
	}
	return files
}
