// Package manifest holds what varve knows of an archive: the sources, what is in them,
// and how they make up arrays.
//
//	Source ── Header ── Variable ── Storage        what is in a file, and how it is stored
//	   │                    │
//	   └── rows of refs ────┘                      where each stored chunk is
//
//	Array ── Placement ── Tile ── Source           which files make up an array, and where
//
// An array is a mosaic of tiles. It declares one Zarr schema; each tile keeps the truth of
// its own source. A Snapshot is one consistent state of all this, and a Repository keeps
// snapshots, and the tables that they need, in a folder.
//
// Everything that many sources have in common is stored once: headers, attributes and
// values are known by a hash of their content, and equal ones are one pointer in memory.
package manifest

import (
	"cmp"
	"strings"
	"time"

	"varve/codec"
	"varve/readers/source"
)

// Source is one file or object as it was when it was scanned.
type Source struct {
	URL      string // an absolute path, or a URL
	Size     int64
	Modified time.Time // zero where it is not known
	ETag     string    // with its quotes; empty where there is none
	Format   string    // empty for a file that only holds bytes that others point at
	// Scanned tells what was scanned, where the source lies elsewhere now ("varve relocate"): the
	// print of what it was then. It is empty for one that is as it was.
	Scanned string
}

// MovedTo is the same source in another place.
func (s Source) MovedTo(url string, now source.Identity) Source {
	moved := Source{URL: url, Size: now.Size, Modified: now.Modified, ETag: now.ETag, Format: s.Format}
	if was := s.AsScanned(); was != moved.print() {
		moved.Scanned = was
	}
	return moved
}

// AsScanned tells what was scanned from all else, wherever it lies now.
func (s Source) AsScanned() string { return cmp.Or(s.Scanned, s.print()) }

// Identity is what a read of the source has to find.
func (s Source) Identity() source.Identity {
	return source.Identity{Size: s.Size, Modified: s.Modified, ETag: s.ETag}
}

// File is one source with all that a scan found in it. Files with equal headers, attributes
// or values share them.
type File struct {
	Source
	Header *Header
	Groups *GroupAttributes
	// Values are those of the variables that were read, by their place in Header.Variables,
	// nil for the others. It is as long as Header.Variables.
	Values []*Values
	// Parts say where the values of a variable are that lie in other files: HDF5's virtual
	// datasets and external files. Keys are places in Header.Variables.
	Parts map[int][]Part
	// Row is the first of the file's refs in the table of refs: those of the first variable,
	// then of the second, and so on, each as many as Variable.Rows says.
	Row int64
	// Bytes are those that the file's refs point at.
	Bytes int64
	// Hidden marks a file that only other files' Parts name. It is in no array by itself.
	Hidden bool
}

// Part is a box of a variable that lies in another file.
type Part struct {
	File   int     // among the files of the scan
	Origin []int64 // of the box in the variable
	Start  []int64 // of the box in the only variable of that file's header
	Shape  []int64 // of the box
}

// Header is what a reader says of a source, without the places of bytes, the attributes of
// groups and the values.
type Header struct {
	ID         string // hash of all else
	Dimensions []Dimension
	Variables  []*Variable // headers may have them in common: they are not changed
}

// Rows is the number of refs that a file with this header has.
func (h *Header) Rows() (n int64) {
	for i := range h.Variables {
		n += h.Variables[i].Rows()
	}
	return n
}

// Find returns the place of the variable at a path, or -1.
func (h *Header) Find(path string) int {
	for i := range h.Variables {
		if h.Variables[i].Path == path {
			return i
		}
	}
	return -1
}

// Dimension is a named length of a group.
type Dimension struct {
	Path      string // "/time", "/group/x"
	Length    int64
	Unlimited bool `json:",omitempty"`
	Anonymous bool `json:",omitempty"` // named by the reader: the source has no name for it
	// Like are the paths of dimensions of the group that are as long as an anonymous one, which may be any of
	// them. The first is what netCDF takes it for.
	Like []string `json:",omitempty"`
}

// GroupAttributes are the attributes of the groups of a source, the root among them.
type GroupAttributes struct {
	ID     string
	Groups []Group
}

// Group is a group with its attributes.
type Group struct {
	Path       string // "/" for the root
	Attributes []Attribute
}

// AttributePath is the path by which options name an attribute of a group: /group/@name.
func AttributePath(group, name string) string {
	return strings.TrimSuffix(group, "/") + "/@" + name
}

// Attribute is a named value. Numbers are in Data, text is in Texts, and what is neither one value
// nor a list of them is in JSON.
type Attribute struct {
	Name   string
	Type   codec.Type // codec.String for text
	Data   []byte     `json:",omitempty"` // elements in memory form
	Texts  []string   `json:",omitempty"`
	Scalar bool       `json:",omitempty"` // one value, and not a list of one
	JSON   string     `json:",omitempty"` // objects, lists of lists; there is no Type then
	// Unreadable says why no JSON has the value; it is empty for nearly all.
	Unreadable string `json:",omitempty"`
}

// Lookup returns the attribute of a name, or nil.
func Lookup(attributes []Attribute, name string) *Attribute {
	for i := range attributes {
		if attributes[i].Name == name {
			return &attributes[i]
		}
	}
	return nil
}

// Variable is an array of elements in a source.
type Variable struct {
	Path       string   // "/group/name"
	Dims       []string // the paths of its dimensions, one for each axis
	Shape      []int64
	Type       codec.Type // of the elements in memory
	Fill       Fill
	Attributes []Attribute
	Storage    Storage
	// Enum names values of an enumeration.
	Enum []Choice `json:",omitempty"`
	// Unreadable says why no array can hold the variable; it is empty for nearly all.
	Unreadable string `json:",omitempty"`
	// Elsewhere is the folder that would have to be allowed, if only that is why.
	Elsewhere string `json:",omitempty"`
	// Damaged says that it is since bytes of the source are not what its format says: nobody asked for the
	// variable when the source was scanned.
	Damaged bool `json:",omitempty"`
}

// Choice is one name of an enumeration.
type Choice struct {
	Name  string
	Value int64
}

// Fill is what cells hold that were never written.
type Fill struct {
	Value []byte `json:",omitempty"` // one element in memory form; nil stands for zeros
	User  bool   `json:",omitempty"` // somebody chose it, zeros included
}

// Layout says how the values of a variable lie in its source.
type Layout string

// The layouts.
const (
	Chunked Layout = "chunked" // one row of refs a chunk, in C order of the chunk grid
	Strided Layout = "strided" // rows of bytes at equal distances: one row of refs says where the first is
	Inline  Layout = "inline"  // the bytes are in the manifest: one row of refs says where
	Nothing Layout = "nothing" // never written: all fill
	Parted  Layout = "parted"  // in other files: File.Parts
	Valued  Layout = "valued"  // only to be had through the reader: the values are in File.Values
)

// Storage is how the values of a variable lie in their source.
type Storage struct {
	Layout Layout
	// Chunks is the shape of chunks; with Strided and Inline that of the variable.
	Chunks []int64 `json:",omitempty"`
	// Edges are the lengths of chunks by axis as runs [length, count], where they differ;
	// Chunks is nil then.
	Edges [][][2]int64 `json:",omitempty"`
	// Codecs lead from elements in memory to the stored bytes, in the order of encoding. The
	// last Filters of them are what a ref's mask speaks of: bit i says that the i-th of these
	// was skipped.
	Codecs  []codec.Spec `json:",omitempty"`
	Filters int          `json:",omitempty"`
	// RawEdges: chunks that reach over the shape are stored without the Filters.
	RawEdges bool `json:",omitempty"`
	// Stride, with Strided, is the number of bytes from one index of the first axis to the
	// next; 0 stands for no gaps.
	Stride int64 `json:",omitempty"`
}
