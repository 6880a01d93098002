package report

import "strings"

// Option is the name of an option in the library. A command maps it to its own flag.
type Option string

// The options. The fields of plan.Options and ingest.Options say what each does.
const (
	Allow       Option = "allow"
	AllowNew    Option = "allow-new"
	Broadcast   Option = "broadcast"
	ChunkEdges  Option = "chunk-edges"
	CodecFrom   Option = "codec-from"
	Concat      Option = "concat"
	Coords      Option = "coords"
	Curation    Option = "curation"
	DataType    Option = "dtype"
	Download    Option = "download"
	Drop        Option = "drop"
	Flip        Option = "flip"
	Force       Option = "build/force" // of build: it replaces the manifest
	Group       Option = "group"
	Index       Option = "build/index" // of build: append makes access points if there are any
	JoinLabels  Option = "join"
	KeepQuery   Option = "keep-query"
	Longitudes  Option = "longitudes"
	Match       Option = "match"
	Missing     Option = "missing"
	NewDim      Option = "new-dim"
	Overlap     Option = "overlap"
	Pad         Option = "pad"
	Padded      Option = "padded"
	Rename      Option = "rename"
	Repack      Option = "repack"
	RepackLoss  Option = "repack-lossy"
	SkipBroken  Option = "skip-broken"
	SkipKnown   Option = "skip-known"
	Strict      Option = "strict"
	Tolerance   Option = "tolerance"
	Units       Option = "units"
	ValueBytes  Option = "value-bytes"
	Vars        Option = "vars"
	KeepForeign Option = "keep-foreign"
)

// Remedies that are actions of the user, and not options of a command.
const (
	LeaveOut Option = "leave-files-out"    // remove the files of the finding from the list of sources
	Refresh  Option = "refresh"            // read the sources of the manifest again that have changed
	Separate Option = "separate-manifests" // build one manifest for each kind of files
)

// Options lists every option that a remedy can name, without LeaveOut, Refresh and Separate.
var Options = []Option{Allow, AllowNew, Broadcast, ChunkEdges, CodecFrom, Concat, Coords, Curation, DataType, Download, Drop, Flip, Force, Group, Index, JoinLabels, KeepForeign, KeepQuery, Longitudes, Match, Missing, NewDim,
	Overlap, Pad, Padded, Rename, Repack, RepackLoss, SkipBroken, SkipKnown, Strict, Tolerance, Units, ValueBytes, Vars}

// Setting is an option and its value. The value is empty for an option that takes none.
type Setting struct {
	Option Option `json:"option"`
	Value  string `json:"value,omitempty"`
}

// Remedy is a way to change the effect of a finding.
type Remedy struct {
	Setting
	// With lists further options that must be set together with the first.
	With []Setting `json:"with,omitempty"`
	// Consequence says what the remedy does. It is empty if the option says that already.
	Consequence Consequence `json:"consequence,omitempty"`
	// Incomplete says that the user must replace words in capitals in the value, such as NAME=PATTERN.
	Incomplete bool `json:"incomplete,omitempty"`
}

// Consequence is the code of a remedy's effect. Package text has the English for it.
type Consequence string

// The consequences.
const (
	ByName        Consequence = "order-by-name"     // files are concatenated in the order of their names
	ByNameValues  Consequence = "values-from-names" // the values are part of the files' names
	ByLeastValue  Consequence = "order-by-least"    // files are concatenated in the order of their least values
	StackByValue  Consequence = "stack-by-value"    // files are placed along a new dimension by the value of a variable
	IfOneStep     Consequence = "if-one-step"       // right if each of these files is one step
	IfEnsemble    Consequence = "if-ensemble"       // right if the files are members of an ensemble
	IfStretches   Consequence = "if-stretches"      // right if each file holds a contiguous part of the dimension
	IfNear        Consequence = "if-near"           // right if the values differ by rounding only
	IfSameDims    Consequence = "if-same-dims"      // right if the dimensions are the same
	SameAlong     Consequence = "same-along"        // the values are repeated along the dimension
	EachAlong     Consequence = "each-along"        // each file's values are kept along the dimension
	CompareValues Consequence = "compare-values"    // values are compared one by one, in memory
	LongestCounts Consequence = "longest-counts"    // the values of the longest file are used
	FirstCounts   Consequence = "first-counts"      // the values of the first file are used
	LastCounts    Consequence = "last-counts"       // the values of the last file are used
	FillLacking   Consequence = "fill-lacking"      // positions that a file lacks are filled
	FillBeyond    Consequence = "fill-beyond"       // shorter files are padded with fill
	FillAbsent    Consequence = "fill-absent"       // files without the variable read as the fill value
	LeavesOut     Consequence = "leaves-out"        // the variable is left out
	OneGroup      Consequence = "one-group"         // only one group is included, as the root
	NamesDim      Consequence = "names-dimension"   // the dimension gets another name
	OrderByTime   Consequence = "order-by-time"     // files are concatenated in the order of their times
	ConvertsUnits Consequence = "converts-units"    // numbers are converted to the units of the first file, and re-encoded
	KeepsNumbers  Consequence = "keeps-numbers"     // the units of the first file are declared for numbers as they are
	NoUnits       Consequence = "no-units"          // the array declares no units
	KeepsApart    Consequence = "keeps-apart"       // the variables of these files become arrays of their own
	MakesRoom     Consequence = "makes-room"        // the name becomes available
	OthersDecide  Consequence = "others-decide"     // the chunks of another file are declared
	ExactType     Consequence = "exact-type"        // the declared type can represent every value
	RoundsToScale Consequence = "rounds-to-scale"   // files with another packing are rounded to this scale_factor
	HalfTheBytes  Consequence = "half-the-bytes"    // values are unpacked to floats of half the size, and rounded
	LosesRange    Consequence = "loses-range"       // values outside of the packing become its nearest number
	WithoutDamage Consequence = "without-damage"    // the damaged variables are left out
	SkipsFiles    Consequence = "skips-files"       // the files are left out
	StoresQuery   Consequence = "stores-parameter"  // the parameter is stored, and shown to all readers
	ReadsChanged  Consequence = "reads-changed"     // files that have changed are read again
	SkipsOthers   Consequence = "skips-others"      // files in folders with other names are left out
	SkipsSame     Consequence = "skips-unchanged"   // files that have not changed are skipped
	OpensFolder   Consequence = "opens-folder"      // files may refer to this folder
	ReadsParts    Consequence = "reads-parts"       // every chunk is read once, and later reads decode parts of chunks
	Stacks        Consequence = "stacks-files"      // each file is one step of a new dimension
	SameMeridians Consequence = "same-meridians"    // longitudes of one meridian get one value
	ReadsReversed Consequence = "reads-reversed"    // files that run the other way are read backwards, and re-encoded
	PaddedClients Consequence = "padded-clients"    // the chunks are verbatim for clients that know encoded_chunk_shapes
)

// Do returns the remedy that sets one option.
func Do(option Option, value string, consequence Consequence) Remedy {
	return Remedy{Setting: Setting{option, value}, Consequence: consequence}
}

// Fill returns the remedy that sets one option with a value that the user must complete.
func Fill(option Option, value string, consequence Consequence) Remedy {
	r := Do(option, value, consequence)
	r.Incomplete = true
	return r
}

// And returns the remedy with a further option.
func (r Remedy) And(option Option, value string) Remedy {
	r.With = append(r.With[:len(r.With):len(r.With)], Setting{option, value})
	return r
}

// DropPath returns the remedy that drops the variable with a path or name, and no other.
func DropPath(path string) Remedy { return Do(Drop, ListItem(GlobOf(path)), LeavesOut) }

// BroadcastAlong returns the setting that broadcasts the variable with a path, and no other, along a dimension.
func BroadcastAlong(path, dim string) Setting { return Setting{Broadcast, GlobOf(path) + "=" + dim} }

// GlobOf returns the glob that matches a name literally.
func GlobOf(name string) string { return escapeGlob.Replace(name) }

var escapeGlob = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// ListItem returns a value as an item of a list with commas, as encoding/csv reads it.
func ListItem(value string) string {
	if strings.ContainsAny(value, "\",\r\n") {
		return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
	}
	return value
}
