package raw

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve/readers"
	"varve/readers/internal/attribute"
	"varve/readers/source"
)

// NRRD describes NRRD: a text, an empty line, and the elements, which may be in another file. The axes are those that pynrrd shows: the
// first size is the one of the axis that varies fastest.
//
//	NRRD0004
//	type: float
//	dimension: 3
//	sizes: 53 37 3
//	encoding: gzip
//	endian: little
//	data file: x.raw.gz
func NRRD() readers.Format {
	return readers.Format{
		Name: "NRRD", Suffixes: []string{".nrrd", ".nhdr"}, Magic: []readers.Magic{{Bytes: nrrdMagic}},
		Sidecar:        func(name string) []string { return headersOf(name, ".nhdr", ".raw", ".img", ".dat", ".bin") },
		SidecarHasData: true,
		New:            func(c *readers.Config) readers.Reader { return nrrd{besideOf(c)} },
	}
}

type nrrd struct{ beside }

const (
	nrrdMagic = "NRRD000"
	firstRead = 64 << 10
)

func nrrdType(name string) (kind byte, size int) {
	switch name {
	case "signed char", "int8", "int8_t":
		return 'i', 1
	case "uchar", "unsigned char", "uint8", "uint8_t":
		return 'u', 1
	case "short", "short int", "signed short", "signed short int", "int16", "int16_t":
		return 'i', 2
	case "ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t":
		return 'u', 2
	case "int", "signed int", "int32", "int32_t":
		return 'i', 4
	case "uint", "unsigned int", "uint32", "uint32_t":
		return 'u', 4
	case "longlong", "long long", "long long int", "signed long long", "signed long long int", "int64", "int64_t":
		return 'i', 8
	case "ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t":
		return 'u', 8
	case "float":
		return 'f', 4
	case "double":
		return 'f', 8
	}
	return 0, 0
}

// nrrdHeader is a header of NRRD.
type nrrdHeader struct {
	fields
	pairs []field // key:=value
	end   int64   // offset of the first byte after the empty line, or -1 without one
}

// Open reads a header, and the size of the data file if it has its own.
func (n nrrd) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	b := newBuilder(src, "NRRD")
	h, err := readNRRD(ctx, src)
	if err != nil {
		return nil, err
	}
	a, err := h.array(b)
	if err != nil {
		return nil, err
	}
	skipped := int64(0)
	switch name := h.text("data file", ""); {
	case name != "":
		if name == "LIST" || strings.HasPrefix(name, "LIST ") || strings.Contains(name, "%") && len(strings.Fields(name)) >= 4 {
			return nil, h.fail("data file", unsupported("elements in several files (data file: %.40q)", name))
		}
		if a.in, err = n.find(ctx, src, name); err != nil {
			return nil, err
		}
	case h.end < 0:
		return nil, b.fail(src.Size(), "file is truncated: it has no empty line after its header, and names no data file; fetch it again")
	default:
		skipped = h.end
	}
	if err := n.locate(ctx, h, b, a, skipped); err != nil {
		return nil, err
	}
	v, err := b.add(a)
	if err != nil {
		return nil, err
	}
	h.addAxes(b, v)
	b.out.Root.Attributes = h.rest()
	return b.out, nil
}

// readNRRD reads a header up to its empty line.
func readNRRD(ctx context.Context, src *source.Source) (*nrrdHeader, error) {
	for n := int64(firstRead); ; n *= 8 {
		n = min(n, src.Size())
		text, err := src.View(ctx, 0, int(n))
		if err != nil {
			return nil, err
		}
		h, err := parseNRRD(src, text)
		if err != nil || h.end >= 0 || n == src.Size() {
			return h, err
		}
		if n > maxHeader {
			return nil, failure(src, 0, unsupported("a header of more than %d bytes", maxHeader))
		}
	}
}

// parseNRRD reads the fields of a header, or of its beginning.
func parseNRRD(src *source.Source, text []byte) (*nrrdHeader, error) {
	h := &nrrdHeader{fields: fields{src: src}, end: -1}
	if !bytes.HasPrefix(text, []byte(nrrdMagic)) || len(text) < len(nrrdMagic)+2 || text[7] < '1' || text[7] > '5' || text[8] != '\n' && text[8] != '\r' {
		return nil, failure(src, 0, readers.Corruptf("not a NRRD file: it does not start with NRRD0001 to NRRD0005 and a line break"))
	}
	var err error
	lines(text, func(at int64, line string) bool {
		if at == 0 || strings.HasPrefix(line, "#") {
			return true
		}
		isCut := at+int64(len(line)) >= int64(len(text)) // the text may end within it
		if strings.TrimRight(line, " \t") == "" {
			if newline := bytes.IndexByte(text[at:], '\n'); newline >= 0 {
				h.end = at + int64(newline) + 1
			}
			return false
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok && !isCut {
			err = failure(src, at, readers.Corruptf("%.40q is no field: it has no colon", line))
			return false
		}
		if pair, isPair := strings.CutPrefix(value, "="); isPair {
			if h.pairs = append(h.pairs, field{key, pair, at}); len(h.pairs) > mostFields {
				err = failure(src, at, unsupported("more than %d pairs of key and value", mostFields))
			}
			return err == nil
		}
		err = h.add(field{nrrdKey(key), strings.TrimSpace(value), at})
		return err == nil
	})
	return h, err
}

// nrrdKey returns the name of a field in its form with blanks.
func nrrdKey(key string) string {
	key = strings.ToLower(strings.TrimSpace(key))
	for _, known := range []string{"data file", "line skip", "byte skip", "block size", "old min", "old max", "axis mins", "axis maxs", "sample units", "space units", "space dimension", "space directions", "space origin", "measurement frame"} {
		if key == strings.ReplaceAll(known, " ", "") {
			return known
		}
	}
	switch key {
	case "centers":
		return "centerings"
	case "axismins":
		return "axis mins"
	}
	return key
}

// array returns the elements that a header describes, without their place.
func (h *nrrdHeader) array(b *builder) (*array, error) {
	rank, err := h.integer("dimension", 1, 16, -1)
	if err != nil {
		return nil, err
	}
	name := strings.ToLower(h.text("type", ""))
	kind, size := nrrdType(name)
	switch {
	case name == "":
		return nil, b.fail(0, "the header has no %q", "type")
	case name == "block":
		return nil, h.fail("type", unsupported("elements that are blocks"))
	case size == 0:
		return nil, h.fail("type", readers.Corruptf("the type is %.40q, which NRRD does not define", name))
	}
	a := &array{name: dataName, order: reversed(int(rank))}
	if x := h.lookup("sizes"); x != nil {
		a.at = x.at
	}
	words := strings.Fields(h.text("sizes", ""))
	if int64(len(words)) != rank {
		return nil, h.fail("sizes", readers.Corruptf("%d sizes of %d dimensions", len(words), rank))
	}
	for _, w := range words {
		n, err := strconv.ParseUint(w, 10, 62)
		if err != nil || n == 0 {
			return nil, h.fail("sizes", readers.Corruptf("the size %.30q is not an integer from 1", w))
		}
		a.shape = append(a.shape, n)
	}
	if size > 1 {
		switch endian := strings.ToLower(h.text("endian", "")); endian {
		case "little":
		case "big":
			a.big = true
		default:
			// In text, the byte order does not matter; it is refused below.
			if isBinary := !slices.Contains([]string{"text", "txt", "ascii", "hex"}, strings.ToLower(h.text("encoding", ""))); isBinary {
				return nil, h.fail("endian", readers.Corruptf("endian is %.20q, want little or big", endian))
			}
		}
	}
	a.typ = numberType(kind, size, a.big)
	a.dims = h.axes(len(a.shape))
	h.describe(a)
	return a, nil
}

// axes returns the names of the axes: the labels, if each axis has its own, or else x, y, z and t for space and time, and component, list
// and so on for others.
func (h *nrrdHeader) axes(rank int) []string {
	labels := quotedWords(h.text("labels", ""))
	isGood := len(labels) == rank
	for i, l := range labels {
		isGood = isGood && l != "" && !strings.ContainsAny(l, "/\"") && !slices.Contains(labels[:i], l) && utf8.ValidString(l)
	}
	if isGood {
		return labels
	}
	kinds := strings.Fields(h.text("kinds", ""))
	directions := strings.Fields(strings.ReplaceAll(h.text("space directions", ""), ", ", ","))
	space, names := []string{"x", "y", "z", "t"}, make([]string, rank)
	count := map[string]int{}
	for k := range names {
		kind := "domain"
		switch {
		case len(kinds) == rank:
			kind = strings.ToLower(kinds[k])
		case len(directions) == rank && directions[k] == "none":
			kind = "component"
		}
		switch {
		case kind == "time" && !slices.Contains(names[:k], "t"):
			names[k] = "t"
		case slices.Contains([]string{"domain", "space", "none", "???", "time"}, kind):
			if len(space) > 0 && !slices.Contains(names[:k], space[0]) {
				names[k], space = space[0], space[1:]
			}
		case kind == "list" || kind == "point":
			names[k] = kind
		default:
			names[k] = "component"
		}
		if names[k] == "" {
			names[k] = "axis"
		}
		if count[names[k]]++; count[names[k]] > 1 {
			names[k] = fmt.Sprint(names[k], "_", count[names[k]])
		}
	}
	return names
}

// quotedWords returns the words of a text, each in quotation marks or not.
func quotedWords(text string) (list []string) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] != '"' {
			word, rest, _ := strings.Cut(text, " ")
			list, text = append(list, word), rest
			continue
		}
		end := strings.IndexByte(text[1:], '"')
		if end < 0 {
			return nil
		}
		list, text = append(list, text[1:1+end]), text[end+2:]
	}
	return list
}

// locate sets where the elements are. skipped is the part of the file before them.
func (n nrrd) locate(ctx context.Context, h *nrrdHeader, b *builder, a *array, skipped int64) error {
	size, ok := bytesOf(a.shape, a.typ.Size)
	if !ok {
		return b.fail(a.at, "an array of the shape %v takes more than 2^62 bytes", a.shape)
	}
	end := b.src.Size()
	if a.in != nil {
		end = int64(a.in.size)
	}
	lineSkip, err := h.integer("line skip", 0, mostItems, 0)
	if err != nil {
		return err
	}
	byteSkip, err := h.integer("byte skip", -1, math.MaxInt64/2, 0)
	if err != nil {
		return err
	}
	encoding := strings.ToLower(h.text("encoding", ""))
	if isGzip := encoding == "gzip" || encoding == "gz"; isGzip && a.in != nil && byteSkip != 0 && lineSkip == 0 {
		// The bytes to skip are compressed too: the elements are a range of the decompressed file.
		if a.in, err = n.find(ctx, b.src, h.text("data file", "")+"|gzip:"); err != nil {
			return err
		}
		encoding, end = "raw", int64(a.in.size)
	}
	if lineSkip > 0 {
		if skipped, err = n.skipLines(ctx, h, b, a, skipped, lineSkip); err != nil {
			return err
		}
	}
	switch encoding {
	case "raw":
		a.spare = uint64(a.typ.Size - 1) // such as a line break, which pynrrd ignores too
		if byteSkip >= 0 {
			a.offset = uint64(skipped) + uint64(byteSkip)
			break
		}
		if size > uint64(end-skipped) {
			return h.fail("sizes", readers.Corruptf("an array of the shape %v and the type %s has %d bytes, but only %d follow the header; fetch the file again", a.shape, a.typ, size, end-skipped))
		}
		a.offset = uint64(end) - size
	case "gzip", "gz", "bzip2", "bz2":
		if byteSkip != 0 {
			return h.fail("byte skip", unsupported("bytes before the elements in compressed data (byte skip: %d); decompress the data, and write encoding: raw", byteSkip))
		}
		if end <= skipped {
			return b.fail(skipped, "file is truncated: no compressed elements follow; fetch it again")
		}
		a.compressor, a.offset, a.stored = map[byte]string{'g': "gzip", 'b': "bzip2"}[encoding[0]], uint64(skipped), uint64(end-skipped)
	case "":
		return b.fail(0, "the header has no %q", "encoding")
	default:
		return h.fail("encoding", unsupported("the encoding %.20q; raw, gzip and bzip2 are read", encoding))
	}
	return nil
}

// skipLines returns the offset after a number of lines.
func (n nrrd) skipLines(ctx context.Context, h *nrrdHeader, b *builder, a *array, at, count int64) (int64, error) {
	src := b.src
	if a.in != nil {
		var err error
		if src, err = a.in.open(ctx); err != nil {
			return 0, err
		}
		defer src.Close()
	}
	for count > 0 {
		if at >= src.Size() || at > maxHeader {
			return 0, h.fail("line skip", readers.Corruptf("%d lines less than line skip says in the first %d bytes", count, min(at, src.Size())))
		}
		text, err := src.View(ctx, at, int(min(src.Size()-at, firstRead)))
		if err != nil {
			return 0, err
		}
		i := bytes.IndexByte(text, '\n')
		if at += int64(len(text)); i >= 0 {
			at, count = at-int64(len(text))+int64(i)+1, count-1
		}
	}
	return at, nil
}

// vectors returns the vectors of a value such as "(1,0,0) none (0,0,1)". A vector that is none is nil.
func vectors(text string) (list [][]float64) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if rest, isNone := strings.CutPrefix(text, "none"); isNone {
			list, text = append(list, nil), rest
			continue
		}
		inside, rest, ok := strings.Cut(text, ")")
		if !ok || !strings.HasPrefix(inside, "(") {
			return nil
		}
		v := numbers(strings.Split(inside[1:], ","))
		if v == nil || len(v) > maxRank {
			return nil
		}
		list, text = append(list, v), rest
	}
	return list
}

// perAxis returns a list of numbers with one for each axis, or nil.
func (h *nrrdHeader) perAxis(key string, rank int) []float64 {
	if list := numbers(strings.Fields(h.text(key, ""))); len(list) == rank {
		return list
	}
	return nil
}

// describe adds where the elements are, as numbers and as the header says it.
func (h *nrrdHeader) describe(a *array) {
	rank := len(a.shape)
	spacing := h.perAxis("spacings", rank)
	directions, origin := vectors(h.text("space directions", "")), vectors(h.text("space origin", ""))
	if len(directions) == rank && spacing == nil {
		for _, d := range directions {
			sum := 0.0
			for _, f := range d {
				sum += float64(f * f)
			}
			if d == nil {
				sum = math.NaN()
			}
			spacing = append(spacing, math.Sqrt(sum))
		}
	}
	if slices.ContainsFunc(spacing, func(f float64) bool { return isFinite(f) }) {
		a.attributes = append(a.attributes, attribute.Numbers("spacing", spacing...))
	}
	if m := affineOf(directions, origin); m != nil {
		x := attribute.Numbers("affine", m...)
		x.Shape = []uint64{4, 4}
		a.attributes = append(a.attributes, x)
	}
	if unit := strings.Trim(h.text("sample units", ""), `"`); unit != "" && utf8.ValidString(unit) {
		a.attributes = append(a.attributes, attribute.Text("units", unit))
	}
}

// affineOf returns the transform from the indices of three axes of space to coordinates, or nil.
func affineOf(directions, origin [][]float64) []float64 {
	directions = slices.DeleteFunc(slices.Clone(directions), func(d []float64) bool { return d == nil })
	if len(directions) != 3 || len(origin) != 1 || len(origin[0]) != 3 {
		return nil
	}
	m := make([]float64, 16)
	m[15] = 1
	for k, d := range append(directions, origin[0]) {
		if len(d) != 3 || !isFinite(d...) {
			return nil
		}
		for i, f := range d {
			m[4*i+k] = f
		}
	}
	return m
}

// addAxes adds the coordinates of axes that are parallel to those of the space, and of axes that the header places one by one.
func (h *nrrdHeader) addAxes(b *builder, v *readers.Variable) {
	rank := len(v.Shape)
	units := quotedWords(h.text("units", ""))
	if words := quotedWords(h.text("space units", "")); len(words) > 0 && h.lookup("space directions") != nil {
		units = nil
		next := 0
		for _, d := range vectors(h.text("space directions", "")) {
			u := ""
			if d != nil && next < len(words) {
				u, next = words[next], next+1
			}
			units = append(units, u)
		}
	}
	add := func(k int, first, step float64) {
		var list []readers.Attribute
		if len(units) == rank && units[k] != "" && utf8.ValidString(units[k]) && strings.ToLower(units[k]) != "none" && units[k] != "???" {
			list = append(list, attribute.Text("units", units[k]))
		}
		b.addLinear(v, v.Dims[k].Name, first, step, list...)
	}
	if mins, spacings := h.perAxis("axis mins", rank), h.perAxis("spacings", rank); mins != nil && spacings != nil {
		centers := strings.Fields(strings.ToLower(h.text("centerings", "")))
		for k := range rank {
			first := mins[k]
			if len(centers) == rank && centers[k] == "cell" {
				first += float64(spacings[k] / 2) // the minimum is the border of the first cell
			}
			add(k, first, spacings[k])
		}
		return
	}
	directions, origin := vectors(h.text("space directions", "")), vectors(h.text("space origin", ""))
	if len(directions) != rank || len(origin) != 1 {
		return
	}
	var parallel []int
	for k, d := range directions {
		if d == nil {
			continue
		}
		i := len(parallel)
		if len(d) != len(origin[0]) || i >= len(d) || slices.ContainsFunc(slices.Concat(d[:i], d[i+1:]), func(f float64) bool { return f != 0 }) {
			return
		}
		parallel = append(parallel, k)
	}
	for i, k := range parallel {
		add(k, origin[0][i], directions[k][i])
	}
}

// rest returns the fields that describe the array, as the header has them, and its own pairs.
func (h *nrrdHeader) rest() (list []readers.Attribute) {
	own := []string{"dimension", "type", "sizes", "endian", "encoding", "data file", "line skip", "byte skip", "sample units", "block size"}
	for _, x := range append(slices.Clone(h.list), h.pairs...) {
		name := strings.ReplaceAll(x.key, " ", "_")
		if slices.Contains(own, x.key) || x.value == "" || !utf8.ValidString(x.value+name) || strings.Contains(name, "/") || readers.Lookup(list, name) != nil {
			continue
		}
		list = append(list, attribute.Text(name, strings.TrimSpace(x.value)))
	}
	return list
}
