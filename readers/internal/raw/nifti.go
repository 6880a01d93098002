package raw

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"varve/readers"
	"varve/readers/internal/attribute"
	"varve/readers/source"
)

// NIfTI describes NIfTI 1 and 2: a header before the elements (.nii), or in a file of its own beside them (.hdr and .img). The axes are
// those that nibabel shows: x varies fastest, and is the first.
//
//	version 1: 348 bytes, 4 for extensions, extensions, elements       version 2: 540 bytes, then the same
func NIfTI() readers.Format {
	return readers.Format{
		Name: "NIfTI", Suffixes: []string{".nii", ".hdr"},
		Magic: []readers.Magic{
			{At: nifti1Magic, Bytes: "n+1\x00"}, {At: nifti1Magic, Bytes: "ni1\x00"},
			{At: nifti2Magic, Bytes: "n+2\x00\r\n\x1a\n"}, {At: nifti2Magic, Bytes: "ni2\x00\r\n\x1a\n"},
		},
		Sidecar:        func(name string) []string { return headersOf(name, ".hdr", ".img") },
		SidecarHasData: true,
		New:            func(c *readers.Config) readers.Reader { return nifti{besideOf(c)} },
	}
}

type nifti struct{ beside }

// Sizes of headers, and offsets of the magic.
const (
	nifti1Size, nifti1Magic = 348, 344
	nifti2Size, nifti2Magic = 540, 4
	extensionFlag           = 4          // bytes after the header
	firstCifti, lastCifti   = 3000, 3099 // intent codes
)

// niftiTypes are the types of elements by their numbers.
var niftiTypes = map[int64]struct {
	kind byte
	size int
}{2: {'u', 1}, 4: {'i', 2}, 8: {'i', 4}, 16: {'f', 4}, 32: {'c', 8}, 64: {'f', 8}, 256: {'i', 1}, 512: {'u', 2}, 768: {'u', 4}, 1024: {'i', 8}, 1280: {'u', 8},
	1792: {'c', 16}, 128: {'C', 3}, 2304: {'C', 4}}

// otherNiftiTypes are the types that varve does not read.
var otherNiftiTypes = map[int64]string{1: "bits", 1536: "floats of 128 bits", 2048: "complex numbers of 256 bits"}

// niftiAxes are the axes in the order of dim[1] to dim[7]. Their names are those of the standard: nx, ny, nz, nt, nu, nv, nw.
var niftiAxes = []string{"x", "y", "z", "t", "u", "v", "w"}

// niftiHeader is a header with numbers of any width.
type niftiHeader struct {
	isSecond                 bool
	b                        []byte
	order                    binary.ByteOrder
	dim                      [8]int64
	datatype                 int64
	pixdim                   [8]float64
	voxOffset                float64
	slope, inter             float64
	qform, sform             int64
	quatern, qoffset         [3]float64
	srow                     [3][4]float64
	units, intent            int64
	calMax, calMin, toffset  float64
	descrip, aux, intentName string
	dimAt, slopeAt, offsetAt int64
}

// Open reads a header, and the size of the data file if it has its own.
func (n nifti) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	h, hasData, err := readNifti(ctx, src)
	if err != nil {
		return nil, err
	}
	b := newBuilder(src, map[bool]string{false: "NIfTI 1", true: "NIfTI 2"}[h.isSecond])
	a, err := h.array(b, hasData)
	if err != nil {
		return nil, err
	}
	if !hasData {
		if a.in, err = n.find(ctx, src, dataOf(src.Name(), ".img")...); err != nil {
			return nil, err
		}
	}
	v, err := b.add(a)
	if err != nil {
		return nil, err
	}
	h.addAxes(b, v)
	b.out.Root.Attributes = h.attributes()
	return b.out, nil
}

// readNifti reads a header. hasData says that the elements follow it.
func readNifti(ctx context.Context, src *source.Source) (h *niftiHeader, hasData bool, err error) {
	fail := func(at int64, format string, args ...any) error {
		return failure(src, at, readers.Corruptf(format, args...))
	}
	if src.Size() < nifti1Size {
		return nil, false, fail(0, "not a NIfTI file: it has %d bytes, and a header has %d", src.Size(), nifti1Size)
	}
	head, err := src.View(ctx, 0, int(min(src.Size(), nifti2Size)))
	if err != nil {
		return nil, false, err
	}
	h = &niftiHeader{b: head}
	size := int64(nifti1Size)
	switch {
	case strings.HasSuffix(string(head[nifti2Magic:nifti2Magic+8]), "\x00\r\n\x1a\n") && (string(head[4:7]) == "n+2" || string(head[4:7]) == "ni2"):
		if h.isSecond, size = true, nifti2Size; len(head) < nifti2Size {
			return nil, false, fail(0, "file is truncated: a header of NIfTI 2 has %d bytes, the file %d; fetch it again", nifti2Size, len(head))
		}
		hasData = head[5] == '+'
	case string(head[nifti1Magic:nifti1Magic+4]) == "n+1\x00" || string(head[nifti1Magic:nifti1Magic+4]) == "ni1\x00":
		hasData = head[nifti1Magic+1] == '+'
	default:
		return nil, false, fail(nifti1Magic, "not a NIfTI file: it has no magic")
	}
	switch size {
	case int64(int32(binary.LittleEndian.Uint32(head))):
		h.order = binary.LittleEndian
	case int64(int32(binary.BigEndian.Uint32(head))):
		h.order = binary.BigEndian
	default:
		return nil, false, fail(0, "sizeof_hdr is %d, want %d in either byte order", int32(binary.LittleEndian.Uint32(head)), size)
	}
	h.decode()
	for k, size := range h.pixdim[1:4] {
		// Sizes in space must be more than 0. nibabel repairs others so.
		if h.pixdim[k+1] = math.Abs(size); size == 0 {
			h.pixdim[k+1] = 1
		}
	}
	return h, hasData, nil
}

func (h *niftiHeader) i16(at int) int64 { return int64(int16(h.order.Uint16(h.b[at:]))) }
func (h *niftiHeader) i32(at int) int64 { return int64(int32(h.order.Uint32(h.b[at:]))) }
func (h *niftiHeader) i64(at int) int64 { return int64(h.order.Uint64(h.b[at:])) }
func (h *niftiHeader) f32(at int) float64 {
	return float64(math.Float32frombits(h.order.Uint32(h.b[at:])))
}
func (h *niftiHeader) f64(at int) float64 { return math.Float64frombits(h.order.Uint64(h.b[at:])) }

func (h *niftiHeader) text(at, n int) string {
	text, _, _ := strings.Cut(string(h.b[at:at+n]), "\x00")
	return strings.TrimSpace(text)
}

// decode decodes the fields at their offsets.
func (h *niftiHeader) decode() {
	if h.isSecond {
		h.dimAt, h.slopeAt, h.offsetAt = 16, 176, 168
		h.datatype, h.voxOffset = h.i16(12), float64(h.i64(168))
		h.slope, h.inter, h.calMax, h.calMin, h.toffset = h.f64(176), h.f64(184), h.f64(192), h.f64(200), h.f64(216)
		h.descrip, h.aux, h.intentName = h.text(240, 80), h.text(320, 24), h.text(508, 16)
		h.qform, h.sform, h.units, h.intent = h.i32(344), h.i32(348), h.i32(500), h.i32(504)
		for k := range 8 {
			h.dim[k], h.pixdim[k] = h.i64(16+8*k), h.f64(104+8*k)
		}
		for k := range 3 {
			h.quatern[k], h.qoffset[k] = h.f64(352+8*k), h.f64(376+8*k)
			for i := range 4 {
				h.srow[k][i] = h.f64(400 + 32*k + 8*i)
			}
		}
		return
	}
	h.dimAt, h.slopeAt, h.offsetAt = 40, 112, 108
	h.datatype, h.voxOffset = h.i16(70), h.f32(108)
	h.slope, h.inter, h.calMax, h.calMin, h.toffset = h.f32(112), h.f32(116), h.f32(124), h.f32(128), h.f32(136)
	h.descrip, h.aux, h.intentName = h.text(148, 80), h.text(228, 24), h.text(328, 16)
	h.qform, h.sform, h.units, h.intent = h.i16(252), h.i16(254), int64(h.b[123]), h.i16(68)
	for k := range 8 {
		h.dim[k], h.pixdim[k] = h.i16(40+2*k), h.f32(76+4*k)
	}
	for k := range 3 {
		h.quatern[k], h.qoffset[k] = h.f32(256+4*k), h.f32(268+4*k)
		for i := range 4 {
			h.srow[k][i] = h.f32(280 + 16*k + 4*i)
		}
	}
}

// rank returns the number of axes.
func (h *niftiHeader) rank() int { return int(min(max(h.dim[0], 0), 7)) }

// array returns the elements that a header describes.
func (h *niftiHeader) array(b *builder, hasData bool) (*array, error) {
	if h.dim[0] < 1 || h.dim[0] > 7 {
		return nil, b.fail(h.dimAt, "dim[0] is %d, want a number of axes from 1 to 7", h.dim[0])
	}
	a := &array{name: dataName, dims: niftiAxes[:h.rank()], order: reversed(h.rank()), big: h.order == binary.ByteOrder(binary.BigEndian), at: h.dimAt}
	for k, n := range h.dim[1 : h.rank()+1] {
		if n < 1 {
			return nil, b.fail(h.dimAt, "dim[%d] is %d, want a length from 1", k+1, n)
		}
		a.shape = append(a.shape, uint64(n))
	}
	// A matrix of CIFTI-2 has its axes after four of length 1, which nibabel does not show.
	if h.isSecond && h.intent >= firstCifti && h.intent <= lastCifti && len(a.shape) > 4 && !slices.ContainsFunc(a.shape[:4], func(n uint64) bool { return n != 1 }) {
		a.shape, a.dims, a.order = a.shape[4:], a.dims[4:], reversed(len(a.shape)-4)
	}
	t, ok := niftiTypes[h.datatype]
	switch {
	case ok && t.kind == 'C':
		a.typ = &readers.Type{Class: readers.Compound, Size: t.size}
		for i, name := range []string{"R", "G", "B", "A"}[:t.size] {
			a.typ.Members = append(a.typ.Members, readers.Member{Name: name, Offset: i, Type: numberType('u', 1, false)})
		}
		a.big = false
	case ok:
		a.typ = numberType(t.kind, t.size, a.big)
	case otherNiftiTypes[h.datatype] != "":
		return nil, b.refuse(h.dimAt, "datatype %d: %s", h.datatype, otherNiftiTypes[h.datatype])
	default:
		return nil, b.fail(h.dimAt, "datatype is %d, which NIfTI does not define", h.datatype)
	}
	least := 0.0
	if hasData {
		least = map[bool]float64{false: nifti1Size + extensionFlag, true: nifti2Size + extensionFlag}[h.isSecond]
	}
	if h.voxOffset == 0 {
		h.voxOffset = least
	}
	if !(h.voxOffset >= least && h.voxOffset < maxBytes) || h.voxOffset != math.Trunc(h.voxOffset) {
		return nil, b.fail(h.offsetAt, "vox_offset is %v, want an integer from %v", h.voxOffset, least)
	}
	a.offset = uint64(h.voxOffset)
	return a, h.describe(b, a)
}

// describe adds the scale, and where the elements are.
func (h *niftiHeader) describe(b *builder, a *array) error {
	// A scale that is 0 or not finite means that there is none, as nibabel has it.
	// Nor do colours have one.
	if h.slope != 0 && isFinite(h.slope) && a.typ.Class != readers.Compound {
		if !isFinite(h.inter) {
			return b.fail(h.slopeAt, "scl_inter is %v beside scl_slope %v, so that no value is a number", h.inter, h.slope)
		}
		if h.slope != 1 || h.inter != 0 {
			a.attributes = append(a.attributes, attribute.Numbers("scale_factor", h.slope), attribute.Numbers("add_offset", h.inter))
		}
	}
	affine := h.affine()
	list := make([]float64, 0, 16)
	for _, row := range affine {
		list = append(list, row[:]...)
	}
	if isFinite(list...) {
		m := attribute.Numbers("affine", list...)
		m.Shape = []uint64{4, 4}
		a.attributes = append(a.attributes, m)
	}
	if spacing := h.pixdim[1 : h.rank()+1]; isFinite(spacing...) {
		a.attributes = append(a.attributes, attribute.Numbers("spacing", spacing...))
	}
	for _, x := range []struct {
		name  string
		value float64
	}{{"cal_min", h.calMin}, {"cal_max", h.calMax}} {
		if h.calMax != h.calMin && isFinite(x.value) {
			a.attributes = append(a.attributes, attribute.Numbers(x.name, x.value))
		}
	}
	return nil
}

// Units of xyzt_units.
var (
	niftiLengths = map[int64]string{1: "m", 2: "mm", 3: "um"}
	niftiTimes   = map[int64]string{8: "s", 16: "ms", 24: "us", 32: "Hz", 40: "ppm", 48: "rad/s"}
)

// addAxes adds the coordinates of axes that are parallel to those of the scanner, and of time.
func (h *niftiHeader) addAxes(b *builder, v *readers.Variable) {
	affine := h.affine()
	isParallel := h.qform != 0 || h.sform != 0 // otherwise the header does not say where the elements are
	for k, row := range affine[:3] {
		for i, f := range row[:3] {
			isParallel = isParallel && isFinite(f) && (k == i) == (f != 0)
		}
	}
	unit := func(all map[int64]string, code int64) (list []readers.Attribute) {
		if u := all[code]; u != "" {
			list = append(list, attribute.Text("units", u))
		}
		return list
	}
	for k, name := range niftiAxes[:min(h.rank(), 3)] {
		if isParallel {
			b.addLinear(v, name, affine[k][3], affine[k][k], unit(niftiLengths, h.units&7)...)
		}
	}
	if h.rank() > 3 && h.dim[4] > 1 {
		b.addLinear(v, "t", h.toffset, h.pixdim[4], unit(niftiTimes, h.units&56)...)
	}
}

// attributes returns what the header says of the whole file.
func (h *niftiHeader) attributes() []readers.Attribute {
	list := []readers.Attribute{attribute.Integers("qform_code", h.qform), attribute.Integers("sform_code", h.sform)}
	if h.intent != 0 {
		list = append(list, attribute.Integers("intent_code", h.intent))
	}
	for _, x := range [][2]string{{"intent_name", h.intentName}, {"descrip", h.descrip}, {"aux_file", h.aux}, {"xyz_units", niftiLengths[h.units&7]}, {"t_units", niftiTimes[h.units&56]}} {
		if x[1] != "" && utf8.ValidString(x[1]) {
			list = append(list, attribute.Text(x[0], x[1]))
		}
	}
	return list
}

// affine returns the transform from indices to coordinates, as nibabel chooses it: the sform, the qform, or else that of the sizes of
// elements around the centre of the array, whose first axis points left.
func (h *niftiHeader) affine() (m [4][4]float64) {
	m[3][3] = 1
	switch {
	case h.sform != 0:
		copy(m[:3], h.srow[:])
	case h.qform != 0:
		b, c, d := h.quatern[0], h.quatern[1], h.quatern[2]
		// Rounding may make the sum of squares a little more than 1.
		a := math.Sqrt(max(1-(float64(b*b)+float64(c*c)+float64(d*d)), 0))
		turn := [3][3]float64{
			{float64(a*a) + float64(b*b) - float64(c*c) - float64(d*d), 2 * (float64(b*c) - float64(a*d)), 2 * (float64(b*d) + float64(a*c))},
			{2 * (float64(b*c) + float64(a*d)), float64(a*a) + float64(c*c) - float64(b*b) - float64(d*d), 2 * (float64(c*d) - float64(a*b))},
			{2 * (float64(b*d) - float64(a*c)), 2 * (float64(c*d) + float64(a*b)), float64(a*a) + float64(d*d) - float64(b*b) - float64(c*c)},
		}
		hand := 1.0
		if h.pixdim[0] < 0 {
			hand = -1
		}
		for k := range 3 {
			m[k] = [4]float64{turn[k][0] * h.pixdim[1], turn[k][1] * h.pixdim[2], turn[k][2] * h.pixdim[3] * hand, h.qoffset[k]}
		}
	default:
		for k := range 3 {
			n, size := 1.0, 1.0
			if k < h.rank() {
				n, size = float64(h.dim[k+1]), h.pixdim[k+1]
			}
			if k == 0 {
				size = -size
			}
			m[k][k], m[k][3] = size, -float64((n-1)/2*size)
		}
	}
	return m
}
