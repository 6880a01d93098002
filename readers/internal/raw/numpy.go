package raw

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"varve/readers"
	"varve/readers/internal/zarrtree"
	"varve/readers/source"
	"varve/zarrjson"
)

const (
	npyMagic  = "\x93NUMPY"
	maxNpy    = 1 << 20 // bytes of a header; NumPy reads 10,000 without being asked for more
	npyPrefix = len(npyMagic) + 2
)

// NumPy describes the format of numpy.save and numpy.savez. An array in Fortran order has the shape that NumPy shows.
//
//	"\x93NUMPY" version 1 0   length of the text (2 bytes; 4 since version 2)
//	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//	elements
func NumPy() readers.Format {
	return readers.Format{
		Name: "NPY", Aliases: []string{"NPZ"}, Suffixes: []string{".npy", ".npz"}, Detect: detectNumPy,
		New: func(*readers.Config) readers.Reader { return numPy{} },
	}
}

type numPy struct{}

func detectNumPy(ctx context.Context, src *source.Source) (bool, error) {
	if src.IsFolder() || src.Size() < int64(npyPrefix) {
		return false, ctx.Err()
	}
	head, err := src.View(ctx, 0, len(npyMagic))
	if err != nil || string(head) == npyMagic {
		return err == nil, err
	}
	return isNpz(ctx, src)
}

// Open reads the header of each array.
func (numPy) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	if is, err := isNpz(ctx, src); is || err != nil {
		if err != nil {
			return nil, err
		}
		return openNpz(ctx, src)
	}
	b := newBuilder(src, "NPY")
	a, err := readNpy(ctx, src, &npyReader{src: src, size: src.Size()})
	if err != nil {
		return nil, err
	}
	a.name = dataName
	_, err = b.add(a)
	return b.out, err
}

// npyReader reads the bytes of an array file, which may be a part of a source.
type npyReader struct {
	src  *source.Source
	base int64 // offset in the source
	size int64
}

func (r *npyReader) view(ctx context.Context, at int64, n int) ([]byte, error) {
	if at+int64(n) > r.size {
		return nil, readers.Corruptf("file is truncated: a header of NumPy needs %d bytes, and %d are there; fetch it again", at+int64(n), r.size)
	}
	return r.src.View(ctx, r.base+at, n)
}

// readNpy reads the header of an array. offset of the array counts from the start of its own file.
func readNpy(ctx context.Context, src *source.Source, r *npyReader) (*array, error) {
	fail := func(at int64, err error) error {
		if isDamage(err) {
			return failure(src, r.base+at, err)
		}
		return err
	}
	head, err := r.view(ctx, 0, npyPrefix)
	if err != nil {
		return nil, fail(0, err)
	}
	if string(head[:len(npyMagic)]) != npyMagic {
		return nil, fail(0, readers.Corruptf("not an array of NumPy: it does not start with \\x93NUMPY"))
	}
	version := head[len(npyMagic)]
	width := 4
	switch {
	case version == 1:
		width = 2
	case version == 0 || version > 3:
		return nil, fail(int64(len(npyMagic)), unsupported("version %d of NumPy's format; 1 to 3 are known", version))
	}
	field, err := r.view(ctx, int64(npyPrefix), width)
	if err != nil {
		return nil, fail(int64(npyPrefix), err)
	}
	length := uint64(binary.LittleEndian.Uint16(field))
	if width == 4 {
		length = uint64(binary.LittleEndian.Uint32(field))
	}
	if length > maxNpy {
		return nil, fail(int64(npyPrefix), unsupported("a header of %d bytes (limit %d)", length, maxNpy))
	}
	start := int64(npyPrefix + width)
	text, err := r.view(ctx, start, int(length))
	if err != nil {
		return nil, fail(int64(npyPrefix), err)
	}
	a, at, err := parseNpy(text)
	if err != nil {
		return nil, fail(start+int64(at), err)
	}
	a.at, a.offset = r.base+start, uint64(start)+length
	return a, nil
}

// parseNpy decodes the text of a header. After an error, at is the offset of the wrong word.
func parseNpy(text []byte) (a *array, at int, err error) {
	p := &literal{text: text}
	doc, err := p.value(0)
	if err == nil && strings.Trim(string(text[p.at:]), " \n\x00") != "" {
		err = readers.Corruptf("text after the header's value")
	}
	if err != nil {
		return nil, p.at, err
	}
	if doc.kind != 'd' || len(doc.keys) != 3 {
		return nil, 0, readers.Corruptf("the header is not a dict of descr, fortran_order and shape")
	}
	var descr, fortran, shape *item
	for i, key := range doc.keys {
		switch key {
		case "descr":
			descr = &doc.list[i]
		case "fortran_order":
			fortran = &doc.list[i]
		case "shape":
			shape = &doc.list[i]
		}
	}
	if descr == nil || fortran == nil || shape == nil {
		return nil, 0, readers.Corruptf("the header has the keys %q, want descr, fortran_order and shape", doc.keys)
	}
	a = &array{anonymous: true}
	if a.typ, a.big, err = typeOfDescr(descr); err != nil {
		return nil, descr.at, err
	}
	if fortran.kind != 'b' {
		return nil, fortran.at, readers.Corruptf("fortran_order is not True or False")
	}
	if shape.kind != 't' || len(shape.list) > maxRank {
		return nil, shape.at, readers.Corruptf("shape is not a tuple of up to %d lengths", maxRank)
	}
	for k, n := range shape.list {
		if n.kind != 'i' || n.number < 0 {
			return nil, n.at, readers.Corruptf("a length in shape is not an integer from 0")
		}
		a.shape, a.dims = append(a.shape, uint64(n.number)), append(a.dims, fmt.Sprint("dim_", k))
	}
	if fortran.number == 1 {
		a.order = reversed(len(a.shape))
	}
	return a, 0, nil
}

// typeOfDescr returns the type of an item descr, whose spelling is the one of Zarr's format 2 too.
func typeOfDescr(descr *item) (t *readers.Type, big bool, err error) {
	spelled, err := descr.appendJSON(nil)
	if err != nil {
		return nil, false, err
	}
	return typeNamed(spelled)
}

// hasObjects reports whether a type is a name that ends in O, or has a field of such a type: [["field", "|O"]].
func hasObjects(t any) bool {
	if name, ok := t.(string); ok {
		return strings.HasSuffix(name, "O")
	}
	fields, _ := t.([]any)
	return slices.ContainsFunc(fields, func(f any) bool {
		field, _ := f.([]any)
		return len(field) > 1 && hasObjects(field[1])
	})
}

// typeNamed returns the type that NumPy spells so, in JSON.
func typeNamed(spelled []byte) (t *readers.Type, big bool, err error) {
	var names any
	if json.Unmarshal(spelled, &names) == nil && hasObjects(names) {
		return nil, false, unsupported("elements that are Python objects (%.40s): they are pickled, which cannot be read safely", spelled)
	}
	d, err := zarrjson.ParseV2DataType(spelled)
	if err != nil {
		return nil, false, err
	}
	if d.Order() == zarrjson.MixedOrder {
		return nil, false, unsupported("the type %.80s has fields of both byte orders", spelled)
	}
	big = d.Order() == zarrjson.BigEndian
	order := readers.LittleEndian
	if big {
		order = readers.BigEndian
	}
	t = zarrtree.TypeOf(d.DataType.Type(), order)
	if slices.ContainsFunc(t.Members, func(m readers.Member) bool { return m.Name == "" }) {
		return nil, false, unsupported("the type %.80s has gaps between its fields", spelled)
	}
	return t, big, nil
}
