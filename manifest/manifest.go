// Package manifest defines the data of a virtual dataset: the sources, their headers, and the arrays
// that are combined from them. Package repo stores it.
//
//	Source ── Header ── Variable ── Storage        the contents of a file, and how they are stored
//	   │                    │
//	   └── rows of refs ────┘                      the locations of the stored chunks
//
//	Array ── Placement ── Tile ── Source           which files an array consists of, and where they are placed
//
// An array is a mosaic of tiles. It declares one Zarr schema; each tile keeps the type, chunks and
// attributes of its own source. A Snapshot is one immutable version of all this. A repo.Repository
// stores snapshots and their tables in a folder or an object store.
//
// Headers, attributes and values are identified by a hash of their content. If they are equal in many
// sources, they are stored once and share one pointer in memory.
package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"varve/codec"
	"varve/readers/source"
)

// Source is one file or object, in the version that was scanned.
type Source struct {
	URL      string // an absolute path, or a URL
	Size     int64
	Modified time.Time // zero if it is not known
	ETag     string    // with its quotes; empty if there is none
	Format   string    // empty for a file that only provides bytes to other files
	// Scanned identifies the version that was scanned, if "varve relocate" has moved the source since:
	// the hash of its former URL, size, time and ETag. It is empty if the source was not moved.
	Scanned string
}

// MovedTo returns the source at another URL, where it has the identity that now describes. The result still
// has the same ScanID.
func (s Source) MovedTo(url string, now source.Identity) Source {
	moved := Source{URL: url, Size: now.Size, Modified: now.Modified, ETag: now.ETag, Format: s.Format}
	if was := s.ScanID(); was != moved.versionID() {
		moved.Scanned = was
	}
	return moved
}

// ScanID returns a hash that identifies the version of the source that was scanned. It does not change when
// the source is moved.
func (s Source) ScanID() string { return cmp.Or(s.Scanned, s.versionID()) }

// Identity returns the size, modification time and ETag. A file with another identity is not the file that
// was scanned.
func (s Source) Identity() source.Identity {
	return source.Identity{Size: s.Size, Modified: s.Modified, ETag: s.ETag}
}

// File is one source and the result of its scan. Files with equal headers, attributes or values share
// them.
type File struct {
	Source
	Header *FileHeader
	Groups *FileGroups
	// Values has one entry for each variable of Header: the values that were read, or nil.
	Values []*Values
	// Parts maps the index of a variable of Header to the boxes of that variable whose values are in other
	// files, as in HDF5's virtual datasets and external files.
	Parts map[int][]Part
	// Row is the row of the file's first ref in the table of refs. The refs of the first variable come
	// first, as many as Variable.Rows returns, then the refs of the second one, and so on.
	Row int64
	// Bytes is the total size of the chunks that the file's refs locate.
	Bytes int64
	// Hidden marks a file that only the Parts of other files use. No array has a tile of it.
	Hidden bool
}

// Part is a box of a variable whose values are in another file.
type Part struct {
	File   int     // index of that file in the scan
	Origin []int64 // where the box starts in the variable
	Start  []int64 // where the box starts in the only variable of the other file
	Shape  []int64 // of the box
}

// Header is the description of a source: everything except the locations of its bytes, the group
// attributes and the values.
type Header struct {
	ID         string // hash of all other fields
	Dimensions []Dimension
	Variables  []*Variable // shared between headers, so never changed
}

// Rows returns the number of refs of a file with this header.
func (h *Header) Rows() (n int64) {
	for i := range h.Variables {
		n += h.Variables[i].Rows()
	}
	return n
}

// Find returns the index of the variable with this path, or -1.
func (h *Header) Find(path string) int {
	for i := range h.Variables {
		if h.Variables[i].Path == path {
			return i
		}
	}
	return -1
}

// Dimension is a named axis of a group with a length.
type Dimension struct {
	Path      string // "/time", "/group/x"
	Length    int64
	Unlimited bool `json:",omitempty"`
	Anonymous bool `json:",omitempty"` // the source has no name for it: the reader invented one
	// Like is for an anonymous dimension: the paths of the group's named dimensions with the same
	// length. The anonymous dimension may be any of them. netCDF assumes that it is the first.
	Like []string `json:",omitempty"`
}

// GroupAttributes are the attributes of all groups of a source, including the root.
type GroupAttributes struct {
	ID     string
	Groups []Group
}

// Group is a group with its attributes.
type Group struct {
	Path       string // "/" for the root
	Attributes []Attribute
}

// AttributePath returns the path by which options select an attribute of a group: /group/@name.
func AttributePath(group, name string) string {
	return strings.TrimSuffix(group, "/") + "/@" + name
}

// Attribute is a named value. Numbers are in Data and texts in Texts. A value that is neither a single
// element nor a list of elements is in JSON.
type Attribute struct {
	Name   string
	Type   codec.Type // codec.String for text
	Data   []byte     `json:",omitempty"` // elements in memory form
	Texts  []string   `json:",omitempty"`
	Scalar bool       `json:",omitempty"` // a single value, not a list of one
	JSON   string     `json:",omitempty"` // objects and lists of lists; Type is empty then
	// Unreadable is the reason why JSON cannot represent the value. It is almost always empty.
	Unreadable string `json:",omitempty"`
}

// JSONType returns the name of the attribute's floating-point type, such as float32, if its JSON does not show it: JSON has
// only numbers of double precision, and texts for NaN and infinities. Otherwise it returns "".
func (a *Attribute) JSONType(raw []byte) string {
	if a.JSON != "" || a.Type.Kind != codec.Float || a.Type.Size >= 8 && !bytes.ContainsRune(raw, '"') {
		return ""
	}
	return fmt.Sprintf("float%d", 8*a.Type.Size)
}

// Lookup returns the attribute with this name, or nil.
func Lookup(attributes []Attribute, name string) *Attribute {
	for i := range attributes {
		if attributes[i].Name == name {
			return &attributes[i]
		}
	}
	return nil
}

// Variable is a named array of one source.
type Variable struct {
	Path       string   // "/group/name"
	Dims       []string // the paths of its dimensions, one for each axis
	Shape      []int64
	Type       codec.Type // of the elements in memory
	Fill       Fill
	Attributes []Attribute
	Storage    Storage
	// Enum has the names of the values, if the type is an enumeration.
	Enum []Choice `json:",omitempty"`
	// Unreadable is the reason why no array can have the variable. It is almost always empty.
	Unreadable string `json:",omitempty"`
	// Elsewhere is the folder that the user must allow to make the variable readable. It is empty if
	// that is not sufficient.
	Elsewhere string `json:",omitempty"`
	// Damaged marks a variable that is unreadable because bytes of the source are corrupt. The scan
	// continued because no option asked for the variable.
	Damaged bool `json:",omitempty"`
}

// Choice is one named value of an enumeration.
type Choice struct {
	Name  string
	Value int64
}

// Fill is the value of elements that were never written.
type Fill struct {
	Value []byte `json:",omitempty"` // one element in memory form; nil for zeros
	User  bool   `json:",omitempty"` // the source declares it, even if it is zero
}

// Layout is the way in which the values of a variable are stored.
type Layout string

// The layouts.
const (
	Chunked Layout = "chunked" // one row of refs for each chunk, in C order of the chunk grid
	Strided Layout = "strided" // rows of bytes at equal distances; one row of refs locates the first
	Inline  Layout = "inline"  // the bytes are in the manifest; one row of refs locates them
	Nothing Layout = "nothing" // never written: all elements have the fill value
	Parted  Layout = "parted"  // in other files: File.Parts
	Valued  Layout = "valued"  // only the reader can decode them: the elements are in File.Values
)

// Storage describes the stored form of a variable in its source.
type Storage struct {
	Layout Layout
	// Chunks is the shape of the chunks. For Strided and Inline it is the shape of the variable.
	Chunks []int64 `json:",omitempty"`
	// Edges has, for each axis, the lengths of chunks as runs [length, count]. It is set only if the
	// lengths differ; Chunks is nil then.
	Edges [][][2]int64 `json:",omitempty"`
	// DataSizes has, for each axis, the lengths of the data in these chunks, as runs like Edges. It is set only
	// if chunks inside the variable decode to more elements than they have data. See CutEdges.
	DataSizes [][][2]int64 `json:",omitempty"`
	// Codecs is the codec pipeline in the order of encoding, from elements in memory to stored bytes.
	// A ref's filter mask covers the last Filters of them: bit i says that the i-th of these was
	// skipped.
	Codecs  []codec.Spec `json:",omitempty"`
	Filters int          `json:",omitempty"`
	// RawEdges says that chunks which extend beyond the shape are stored without the Filters.
	RawEdges bool `json:",omitempty"`
	// Stride is for Strided: the number of bytes from one index of the first axis to the next. 0 means
	// that there are no gaps.
	Stride int64 `json:",omitempty"`
}
