package hdf5

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"varve/readers"
)

// Attributes that store dimensions in netCDF-4 and in the dimension scales of HDF5.
const (
	attrClass         = "CLASS"
	attrName          = "NAME"
	attrDimensionList = "DIMENSION_LIST"
	attrDimID         = "_Netcdf4Dimid"
	attrCoordinates   = "_Netcdf4Coordinates"
	attrStrict        = "_nc3_strict"
	attrProperties    = "_NCProperties"

	scaleClass     = "DIMENSION_SCALE"
	noVariable     = "This is a netCDF dimension but not a netCDF variable"
	nonCoordPrefix = "_nc4_non_coord_"
)

const (
	maxNetCDFObjects = 1 << 20
	maxNetCDFName    = 256 // NC_MAX_NAME
	// Objects that are shown under further paths may take minSharedBytes, and maxSharedFactor times the file's size.
	// Groups that share members multiply paths: 30 groups, each linked twice into the next one, have a billion.
	minSharedBytes  = 1 << 20
	maxSharedFactor = 4
	bytesPerShared  = 64 // what an object takes besides its path and its attributes
)

// NetCDF is a file as netcdf-c presents it.
type NetCDF struct {
	Root    *NetCDFGroup
	Marked  bool // has attributes that only netCDF-4 writes
	Classic bool // follows the classic model
	// Refused is the reason why netcdf-c does not open the file. The other fields hold what it
	// would show otherwise.
	Refused error
	// Crashes reports whether netcdf-c crashes when it opens the file.
	Crashes bool
	// Left lists links whose target cannot be read, and variables whose dimensions are uncertain.
	// Links lists links into other files.
	Left  []readers.Problem
	Links []readers.Link
}

// NetCDFGroup is a group; its members are in netcdf-c's order.
type NetCDFGroup struct {
	Name, Path string
	Dims       []*NetCDFDim
	Vars       []*NetCDFVar
	Groups     []*NetCDFGroup
	Attributes []NetCDFAttribute
	AttrErr    error

	object *Object
	parent *NetCDFGroup
}

// NetCDFDim is a dimension.
type NetCDFDim struct {
	Name, Path string
	Length     uint64
	Unlimited  bool
	Phony      bool // named by netcdf-c, because the file has no name for it

	id            int
	scale         uint64 // address of the dimension scale
	group         *NetCDFGroup
	growsWithVars bool // unlimited: its length is that of the longest variable
}

// NetCDFVar is a variable.
type NetCDFVar struct {
	Name, Path string
	Dims       []*NetCDFDim // nil for axes without a dimension
	TypeName   string       // name in netCDF4-python; empty if it skips the variable
	Attributes []NetCDFAttribute
	AttrErr    error
	Object     *Object

	typ            *netcdfType
	ownDims        []*NetCDFDim // its own dimensions, if Dims holds others with the same names
	dimIDs         []int
	hasCoordinates bool
	isScale        bool
	attached       []uint64       // addresses of the attached scales by axis, 0 for none
	candidates     [][]*NetCDFDim // for axes without a scale, the group's dimensions of the same length; nil if there are none
	group          *NetCDFGroup
}

// Shape returns the lengths of the dimensions, which can exceed the dataset's shape.
func (v *NetCDFVar) Shape() []uint64 {
	shape := make([]uint64, len(v.Dims))
	for i, d := range v.Dims {
		if d != nil {
			shape[i] = d.Length
		}
	}
	return shape
}

// netcdfBuilder builds the view in the order in which netcdf-c opens a file: the members of a
// group, then its subgroups, then the dimensions of variables from the innermost groups outwards.
// The order decides dimension IDs and names.
type netcdfBuilder struct {
	ctx    context.Context
	tree   *Tree
	view   *NetCDF
	dims   map[int]*NetCDFDim
	nextID int
	types  netcdfTypes
	count  int
	shown  map[*Object]bool // objects that are in the view
	left   int64            // bytes that objects under further paths may take
	err    error            // why the view is incomplete
}

// NetCDF returns the file as netcdf-c presents it.
func (t *Tree) NetCDF(ctx context.Context) (*NetCDF, error) { return t.netCDF(ctx, true) }

// netCDF builds the view. If attributes is true, it also reads attributes as netcdf-c does and
// checks names as netCDF4-python does.
func (t *Tree) netCDF(ctx context.Context, attributes bool) (*NetCDF, error) {
	b := &netcdfBuilder{ctx: ctx, tree: t, view: &NetCDF{}, dims: map[int]*NetCDFDim{}, shown: map[*Object]bool{}}
	b.left = minSharedBytes + maxSharedFactor*min(t.file.src.Size(), math.MaxInt64/2/maxSharedFactor)
	b.view.Marked = t.hasNetCDF4Marks()
	root := &NetCDFGroup{Path: "/", object: t.Root}
	b.view.Root = root
	if t.Root.Kind != GroupObject {
		b.recordError(t.Root.Err)
		return b.view, ctx.Err()
	}
	if t.file.OpenForWriting() {
		b.recordError(unsupported("the file is marked as open for writing (h5clear -s clears the mark)"))
	}
	_, b.view.Classic = findAttribute(t.Root, attrStrict)
	b.recordError(unreadableAttribute(t.Root))
	b.readGroup(root)
	if err := cmp.Or(ctx.Err(), b.err); err != nil {
		return nil, err
	}
	b.matchDims(root)
	b.measureDims(root)
	b.mergeDims(root)
	if attributes {
		b.readAttributes(root)
		b.lookUpDims(root)
		b.recordError(checkText(b.types.names))
		b.recordError(b.checkNames(root))
	}
	return b.view, ctx.Err()
}

// hasNetCDF4Marks reports whether an object has an attribute that only netCDF-4 writes.
func (t *Tree) hasNetCDF4Marks() bool {
	for _, o := range t.Objects {
		for i := range o.Attributes {
			switch o.Attributes[i].Name {
			case attrProperties, attrStrict, attrDimID, attrCoordinates:
				return true
			}
		}
	}
	return false
}

func (b *netcdfBuilder) recordError(err error) {
	if err != nil && b.view.Refused == nil {
		b.view.Refused = err
	}
}

// recordCrash records an error on which netcdf-c crashes instead of reporting it.
func (b *netcdfBuilder) recordCrash(err error) {
	if b.view.Refused == nil {
		b.view.Refused, b.view.Crashes = err, true
	}
}

func findAttribute(o *Object, name string) (*Attribute, bool) {
	for i := range o.Attributes {
		if o.Attributes[i].Name == name {
			return &o.Attributes[i], true
		}
	}
	return nil, false
}

// join returns the path of a member.
func join(group, name string) string { return strings.TrimSuffix(group, "/") + "/" + name }

// readGroup reads the members of a group: datasets and named datatypes first, subgroups afterwards.
func (b *netcdfBuilder) readGroup(g *NetCDFGroup) {
	if g.object.Err != nil {
		b.recordError(g.object.Err)
	}
	// The members stay sorted by name for lookups.
	members := slices.Clone(g.object.members)
	if g.object.hasCreationOrder {
		slices.SortStableFunc(members, func(x, y link) int { return int(x.order - y.order) })
	}
	for _, l := range members {
		if b.err != nil || b.ctx.Err() != nil {
			return
		}
		o, err := b.tree.follow(g.object, l, 0)
		if err != nil {
			b.recordError(err)
			if away, ok := err.(*otherFileError); ok {
				b.view.Links = append(b.view.Links, readers.Link{Path: join(g.Path, l.name), File: away.file, Target: away.path})
			} else if errors.Is(err, errors.ErrUnsupported) {
				b.view.Left = append(b.view.Left, readers.Problem{Path: join(g.Path, l.name), Err: err})
			}
			continue
		}
		b.show(join(g.Path, l.name), o)
		switch o.Kind {
		case GroupObject:
			b.addGroup(g, l.name, o)
		case DatasetObject:
			if o.Err == nil || errors.Is(o.Err, readers.ErrCorrupt) { // with damage to a part, show the rest
				b.readDataset(g, l.name, o)
			}
			b.recordError(o.Err)
			b.recordError(unreadableAttribute(o))
		case TypeObject:
			b.recordError(b.types.readNamed(o.Type, l.name))
		}
	}
	for _, child := range g.Groups {
		b.readGroup(child)
	}
}

// show counts the memory of an object that is shown under a further path.
func (b *netcdfBuilder) show(path string, o *Object) {
	if !b.shown[o] {
		b.shown[o] = true
		return
	}
	b.left -= int64(len(path) + bytesPerShared)
	for i := range o.Attributes {
		b.left -= int64(len(o.Attributes[i].data))
	}
	if b.left < 0 && b.err == nil {
		b.err = b.tree.file.locate(path, readers.Corruptf("links to the same objects multiply: objects under several paths would take more than %d bytes and %d times the file", minSharedBytes, maxSharedFactor))
	}
}

// addGroup adds a subgroup, unless the group contains itself.
func (b *netcdfBuilder) addGroup(g *NetCDFGroup, name string, o *Object) {
	// Hard links can form cycles, which netcdf-c rejects.
	for up := g; up != nil; up = up.parent {
		if up.object == o {
			b.recordError(readers.Corruptf("group %s contains itself as %s", o.Path, join(g.Path, name)))
			return
		}
	}
	if len(name) > maxNetCDFName {
		b.recordError(unsupported("name of a group has %d bytes (limit of netCDF: %d)", len(name), maxNetCDFName))
		return
	}
	if b.count++; b.count > maxNetCDFObjects || len(g.Path)+len(name) > maxPathBytes {
		b.err = b.tree.file.locate(g.Path, readers.Corruptf("more than %d objects, or a path of more than %d bytes", maxNetCDFObjects, maxPathBytes))
		return
	}
	g.Groups = append(g.Groups, &NetCDFGroup{Name: name, Path: join(g.Path, name), object: o, parent: g})
}

// unreadableAttribute returns the error of an attribute that cannot be decoded, because it prevents
// netcdf-c from finding any other attribute. Attributes that are found by the hashes of their names
// do not.
func unreadableAttribute(o *Object) error {
	for i := range o.Attributes {
		if a := &o.Attributes[i]; a.Type == nil && !a.isHashed {
			return a.Err
		}
	}
	return nil
}

func (b *netcdfBuilder) readDataset(g *NetCDFGroup, name string, o *Object) {
	var dim *NetCDFDim
	if b.isScale(o) {
		if len(o.Dataset.Shape) == 0 {
			b.recordCrash(readers.Corruptf("%s is a dimension scale without a dimension", o.Path))
		} else {
			dim = b.readScale(g, name, o)
		}
	}
	if dim != nil && b.isOnlyDimension(o) {
		return
	}
	b.readVar(g, name, o, dim)
}

// text returns the value of a string attribute, or "" if it has none.
func (b *netcdfBuilder) text(a *Attribute) string {
	if a.Err != nil || !IsText(a.Type) {
		return ""
	}
	texts, err := b.tree.file.Texts(b.ctx, a.Type, a.data)
	if err != nil || len(texts) == 0 {
		return ""
	}
	return string(texts[0])
}

func (b *netcdfBuilder) isScale(o *Object) bool {
	a, ok := findAttribute(o, attrClass)
	if !ok || a.Type == nil || !IsText(a.Type) {
		return false
	}
	// netcdf-c compares the stored string type too, not only the text.
	if a.Type.Class == readers.String && (a.Type.Padding != readers.NullTerminated || a.Type.Size != len(scaleClass)+1) {
		return false
	}
	return b.text(a) == scaleClass
}

func (b *netcdfBuilder) isOnlyDimension(o *Object) bool {
	a, ok := findAttribute(o, attrName)
	return ok && a.Type != nil && strings.HasPrefix(b.text(a), noVariable)
}

// readScale adds the dimension of a dimension scale.
func (b *netcdfBuilder) readScale(g *NetCDFGroup, name string, o *Object) *NetCDFDim {
	d := o.Dataset
	id := -1
	if a, ok := findAttribute(o, attrDimID); ok {
		if n, ok := intAttribute(a); ok {
			id = n
		}
	}
	dim := b.addDim(g, name, id)
	dim.setLength(d.Shape[0], d.MaxShape[0])
	dim.scale = o.Addr
	return dim
}

// intAttribute returns the first number of an integer attribute.
func intAttribute(a *Attribute) (int, bool) {
	if a.Type == nil || a.Type.Class != readers.Integer || len(a.data) < a.Type.Size {
		return 0, false
	}
	return int(int32(a.Type.Uint64(a.data))), true
}

func (b *netcdfBuilder) addDim(g *NetCDFGroup, name string, id int) *NetCDFDim {
	if id < 0 {
		id = b.nextID
	}
	// Dimensions without an ID get the next free one.
	b.nextID = max(b.nextID, id+1)
	dim := &NetCDFDim{Name: name, Path: join(g.Path, name), id: id, group: g}
	g.Dims = append(g.Dims, dim)
	b.dims[id] = dim
	return dim
}

// setLength sets the length of a new dimension. netcdf-c treats length 0 as unlimited.
func (d *NetCDFDim) setLength(n, limit uint64) {
	d.Length, d.Unlimited = n, limit == readers.Unlimited || n == 0
	d.growsWithVars = d.Unlimited
}

func (b *netcdfBuilder) readVar(g *NetCDFGroup, name string, o *Object, dim *NetCDFDim) {
	// netcdf-c adds this prefix to a variable that has a dimension's name, but other dimensions.
	if len(name) > len(nonCoordPrefix) {
		name = strings.TrimPrefix(name, nonCoordPrefix)
	}
	v := &NetCDFVar{Name: name, Path: join(g.Path, name), Object: o, group: g, isScale: dim != nil}
	rank := len(o.Dataset.Shape)
	v.Dims, v.dimIDs = make([]*NetCDFDim, rank), make([]int, rank)
	for i := range v.dimIDs {
		v.dimIDs[i] = -1
	}
	if err := b.readCoordinates(v); err != nil {
		b.recordError(err)
	}
	switch {
	case dim != nil && rank > 1:
		if !v.hasCoordinates {
			b.recordError(readers.Corruptf("%s is a coordinate variable of several dimensions, but has no attribute %s", v.Path, attrCoordinates))
		}
	case dim != nil:
		v.Dims[0], v.dimIDs[0] = dim, dim.id
	case !v.hasCoordinates:
		b.recordError(b.readAttached(v))
	}
	typ, err := b.types.ofDataset(o.Dataset.Type)
	if err != nil {
		b.recordError(err)
	}
	if b.count++; b.count > maxNetCDFObjects {
		b.err = b.tree.file.locate(g.Path, readers.Corruptf("more than %d objects", maxNetCDFObjects))
		return
	}
	v.typ = typ
	if typ != nil {
		v.TypeName = typ.label
	}
	g.Vars = append(g.Vars, v)
}

// readCoordinates reads the dimension IDs in the hidden attribute _Netcdf4Coordinates.
func (b *netcdfBuilder) readCoordinates(v *NetCDFVar) error {
	a, ok := findAttribute(v.Object, attrCoordinates)
	if !ok || a.Type == nil {
		return nil
	}
	if a.Type.Class != readers.Integer || a.Type.Size != 4 || len(a.data) != 4*len(v.dimIDs) {
		return readers.Corruptf("attribute %s of %s has %d bytes of %s, which do not fit %d dimensions", attrCoordinates, v.Path, len(a.data), a.Type, len(v.dimIDs))
	}
	for i := range v.dimIDs {
		v.dimIDs[i] = int(int32(binary.LittleEndian.Uint32(a.data[4*i:])))
		v.Dims[i] = b.dims[v.dimIDs[i]]
	}
	v.hasCoordinates = true
	return nil
}

// readAttached reads which dimension scales are attached to each axis; the last one of an axis
// counts.
func (b *netcdfBuilder) readAttached(v *NetCDFVar) error {
	a, ok := findAttribute(v.Object, attrDimensionList)
	if !ok || len(v.Dims) == 0 {
		return nil
	}
	if a.Type == nil || a.Err != nil {
		b.reportGuess(v, a.Err)
		return nil
	}
	if a.Type.Class != readers.VarLen || a.Type.IsText || a.Type.Base.Class != readers.Reference {
		b.recordCrash(readers.Corruptf("attribute %s of %s has type %s, not a list of references", attrDimensionList, v.Path, a.Type))
		return nil
	}
	lists, err := b.tree.file.References(b.ctx, a)
	if err != nil || len(lists) != len(v.Dims) || len(lists[0]) == 0 {
		b.reportGuess(v, err)
		return nil
	}
	v.attached = make([]uint64, len(lists))
	for i, list := range lists {
		for _, addr := range list {
			if o := b.tree.byAddr[addr]; o != nil && o.Kind == DatasetObject {
				v.attached[i] = addr
			} else if err == nil { // continue, because the other scales are valid
				err = readers.Corruptf("attribute %s of %s refers to address %d, which has no dataset", attrDimensionList, v.Path, addr)
			}
		}
	}
	return err
}

// reportGuess records that a variable's list of scales is damaged, so that its dimensions are found by
// length only, as in netcdf-c. Two dimensions of the same length cannot be distinguished then.
func (b *netcdfBuilder) reportGuess(v *NetCDFVar, err error) {
	if err != nil {
		err = fmt.Errorf("dimensions are guessed from their lengths, because %s cannot be read: %w", attrDimensionList, err)
		b.view.Left = append(b.view.Left, readers.Problem{Path: v.Path, Err: b.tree.file.locate(v.Path, err)})
	}
}
