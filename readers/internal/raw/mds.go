package raw

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve/readers"
	"varve/readers/internal/attribute"
	"varve/readers/internal/naming"
	"varve/readers/source"
)

// MDS describes the output of MITgcm: a text (.meta) beside big-endian elements (.data) of the whole domain or of a tile. The axes are
// those that MITgcmutils shows. The coordinates i and j place tiles, and iter places files of several times.
//
//	nDims = [ 2 ];
//	dimList = [ 90, 1, 45, 40, 1, 40 ];       for each axis: length of the domain, first and last position here, from 1
//	dataprec = [ 'float32' ];
//	nrecords = [ 1 ];
//	timeStepNumber = [ 72 ];
func MDS() readers.Format {
	return readers.Format{
		Name: "MDS", Suffixes: []string{".meta"}, Detect: detectMDS,
		Sidecar:        func(name string) []string { return headersOf(name, ".meta", ".data") },
		SidecarHasData: true,
		New:            func(c *readers.Config) readers.Reader { return mds{besideOf(c)} },
	}
}

type mds struct{ beside }

const mdsHead = 64 // bytes in which the first field begins

var mdsStart = regexp.MustCompile(`^\s*nDims\s*=\s*\[`)

func detectMDS(ctx context.Context, src *source.Source) (bool, error) {
	if src.IsFolder() {
		return false, ctx.Err()
	}
	head, err := src.View(ctx, 0, int(min(src.Size(), mdsHead)))
	return err == nil && mdsStart.Match(head), err
}

// Open reads a text, and the size of the data file beside it.
func (m mds) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	b := newBuilder(src, "MDS")
	if is, err := detectMDS(ctx, src); !is || err != nil {
		if err == nil {
			err = b.fail(0, "not a .meta file of MITgcm: it does not start with nDims = [")
		}
		return nil, err
	}
	text, err := readText(ctx, src)
	if err != nil {
		return nil, err
	}
	h, err := parseMDS(src, text)
	if err != nil {
		return nil, err
	}
	records, err := h.records(b)
	if err != nil {
		return nil, err
	}
	data, err := m.find(ctx, src, dataOf(src.Name(), ".data")...)
	if err != nil {
		return nil, err
	}
	for _, a := range records {
		a.in = data
		if _, err := b.add(a); err != nil {
			return nil, err
		}
	}
	h.addAxes(b)
	b.out.Root.Attributes = h.rest()
	return b.out, nil
}

// mdsHeader is a text of MITgcm.
type mdsHeader struct {
	fields
	first []int64 // first position of each axis in the domain, from 0
	names []string
	iter  []int64   // timeStepNumber
	times []float64 // timeInterval
}

var mdsComment = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)

// parseMDS reads the fields of a text: KEY = [ … ]; and KEY = { 'TEXT' … };
func parseMDS(src *source.Source, text []byte) (*mdsHeader, error) {
	h := &mdsHeader{fields: fields{src: src}}
	// Comments become blanks, so that offsets stay.
	all := mdsComment.ReplaceAllStringFunc(string(text), func(c string) string { return strings.Repeat(" ", len(c)) })
	for at := 0; ; {
		rest := all[at:]
		if strings.Trim(rest, " \t\r\n\x00") == "" {
			return h, nil
		}
		at += len(rest) - len(strings.TrimLeft(rest, " \t\r\n"))
		fail := func(format string, args ...any) error {
			return failure(src, int64(at), readers.Corruptf(format, args...))
		}
		key, value, ok := strings.Cut(all[at:], "=")
		key, value = strings.TrimSpace(key), strings.TrimLeft(value, " \t\r\n")
		if !ok || value == "" || strings.ContainsAny(key, " \n'[{") {
			return nil, fail("%.40q is no field KEY = [ VALUES ];", all[at:])
		}
		closing, isList := map[byte]string{'[': "]", '{': "}"}[value[0]]
		if !isList {
			return nil, fail("the values of %s are not in brackets", key)
		}
		inside, after, ok := strings.Cut(value[1:], closing)
		if !ok || !strings.HasPrefix(strings.TrimLeft(after, " \t\r\n"), ";") {
			return nil, fail("%s does not end with %s;", key, closing)
		}
		if err := h.add(field{key, strings.TrimSpace(inside), int64(at)}); err != nil {
			return nil, err
		}
		at = len(all) - len(after) + strings.IndexByte(after, ';') + 1
	}
}

// values returns the values of a list between commas or blanks.
func (h *mdsHeader) values(key string) []string {
	return strings.FieldsFunc(h.text(key, ""), func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}

func (h *mdsHeader) integers(key string) (list []int64, err error) {
	for _, w := range h.values(key) {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, h.fail(key, readers.Corruptf("%s has the value %.30q, which is no integer", key, w))
		}
		list = append(list, n)
	}
	return list, nil
}

// one returns the only integer of a field from least to most.
func (h *mdsHeader) one(key string, least, most int64) (int64, error) {
	list, err := h.integers(key)
	if err == nil && (len(list) != 1 || list[0] < least || list[0] > most) {
		err = h.fail(key, readers.Corruptf("%s is [%.40s], want an integer from %d to %d", key, h.text(key, ""), least, most))
	}
	if err != nil {
		return 0, err
	}
	return list[0], nil
}

// texts returns the texts in quotation marks of a field.
func (h *mdsHeader) texts(key string) (list []string) {
	parts := strings.Split(h.text(key, ""), "'")
	for i := 1; i < len(parts)-1; i += 2 {
		list = append(list, strings.TrimSpace(parts[i]))
	}
	return list
}

// mdsAxes are the names of the last axes: levels, rows and columns.
var mdsAxes = []string{"k", "j", "i"}

// records returns the arrays of a data file: one for each field that the text names, or else one of all records.
func (h *mdsHeader) records(b *builder) ([]*array, error) {
	rank, err := h.one("nDims", 1, maxRank-2)
	if err != nil {
		return nil, err
	}
	list, err := h.integers("dimList")
	if err != nil {
		return nil, err
	}
	if int64(len(list)) != 3*rank {
		return nil, h.fail("dimList", readers.Corruptf("dimList has %d numbers, want 3 for each of %d dimensions", len(list), rank))
	}
	a := &array{big: true}
	if x := h.lookup("dimList"); x != nil {
		a.at = x.at
	}
	for k := range int(rank) {
		t := list[3*(int(rank)-1-k):]
		if t[0] < 1 || t[1] < 1 || t[2] < t[1] || t[2] > t[0] {
			return nil, h.fail("dimList", readers.Corruptf("dimList says positions %d to %d of %d", t[1], t[2], t[0]))
		}
		name := fmt.Sprint("dim_", k)
		if left := int(rank) - k; left <= len(mdsAxes) {
			name = mdsAxes[len(mdsAxes)-left]
		}
		h.first, h.names = append(h.first, t[1]-1), append(h.names, name)
		a.shape, a.dims = append(a.shape, uint64(t[2]-t[1]+1)), append(a.dims, name)
	}
	h.dropColumns(a, list)
	for _, x := range h.texts("map2glob") { // tiles of cubed spheres in one line
		if x != "" {
			return nil, h.fail("map2glob", unsupported("map2glob"))
		}
	}
	if glob, err := h.integers("map2glob"); err != nil || len(glob) > 0 && !slices.Equal(glob, []int64{0, 1}) && len(a.shape) > 1 {
		if err == nil {
			err = h.fail("map2glob", unsupported("tiles whose rows are not rows of the domain (map2glob)"))
		}
		return nil, err
	}
	precision := h.texts("dataprec")
	if precision == nil {
		precision = h.texts("format")
	}
	switch {
	case slices.Equal(precision, []string{"float32"}):
		a.typ = numberType('f', 4, true)
	case slices.Equal(precision, []string{"float64"}):
		a.typ = numberType('f', 8, true)
	default:
		return nil, h.fail("dataprec", readers.Corruptf("dataprec is %q, want float32 or float64", precision))
	}
	count, err := h.one("nrecords", 1, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	if err := h.readTimes(a); err != nil {
		return nil, err
	}
	return h.split(b, a, count)
}

// verticals are the names of the axis in the files of vertical axes. Some have a value more than there are levels: one for each interface
// between them.
var verticals = map[string]string{"RC": "k", "DRF": "k", "PHrefC": "k", "RhoRef": "k", "RF": "k_p1", "DRC": "k_p1", "PHrefF": "k_p1"}

// dropColumns leaves out the axes of rows and columns in the files of vertical axes, which have one of each: they are no part of the axes
// of other files. The model can have one column too, so that the lengths do not say it.
func (h *mdsHeader) dropColumns(a *array, list []int64) {
	name, isVertical := verticals[prefixOf(h.src.Name())]
	if len(a.shape) != 3 || list[0] != 1 || list[3] != 1 || !isVertical {
		return
	}
	h.first, h.names, a.shape, a.dims = h.first[:1], []string{name}, a.shape[:1], []string{name}
}

// readTimes decodes the time of a file, and its missing value.
func (h *mdsHeader) readTimes(a *array) (err error) {
	if h.iter, err = h.integers("timeStepNumber"); err != nil {
		return err
	}
	if len(h.iter) > 1 {
		return h.fail("timeStepNumber", unsupported("%d values of timeStepNumber", len(h.iter)))
	}
	if h.times = numbers(h.values("timeInterval")); !isFinite(h.times...) {
		return h.fail("timeInterval", readers.Corruptf("timeInterval has values that are not finite"))
	}
	if words := h.values("missingValue"); len(words) == 1 {
		if a.missing = attribute.Element(words[0], a.typ); a.missing == nil {
			return h.fail("missingValue", readers.Corruptf("missingValue is %.40q, which is no number", words[0]))
		}
	}
	if len(h.iter) == 1 {
		a.shape, a.dims = append([]uint64{1}, a.shape...), append([]string{"iter"}, a.dims...)
	}
	return nil
}

// split returns the arrays of a number of records, which are alike.
func (h *mdsHeader) split(b *builder, a *array, count int64) ([]*array, error) {
	name := prefixOf(b.src.Name())
	size, ok := bytesOf(a.shape, a.typ.Size)
	if !ok || size > maxBytes/uint64(count) {
		return nil, b.fail(a.at, "%d records of the shape %v take more than 2^62 bytes", count, a.shape)
	}
	fields := h.texts("fldList")
	if int64(len(fields)) == count && count <= mostFields && (count > 1 || fields[0] != "") {
		names := naming.New()
		list := make([]*array, 0, len(fields))
		for i, field := range fields {
			one := *a
			one.attributes = nil
			one.name, one.offset, one.hasMore = names.Take(field, name), uint64(i)*size, int64(i) < count-1
			list = append(list, &one)
		}
		return list, nil
	}
	if a.name = name; count > 1 {
		at := len(h.iter) // after the axis of the time, whose length is 1
		a.shape, a.dims = slices.Insert(a.shape, at, uint64(count)), slices.Insert(a.dims, at, "record")
	}
	return []*array{a}, nil
}

var mdsNumbers = regexp.MustCompile(`(\.\d{10})?(\.\d{3}\.\d{3})?$`)

// prefixOf returns the name of a file without the iteration and the numbers of a tile.
func prefixOf(name string) string {
	stem := stemOf(name)
	if prefix := mdsNumbers.ReplaceAllString(stem, ""); prefix != "" {
		return naming.Clean(prefix)
	}
	return dataName
}

// addAxes adds the positions in the domain, from 0, and the time.
func (h *mdsHeader) addAxes(b *builder) {
	v := b.out.Root.Variables[0]
	long := readers.Int(8, readers.LittleEndian, true)
	for k, name := range h.names {
		for i, d := range v.Dims {
			if d.Name != name || !b.hasRoom(d, float64(h.first[k]), 1) {
				continue
			}
			list := make([]int64, d.Length)
			for n := range list {
				list[n] = h.first[k] + int64(n)
			}
			b.addInline(name, long, v.Dims[i:i+1], attribute.Integers(name, list...).Data)
		}
	}
	if len(h.iter) == 0 {
		return
	}
	b.addInline("iter", long, v.Dims[:1], attribute.Integers("iter", h.iter...).Data, attribute.Text("long_name", "number of the time step"))
	if n := len(h.times); n > 0 {
		b.addInline("time", attribute.Double, v.Dims[:1], attribute.Doubles(h.times[n-1:]), attribute.Text("long_name", "model time"), attribute.Text("units", "s"))
	}
}

// rest returns the fields that describe the whole run.
func (h *mdsHeader) rest() (list []readers.Attribute) {
	own := []string{"nDims", "dimList", "dataprec", "format", "nrecords", "timeStepNumber", "timeInterval", "missingValue", "nFlds", "fldList", "map2glob"}
	for _, x := range h.list {
		if slices.Contains(own, x.key) || x.value == "" || !utf8.ValidString(x.key+x.value) || strings.Contains(x.key, "/") {
			continue
		}
		if texts := h.texts(x.key); len(texts) == 1 {
			list = append(list, attribute.Text(x.key, texts[0]))
		} else {
			list = append(list, attribute.Text(x.key, x.value))
		}
	}
	return list
}
