package hdf5

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve/readers"
)

// Attributes with which netCDF-4 and the dimension scales of HDF5 keep dimensions.
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
)

// NetCDF is a file as netcdf-c sees it.
type NetCDF struct {
	Root    *NetCDFGroup
	Marked  bool // has attributes that only netCDF-4 writes
	Classic bool // keeps to the classic model
	// Refused is why netcdf-c does not open the file. The view holds what it would
	// otherwise show.
	Refused error
	// Crashes reports that netcdf-c does not return from opening the file.
	Crashes bool
	// Left are the links that lead to what cannot be had, and variables whose dimensions are in doubt; Links
	// are those into other files.
	Left  []readers.Problem
	Links []readers.Link
}

// NetCDFGroup is a group with what belongs to it, in netcdf-c's order.
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
	Phony      bool // named by netcdf-c: the file has no name for it

	id     int
	scale  uint64 // address of the dimension scale
	group  *NetCDFGroup
	growth bool // its length is that of the longest variable
}

// NetCDFVar is a variable.
type NetCDFVar struct {
	Name, Path string
	Dims       []*NetCDFDim // nil where there is none
	TypeName   string       // as netCDF4-python names it; empty if it skips the variable
	Attributes []NetCDFAttribute
	AttrErr    error
	Object     *Object

	typ        *netcdfType
	stored     []*NetCDFDim // its dimensions, where Dims holds others of their names
	dimIDs     []int
	coordsRead bool
	isScale    bool
	attached   []uint64       // addresses of the scales by dimension, 0 for none
	like       [][]*NetCDFDim // of axes without a scale, those of the group that are as long; nil: there are none such
	group      *NetCDFGroup
}

// Shape is the shape that the dimensions give, which can be longer than the dataset's.
func (v *NetCDFVar) Shape() []uint64 {
	shape := make([]uint64, len(v.Dims))
	for i, d := range v.Dims {
		if d != nil {
			shape[i] = d.Length
		}
	}
	return shape
}

// netcdfBuilder makes the view the way netcdf-c opens a file: groups in turn, then the
// groups below them, then dimensions are matched to variables from the bottom up.
type netcdfBuilder struct {
	ctx    context.Context
	tree   *Tree
	view   *NetCDF
	dims   map[int]*NetCDFDim
	nextID int
	types  netcdfTypes
	count  int
}

// NetCDF returns the file as netcdf-c sees it.
func (t *Tree) NetCDF(ctx context.Context) (*NetCDF, error) { return t.netCDF(ctx, true) }

// netCDF reads attributes as netcdf-c does, and looks at names as netCDF4-python does, only if
// asked to.
func (t *Tree) netCDF(ctx context.Context, attributes bool) (*NetCDF, error) {
	b := &netcdfBuilder{ctx: ctx, tree: t, view: &NetCDF{}, dims: map[int]*NetCDFDim{}}
	b.view.Marked = t.marked()
	root := &NetCDFGroup{Path: "/", object: t.Root}
	b.view.Root = root
	if t.Root.Kind != GroupObject {
		b.refuse(t.Root.Err)
		return b.view, ctx.Err()
	}
	if t.file.OpenForWriting() {
		b.refuse(unsupported("the file says that a writer has it open"))
	}
	_, b.view.Classic = findAttribute(t.Root, attrStrict)
	b.refuse(unreadableAttribute(t.Root))
	b.readGroup(root)
	b.match(root)
	b.measure(root)
	b.merge(root)
	if attributes {
		b.readAttributes(root)
		b.lookUp(root)
		b.refuse(checkText(b.types.names))
		b.refuse(b.checkNames(root))
	}
	return b.view, ctx.Err()
}

// marked reports whether an object has an attribute that only netCDF-4 writes.
func (t *Tree) marked() bool {
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

func (b *netcdfBuilder) refuse(err error) {
	if err != nil && b.view.Refused == nil {
		b.view.Refused = err
	}
}

// crash says that netcdf-c crashes on what it should refuse.
func (b *netcdfBuilder) crash(err error) {
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

// join makes a path.
func join(group, name string) string { return strings.TrimSuffix(group, "/") + "/" + name }

// readGroup reads the members of a group: datasets and types first, groups afterwards.
func (b *netcdfBuilder) readGroup(g *NetCDFGroup) {
	if g.object.Err != nil {
		b.refuse(g.object.Err)
	}
	members := slices.Clone(g.object.members)
	if g.object.ordered {
		slices.SortStableFunc(members, func(x, y link) int { return int(x.order - y.order) })
	}
	for _, l := range members {
		o, err := b.tree.follow(g.object, l, 0)
		if err != nil {
			b.refuse(err)
			if away, ok := err.(*elsewhere); ok {
				b.view.Links = append(b.view.Links, readers.Link{Path: join(g.Path, l.name), File: away.file, Target: away.path})
			} else if errors.Is(err, errors.ErrUnsupported) {
				b.view.Left = append(b.view.Left, readers.Problem{Path: join(g.Path, l.name), Err: err})
			}
			continue
		}
		switch o.Kind {
		case GroupObject:
			b.addGroup(g, l.name, o)
		case DatasetObject:
			if o.Err == nil || errors.Is(o.Err, readers.ErrCorrupt) { // of a part: the rest is shown
				b.readDataset(g, l.name, o)
			}
			b.refuse(o.Err)
			b.refuse(unreadableAttribute(o))
		case TypeObject:
			b.refuse(b.types.readNamed(o.Type, l.name))
		}
	}
	for _, child := range g.Groups {
		b.readGroup(child)
	}
}

// addGroup adds a group, unless it contains itself.
func (b *netcdfBuilder) addGroup(g *NetCDFGroup, name string, o *Object) {
	for up := g; up != nil; up = up.parent {
		if up.object == o {
			b.refuse(readers.Corruptf("group %s contains itself as %s", o.Path, join(g.Path, name)))
			return
		}
	}
	if len(name) > maxNetCDFName {
		b.refuse(unsupported("the name of a group has %d bytes, of which netCDF reads %d", len(name), maxNetCDFName))
		return
	}
	if b.count++; b.count > maxNetCDFObjects || len(g.Path)+len(name) > maxPathBytes {
		b.refuse(readers.Corruptf("more than %d groups", maxNetCDFObjects))
		return
	}
	g.Groups = append(g.Groups, &NetCDFGroup{Name: name, Path: join(g.Path, name), object: o, parent: g})
}

// unreadableAttribute returns the error of an attribute that cannot be decoded, which keeps
// netcdf-c from finding any other, unless these are looked for by the hashes of their names.
func unreadableAttribute(o *Object) error {
	for i := range o.Attributes {
		if a := &o.Attributes[i]; a.Type == nil && !a.hashed {
			return a.Err
		}
	}
	return nil
}

func (b *netcdfBuilder) readDataset(g *NetCDFGroup, name string, o *Object) {
	var dim *NetCDFDim
	if b.isScale(o) {
		if len(o.Dataset.Shape) == 0 {
			b.crash(readers.Corruptf("%s is a dimension scale without a dimension", o.Path))
		} else {
			dim = b.readScale(g, name, o)
		}
	}
	if dim != nil && b.isOnlyDimension(o) {
		return
	}
	b.readVar(g, name, o, dim)
}

// text returns the value of a string attribute.
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
	if a.Type.Class == readers.String && (a.Type.Padding != readers.NullTerminated || a.Type.Size != len(scaleClass)+1) {
		return false
	}
	return b.text(a) == scaleClass
}

func (b *netcdfBuilder) isOnlyDimension(o *Object) bool {
	a, ok := findAttribute(o, attrName)
	return ok && a.Type != nil && strings.HasPrefix(b.text(a), noVariable)
}

// readScale makes a dimension of a dimension scale.
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

// intAttribute reads the first number of an integer attribute.
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
	b.nextID = max(b.nextID, id+1)
	dim := &NetCDFDim{Name: name, Path: join(g.Path, name), id: id, group: g}
	g.Dims = append(g.Dims, dim)
	b.dims[id] = dim
	return dim
}

// setLength gives a new dimension its length; netcdf-c takes zero for "unlimited".
func (d *NetCDFDim) setLength(n, limit uint64) {
	d.Length, d.Unlimited = n, limit == readers.Unlimited || n == 0
	d.growth = d.Unlimited
}

func (b *netcdfBuilder) readVar(g *NetCDFGroup, name string, o *Object, dim *NetCDFDim) {
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
		b.refuse(err)
	}
	switch {
	case dim != nil && rank > 1:
		if !v.coordsRead {
			b.refuse(readers.Corruptf("%s is a coordinate of several dimensions without %s", v.Path, attrCoordinates))
		}
	case dim != nil:
		v.Dims[0], v.dimIDs[0] = dim, dim.id
	case !v.coordsRead:
		b.refuse(b.readAttached(v))
	}
	typ, err := b.types.ofDataset(o.Dataset.Type)
	if err != nil {
		b.refuse(err)
	}
	if b.count++; b.count > maxNetCDFObjects {
		b.refuse(readers.Corruptf("more than %d variables", maxNetCDFObjects))
		return
	}
	v.typ = typ
	if typ != nil {
		v.TypeName = typ.label
	}
	g.Vars = append(g.Vars, v)
}

// readCoordinates reads the dimensions that a hidden attribute names by number.
func (b *netcdfBuilder) readCoordinates(v *NetCDFVar) error {
	a, ok := findAttribute(v.Object, attrCoordinates)
	if !ok || a.Type == nil {
		return nil
	}
	if a.Type.Class != readers.Integer || a.Type.Size != 4 || len(a.data) != 4*len(v.dimIDs) {
		return readers.Corruptf("%s of %s is of %d bytes of %s for %d dimensions", attrCoordinates, v.Path, len(a.data), a.Type, len(v.dimIDs))
	}
	for i := range v.dimIDs {
		v.dimIDs[i] = int(int32(binary.LittleEndian.Uint32(a.data[4*i:])))
		v.Dims[i] = b.dims[v.dimIDs[i]]
	}
	v.coordsRead = true
	return nil
}

// readAttached reads which scales are attached to which dimension; the last one counts.
func (b *netcdfBuilder) readAttached(v *NetCDFVar) error {
	a, ok := findAttribute(v.Object, attrDimensionList)
	if !ok || len(v.Dims) == 0 {
		return nil
	}
	if a.Type == nil || a.Err != nil {
		b.doubt(v, a.Err)
		return nil
	}
	if a.Type.Class != readers.VarLen || a.Type.IsText || a.Type.Base.Class != readers.Reference {
		b.crash(readers.Corruptf("%s of %s is of type %s, not a list of references", attrDimensionList, v.Path, a.Type))
		return nil
	}
	lists, err := b.tree.file.References(b.ctx, a)
	if err != nil || len(lists) != len(v.Dims) || len(lists[0]) == 0 {
		b.doubt(v, err)
		return nil
	}
	v.attached = make([]uint64, len(lists))
	for i, list := range lists {
		for _, addr := range list {
			if o := b.tree.byAddr[addr]; o != nil && o.Kind == DatasetObject {
				v.attached[i] = addr
			} else if err == nil { // the others are known all the same
				err = readers.Corruptf("%s of %s names an object at address %d, where there is no dataset", attrDimensionList, v.Path, addr)
			}
		}
	}
	return err
}

// doubt says that a variable has dimensions by their lengths only, as netcdf-c has them, since the list of its
// scales is damaged. Of two that are as long nobody knows then which is which.
func (b *netcdfBuilder) doubt(v *NetCDFVar, err error) {
	if err != nil {
		err = fmt.Errorf("its dimensions are not known: %s: %w", attrDimensionList, err)
		b.view.Left = append(b.view.Left, readers.Problem{Path: v.Path, Err: b.tree.file.locate(v.Path, err)})
	}
}
