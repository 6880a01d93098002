// Package readers holds what every reader of a format gives back: a Dataset.
//
// A dataset is what a reader makes of one source: groups, dimensions, variables and
// attributes, as the format's own library shows them, and for each variable its
// storage, that is how its values lie in the source:
//
//	Dataset ── Root ─┬─ Attributes
//	                 ├─ Dimensions
//	                 ├─ Variables ── Type, Shape, Fill, Attributes, Storage ── refs
//	                 └─ Groups …
//
// Package formats opens a source of any format. Reading a dataset costs reading metadata only. Refs
// (where each stored chunk is) are streamed out of the source's own index when somebody asks for
// them. Values of whole regions, through one file or many, are read by manifest/store.
//
// A variable that nobody can decode is still listed, and so is an object that cannot be
// read at all: the first with Storage.Undecodable, the second in Dataset.Problems.
package readers

import (
	"context"
	"math"
	"slices"
	"strings"

	"varve/readers/source"
)

// Reader opens sources of one format.
type Reader interface {
	// Detect reports whether the source's content is of the format.
	Detect(ctx context.Context, src *source.Source) (bool, error)
	// Open reads the source's metadata. The dataset reads from src as long as it is used;
	// closing src is the caller's business.
	Open(ctx context.Context, src *source.Source) (*Dataset, error)
}

// Unlimited is the maximum length of a dimension that can grow without limit.
const Unlimited = math.MaxUint64

// Dataset is what one source holds. It may be used by any number of goroutines, and nobody may
// change it.
type Dataset struct {
	Source   *source.Source
	Format   string // "netCDF-4", "HDF5", "netCDF-3 64-bit offset", …
	Root     *Group
	Problems []Problem
	Links    []Link

	// Named returns the variable that a mapping of a virtual one calls by a name, the link
	// if it is in another file, or neither if nothing has the name; nil where names are paths.
	Named func(name string) (*Variable, *Link, error)
}

// Variable returns the variable at a path such as "/group/name", or nil. The first slash may be
// left out.
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

// Link is a name for what is in another file.
type Link struct {
	Path   string
	File   string // as the source names it: a path from the source's folder, or an absolute one
	Target string // path in that file
}

// Problem is an object that is in the source and cannot be read.
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

// Walk calls visit for g and every group below it, parents first, until visit returns
// false.
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

// Dimension is a named length that variables share.
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
	// Like are, of each axis for which the source says no dimension, those of the group that are as long: the one
	// in Dims is a guess at these. It is nil where the source says them all.
	Like       [][]*Dimension
	Shape      []uint64 // none for a scalar
	MaxShape   []uint64 // Unlimited where there is no maximum
	Type       *Type
	Fill       Fill
	Attributes []Attribute
	Storage    Storage

	// ReadAll reads all elements, if they take up to limit bytes. It is meant for what is
	// small: coordinates, labels.
	ReadAll func(ctx context.Context, limit uint64) (Value, error)
}

// FillState says how far a fill value is defined.
type FillState uint8

// The states of a fill value.
const (
	FillDefault   FillState = iota // nobody set one: zeros, in HDF5
	FillUser                       // somebody set Value
	FillUndefined                  // somebody said that there is none
)

// Fill is what cells hold that were never written.
type Fill struct {
	State FillState
	Value []byte // one element in memory form, for FillUser
	Never bool   // never written to storage: cells nobody wrote hold anything
}

// Attribute is a named value of a group or a variable.
type Attribute struct {
	Name string
	Value
	Err error // why the value cannot be read; Type and Shape may be set all the same
}

// Value is a small array with its type.
type Value struct {
	Type  *Type
	Shape []uint64 // none for a scalar
	Null  bool     // no elements and no shape
	Data  []byte   // elements in memory form, texts of one length with their padding; see ValueReader
	Texts [][]byte // elements without padding, for strings of any kind

	// Sources are those that elements were read from, besides the one of the variable.
	Sources []string
}

// Lookup returns the attribute of that name, or nil.
func Lookup(attributes []Attribute, name string) *Attribute {
	for i := range attributes {
		if attributes[i].Name == name {
			return &attributes[i]
		}
	}
	return nil
}
