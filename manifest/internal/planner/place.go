package planner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// placing is the placement of files along some dimensions. Arrays with equal dimensions and equal
// files share one, which keeps the manifest small.
type placing struct {
	id     string
	dims   []*dim
	tiles  []manifest.Tile
	cut    bool             // some tiles are parts of files
	holes  bool             // the tiles do not cover the whole array
	runs   map[string][]run // cache of computed chunk lengths
	used   bool             // an array reads its chunks from these files
	absent []int32          // files whose position no tile covers
	twins  [][]int32        // groups of files with equal positions, which must hold equal values
	whole  []manifest.Tile  // all tiles, including the tiles of twins, if files have several tiles
	shared *shared          // positions of several files, which are refused if the values differ
}

// place returns the placing of an array, and makes it if necessary.
func (p *arrangement) place(a *array) *placing {
	w := p.placingOf(a)
	switch {
	case w.shared != nil:
		p.doubtful = append(p.doubtful, doubt{a: a, shared: w.shared})
	case len(w.twins) > 0:
		p.doubtful = append(p.doubtful, doubt{a: a, twins: w.twins, tiles: w.whole})
	}
	return w
}

func (p *arrangement) placingOf(a *array) *placing {
	key := p.placingKey(a)
	if w := p.placings[key]; w != nil {
		return w
	}
	w := &placing{dims: a.placed}
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
	if p.alignment.servesParts(a) {
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
		widths[elementsOf(m.v)] = 0
	}
	if len(widths) == 1 {
		return
	}
	for i, n := range sorted(widths) {
		widths[n] = i
	}
	for _, m := range a.members {
		fmt.Fprintf(b, "%d,", widths[elementsOf(m.v)])
	}
}

// wholeTiles returns a tile for each file that has elements.
func (p *survey) wholeTiles(a *array) []manifest.Tile {
	k := len(a.placed)
	tiles := make([]manifest.Tile, 0, a.files)
	// One allocation for all tiles: archives have millions of files.
	slab := make([]int64, 3*k*int(a.files))
	joins := slices.ContainsFunc(a.placed, func(d *dim) bool { return d.joined })
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
				cut := []axisPart{s}
				// Cutting makes tiles of files at one position equal or disjoint, so that they can be compared.
				if a.isJoinedOnly() {
					cut = s.cutAt(d.cuts)
				}
				for _, s := range cut {
					if s.length > 0 {
						next = append(next, manifest.Tile{File: t.File, Origin: append(slices.Clip(t.Origin), s.origin),
							Start: append(slices.Clip(t.Start), s.start), Shape: append(slices.Clip(t.Shape), s.length)})
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
	// long as the values are equal, which statics checks later.
	if p.env.opts.Overlap == plan.OverlapRefuse && p.repeated(a) {
		if tiles, twins := p.keepOneTwin(a, w.tiles); len(overlapping(tiles)) == 0 {
			if w.twins = twins; a.isJoinedOnly() && len(twins) > 0 {
				w.whole = w.tiles
			}
			w.tiles = tiles
			return
		}
	}
	pairs := overlapping(w.tiles)
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
	tiles, ok := cutTiles(w.tiles, last)
	if !ok {
		tiles, ok = cutPlaces(w.tiles, last)
	}
	if !ok {
		p.refuseOverlap(a, w, pairs, "")
		return
	}
	files := filesIn(w.tiles, pairs)
	w.tiles, w.cut = tiles, true
	p.env.sortTiles(w.tiles)
	p.env.find(p.env.odd(report.Finding{Code: report.Overlapping, Effect: report.Noted, By: report.Setting{Option: report.Overlap, Value: string(p.env.opts.Overlap)},
		Args: report.Args{"dims": dimList(w.dims), "counts": string(p.env.opts.Overlap)}}, files, int64(len(w.tiles))))
}

func dimNames(dims []*dim) string { return strings.Join(dimList(dims), ", ") }

func dimList(dims []*dim) []string {
	short := make([]string, len(dims))
	for i, d := range dims {
		short[i] = d.name()
	}
	return short
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

// doubt is an array with several files at the same positions, whose values must still be compared.
type doubt struct {
	a     *array
	twins [][]int32       // groups of files with equal positions
	tiles []manifest.Tile // all tiles, sorted, if files have several; else nil
	// shared has the positions if a difference is refused as an overlap. Then twins and tiles are nil.
	shared *shared
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

// overlapping returns pairs of overlapping tiles: each tile with the first one that it overlaps.
func overlapping(tiles []manifest.Tile) (pairs [][2]int32) {
	if len(tiles) == 0 || len(tiles[0].Origin) == 0 {
		return nil
	}
	// In a lattice only neighbours can overlap, so a million tiles take one pass.
	if isLattice(tiles) {
		for i := 1; i < len(tiles); i++ {
			if slices.Equal(tiles[i-1].Origin, tiles[i].Origin) {
				pairs = append(pairs, [2]int32{int32(i - 1), int32(i)})
			}
		}
		return pairs
	}
	var active []int32 // tiles that end after the current start along the first dimension
	for i := range tiles {
		kept := active[:0]
		met := false
		for _, k := range active {
			if end(&tiles[k], 0) <= tiles[i].Origin[0] {
				continue
			}
			kept = append(kept, k)
			// One pair per tile is enough to refuse, and keeps the list linear.
			if !met && meet(&tiles[k], &tiles[i]) {
				pairs = append(pairs, [2]int32{k, int32(i)})
				met = true
			}
		}
		active = append(kept, int32(i))
	}
	return pairs
}

// isLattice reports whether the tiles are cells of a lattice: along each dimension, two tiles cover
// either the same positions or disjoint ones.
func isLattice(tiles []manifest.Tile) bool {
	for k := range tiles[0].Origin {
		length := make(map[int64]int64)
		for i := range tiles {
			t := &tiles[i]
			if n, ok := length[t.Origin[k]]; ok && n != t.Shape[k] {
				return false
			}
			length[t.Origin[k]] = t.Shape[k]
		}
		reach := int64(math.MinInt64)
		for _, from := range sorted(length) {
			if from < reach {
				return false
			}
			reach = from + length[from]
		}
	}
	return true
}

func end(t *manifest.Tile, k int) int64 { return t.Origin[k] + t.Shape[k] }

func meet(a, b *manifest.Tile) bool {
	for k := range a.Origin {
		if end(a, k) <= b.Origin[k] || end(b, k) <= a.Origin[k] {
			return false
		}
	}
	return true
}

// filesIn returns the files of pairs of tiles.
func filesIn(tiles []manifest.Tile, pairs [][2]int32) (files []int32) {
	for _, pair := range pairs {
		files = append(files, int32(tiles[pair[0]].File), int32(tiles[pair[1]].File))
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// refuseOverlap refuses files that hold the same positions, and suggests how to resolve that. why is
// "differ" if the values were compared, or "large" if they are too large for that.
func (p *arrangement) refuseOverlap(a *array, w *placing, pairs [][2]int32, why string) {
	files := filesIn(w.tiles, pairs)
	// The message shows one pair; the finding lists all files.
	x, y := &w.tiles[pairs[0][0]], &w.tiles[pairs[0][1]]
	remedies := []report.Remedy{report.Do(report.Overlap, string(plan.OverlapFirst), report.FirstCounts), report.Do(report.Overlap, string(plan.OverlapLast), report.LastCounts)}
	sameBegin, sameLength := true, true
	for _, pair := range pairs {
		x, y := &w.tiles[pair[0]], &w.tiles[pair[1]]
		sameBegin = sameBegin && slices.Equal(x.Origin, y.Origin)
		sameLength = sameLength && slices.Equal(x.Shape, y.Shape)
	}
	// The way in which the files overlap hints at its cause: equal extents suggest an ensemble,
	// equal starts suggest files that were cut short, and the rest suggests forecasts of several
	// runs.
	switch {
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
		from, to := max(a.Origin[k], b.Origin[k]), min(end(a, k), end(b, k))
		s := report.Stretch{Dim: d.name(), Count: to - from}
		if c := d.coordOf(int32(a.File)); c != nil && c.v != nil {
			s.From = c.say(from - c.start)
			if to-from > 1 {
				s.To = c.say(to - 1 - c.start)
			}
		}
		stretches = append(stretches, s)
	}
	return stretches
}

// cutTiles cuts overlapping tiles so that each position has one: the tile that starts first, or
// last. It returns false if tiles overlap along more than one dimension.
func cutTiles(tiles []manifest.Tile, last bool) ([]manifest.Tile, bool) {
	if len(tiles) == 0 {
		return tiles, true
	}
	along, ok := overlapAxis(tiles)
	if !ok {
		return nil, false
	}
	rows := rowsOf(tiles, along)
	var out []manifest.Tile
	for _, key := range sorted(rows) {
		out = append(out, cutRow(rows[key], along, last)...)
	}
	return out, len(overlapping(sortedByOrigin(out))) == 0
}

// overlapAxis returns the dimension along which overlapping tiles differ. ok is false if there are
// several. Tiles with equal extents can be cut along any dimension.
func overlapAxis(tiles []manifest.Tile) (along int, ok bool) {
	along = -1
	for _, pair := range overlapping(tiles) {
		for k := range tiles[0].Origin {
			a, b := &tiles[pair[0]], &tiles[pair[1]]
			if a.Origin[k] != b.Origin[k] || a.Shape[k] != b.Shape[k] {
				if along >= 0 && along != k {
					return 0, false
				}
				along = k
			}
		}
	}
	return max(along, 0), true
}

// rowsOf groups tiles that differ at most along one dimension.
func rowsOf(tiles []manifest.Tile, along int) map[string][]manifest.Tile {
	rows := map[string][]manifest.Tile{}
	for _, t := range tiles {
		key := rowKey(&t, along)
		rows[key] = append(rows[key], t)
	}
	return rows
}

func sortedByOrigin(tiles []manifest.Tile) []manifest.Tile {
	slices.SortStableFunc(tiles, func(a, b manifest.Tile) int { return slices.Compare(a.Origin, b.Origin) })
	return tiles
}

// rowKey identifies the extent of a tile in all dimensions except one.
func rowKey(t *manifest.Tile, along int) string {
	var b strings.Builder
	for k := range t.Origin {
		if k != along {
			fmt.Fprintf(&b, "%d+%d,", t.Origin[k], t.Shape[k])
		}
	}
	return b.String()
}

// cutRow cuts the tiles of a row along a dimension, so that the first or the last tile wins. The row
// must be sorted by origin.
func cutRow(row []manifest.Tile, along int, last bool) (out []manifest.Tile) {
	if !last {
		reach := int64(math.MinInt64)
		for _, t := range row {
			if from := max(t.Origin[along], reach); from < end(&t, along) {
				out = append(out, sliced(t, along, from, end(&t, along)))
				reach = end(&t, along)
			}
		}
		return out
	}
	// From the last tile on, each tile keeps only positions that no later one covers.
	for i := len(row) - 1; i >= 0; i-- {
		out = append(out, uncovered(row[i], row[i+1:], along)...)
	}
	return out
}

// uncovered returns the parts of a tile that no later tile covers.
func uncovered(t manifest.Tile, over []manifest.Tile, along int) (out []manifest.Tile) {
	from, to := t.Origin[along], end(&t, along)
	for i := range over {
		o := &over[i]
		if o.Origin[along] >= to {
			break
		}
		if o.Origin[along] > from {
			out = append(out, sliced(t, along, from, o.Origin[along]))
		}
		from = max(from, end(o, along))
	}
	if from < to {
		out = append(out, sliced(t, along, from, to))
	}
	return out
}

// sliced returns the part of a tile between two positions.
func sliced(t manifest.Tile, along int, from, to int64) manifest.Tile {
	if from == t.Origin[along] && to == end(&t, along) {
		return t
	}
	s := manifest.Tile{File: t.File, Origin: slices.Clone(t.Origin), Start: slices.Clone(t.Start), Shape: slices.Clone(t.Shape)}
	s.Start[along] += from - t.Origin[along]
	s.Origin[along], s.Shape[along] = from, to-from
	return s
}

// cover returns the number of positions that tiles cover, and the number of all positions, along the
// dimensions of a placing. The numbers are floats because products of lengths may overflow.
func (w *placing) cover() (covered, all float64) {
	all = 1
	for _, d := range w.dims {
		all *= float64(d.length)
	}
	for i := range w.tiles {
		n := 1.0
		for _, s := range w.tiles[i].Shape {
			n *= float64(s)
		}
		covered += n
	}
	return covered, all
}
