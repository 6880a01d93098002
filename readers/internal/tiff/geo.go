package tiff

import (
	"context"
	"math"
	"slices"

	"varve/readers"
	"varve/readers/internal/crs"
)

// place says where the pixels of an image are.
type place struct {
	// transform is [x, x per column, x per row, y, y per column, y per row] of the upper left corner of the image, in GDAL's order.
	// It is nil if there is none.
	transform   *[6]float64
	areaOrPoint string       // "area" or "point", or "" if no GeoKey says it
	gcps        [][5]float64 // ground control points: row, column, x, y, z
	rpc         *rpc
	keys        *geoKeys    // nil if there are none
	system      *crs.System // nil if it is not known
	systemText  string      // the system as a sidecar writes it, if system is nil
}

// rpc are rational polynomial coefficients, which relate longitudes, latitudes and heights to columns and rows.
type rpc struct {
	errorBias, errorRandom                                       float64
	lineOffset, sampleOffset                                     float64
	latitudeOffset, longitudeOffset, heightOffset                float64
	lineScale, sampleScale                                       float64
	latitudeScale, longitudeScale, heightScale                   float64
	lineNumerator, lineDenominator, sampleNumerator, sampleDenom [20]float64
}

// maxGCPs is the number of ground control points that is read.
const maxGCPs = 1 << 16

// place reads where the image of a directory is. It returns nil if the directory does not say anything.
func (d *directory) place(ctx context.Context) (*place, error) {
	keys, err := d.geoKeys(ctx)
	if err != nil {
		return nil, err
	}
	p := &place{keys: keys}
	if keys != nil && len(keys.values) > 0 {
		p.system = keys.system()
		switch {
		case keys.code(rasterTypeKey) == pixelIsPoint:
			p.areaOrPoint = "point"
		case keys.has(rasterTypeKey):
			p.areaOrPoint = "area"
		}
	}
	if err := p.readTransform(ctx, d); err != nil {
		return nil, err
	}
	if p.rpc, err = d.rpc(ctx); err != nil {
		return nil, err
	}
	d.extras.apply(p)
	if p.keys == nil && p.transform == nil && p.gcps == nil && p.rpc == nil && p.system == nil && p.systemText == "" {
		return nil, nil
	}
	return p, nil
}

// readTransform reads the transform, or the ground control points if there is none.
func (p *place) readTransform(ctx context.Context, d *directory) error {
	var lists [3][]float64
	for i, tag := range []uint16{modelPixelScale, modelTiepoint, modelTransform} {
		var err error
		if lists[i], err = d.floats(ctx, tag); err != nil {
			return err
		}
	}
	scale, ties, matrix := lists[0], lists[1], lists[2]
	half := 0.0 // of a cell, from the tie point to the centre of its cell
	if p.areaOrPoint == "point" {
		half = 0.5
	}
	hasScale := len(scale) >= 2 && scale[0] != 0 && scale[1] != 0
	switch {
	case hasScale && len(ties) >= 6:
		dx, dy := scale[0], -math.Abs(scale[1])
		p.setTransform([6]float64{ties[3] - float64((ties[0]+half)*dx), dx, 0, ties[4] - float64((ties[1]+half)*dy), 0, dy})
	case !hasScale && len(matrix) == 16:
		p.setTransform([6]float64{
			matrix[3] - float64(half*(matrix[0]+matrix[1])), matrix[0], matrix[1],
			matrix[7] - float64(half*(matrix[4]+matrix[5])), matrix[4], matrix[5],
		})
	}
	if p.transform != nil {
		return nil
	}
	if len(ties)/6 > maxGCPs {
		return d.fail(modelTiepoint, unsupported("more than %d ground control points", maxGCPs))
	}
	for t := range slices.Chunk(ties[:len(ties)/6*6], 6) {
		p.gcps = append(p.gcps, [5]float64{t[1] + half, t[0] + half, t[3], t[4], t[5]})
	}
	return nil
}

// setTransform sets the transform if its numbers are finite. The identity is what programs write that know none.
func (p *place) setTransform(t [6]float64) {
	for _, f := range t {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
	}
	if t != [6]float64{0, 1, 0, 0, 0, 1} {
		p.transform = &t
	}
}

// isRotated reports whether x depends on the row, or y on the column.
func (p *place) isRotated() bool {
	return p.transform != nil && (p.transform[2] != 0 || p.transform[4] != 0)
}

// centres are the coordinates of the centres of cells, which are equally far apart.
type centres struct{ first, step float64 }

// centres returns x of columns and y of rows. ok is false if there is no transform or it is rotated.
func (p *place) centres() (x, y centres, ok bool) {
	t := p.transform
	if t == nil || p.isRotated() {
		return x, y, false
	}
	return centres{t[0] + float64(t[1]/2), t[1]}, centres{t[3] + float64(t[5]/2), t[5]}, true
}

// at returns the centre of a cell.
func (c centres) at(i uint64) float64 { return c.first + float64(float64(i)*c.step) }

// scaled returns the place of an overview whose image has this place: the same without ground control points.
func (p *place) scaled(columns, rows float64) *place {
	if p.transform == nil {
		return nil
	}
	t := *p.transform
	t[1], t[2], t[4], t[5] = t[1]*columns, t[2]*rows, t[4]*columns, t[5]*rows
	return &place{transform: &t, areaOrPoint: p.areaOrPoint, keys: p.keys, system: p.system, systemText: p.systemText}
}

// rpc reads the rational polynomial coefficients, or returns nil if there are none.
func (d *directory) rpc(ctx context.Context) (*rpc, error) {
	list, err := d.floats(ctx, rpcCoefficients)
	if err != nil || list == nil {
		return nil, err
	}
	if len(list) != 92 {
		return nil, d.fail(rpcCoefficients, readers.Corruptf("it has %d numbers, want 92", len(list)))
	}
	r := &rpc{list[0], list[1], list[2], list[3], list[4], list[5], list[6], list[7], list[8], list[9], list[10], list[11],
		[20]float64(list[12:32]), [20]float64(list[32:52]), [20]float64(list[52:72]), [20]float64(list[72:92])}
	return r, nil
}
