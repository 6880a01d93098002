package raw

import (
	"context"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve/readers"
	"varve/readers/internal/attribute"
	"varve/readers/internal/crs"
	"varve/readers/source"
)

// enviEndings are the usual endings of data files. Those of GDAL and of ENVI itself come first.
var enviEndings = []string{"", ".img", ".dat", ".raw", ".bsq", ".bil", ".bip", ".bin", ".sli", ".rfl", ".rad", ".cub", ".hyspex", ".envi"}

// The names of the variable of pixels and of its reference system, as rioxarray calls them.
const (
	pixelsName  = "band_data"
	mappingName = "spatial_ref"
)

// ENVI describes the format of ENVI: a text beside a file of pixels. The pixels have the axes that GDAL shows: band, y, x.
//
//	ENVI
//	samples = 53
//	lines = 37
//	bands = 2
//	header offset = 0
//	data type = 4
//	interleave = bsq
//	byte order = 0
//	map info = {UTM, 1, 1, 500000, 5200000, 10, 10, 32, North, WGS-84}
//	band names = {red, near infrared}
func ENVI() readers.Format {
	return readers.Format{
		Name: "ENVI", Suffixes: []string{".hdr"}, Detect: detectENVI,
		Sidecar:        func(name string) []string { return headersOf(name, ".hdr", enviEndings...) },
		SidecarHasData: true,
		New:            func(c *readers.Config) readers.Reader { return envi{besideOf(c)} },
	}
}

type envi struct{ beside }

const enviMagic = "ENVI"

func detectENVI(ctx context.Context, src *source.Source) (bool, error) {
	if src.IsFolder() || src.Size() < int64(len(enviMagic))+1 {
		return false, ctx.Err()
	}
	head, err := src.View(ctx, 0, len(enviMagic)+1)
	return err == nil && string(head[:4]) == enviMagic && strings.IndexByte("\r\n \t", head[4]) >= 0, err
}

// enviTypes are the types of elements by their numbers.
var enviTypes = map[int64]struct {
	kind byte
	size int
}{1: {'u', 1}, 2: {'i', 2}, 3: {'i', 4}, 4: {'f', 4}, 5: {'f', 8}, 6: {'c', 8}, 9: {'c', 16}, 12: {'u', 2}, 13: {'u', 4}, 14: {'i', 8}, 15: {'u', 8}}

// enviOrders are the orders in which band, y and x are stored.
var enviOrders = map[string][]int{"bsq": nil, "bil": {1, 0, 2}, "bip": {1, 2, 0}}

// Open reads a header, and the size of the data file beside it.
func (e envi) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	b := newBuilder(src, "ENVI")
	if is, err := detectENVI(ctx, src); !is || err != nil {
		if err == nil {
			err = b.fail(0, "not a header of ENVI: it does not start with ENVI and a line break")
		}
		return nil, err
	}
	text, err := readText(ctx, src)
	if err != nil {
		return nil, err
	}
	f, err := parseENVI(src, text)
	if err != nil {
		return nil, err
	}
	a, err := f.array()
	if err != nil {
		return nil, err
	}
	if a.in, err = e.find(ctx, src, dataOf(src.Name(), enviEndings...)...); err != nil {
		return nil, err
	}
	v, err := b.add(a)
	if err != nil {
		return nil, err
	}
	b.addBands(f, v)
	b.addPlace(f, v)
	b.out.Root.Attributes = f.rest()
	return b.out, nil
}

// enviHeader is a header of ENVI.
type enviHeader struct {
	fields
	used map[string]bool
}

// parseENVI reads the fields of a header. A value in braces may have several lines.
func parseENVI(src *source.Source, text []byte) (*enviHeader, error) {
	f := &enviHeader{fields{src: src}, map[string]bool{}}
	var open *field // in braces that are not closed yet
	var parts []string
	var err error
	lines(text[len(enviMagic):], func(at int64, line string) bool {
		if line = strings.TrimSpace(line); open == nil {
			key, value, ok := strings.Cut(line, "=")
			if key = strings.Join(strings.Fields(strings.ToLower(key)), " "); !ok || strings.HasPrefix(key, ";") || key == "" {
				return true // a comment, or what GDAL ignores too
			}
			if err = f.add(field{key, strings.TrimSpace(value), at + int64(len(enviMagic))}); err != nil {
				return false
			}
			last := &f.list[len(f.list)-1]
			if line, ok = strings.CutPrefix(last.value, "{"); !ok {
				return true
			}
			open, parts = last, nil
		}
		inside, _, isClosed := strings.Cut(line, "}") // GDAL ignores what follows, too
		if parts = append(parts, inside); isClosed {
			open.value, open = strings.TrimSpace(strings.Join(parts, " ")), nil
		}
		return true
	})
	if open != nil && err == nil {
		err = failure(src, open.at, readers.Corruptf("%q has no closing brace", open.key))
	}
	return f, err
}

// words returns the parts of a value between commas.
func (f *enviHeader) words(key string) (list []string) {
	text := f.text(key, "")
	if f.used[key] = true; text == "" {
		return nil
	}
	for w := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(w))
	}
	return list
}

func (f *enviHeader) number(key string, least, most, absent int64) (int64, error) {
	f.used[key] = true
	return f.integer(key, least, most, absent)
}

// array returns the pixels that a header describes, without their file.
func (f *enviHeader) array() (*array, error) {
	a := &array{name: pixelsName, dims: []string{"band", "y", "x"}, shape: make([]uint64, 3)}
	for k, key := range []string{"bands", "lines", "samples"} {
		n, err := f.number(key, 1, math.MaxInt32, map[string]int64{"bands": 1}[key])
		if err != nil {
			return nil, err
		}
		a.shape[k] = uint64(n)
	}
	if x := f.lookup("samples"); x != nil {
		a.at = x.at
	}
	offset, err := f.number("header offset", 0, math.MaxInt64, 0)
	if err != nil {
		return nil, err
	}
	number, err := f.number("data type", 1, math.MaxInt32, -1)
	if err != nil {
		return nil, err
	}
	t, ok := enviTypes[number]
	if !ok {
		return nil, f.fail("data type", unsupported("data type %d", number))
	}
	order, err := f.number("byte order", 0, 1, 0)
	if err != nil {
		return nil, err
	}
	interleave := strings.ToLower(f.text("interleave", "bsq"))
	if f.used["interleave"] = true; !slices.Contains([]string{"bsq", "bil", "bip"}, interleave) {
		return nil, f.fail("interleave", readers.Corruptf("interleave is %.20q, want bsq, bil or bip", interleave))
	}
	if packed, err := f.number("file compression", 0, 1, 0); packed != 0 || err != nil {
		if err == nil {
			err = f.fail("file compression", unsupported("compressed pixels (file compression = 1); decompress the file"))
		}
		return nil, err
	}
	for _, key := range []string{"major frame offsets", "minor frame offsets"} {
		if slices.ContainsFunc(f.words(key), func(w string) bool { return w != "0" }) {
			return nil, f.fail(key, unsupported("%s that are not 0", key))
		}
	}
	a.typ, a.big, a.offset, a.order = numberType(t.kind, t.size, order == 1), order == 1 && t.size > 1, uint64(offset), enviOrders[interleave]
	f.used["file type"] = true
	return a, f.describe(a)
}

// describe adds what the values mean.
func (f *enviHeader) describe(a *array) error {
	const ignore = "data ignore value"
	if text := f.text(ignore, ""); text != "" {
		n := numbers([]string{text})
		if f.used[ignore] = true; n == nil {
			return f.fail(ignore, readers.Corruptf("%s is %.40q, which is no number", ignore, text))
		}
		a.missing = attribute.Element(text, a.typ)
		if a.typ.Size == 4 && isFinite(n...) && !isFinite(float64(float32(n[0]))) {
			a.missing = nil // float32 would have an infinity
		}
		if a.missing == nil {
			a.attributes = append(a.attributes, attribute.Text("nodata", text)) // no pixel has this value: it does not fit the type
		}
	}
	scales, offsets := f.perBand(a, "data gain values"), f.perBand(a, "data offset values")
	if scales == nil && offsets == nil {
		return nil
	}
	for _, list := range []struct {
		key    string
		of     *[]float64
		absent float64
	}{{"data gain values", &scales, 1}, {"data offset values", &offsets, 0}} {
		if *list.of == nil {
			*list.of = slices.Repeat([]float64{list.absent}, int(min(a.shape[0], 1<<20)))
		} else if !isFinite(*list.of...) {
			return f.fail(list.key, readers.Corruptf("%s are not all finite", list.key))
		}
	}
	isSame := func(list []float64) bool {
		return !slices.ContainsFunc(list, func(x float64) bool { return x != list[0] })
	}
	if isSame(scales) && isSame(offsets) {
		a.attributes = append(a.attributes, attribute.Numbers("scale_factor", scales[0]), attribute.Numbers("add_offset", offsets[0]))
	} else { // CF has no attribute for bands that differ
		a.attributes = append(a.attributes, attribute.Numbers("scales", scales...), attribute.Numbers("offsets", offsets...))
	}
	return nil
}

// perBand returns a list of numbers with one for each band, or nil.
func (f *enviHeader) perBand(a *array, key string) []float64 {
	list := numbers(f.words(key))
	if uint64(len(list)) != a.shape[0] {
		delete(f.used, key) // it stays an attribute
		return nil
	}
	return list
}

// addBands adds the numbers of bands, their names, and the lists that have a number for each of them, as rioxarray does.
func (b *builder) addBands(f *enviHeader, v *readers.Variable) {
	band := v.Dims[:1]
	n := band[0].Length
	if n > 1 && n <= maxCoordinates {
		list := make([]byte, 0, 4*n)
		for i := range n {
			list = append(list, byte(i+1), byte((i+1)>>8), byte((i+1)>>16), byte((i+1)>>24))
		}
		b.addInline("band", readers.Int(4, readers.LittleEndian, true), band, list)
	}
	if names := f.words("band names"); uint64(len(names)) == n {
		v.Attributes = append(v.Attributes, attribute.Texts("band_names", names))
	} else {
		delete(f.used, "band names")
	}
	var extra []string
	for _, key := range []string{"wavelength", "fwhm"} {
		list := numbers(f.words(key))
		if uint64(len(list)) != n || !isFinite(list...) {
			delete(f.used, key)
			continue
		}
		var attributes []readers.Attribute
		if unit := f.text("wavelength units", ""); unit != "" {
			attributes = append(attributes, attribute.Text("units", unit))
		}
		b.addInline(key, attribute.Double, band, attribute.Doubles(list), attributes...)
		extra = append(extra, key)
	}
	if extra != nil {
		v.Attributes = append(v.Attributes, attribute.Text("coordinates", strings.Join(extra, " ")))
	}
}

// addPlace adds the coordinates x and y, and the variable of the reference system. A transform that is rotated is an attribute.
func (b *builder) addPlace(f *enviHeader, v *readers.Variable) {
	info := f.words("map info")
	system := f.system(info)
	var attributes []readers.Attribute
	t, ok := transformOf(info)
	unit := unitOf(info)
	if strings.HasPrefix(unit, "sec") || strings.HasPrefix(unit, "min") || system == nil && unit != "" && !strings.HasPrefix(unit, "met") && !strings.HasPrefix(unit, "deg") {
		ok = false // nothing would tell the unit of the coordinates, or the system would tell another one
	}
	switch {
	case ok && t[2] == 0 && t[4] == 0:
		b.addLinear(v, "y", t[3]+float64(t[5]/2), t[5], attribute.OfAxis("y", system)...)
		b.addLinear(v, "x", t[0]+float64(t[1]/2), t[1], attribute.OfAxis("x", system)...)
	case ok:
		attributes = append(attributes, attribute.GeoTransform(t[:]))
	}
	if system != nil {
		attributes = append(attribute.OfSystem(system), attributes...)
		f.used["coordinate system string"] = true
	}
	// What the coordinates and the system do not say stays an attribute.
	if f.used["map info"] = ok && system != nil; len(attributes) == 0 {
		return
	}
	b.addInline(mappingName, readers.Int(4, readers.LittleEndian, true), nil, make([]byte, 4), attributes...)
	v.Attributes = append(v.Attributes, attribute.Text("grid_mapping", mappingName))
}

// transformOf returns the transform of a map info, in the order of GDAL. The first pixel begins at 1.
func transformOf(info []string) (t [6]float64, ok bool) {
	if len(info) < 7 {
		return t, false
	}
	n := numbers(info[1:7])
	if n == nil || !isFinite(n...) || n[4] == 0 || n[5] == 0 {
		return t, false
	}
	sin, cos, south := 0.0, 1.0, 1.0
	for _, w := range info[7:] {
		if text, found := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(w, " ", "")), "rotation="); found {
			turn := numbers([]string{text})
			if turn == nil || !isFinite(turn...) {
				return t, false
			}
			switch turn[0] {
			case 0:
			case 180, -180: // GDAL writes and reads it for images whose first line is in the south; x is not mirrored
				south = -1
			default:
				sin, cos = math.Sincos(-turn[0] * math.Pi / 180)
			}
		}
	}
	t = [6]float64{n[2] - float64((n[0]-1)*n[4]), cos * n[4], -sin * n[4], n[3] + float64((n[1]-1)*n[5]), -sin * n[5], -cos * n[5] * south}
	if sin == 0 {
		t[2], t[4] = 0, 0 // not −0
	}
	return t, isFinite(t[:]...)
}

// unitOf returns the unit of a map info in lower case, or "".
func unitOf(info []string) string {
	for _, w := range info {
		if u, found := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(w, " ", "")), "units="); found {
			return u
		}
	}
	return ""
}

// enviDatums are the first codes of the EPSG dataset for UTM zones of a datum, north and south of the equator, and its geographic system.
var enviDatums = map[string][3]int{"wgs84": {32600, 32700, 4326}, "wgs72": {32200, 32300, 4322}, "nad27": {26700, 0, 4267}, "nad83": {26900, 0, 4269}, "northamerica1927": {26700, 0, 4267}, "northamerica1983": {26900, 0, 4269}}

// system returns the reference system: that of the coordinate system string, or else of the map info, or nil.
func (f *enviHeader) system(info []string) *crs.System {
	if text := f.text("coordinate system string", ""); text != "" {
		if s, err := crs.ParseWKT1(text); err == nil {
			return s.Official()
		}
		return nil // the map info may be of another one
	}
	if len(info) < 8 {
		return nil
	}
	word := func(i int) string {
		if i >= len(info) {
			return ""
		}
		return strings.ToLower(strings.NewReplacer("-", "", " ", "", "_", "").Replace(info[i]))
	}
	isIn := func(unit string) bool { // no other unit is named
		u := unitOf(info)
		return u == "" || strings.HasPrefix(u, unit)
	}
	switch {
	case word(0) == "utm" && isIn("met"):
		zone, err := strconv.Atoi(word(7))
		half := slices.Index([]string{"north", "south"}, word(8))
		datum, known := enviDatums[word(9)]
		if err != nil || zone < 1 || zone > 60 || half < 0 || !known || datum[half] == 0 {
			return nil
		}
		return crs.EPSG(datum[half] + zone)
	case strings.HasPrefix(word(0), "geographic") && isIn("deg"):
		if datum, known := enviDatums[word(7)]; known {
			return crs.EPSG(datum[2])
		}
	}
	return nil
}

// rest returns the fields that no variable has, as attributes.
func (f *enviHeader) rest() (list []readers.Attribute) {
	for _, x := range f.list {
		name := strings.ReplaceAll(x.key, " ", "_")
		if f.used[x.key] || x.value == "" || !utf8.ValidString(x.value) || path.Base(name) != name {
			continue
		}
		list = append(list, attribute.Text(name, strings.TrimSpace(x.value)))
	}
	return list
}
