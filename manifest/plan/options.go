// Package plan has the choices of a user about how files are combined into arrays, and the errors of
// files that cannot be combined. Package ingest plans by them.
package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/manifest/internal/namepattern"
	"varve/manifest/report"
	"varve/readers"
)

// Options are the user's choices for a plan. The zero value refuses everything that would lose or
// invent data. They are stored with a snapshot, so that an append makes the same choices.
type Options struct {
	// Concat names the dimensions along which files are concatenated, by name or path. Dimensions
	// whose coordinates differ between files need not be named.
	Concat []string `json:",omitempty"`
	// Apart names the dimensions of Concat along which files stay in one piece, one after another: in the
	// order of their least values, or of their names if a file has no values. Equal values are then not
	// equal positions, such as the times of two profiles.
	Apart []string `json:",omitempty"`
	// NewDims are dimensions to add to the files.
	NewDims []NewDim `json:",omitempty"`

	// Formats has options of formats, which a scan uses: see formats.Options. A snapshot stores those whose scope says so.
	Formats readers.Settings `json:",omitempty"`

	Vars   []string `json:",omitempty"` // patterns of the variables to include; all if empty
	Drop   []string `json:",omitempty"` // patterns of the variables to exclude, and of group attributes: @NAME
	Group  string   `json:",omitempty"` // include only this group, which becomes the root
	Rename []Rename `json:",omitempty"` // new names of variables and dimensions

	Missing Absent  `json:",omitempty"` // for variables that some files lack
	Pad     Pad     `json:",omitempty"` // for files that are shorter along a dimension than others
	Units   Units   `json:",omitempty"` // for numbers whose units differ
	Coords  Coords  `json:",omitempty"` // for coordinates that should be equal and differ
	Overlap Overlap `json:",omitempty"` // for positions that several files hold
	// Join says, by name or path of a dimension, how to combine coordinates that differ in part. The
	// name "" means all dimensions. Without an entry, such coordinates are refused.
	Join map[string]Join `json:",omitempty"`
	// Longitudes is the range to which coordinates of longitudes are brought. Files that wrap there are read in two parts.
	Longitudes Longitudes `json:",omitempty"`
	// Flip names dimensions, by name or path, along which files are read backwards if their coordinate runs the other way.
	Flip map[string]Direction `json:",omitempty"`
	// Tolerance is the absolute difference up to which numeric coordinates count as equal.
	Tolerance float64 `json:",omitempty"`

	// Broadcast lists variables to broadcast along dimensions that they lack.
	Broadcast []Broadcast `json:"Spread,omitempty"`

	// Inline is the size in bytes up to which a whole array is stored in the manifest if its values
	// are known. nil means DefaultInline; 0 means coordinates only.
	Inline *int64 `json:",omitempty"`
	// ValueBytes is the size in bytes up to which the values of a variable in one file are read.
	// Larger variables are summarized. 0 means manifest.DefaultValueBytes. It is not stored.
	ValueBytes int64 `json:"-"`
	// Strict refuses all chunks that are not verbatim.
	Strict bool `json:",omitempty"`
	// Rectilinear declares rectilinear grids even if regular grids describe the files, so that files
	// with other lengths can be appended.
	Rectilinear bool `json:",omitempty"`
	// KeepForeign keeps files that share no variable, no grid and no reference with the others, as arrays of their own.
	KeepForeign bool `json:",omitempty"`
	// KeepQuery lists parameters of URLs that select data and are no secrets. The manifest stores them, besides those
	// that source.Shown keeps.
	KeepQuery []string `json:",omitempty"`
	// Padded also records the sizes to which padded chunks inside an array decode. A store that is opened with
	// store.Options.Padded declares them, so that these chunks are verbatim for clients that know
	// encoded_chunk_shapes.
	Padded bool `json:",omitempty"`
	// CodecFrom names the file whose codecs and chunks the arrays declare.
	CodecFrom string `json:",omitempty"`
	// Exact lists the paths of arrays whose codecs must restore all values. See Plan.Inexact.
	Exact []string `json:"-"`
	// ChunkLengths has the chunk lengths that an earlier snapshot declares along the first dimension of
	// arrays that it stores in the manifest, by path. These arrays keep them.
	ChunkLengths map[string]int64 `json:"-"`
	// Older is how many of the first files an earlier snapshot has. Their direction is the usual one of Flip.
	Older int `json:"-"`
	// DirectionsOf has the Flip of an earlier snapshot. Dimensions keep these directions.
	DirectionsOf map[string]Direction `json:"-"`
	// TextLengthsOf has the names that an earlier snapshot gives to the lengths of texts, by path. Arrays keep them.
	TextLengthsOf map[string]string `json:"-"`
	// UnitsOf has the units that an earlier snapshot declares, by path. Arrays keep them if Units has a value. An array
	// that declares none has "", and gets none if units differ.
	UnitsOf map[string]string `json:"-"`
	// Repack packs arrays whose packing differs between files like one of these packings.
	Repack []Repack `json:",omitempty"`
	// RepackLossy lists patterns of arrays for which Repack may change values by more than half of the
	// scale factor.
	RepackLossy []string `json:",omitempty"`
	// Optional lists settings that need not apply to any file, such as those of a recipe. They are of Concat, Broadcast, Rename,
	// Join, Schemas, Vars and Drop. They have no effect if no file has what they name; and an array is not broadcast if
	// all files have equal values.
	Optional []report.Setting `json:",omitempty"`
	// Curation changes names and attributes; nil changes nothing.
	Curation *Curation `json:",omitempty"`
	// Schemas override the decisions for some arrays.
	Schemas []Override `json:"Faces,omitempty"`

	stored []report.Setting // of Vars, Drop and Flip, if JSON had them
}

// DefaultInline is the default of Options.Inline, in bytes.
const DefaultInline = 16 << 10

// InlineBytes returns the value of Inline, or its default.
func (o *Options) InlineBytes() int64 {
	if o.Inline == nil {
		return DefaultInline
	}
	return *o.Inline
}

// Absent says how to treat a variable that some files lack: "missing" is said of chunks and values.
type Absent string

// The values of Absent.
const (
	AbsentFill   Absent = "" // read as the fill value in these files
	AbsentDrop   Absent = "drop"
	AbsentRefuse Absent = "refuse"
)

// Pad says how to treat files that are shorter along a dimension than others.
type Pad string

// The values of Pad.
const (
	PadRefuse Pad = ""
	PadFill   Pad = "fill" // pad shorter files with the fill value
)

// Coords says how to treat coordinates and variables that should be equal in all files.
type Coords string

// The values of Coords.
const (
	CoordsEqual Coords = ""
	CoordsFirst Coords = "first" // use the first file's values and ignore the others
)

// Units says how to treat numbers of one variable whose units differ. Spellings of one unit do not differ, and a file
// without units does not contradict the others. Coordinates of dimensions are refused in any case.
type Units string

// The values of Units.
const (
	UnitsRefuse  Units = ""
	UnitsConvert Units = "convert" // convert numbers to the units of the first file; refuse what cannot be converted
	UnitsFirst   Units = "first"   // declare the units of the first file for all numbers as they are
	UnitsDrop    Units = "drop"    // declare no units
)

// Overlap says which file is used for positions that several files hold.
type Overlap string

// The values of Overlap.
const (
	OverlapRefuse Overlap = ""
	OverlapFirst  Overlap = "first" // the file that starts first
	OverlapLast   Overlap = "last"  // the file that starts last
)

// Join says how to combine the coordinates of files along a dimension, as xarray's option does.
type Join string

// The values of Join.
const (
	JoinExact Join = "exact" // refuse coordinates that differ
	JoinOuter Join = "outer" // the union: positions that a file lacks are filled
	JoinInner Join = "inner" // the intersection: positions that a file lacks are left out of all
)

// ParseJoin parses HOW, or DIM=HOW for one dimension.
func ParseJoin(text string) (dim string, how Join, err error) {
	dim, word, found := strings.Cut(text, "=")
	if !found {
		dim, word = "", text
	}
	if how = Join(word); how != JoinExact && how != JoinOuter && how != JoinInner || found && dim == "" {
		return "", "", fmt.Errorf("join %q: want exact, inner or outer, or DIM=HOW for one dimension", text)
	}
	return dim, how, nil
}

// Longitudes is a range of longitudes, in degrees.
type Longitudes string

// The values of Longitudes.
const (
	AnyLongitudes Longitudes = ""
	From0To360    Longitudes = "0..360"
	Around0       Longitudes = "-180..180"
)

// Direction says which way a coordinate runs.
type Direction string

// The values of Direction.
const (
	UsualDirection Direction = "" // as most files have it
	Increasing     Direction = "increasing"
	Decreasing     Direction = "decreasing"
)

// ParseFlip parses DIM, or DIM=increasing or DIM=decreasing for one direction.
func ParseFlip(text string) (dim string, to Direction, err error) {
	dim, word, found := strings.Cut(text, "=")
	if to = Direction(word); dim == "" || found && to != Increasing && to != Decreasing {
		return "", "", fmt.Errorf("flip %q: want DIM, DIM=increasing or DIM=decreasing", text)
	}
	return dim, to, nil
}

// Rename gives a variable or dimension a new name.
type Rename struct {
	Old, New string
}

// NewDim is a dimension that files lack: each file is one position on it. Exactly one of Pattern,
// Attribute, Variable and Values provides the coordinate.
type NewDim struct {
	Name string
	// Pattern is a time format as strptime takes it, such as %Y%m%d_%H%M, or a regular expression for
	// the file's name. Groups named y, m, d, H, M and S, or j for the day of the year, make a time.
	// Years have four digits, or two for 1969 to 2068. Without such groups, the first group is the
	// value: numbers if all files have numbers, or else text.
	Pattern string `json:",omitempty"`
	// Attribute names an attribute of the root group.
	Attribute string `json:",omitempty"`
	// Variable names a variable with one element. If it has the name of the dimension, it becomes
	// the coordinate.
	Variable string `json:",omitempty"`
	// Values has one value for each file, in the order of the files.
	Values []string `json:",omitempty"`
}

// Broadcast repeats the values of variables along a dimension that they lack and along which files
// are concatenated. A file's values apply to all positions of that file.
type Broadcast struct {
	Array string // a pattern for the array's path
	Dim   string // name or path
}

// Repack chooses the packing of arrays: the one that most bytes with this scale_factor have.
type Repack struct {
	Array string // a pattern for the array's path
	Scale float64
}

// String returns the form that ParseRepack reads.
func (r Repack) String() string { return r.Array + "=" + strconv.FormatFloat(r.Scale, 'g', -1, 64) }

// Override changes the schema of some arrays.
type Override struct {
	Array  string             // a pattern for the array's path
	Chunks map[string][]int64 `json:",omitempty"` // chunk lengths by dimension; the last one repeats
	Type   string             `json:",omitempty"` // element type, as NumPy names it
}

// ParseNewDim parses NAME=PATTERN, NAME=attr:ATTRIBUTE, NAME=var:VARIABLE or NAME=list:FILE. For a
// list it returns the name of the file; the caller sets Values to its lines.
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
	if _, err := namepattern.Compile(from); err != nil {
		return dim, "", fmt.Errorf("new dimension %s: %w", name, err)
	}
	dim.Pattern = from
	return dim, "", nil
}

// ParseConcat parses DIM, or DIM=files for a dimension along which files stay in one piece.
func ParseConcat(text string) (dim string, apart bool, err error) {
	dim, how, found := strings.Cut(text, "=")
	if dim == "" || found && how != "files" {
		return "", false, fmt.Errorf("concat %q: want DIM or DIM=files", text)
	}
	return dim, found, nil
}

// IsOptional reports whether a setting may match nothing: a recipe made it, or a name or pattern of Vars or Drop was
// stored with a snapshot.
func (o *Options) IsOptional(s report.Setting) bool {
	return slices.Contains(o.Optional, s) || slices.Contains(o.stored, s)
}

// ParseBroadcast parses ARRAY=DIM.
func ParseBroadcast(text string) (Broadcast, error) {
	i := strings.LastIndex(text, "=")
	if i <= 0 || i == len(text)-1 {
		return Broadcast{}, fmt.Errorf("broadcast %q: want ARRAY=DIM", text)
	}
	return Broadcast{Array: text[:i], Dim: text[i+1:]}, nil
}

// ParseRepack parses ARRAY=SCALE.
func ParseRepack(text string) (Repack, error) {
	i := strings.LastIndex(text, "=")
	if i <= 0 {
		return Repack{}, fmt.Errorf("repack %q: want ARRAY=SCALE, such as sst=0.01", text)
	}
	scale, err := strconv.ParseFloat(text[i+1:], 64)
	if err != nil {
		return Repack{}, fmt.Errorf("repack %q: %q is no scale_factor", text, text[i+1:])
	}
	return Repack{Array: text[:i], Scale: scale}, nil
}

// ParseRename parses OLD=NEW.
func ParseRename(text string) (Rename, error) {
	old, name, ok := strings.Cut(text, "=")
	if !ok || old == "" || name == "" {
		return Rename{}, fmt.Errorf("rename %q: want OLD=NEW", text)
	}
	return Rename{Old: old, New: name}, nil
}
