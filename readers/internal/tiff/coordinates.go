package tiff

import (
	"context"

	"varve/readers"
	"varve/readers/internal/attribute"
)

// mappingName is the variable of the coordinate reference system, as rioxarray calls it.
const mappingName = "spatial_ref"

// addCoordinates adds the coordinates of an image: x of its columns, y of its rows, the numbers of its bands, and the variable
// of its reference system. A transform that is rotated is an attribute, as GDAL writes it. whole is the image that an
// overview belongs to, or nil.
func (b *builder) addCoordinates(ctx context.Context, g *readers.Group, v *readers.Variable, m, whole *image) error {
	at, err := m.placeIn(ctx, whole)
	if err != nil {
		if err := b.report(ctx, v.Path, err); err != nil {
			return err
		}
	}
	b.addBandNumbers(g, v, m)
	if at == nil {
		return nil
	}
	if x, y, ok := at.centres(); ok {
		b.addAxisValues(g, "x", m.width, x, attribute.OfAxis("x", at.system)...)
		b.addAxisValues(g, "y", m.height, y, attribute.OfAxis("y", at.system)...)
	}
	var attributes []readers.Attribute
	if at.system != nil {
		attributes = attribute.OfSystem(at.system)
	}
	if at.systemText != "" {
		attributes = append(attributes, attribute.Text("crs_wkt", at.systemText), attribute.Text("spatial_ref", at.systemText))
	}
	if at.isRotated() { // otherwise the coordinates say it
		attributes = append(attributes, attribute.GeoTransform(at.transform[:]))
	}
	if at.areaOrPoint != "" {
		attributes = append(attributes, attribute.Text("AREA_OR_POINT", map[string]string{"area": "Area", "point": "Point"}[at.areaOrPoint]))
	}
	if len(attributes) == 0 {
		return nil
	}
	if lookup(g, mappingName) == nil {
		b.addInline(g, mappingName, intType, nil, make([]byte, 4), attributes...)
	}
	v.Attributes = append(v.Attributes, attribute.Text("grid_mapping", mappingName))
	return nil
}

// placeIn returns where an image is. An overview that does not say it has the place of its image, whole; others have none.
func (m *image) placeIn(ctx context.Context, whole *image) (*place, error) {
	at, err := m.place(ctx)
	if err != nil || whole == nil || at != nil && at.transform != nil {
		return at, err
	}
	of, err := whole.place(ctx)
	if err != nil || of == nil {
		return at, err
	}
	if of = of.scaled(float64(whole.width)/float64(m.width), float64(whole.height)/float64(m.height)); of == nil {
		return at, nil
	}
	if of.keys = nil; at != nil { // what the overview says itself
		of.keys, of.rpc = at.keys, at.rpc
	}
	return of, nil
}

// addBandNumbers adds the numbers of bands, as GDAL counts them.
func (b *builder) addBandNumbers(g *readers.Group, v *readers.Variable, m *image) {
	for _, dim := range v.Dims {
		if dim.Name == "band" {
			data := make([]byte, 0, 4*m.samples)
			for i := range m.samples {
				data = append(data, byte(i+1), byte((i+1)>>8), 0, 0)
			}
			b.addInline(g, "band", intType, []*readers.Dimension{dim}, data)
		}
	}
}

// addAxisValues adds the coordinates of an axis.
func (b *builder) addAxisValues(g *readers.Group, name string, n uint64, c centres, attributes ...readers.Attribute) {
	for _, dim := range g.Dimensions {
		if dim.Name == name && dim.Length == n && n <= maxCoordinates && lookup(g, name) == nil {
			list := make([]float64, n)
			for i := range list {
				list[i] = c.at(uint64(i))
			}
			b.addInline(g, name, attribute.Double, []*readers.Dimension{dim}, attribute.Doubles(list), attributes...)
			return
		}
	}
}

// lookup returns the variable of a group with a name, or nil: variables of bands share coordinates.
func lookup(g *readers.Group, name string) *readers.Variable {
	for _, v := range g.Variables {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// maxCoordinates is the length of an axis up to which its coordinates are made.
const maxCoordinates = 1 << 24
