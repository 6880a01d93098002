package geo

import (
	"math"
	"slices"

	"varve/codec/internal/corrupt"
)

// total returns the number of points of all rows.
func (g *Grid) total() (n int) {
	for _, row := range g.Rows {
		n += row
	}
	return n
}

// reducedLatLon computes the coordinates of a reduced grid with equidistant parallels.
func (g *Grid) reducedLatLon() (filler, error) {
	if g.total() != g.Points {
		return nil, corrupt.Errorf("grid %s: its rows sum to %d points, but the message declares %d", g.Type, g.total(), g.Points)
	}
	first, last := g.angle("longitudeOfFirstGridPoint"), g.angle("longitudeOfLastGridPoint")
	north, south := g.angle("latitudeOfFirstGridPoint"), g.angle("latitudeOfLastGridPoint")
	step, ok := g.Increment("j")
	if !ok && len(g.Rows) > 1 {
		step = math.Abs(north-south) / float64(len(g.Rows)-1)
	}
	if north > south {
		step = -step
	}
	span, gap := 360.0, 0
	if widest := 360 / float64(max(g.widest(), 1)); 360-math.Abs(last-first) >= 2*widest {
		if span, gap = last-first, 1; span < 0 {
			span += 360
		}
	}
	return func(lat, lon []float64) {
		n := 0
		for j, row := range g.Rows {
			for i := range row {
				lat[n], lon[n] = north+float64(float64(j)*step), first+float64(float64(i)*(span/float64(max(row-gap, 1))))
				n++
			}
		}
	}, nil
}

// widest returns the number of points of the longest row.
func (g *Grid) widest() (n int) {
	for _, row := range g.Rows {
		n = max(n, row)
	}
	return n
}

// part is the points of a row of a reduced grid: n points from a multiple of the step of the row on, shifted by some degrees.
type part struct {
	from, n int
	shift   float64
}

// reducedGaussian computes the coordinates of a reduced Gaussian grid of the globe or a part of it.
func (g *Grid) reducedGaussian() (filler, error) {
	all, err := GaussianLatitudes(g.number("N"))
	if err != nil {
		return nil, err
	}
	if len(g.Rows) == 0 || slices.Min(g.Rows) < 0 || g.widest() == 0 {
		return nil, corrupt.Errorf("grid %s: rows without points", g.Type)
	}
	if len(g.Rows) > len(all) {
		return nil, corrupt.Errorf("grid %s: %d rows, but a Gaussian grid of N = %d has %d", g.Type, len(g.Rows), len(all)/2, len(all))
	}
	parts, begin := g.wholeRows(0), 0
	if !g.global(all) || g.total() > g.Points {
		parts, begin = g.parts(), g.firstRow(all)
	}
	n := 0
	for _, p := range parts {
		n += p.n
	}
	if n != g.Points {
		return nil, corrupt.Errorf("grid %s: its rows sum to %d points, but the message declares %d", g.Type, n, g.Points)
	}
	if begin+len(g.Rows) > len(all) {
		return nil, corrupt.Errorf("grid %s: %d rows from row %d on, but a Gaussian grid of N = %d has %d", g.Type, len(g.Rows), begin+1, len(all)/2, len(all))
	}
	return func(lat, lon []float64) {
		n := 0
		for j, p := range parts {
			for i := range p.n {
				lat[n], lon[n] = all[begin+j], float64(p.from+i)*360/float64(g.Rows[j])+p.shift
				n++
			}
		}
		g.unrotate(lat, lon)
	}, nil
}

// global reports whether a reduced Gaussian grid covers the whole globe.
func (g *Grid) global(all []float64) bool {
	first, last := wrap(g.angle("longitudeOfFirstGridPoint")), wrap(g.angle("longitudeOfLastGridPoint"))
	between := math.Abs(all[0] - all[1])
	step := 360 / float64(slices.Max(g.Rows))
	return math.Abs(g.angle("latitudeOfFirstGridPoint")-all[0]) < between && math.Abs(g.angle("latitudeOfLastGridPoint")+all[0]) < between &&
		first == 0 && math.Abs(last-(360-step))-step <= g.basic/g.divisor
}

// wrap returns the longitude that is equal to x and not negative. Only a damaged section has a longitude of more than ten turns.
func wrap(x float64) float64 {
	if math.Abs(x) > 3600 {
		x = math.Mod(x, 360) // x + 360 may be x
	}
	for x < 0 {
		x += 360
	}
	return x
}

// wholeRows returns all points of all rows. Each row begins at the longitude first.
func (g *Grid) wholeRows(first float64) []part {
	parts := make([]part, len(g.Rows))
	for j, row := range g.Rows {
		parts[j] = part{n: row, shift: first}
	}
	return parts
}

// firstRow returns the parallel that is nearest to the first grid point.
func (g *Grid) firstRow(all []float64) (begin int) {
	top := g.angle("latitudeOfFirstGridPoint")
	for j, x := range all {
		if math.Abs(x-top) < math.Abs(all[begin]-top) {
			begin = j
		}
	}
	return begin
}

// parts returns the points of a reduced Gaussian grid between two longitudes. A row has the multiples of its step between them. Old
// software counted these in another way; parts uses the count that gives the number of points of the grid. ARPEGE declares a last longitude
// that its rows exceed: then all rows are whole.
func (g *Grid) parts() []part {
	first, last := g.span()
	for _, count := range []func(row int, first, last float64) (from, n int){exactRow, legacyRow} {
		parts, n := make([]part, len(g.Rows)), 0
		for j, row := range g.Rows {
			parts[j].from, parts[j].n = count(row, first, last)
			n += parts[j].n
		}
		if n == g.Points {
			return parts
		}
	}
	return g.wholeRows(first)
}

// PartPoints returns the number of points of a reduced Gaussian grid between its first and last longitude. A grid that begins at 0 and
// ends within a step of 360 has all points of its rows.
func (g *Grid) PartPoints() int {
	first, last := g.span()
	if len(g.Rows) > 0 && first == 0 && last > 0 {
		if step := 360 / float64(max(slices.Max(g.Rows), 1)); last >= 360-step-g.basic/g.divisor {
			return g.total()
		}
	}
	n := 0
	for _, row := range g.Rows {
		_, points := exactRow(row, first, last)
		n += points
	}
	return n
}

// exactRow returns the first point of a row between two longitudes, and the number of points. Longitudes are multiples of a millionth
// of a degree.
func exactRow(row int, first, last float64) (from, n int) {
	if row < 1 {
		return 0, 0
	}
	const units = 360_000_000
	west, east := int64(math.Round(first*1e6)), int64(math.Round(last*1e6))
	a := (west*int64(row) + units - 1) / units
	b := east * int64(row) / units
	if b < a {
		return 0, 0
	}
	return int(a), min(row, int(b-a+1))
}

// legacyRow is exactRow as ECMWF's software computed it before it counted exactly.
func legacyRow(row int, first, last float64) (from, n int) {
	if row < 1 {
		return 0, 0
	}
	per := float64(row) / 360
	n = int((last-first)*float64(row)/360) + 1
	a, b := int(first*float64(row)/360), int(last*float64(row)/360)
	switch span := b - a + 1; {
	case span > n && float64(a)/per < first:
		a++
	case span < n && float64(a-1)/per > first:
		a--
	case span < n && float64(b+1)/per >= last:
		n--
	case span == n && float64(a)/per < first:
		a++
	}
	return a, n
}

// IsCountUnclear reports whether the ways to count the points of a reduced Gaussian grid of edition 1 give different numbers. Then only
// the number of values shows how many points the grid has, see Count.
func (g *Grid) IsCountUnclear() bool { return g.isCounted() && g.total() != g.PartPoints() }

// isCounted reports whether the number of points of a grid of edition 1 follows from its rows and longitudes.
func (g *Grid) isCounted() bool { return g.Type == "reduced_gg" || g.Type == "reduced_rotated_gg" }

// Count sets Points of a reduced Gaussian grid of edition 1 to a number of values, if one of the ways to count points gives this
// number. Edition 1 does not store the number of points.
func (g *Grid) Count(values int) {
	if !g.isCounted() || g.Points == values {
		return
	}
	for _, n := range []int{g.total(), g.PartPoints(), g.legacyPoints()} {
		if n == values {
			g.Points = n
		}
	}
}

func (g *Grid) legacyPoints() (n int) {
	first, last := g.span()
	for _, row := range g.Rows {
		_, points := legacyRow(row, first, last)
		n += points
	}
	return n
}

// span returns the first and the last longitude of a reduced Gaussian grid.
func (g *Grid) span() (first, last float64) {
	first, last = wrap(g.angle("longitudeOfFirstGridPoint")), wrap(g.angle("longitudeOfLastGridPoint"))
	for last < first {
		last += 360
	}
	return first, last
}
