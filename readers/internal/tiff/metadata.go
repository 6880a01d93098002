package tiff

import (
	"context"
	"encoding/binary"
	"encoding/xml"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve/readers"
	"varve/readers/internal/attribute"
	"varve/readers/internal/crs"
)

// nodata returns the text of GDAL's tag for the value that stands for no data.
func (d *directory) nodata(ctx context.Context) (string, bool, error) {
	text, ok, err := d.text(ctx, gdalNodata)
	text = strings.TrimSpace(text)
	return text, ok && text != "", err
}

// item is an entry of GDAL's metadata.
type item struct {
	Name   string `xml:"name,attr"`
	Sample string `xml:"sample,attr"`
	Role   string `xml:"role,attr"`
	Domain string `xml:"domain,attr"`
	Text   string `xml:",chardata"`
}

// items returns the entries of GDAL's tag. A text that is no XML is ignored, as GDAL does.
func (d *directory) items(ctx context.Context) ([]item, error) {
	text, ok, err := d.text(ctx, gdalMetadata)
	if err != nil || !ok {
		return nil, err
	}
	var doc struct {
		Items []item `xml:"Item"`
	}
	if xml.Unmarshal([]byte(text), &doc) != nil {
		return nil, nil
	}
	return doc.Items, nil
}

// band is what GDAL's metadata say of one sample.
type band struct {
	scale, offset     float64
	unit, description string
	metadata          map[string]string
}

// bands returns what GDAL's metadata say of each sample, and of the whole file.
func (m *image) bands(ctx context.Context) (list []band, file map[string]string, err error) {
	items, err := m.items(ctx)
	if err != nil {
		return nil, nil, err
	}
	file = map[string]string{}
	for _, x := range items {
		// GDAL escapes texts twice.
		x.Text = html.UnescapeString(x.Text)
		if x.Sample == "" {
			if x.Domain == "" {
				file[x.Name] = x.Text
			}
			continue
		}
		n, err := strconv.Atoi(x.Sample)
		if err != nil || n < 0 || n >= m.samples {
			continue
		}
		for len(list) <= n {
			list = append(list, band{scale: 1, metadata: map[string]string{}})
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(x.Text), 64)
		switch {
		case x.Role == "scale" && err == nil:
			list[n].scale = value
		case x.Role == "offset" && err == nil:
			list[n].offset = value
		case x.Role == "unittype":
			list[n].unit = x.Text
		case x.Role == "description":
			list[n].description = x.Text
		case x.Domain == "":
			list[n].metadata[x.Name] = x.Text
		}
	}
	if m.extras != nil {
		list = m.extras.pam.merge(list, file, m.samples)
	}
	return m.withHeightUnit(ctx, list), file, nil
}

// withHeightUnit gives the only band the unit of heights that a GeoKey or the vertical system says, unless it has another.
func (m *image) withHeightUnit(ctx context.Context, list []band) []band {
	const verticalUnits = 4099
	keys, err := m.geoKeys(ctx)
	if err != nil || keys == nil || m.samples != 1 {
		return list
	}
	unit := map[int]string{9001: "metre", 9002: "foot", 9003: "US survey foot"}[keys.code(verticalUnits)]
	if s := keys.system(); unit == "" && s.Kind == crs.Compound && len(s.Parts) == 2 && len(s.Parts[1].Axes) == 1 {
		unit = s.Parts[1].Axes[0].Unit.Name
	}
	if unit == "" {
		return list
	}
	if len(list) == 0 {
		list = append(list, band{scale: 1, metadata: map[string]string{}})
	}
	if list[0].unit == "" {
		list[0].unit = unit
	}
	return list
}

// The tags of texts, and the names that GDAL gives them.
var textTags = []struct {
	tag  uint16
	name string
}{
	{documentName, "TIFFTAG_DOCUMENTNAME"}, {imageDescription, "TIFFTAG_IMAGEDESCRIPTION"}, {softwareTag, "TIFFTAG_SOFTWARE"}, {dateTime, "TIFFTAG_DATETIME"},
	{artistTag, "TIFFTAG_ARTIST"}, {hostComputer, "TIFFTAG_HOSTCOMPUTER"}, {copyrightTag, "TIFFTAG_COPYRIGHT"}, {makeTag, "TIFFTAG_MAKE"}, {modelTag, "TIFFTAG_MODEL"},
	{pageName, "TIFFTAG_PAGENAME"},
}

// addTexts adds the attributes of a file: texts and GDAL's metadata. It adds the colours of a palette.
func (b *builder) addTexts(ctx context.Context, g *readers.Group, p *page) error {
	for _, t := range textTags {
		text, ok, err := p.text(ctx, t.tag)
		if err != nil {
			if err := b.report(ctx, g.Path, err); err != nil {
				return err
			}
		}
		if ok && text != "" && utf8.ValidString(text) {
			g.Attributes = append(g.Attributes, attribute.Text(t.name, text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.meaning.file)) {
		if utf8.ValidString(p.meaning.file[name]) && readers.Lookup(g.Attributes, name) == nil {
			g.Attributes = append(g.Attributes, attribute.Text(name, p.meaning.file[name]))
		}
	}
	return b.addColours(ctx, g, p)
}

// bandAttributes returns the attributes that say how values and bands are to be understood. All bands have the same scale and offset.
// Where units differ, CF has no attribute: the list keeps what GDAL says.
func bandAttributes(list []band) (all []readers.Attribute) {
	if len(list) == 0 {
		return nil
	}
	var scales, offsets []float64
	var units, names []string
	for _, x := range list {
		scales, offsets = append(scales, x.scale), append(offsets, x.offset)
		units, names = append(units, x.unit), append(names, x.description)
	}
	isScaled := slices.ContainsFunc(scales, func(f float64) bool { return f != 1 }) || slices.ContainsFunc(offsets, func(f float64) bool { return f != 0 })
	if isScaled {
		all = append(all, attribute.Numbers("scale_factor", scales[0]), attribute.Numbers("add_offset", offsets[0]))
	}
	switch {
	case slices.ContainsFunc(units, func(s string) bool { return s != "" }) && allSame(units):
		all = append(all, attribute.Text("units", units[0]))
	case !allSame(units):
		all = append(all, attribute.Texts("band_units", units))
	}
	switch {
	case len(names) == 1 && names[0] != "":
		all = append(all, attribute.Text("long_name", names[0]))
	case slices.ContainsFunc(names, func(s string) bool { return s != "" }):
		all = append(all, attribute.Texts("band_names", names))
	}
	return all
}

func allSame[T comparable](list []T) bool {
	return !slices.ContainsFunc(list, func(x T) bool { return x != list[0] })
}

// addColours adds the colours of a palette: red, green and blue of each value, 65535 being the brightest.
func (b *builder) addColours(ctx context.Context, g *readers.Group, p *page) error {
	list, err := p.numbers(ctx, colorMap)
	if err != nil {
		return b.report(ctx, g.Path, err)
	}
	n := len(list) / 3
	if n == 0 {
		return nil
	}
	data := make([]byte, 0, 6*n)
	for i := range n {
		for k := range 3 {
			data = binary.LittleEndian.AppendUint16(data, uint16(list[k*n+i]))
		}
	}
	dims := []*readers.Dimension{{Name: "colour", Path: join(g.Path, "colour"), Length: uint64(n)}, {Name: "rgb", Path: join(g.Path, "rgb"), Length: 3}}
	g.Dimensions = append(g.Dimensions, dims...)
	b.addInline(g, "colour_map", readers.Int(2, readers.LittleEndian, false), dims, data, attribute.Text("long_name", "red, green and blue of each value, 0 to 65535"))
	return nil
}

// report reports damage. It returns other errors.
func (b *builder) report(ctx context.Context, path string, err error) error {
	if err == nil || ctx.Err() != nil || !isDamage(err) {
		return err
	}
	b.addProblem(path, b.locate(path, err))
	return nil
}
