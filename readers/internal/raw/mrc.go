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

// MRC describes MRC2014 files of electron microscopes: a header of 1024 bytes, an extended header, and the elements in C order. The axes
// are those that mrcfile shows.
func MRC() readers.Format {
	return readers.Format{
		Name: "MRC", Suffixes: []string{".mrc", ".mrcs", ".map", ".rec", ".st", ".ali"},
		Magic: []readers.Magic{{At: mrcMagicAt, Bytes: mrcMagic}},
		New:   func(*readers.Config) readers.Reader { return mrc{} },
	}
}

type mrc struct{}

const (
	mrcSize    = 1024
	mrcMagic   = "MAP"
	mrcMagicAt = 208
	mrcModeAt  = 12
	mrcAxesAt  = 64
	mrcStampAt = 212
	mrcLabels  = 224
)

// IMOD marks its files with a stamp. Bit 0 of the flags after it says that bytes have a sign; without the stamp, they have one.
const (
	imodStampAt = 152
	imodStamp   = 1146047817 // IMOD
)

// Space groups: 0 is a stack of images, and these are stacks of volumes.
const (
	firstVolumeStack = 401
	lastVolumeStack  = 630
)

// mrcModes are the types of elements.
var mrcModes = map[int64]struct {
	kind byte
	size int
}{0: {'i', 1}, 1: {'i', 2}, 2: {'f', 4}, 4: {'c', 8}, 6: {'u', 2}, 12: {'f', 2}}

// Open reads a header.
func (mrc) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	b := newBuilder(src, "MRC")
	if src.Size() < mrcSize {
		return nil, b.fail(0, "not an MRC file: it has %d bytes, and a header has %d", src.Size(), mrcSize)
	}
	head, err := src.View(ctx, 0, mrcSize)
	if err != nil {
		return nil, err
	}
	if string(head[mrcMagicAt:mrcMagicAt+len(mrcMagic)]) != mrcMagic {
		return nil, b.fail(mrcMagicAt, "not an MRC file: it has no MAP at byte %d", mrcMagicAt)
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch stamp := head[mrcStampAt : mrcStampAt+2]; {
	case stamp[0] == 0x44 && (stamp[1] == 0x44 || stamp[1] == 0x41):
	case stamp[0] == 0x11 && stamp[1] == 0x11:
		order = binary.BigEndian
	default:
		return nil, b.fail(mrcStampAt, "the machine stamp is %x, want 4444, 4441 or 1111", stamp)
	}
	h := &mrcHeader{head, order}
	a, err := h.array(b)
	if err != nil {
		return nil, err
	}
	if _, err := b.add(a); err != nil {
		return nil, err
	}
	b.out.Root.Attributes = h.attributes()
	return b.out, nil
}

type mrcHeader struct {
	b     []byte
	order binary.ByteOrder
}

func (h *mrcHeader) integer(at int) int64 { return int64(int32(h.order.Uint32(h.b[at:]))) }
func (h *mrcHeader) float(at int) float64 {
	return float64(math.Float32frombits(h.order.Uint32(h.b[at:])))
}

// array returns the elements that a header describes.
func (h *mrcHeader) array(b *builder) (*array, error) {
	x, y, z, mz, group := h.integer(0), h.integer(4), h.integer(8), h.integer(36), h.integer(88)
	if x < 1 || y < 1 || z < 1 {
		return nil, b.fail(0, "the header says %d × %d × %d elements, want lengths from 1", x, y, z)
	}
	mode := h.integer(mrcModeAt)
	t, ok := mrcModes[mode]
	if !ok {
		return nil, b.refuse(mrcModeAt, "mode %d; 0, 1, 2, 4, 6 and 12 are read", mode)
	}
	if mode == 0 && h.integer(imodStampAt) == imodStamp && h.integer(imodStampAt+4)&1 == 0 {
		t.kind = 'u'
	}
	extended := h.integer(92)
	if extended < 0 {
		return nil, b.fail(92, "the extended header has %d bytes", extended)
	}
	a := &array{name: dataName, big: h.order == binary.ByteOrder(binary.BigEndian), offset: mrcSize + uint64(extended)}
	a.typ = numberType(t.kind, t.size, a.big)
	axes, err := h.axes(b)
	if err != nil {
		return nil, err
	}
	column, row, section := mrcAxes[axes[0]-1], mrcAxes[axes[1]-1], mrcAxes[axes[2]-1]
	switch {
	case group >= firstVolumeStack && group <= lastVolumeStack:
		if mz < 1 || z%mz != 0 {
			return nil, b.fail(36, "a stack of volumes has %d sections, of %d in a volume", z, mz)
		}
		a.shape, a.dims = []uint64{uint64(z / mz), uint64(mz), uint64(y), uint64(x)}, []string{"volume", section, row, column}
	case group == 0 && z == 1:
		a.shape, a.dims = []uint64{uint64(y), uint64(x)}, []string{row, column}
	case group == 0 && section == "z":
		a.shape, a.dims = []uint64{uint64(z), uint64(y), uint64(x)}, []string{"image", row, column}
	default:
		a.shape, a.dims = []uint64{uint64(z), uint64(y), uint64(x)}, []string{section, row, column}
	}
	h.describe(a, axes)
	return a, nil
}

// mrcAxes are the names of the axes 1, 2 and 3.
var mrcAxes = [...]string{"x", "y", "z"}

// axes returns the axes along columns, rows and sections: 1, 2, 3 in most files. Some programs write zeros instead, which mean the same.
func (h *mrcHeader) axes(b *builder) ([3]int64, error) {
	axes := [3]int64{h.integer(mrcAxesAt), h.integer(mrcAxesAt + 4), h.integer(mrcAxesAt + 8)}
	if axes == [3]int64{} {
		return [3]int64{1, 2, 3}, nil
	}
	for axis := range int64(3) {
		if !slices.Contains(axes[:], axis+1) {
			return axes, b.fail(mrcAxesAt, "mapc, mapr and maps are %d, %d and %d, want 1, 2 and 3 in any order", axes[0], axes[1], axes[2])
		}
	}
	return axes, nil
}

// describe adds the sizes of elements in Å and their origin, each in the order x, y, z.
func (h *mrcHeader) describe(a *array, axes [3]int64) {
	voxel := make([]float64, 3)
	for k := range voxel {
		if n := h.integer(28 + 4*k); n > 0 {
			voxel[k] = h.float(40+4*k) / float64(n)
		}
	}
	origin := []float64{h.float(196), h.float(200), h.float(204)}
	if isFinite(voxel...) {
		a.attributes = append(a.attributes, attribute.Numbers("voxel_size", voxel...))
	}
	if isFinite(origin...) {
		a.attributes = append(a.attributes, attribute.Numbers("origin", origin...))
	}
	start := make([]int64, 3) // the header has it for columns, rows and sections
	for k, axis := range axes {
		start[axis-1] = h.integer(16 + 4*k)
	}
	a.attributes = append(a.attributes, attribute.Integers("start", start...))
	for k, name := range []string{"dmin", "dmax", "dmean"} {
		if f := h.float(76 + 4*k); isFinite(f) {
			a.attributes = append(a.attributes, attribute.Numbers(name, f))
		}
	}
	if axes != [3]int64{1, 2, 3} {
		a.attributes = append(a.attributes, attribute.Integers("mapcrs", axes[:]...))
	}
}

// attributes returns what the header says of the whole file.
func (h *mrcHeader) attributes() []readers.Attribute {
	list := []readers.Attribute{attribute.Integers("ispg", h.integer(88))}
	if angles := []float64{h.float(52), h.float(56), h.float(60)}; isFinite(angles...) {
		list = append(list, attribute.Numbers("cell_angles", angles...))
	}
	if kind := strings.Trim(string(h.b[104:108]), " \x00"); kind != "" && utf8.ValidString(kind) {
		list = append(list, attribute.Text("exttyp", kind))
	}
	var labels []string
	for i := range min(max(h.integer(220), 0), 10) {
		if text := strings.Trim(string(h.b[mrcLabels+80*i:mrcLabels+80*i+80]), " \x00"); text != "" && utf8.ValidString(text) {
			labels = append(labels, text)
		}
	}
	if labels != nil {
		list = append(list, attribute.Texts("labels", labels))
	}
	return list
}
