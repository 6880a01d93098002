// Package readers defines the Dataset that the reader of every format returns.
//
// A Dataset describes one source: its groups, dimensions, variables and attributes, as the library
// of the format shows them. Each variable has a Storage, which says where its values are in the
// source:
//
//	Dataset ── Root ─┬─ Attributes
//	                 ├─ Dimensions
//	                 ├─ Variables ── Type, Shape, Fill, Attributes, Storage ── refs
//	                 └─ Groups …
//
// Package formats opens a source of any format. Opening a dataset reads metadata only. Storage.Refs
// streams the position of each stored chunk out of the source's own index, on request. Package
// manifest/store reads the values of regions, through one file or many.
//
// A variable that varve cannot decode is still listed, with Storage.Undecodable set. An object that
// cannot be read at all is listed in Dataset.Problems.
package readers

import (
	"context"
	"math"
	"slices"
	"strings"

	"varve/readers/source"
)

// Unlimited is the maximum length of a dimension that can grow without limit.
const Unlimited = math.MaxUint64

// Dataset is the content of one source. Any number of goroutines may use it; it must not be
// changed.
type Dataset struct {
	Source   *source.Source
	Format   string // "netCDF-4", "HDF5", "netCDF-3 64-bit offset", …
	Root     *Group
	Problems []Problem
	Links    []Link
	// Beside lists the files beside the source whose metadata was used, with their versions. If one changes, the source has to
	// be read again. Files with values of variables are not needed here: see Storage.Source and Value.Sources.
	Beside []*Other
	// HoldsChunks reports that Source has all stored chunks, except those of External and Virtual variables. Then more chunks
	// than Source has bytes are damage.
	HoldsChunks bool

	// Verify reads all bytes that checksums of the format cover, and compares them. Checksums of metadata and indexes
	// are left out, because Open and Refs compare them. Verify is nil for formats without other checksums.
	Verify func(ctx context.Context) error

	// LookupVirtual returns the variable with the given name as the mappings of virtual datasets
	// write it, the link if that variable is in another file, or neither if there is none. It is
	// nil for formats in which names are paths.
	LookupVirtual func(name string) (*Variable, *Link, error)
}

// Variable returns the variable at a path such as "/group/name", or nil. The first slash is
// optional.
func (d *Dataset) Variable(path string) (found *Variable) {
	path = "/" + strings.TrimPrefix(path, "/")
	d.Root.Walk(func(g *Group) bool {
		if i := slices.IndexFunc(g.Variables, func(v *Variable) bool { return v.Path == path }); i >= 0 {
			found = g.Variables[i]
		}
		return found == nil
	})
	return found
}

// Link is a name for an object in another file.
type Link struct {
	Path   string
	File   string // as the source writes it: a path relative to the source's folder, or an absolute one
	Target string // path in that file
}

// Problem is an object of the source that cannot be read.
type Problem struct {
	Path string
	Err  error
}

// Group holds variables, dimensions and other groups.
type Group struct {
	Name       string // "" for the root
	Path       string // "/" for the root, else "/a/b"
	Attributes []Attribute
	Dimensions []*Dimension
	Variables  []*Variable
	Groups     []*Group
}

// Walk calls visit for g and every group below it, parents first. It stops when visit returns
// false, and then returns false.
func (g *Group) Walk(visit func(*Group) bool) bool {
	if !visit(g) {
		return false
	}
	for _, child := range g.Groups {
		if !child.Walk(visit) {
			return false
		}
	}
	return true
}

// Dimension is a named length; variables share it.
type Dimension struct {
	Name      string
	Path      string
	Length    uint64
	Unlimited bool
	Anonymous bool // named by the reader: the source has no name for it
}

// Variable is an array of elements.
type Variable struct {
	Name string
	Path string
	Dims []*Dimension // as long as Shape; an unlimited one can be longer than the variable
	// Candidates holds the dimensions of the group that have the length of each axis, for axes
	// whose dimension the source does not name: Dims then holds a guess. It is nil where the source
	// names every dimension.
	Candidates [][]*Dimension
	Shape      []uint64 // none for a scalar
	MaxShape   []uint64 // Unlimited where there is no maximum
	Type       *Type
	Fill       Fill
	Attributes []Attribute
	Storage    Storage

	// ReadAll reads all elements, or fails if they take more than limit bytes. Use it for small
	// arrays: coordinates, labels.
	ReadAll func(ctx context.Context, limit uint64) (Value, error)
}

// FillState says how a fill value is defined.
type FillState uint8

// The states of a fill value.
const (
	FillDefault   FillState = iota // not set: zeros, in HDF5
	FillUser                       // set to Value
	FillUndefined                  // set to "undefined"
)

// Fill is the value of cells that were never written.
type Fill struct {
	State FillState
	Value []byte // one element in memory form, if State is FillUser
	Never bool   // never written to storage: cells that were not written hold arbitrary bytes
}

// Attribute is a named value of a group or a variable.
type Attribute struct {
	Name string
	Value
	Err error // why the value cannot be read; Type and Shape may be set nevertheless
}

// Value is a small array of one type.
type Value struct {
	Type  *Type
	Shape []uint64 // none for a scalar
	Null  bool     // has neither elements nor a shape
	Data  []byte   // elements in memory form; strings of a fixed size include their padding; see ValueReader
	Texts [][]byte // strings of any kind, without padding

	// Sources lists the sources that elements were read from, except the variable's own.
	Sources []string
}

// Lookup returns the attribute with that name, or nil.
func Lookup(attributes []Attribute, name string) *Attribute {
	for i := range attributes {
		if attributes[i].Name == name {
			return &attributes[i]
		}
	}
	return nil
}
