package plan

import (
	"fmt"
	"path"
	"strings"
)

// Options say what a user wants of a plan. The zero value refuses whatever would lose or
// invent data. They are kept with a snapshot, so that an append plans alike.
type Options struct {
	// Concat names the dimensions along which files follow one another, by name or by path.
	// Those whose coordinates differ are found without being named.
	Concat []string `json:",omitempty"`
	// NewDims are dimensions that the files do not have.
	NewDims []NewDim `json:",omitempty"`

	Vars   []string `json:",omitempty"` // globs of the variables to keep; none for all
	Drop   []string `json:",omitempty"` // globs of the variables to leave out, and of attributes of groups: @NAME
	Group  string   `json:",omitempty"` // only what is below this group, which becomes the root
	Rename []Rename `json:",omitempty"` // of variables and dimensions

	Missing Missing `json:",omitempty"` // what becomes of a variable that some files lack
	Pad     Pad     `json:",omitempty"` // what becomes of files that are narrower than others
	Coords  Coords  `json:",omitempty"` // what becomes of coordinates that should be equal
	Overlap Overlap `json:",omitempty"` // what becomes of places that several files hold
	// Tolerance is by how much coordinates may differ that ought to be equal.
	Tolerance float64 `json:",omitempty"`

	// Broadcast lays variables along dimensions that they do not have.
	Broadcast []Broadcast `json:"Spread,omitempty"`

	// Inline is the size in bytes up to which a whole array is kept in the manifest, if its
	// values are known. 0 stands for DefaultInline, less for coordinates only.
	Inline int64 `json:",omitempty"`
	// ValueBytes is how many bytes of values of one file are looked at one by one; of more numbers
	// or times a summary does. 0: manifest.DefaultValueBytes. It is not kept.
	ValueBytes int64 `json:"-"`
	// Strict refuses what is not served as it is stored.
	Strict bool `json:",omitempty"`
	// Rectilinear declares lists of edges where a regular grid would do, so that files of
	// other lengths can be appended.
	Rectilinear bool `json:",omitempty"`
	// CodecFrom names the file whose codecs and chunks arrays declare.
	CodecFrom string `json:",omitempty"`
	// Exact are the paths of arrays of which chunks have to be re-encoded, in whatever codecs.
	Exact []string `json:"-"`
	// Schemas override what is decided for single arrays.
	Schemas []Override `json:"Faces,omitempty"`
}

// DefaultInline is the size of a small array.
const DefaultInline = 16 << 10

// Missing says what becomes of a variable that some files lack.
type Missing string

// What can become of it.
const (
	MissingFill   Missing = "" // fill where it is absent
	MissingDrop   Missing = "drop"
	MissingRefuse Missing = "refuse"
)

// Pad says what becomes of files whose axes are shorter than others'.
type Pad string

// What can become of them.
const (
	PadRefuse Pad = ""
	PadFill   Pad = "fill" // fill behind the end of shorter axes
)

// Coords says what becomes of coordinates and variables that ought to be equal in all files.
type Coords string

// What can become of them.
const (
	CoordsEqual Coords = ""
	CoordsFirst Coords = "first" // the first file's count, the others' are not looked at
)

// Overlap says which of several files that hold the same place counts.
type Overlap string

// The files that may count.
const (
	OverlapRefuse Overlap = ""
	OverlapFirst  Overlap = "first" // the one that begins first
	OverlapLast   Overlap = "last"  // the one that begins last
)

// Rename gives a variable or a dimension another name.
type Rename struct {
	Old, New string
}

// means reports whether it is for what is at a path.
func (r *Rename) means(at string) bool {
	return r.Old == at || r.Old == path.Base(at) || "/"+r.Old == at
}

// NewDim is a dimension that files do not have: each file is one step of it. Exactly one of
// Pattern, Attribute, Variable and Values says where the coordinate comes from.
type NewDim struct {
	Name string
	// Pattern is a regular expression on the file's name. Groups named y, m, d, H, M and S, or
	// j for the day of the year, make a time; otherwise the first group is a number if it is one in all files, or text.
	Pattern string `json:",omitempty"`
	// Attribute names an attribute of the root group.
	Attribute string `json:",omitempty"`
	// Variable names a variable of one element. One that has the name of the dimension becomes
	// the coordinate as it is.
	Variable string `json:",omitempty"`
	// Values has one entry for each file, in the order of the files.
	Values []string `json:",omitempty"`
}

// Broadcast lays variables along a dimension that they do not have and along which files follow one
// another: what a file has of them is at every index of what it holds of the dimension.
type Broadcast struct {
	Array string // a glob on the array's path
	Dim   string // by name or by path
}

// Override is what a user wants of the schema of some arrays.
type Override struct {
	Array  string             // a glob on the array's path
	Chunks map[string][]int64 `json:",omitempty"` // edges by name of the dimension; one for a regular axis
	Type   string             `json:",omitempty"` // name of an element type, as NumPy has it
}

// ParseNewDim reads NAME=PATTERN, NAME=attr:ATTRIBUTE, NAME=var:VARIABLE or NAME=list:FILE. For a
// list it returns the name of the file, whose lines are to become the Values.
func ParseNewDim(text string) (dim NewDim, list string, err error) {
	name, from, ok := strings.Cut(text, "=")
	if !ok || name == "" || from == "" {
		return dim, "", fmt.Errorf("new dimension %q: want NAME=PATTERN, NAME=attr:ATTRIBUTE, NAME=var:VARIABLE or NAME=list:FILE", text)
	}
	dim.Name = name
	if attribute, ok := strings.CutPrefix(from, "attr:"); ok {
		dim.Attribute = attribute
		return dim, "", nil
	}
	if variable, ok := strings.CutPrefix(from, "var:"); ok {
		dim.Variable = variable
		return dim, "", nil
	}
	if file, ok := strings.CutPrefix(from, "list:"); ok {
		return dim, file, nil
	}
	if _, err := patternOf(from); err != nil {
		return dim, "", fmt.Errorf("new dimension %s: %w", name, err)
	}
	dim.Pattern = from
	return dim, "", nil
}

// ParseBroadcast reads ARRAY=DIM.
func ParseBroadcast(text string) (Broadcast, error) {
	i := strings.LastIndex(text, "=")
	if i <= 0 || i == len(text)-1 {
		return Broadcast{}, fmt.Errorf("broadcast %q: want ARRAY=DIM", text)
	}
	return Broadcast{Array: text[:i], Dim: text[i+1:]}, nil
}

// ParseRename reads OLD=NEW.
func ParseRename(text string) (Rename, error) {
	old, name, ok := strings.Cut(text, "=")
	if !ok || old == "" || name == "" {
		return Rename{}, fmt.Errorf("rename %q: want OLD=NEW", text)
	}
	return Rename{Old: old, New: name}, nil
}
